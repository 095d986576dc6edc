# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Stand-ins for DALI modules that this version lacks. They can be imported; using them raises NotImplementedError."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from headrace._base import dali_names

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # importing importlib.abc takes a tenth of the time of importing Headrace
    Loader = MetaPathFinder = object

_ROOT = __name__.partition(".")[0]


class Missing:
    """Stands for a function, class or constant that is missing.

    Raises:
        NotImplementedError: it is called, subclassed, indexed or iterated, or a public attribute is read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.__name__ = path.rpartition(".")[2]
        self.__doc__ = self._message()

    def _message(self) -> str:
        return f"`{self._path}` of DALI is not part of this version of Headrace."

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self._message())

    __call__ = __mro_entries__ = __getitem__ = __iter__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python and its tools read these from every object
            raise AttributeError(name)
        self._refuse()

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._path}: missing in Headrace>"


class _StandInLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        path = spec.name.partition(".")[2]
        return ModuleType(spec.name, f"Stand-in for DALI's module `{path}`.")

    def exec_module(self, module: ModuleType) -> None:
        path = module.__name__.partition(".")[2]
        names = dali_names.MODULES[path]
        inner = [m.rpartition(".")[2] for m in dali_names.MODULES if m.rpartition(".")[0] == path]
        for name in names:
            if name not in inner:
                setattr(module, name, Missing(f"{path}.{name}"))

        def inner_module(name: str) -> ModuleType:
            if name not in inner:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return importlib.import_module(f"{module.__name__}.{name}")

        module.__getattr__ = inner_module  # type: ignore[method-assign]
        module.__all__ = [*names, *inner]  # type: ignore[attr-defined]


class _StandInFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root != _ROOT or rest not in dali_names.MODULES:
            return None
        return ModuleSpec(fullname, _StandInLoader(), is_package=True)


def register() -> None:
    """Makes the missing modules importable below `headrace`. Real modules take precedence."""
    sys.meta_path.append(_StandInFinder())
