# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operator schemas: names, arguments, defaults. Everything here is made from the JSON of the C extension."""

from __future__ import annotations

import functools
import json
from typing import Any

from headrace import _core
from headrace._base import dali_names, types

# Arguments that every operator has.
COMMON = ("device", "name", "preserve", "bytes_per_sample_hint", "seed")


class Argument:
    """One argument of an operator."""

    __slots__ = ("name", "type", "is_list", "flags", "default", "doc", "use", "since", "raw")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.name: str = raw["name"]
        self.type: str = raw["type"]
        self.is_list: bool = raw["list"]
        self.flags = frozenset(raw["flags"])
        self.doc: str = raw.get("doc") or ""
        self.use: str | None = raw.get("use")
        self.since: str | None = raw.get("since")
        self.default = _literal(self.type, raw.get("default"))

    @property
    def required(self) -> bool:
        return "required" in self.flags

    @property
    def per_sample(self) -> bool:
        return "per_sample" in self.flags


class Operator:
    """One operator. `name` is its name under `fn`, with the module: "decoders.image"."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.name: str = raw["name"]
        self.doc: str = raw.get("doc") or ""
        self.aliases: list[str] = raw["aliases"]
        self.flags = frozenset(raw["flags"])
        self.inputs: list[dict[str, Any]] = raw["inputs"]
        self.in_min: int = raw["in_min"]
        self.in_max: int = raw["in_max"]
        self.out_count: int | None = raw["out_count"]
        self.outputs: list[str] = raw["outputs"]
        self.out_keys: str | None = raw["out_keys"]  # the dictionary whose keys name the outputs
        self.source: str | None = raw["source"]
        self.whole_batch: bool = raw["batch"]  # processes the batch as a whole, not each sample
        self.devices: list[str] = raw["devices"] or ["cpu"]  # those that DALI accepts
        self.runs_on: list[str] = raw["runs_on"]  # those that this build has

    @functools.cached_property
    def args(self) -> dict[str, Argument]:
        """The arguments by name. Made when first asked for: a script uses few of the operators."""
        return {arg["name"]: Argument(arg) for arg in self.raw["args"]}

    @property
    def is_reader(self) -> bool:
        return self.source == "indexed"

    @property
    def is_copied(self) -> bool:
        """On a GPU, it runs on the CPU and its outputs are copied: it needs no data there (e.g. shapes), or on the host."""
        return "on_host" in self.flags or ("anywhere" in self.flags and not self.raw["kernels"])

    @property
    def has_seed(self) -> bool:
        return self.is_reader or "random" in self.flags

    @property
    def class_name(self) -> str:
        """The name under `ops`, without the module."""
        return class_name(self.name)


def _literal(type_name: str, text: str | None) -> Any:
    """The Python value of a default written as text. Enumeration names become members."""
    if text is None:
        return None
    if type_name in ("DTYPE", "IMAGE_TYPE", "INTERP") and hasattr(types, text):
        return getattr(types, text)
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def class_name(name: str) -> str:
    """The class name of a function: "decoders.image_crop" -> "ImageCrop"."""
    known = dali_names.CLASSES.get(name)
    if known:
        return known
    return "".join(part[:1].upper() + part[1:] for part in name.rpartition(".")[2].split("_"))


def schema_name(name: str) -> str:
    """What DALI's registry calls an operator: "readers.file" -> "readers__File"."""
    module, _, _ = name.rpartition(".")
    return "".join(part + "__" for part in module.split(".") if part) + class_name(name)


@functools.cache
def operators() -> dict[str, Operator]:
    """All operators by name, including hidden ones."""
    loaded = json.loads(_core.schema_json())
    return {raw["name"]: Operator(raw) for raw in loaded["operators"]}


@functools.cache
def _functions() -> dict[str, tuple[str, bool]]:
    """Name under `fn` -> (operator's name, whether it is an old name)."""
    table = {old: (new, True) for old, new in dali_names.RENAMED.items() if new in operators()}
    for op in operators().values():
        for alias in op.aliases:
            if not alias.startswith("ops:"):
                table[alias] = (op.name, True)
    for op in operators().values():
        table[op.name] = (op.name, False)
    return table


@functools.cache
def _classes() -> dict[str, tuple[str, bool]]:
    """Name under `ops`, with module -> (operator's name, whether it is an old name)."""
    table = {}
    for function, target in _functions().items():
        table[_join(function, class_name(function))] = target
    for op in operators().values():
        for alias in op.aliases:
            if alias.startswith("ops:"):
                table[alias[4:]] = (op.name, True)
    return table


def _join(function: str, leaf: str) -> str:
    module = function.rpartition(".")[0]
    return f"{module}.{leaf}" if module else leaf


def reload() -> set[str]:
    """Reads the tables again, after a plug-in was loaded; returns the new names under `fn`."""
    known = set(_functions())
    for cached in (operators, _functions, _classes, modules):
        cached.cache_clear()
    return set(_functions()) - known


def find_function(name: str) -> tuple[Operator, bool] | None:
    """The operator that a name under `fn` refers to, and whether it is an old name. None if unknown."""
    found = _functions().get(name)
    return (operators()[found[0]], found[1]) if found else None


def find_class(name: str) -> tuple[Operator, bool] | None:
    """The operator that a name under `ops` refers to, and whether it is an old name. None if unknown."""
    found = _classes().get(name)
    return (operators()[found[0]], found[1]) if found else None


def function_names() -> list[str]:
    """The names under `fn`, without hidden operators and old names."""
    return sorted(op.name for op in operators().values() if "hidden" not in op.flags)


def class_names() -> list[str]:
    """The names under `ops`, without hidden operators and old names."""
    return sorted(_join(name, class_name(name)) for name in function_names())


@functools.cache
def modules() -> frozenset[str]:
    """Submodules of `fn` and `ops`, including those of old names: "readers", "experimental.decoders"."""
    found = {"hidden"}
    for name in (*_functions(), *_classes()):
        parts = name.split(".")[:-1]
        found.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    return frozenset(found)
