# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The modules `fn` and `ops` and their submodules, whose functions and classes are created on first access."""

from __future__ import annotations

import importlib
import sys
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any

from headrace._base import messages
from headrace._graph import schema

Maker = Callable[[str], Any]  # name with its module -> function or class, or None
Lister = Callable[[], "list[str]"]


class OperatorModule(python_types.ModuleType):
    """A submodule of `fn` or `ops`, such as ``fn.readers``."""

    def __init__(self, package: str, path: str, make: Maker, names: Lister) -> None:
        super().__init__(f"{package}.{path}", f"Operators of the module `{path}`.")
        self.__package__ = f"{package}.{path}"
        self.__path__: list[str] = []  # so that `import headrace.fn.readers` works
        self._root = package
        self._prefix = f"{path}."
        self._make = make
        self._names = names

    def __getattr__(self, name: str) -> Any:
        return attribute(self._root, self._prefix, name, self._make, self.__dict__, self._names)

    def __dir__(self) -> list[str]:
        return listing(self._prefix, self._names)

    def __reduce__(self) -> Any:
        """Pickled by name, as other modules are: Ray sends functions that use them."""
        return _by_name, (self._root, self._prefix)


def _by_name(package: str, prefix: str) -> Any:
    found: Any = importlib.import_module(package)
    for name in prefix.rstrip(".").split("."):
        found = getattr(found, name)
    return found


def attribute(
    package: str, prefix: str, name: str, make: Maker, cache: dict[str, Any], names: Lister
) -> Any:
    """Creates the attribute `name` of the module `package` + `prefix` and stores it in `cache`.

    Raises:
        AttributeError: no such attribute.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    made = make(_without_hidden(prefix) + name)
    if made is None:
        made = _submodule(package, prefix + name, make, names)
    if made is None:
        where = f"{package}.{prefix}".rstrip(".")
        raise AttributeError(
            f"module '{where}' has no attribute '{name}'.{_similar(prefix, name, names)}"
        )
    cache[name] = made
    return made


def _similar(prefix: str, name: str, names: Lister) -> str:
    """Suggests what has a similar name in this module, or the same or a similar name in another."""
    if name.startswith("_"):
        return ""
    known = {full.rpartition(".")[2]: full for full in names()}
    return messages.suggestion(name, known | {own: own for own in listing(prefix, names)})


def _without_hidden(prefix: str) -> str:
    """Removes "hidden" from a prefix: `fn.readers.hidden.X` is the same as `fn.readers.X`."""
    return "".join(f"{part}." for part in prefix.split(".") if part and part != "hidden")


def _submodule(package: str, path: str, make: Maker, names: Lister) -> OperatorModule | None:
    known = schema.modules()
    if path not in known and not (path.endswith(".hidden") and path[:-7] in known):
        return None
    full = f"{package}.{path}"
    module = sys.modules.get(full)
    if module is None:
        module = sys.modules[full] = OperatorModule(package, path, make, names)
    return module  # type: ignore[return-value]


def register(package: str, make: Maker, names: Lister) -> None:
    """Makes all submodules importable."""
    _registered[package] = (make, names)
    for path in sorted(schema.modules()):
        module = _submodule(package, path, make, names)
        parent, _, leaf = path.rpartition(".")
        setattr(sys.modules[f"{package}.{parent}" if parent else package], leaf, module)


_registered: dict[str, tuple[Maker, Lister]] = {}


def forget(functions: Iterable[str]) -> None:
    """Makes the modules of new operators, and drops what stood for these operators so far."""
    for package, (make, names) in _registered.items():
        register(package, make, names)
        for name in functions:
            module, _, leaf = f"{package}.{name}".rpartition(".")
            for attribute_name in (leaf, schema.class_name(name)):
                vars(sys.modules[module]).pop(attribute_name, None)


def listing(prefix: str, names: Lister) -> list[str]:
    """Names directly below `prefix`, including modules, sorted."""
    return sorted(
        {name[len(prefix) :].split(".")[0] for name in names() if name.startswith(prefix)}
    )


# ---- documentation and signatures ----


def signature(op: Any, wants_self: bool = False, with_inputs: bool = True) -> Any:
    """The signature of an operator's function or class, from its schema."""
    import inspect

    kind = inspect.Parameter
    parameters = [kind("self", kind.POSITIONAL_ONLY)] if wants_self else []
    if with_inputs:
        parameters += _input_parameters(op, kind)
    for arg in sorted(op.args.values(), key=lambda a: (not a.required, a.name)):
        default = kind.empty if arg.required else arg.default
        parameters.append(kind(arg.name, kind.KEYWORD_ONLY, default=default))
    for name, default in _common(op):
        parameters.append(kind(name, kind.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


def _input_parameters(op: Any, kind: Any) -> list[Any]:
    if op.in_max > len(op.inputs):
        return [kind("inputs", kind.VAR_POSITIONAL)]
    parameters = []
    for i, spec in enumerate(op.inputs[: op.in_max]):
        default = kind.empty if i < op.in_min else None
        name = spec["name"] + "_input" * (spec["name"] in op.args)  # DALI's way to avoid a clash
        parameters.append(kind(name, kind.POSITIONAL_ONLY, default=default))
    return parameters


def _common(op: Any) -> list[tuple[str, Any]]:
    common: list[tuple[str, Any]] = [
        ("device", None),
        ("name", None),
        ("preserve", False),
        ("bytes_per_sample_hint", [0]),
    ]
    if op.has_seed:
        common.append(("seed", -1))
    return common
