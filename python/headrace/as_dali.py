# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs scripts written for `nvidia.dali` on Headrace, unchanged.

    python -m headrace.as_dali script.py arguments...
    python -m headrace.as_dali -m module arguments...

`nvidia.dali` and its submodules then resolve to Headrace, whether or not DALI or other `nvidia.*`
packages are installed, in this process and in the Python processes that it starts (torchrun,
DataLoader workers, subprocess). Processes started with `python -I`, `-E` or `-S` are not reached.
In a notebook, call `headrace.as_dali.install()` before the first import of `nvidia.dali`.

This file is also loaded by path at the start of child processes. At module level it imports nothing
of Headrace and little else, so that starting a process stays cheap.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any

DALI_VERSION = "2.4.0"

_PREFIX = "nvidia.dali"

# The attribute that tells our finder and our `nvidia.dali` from others of the same class name. This
# file may be loaded more than once in a process (as `headrace.as_dali`, as `__main__`, by path), so
# `isinstance` would not recognise what another copy made.
_MARK = "_made_by_headrace_as_dali"


class _Dali(ModuleType):
    """`nvidia.dali`: the contents of `headrace` with DALI's version."""

    __version__ = DALI_VERSION
    _made_by_headrace_as_dali = True

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(importlib.import_module("headrace"), name)
        except AttributeError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(importlib.import_module("headrace"))})


class _TopLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _Dali(spec.name, importlib.import_module("headrace").__doc__)
        module.__file__ = importlib.import_module("headrace").__file__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Everything is delegated."""


class _AliasLoader(Loader):
    """Gives the module of Headrace itself, so that classes and state exist once."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has just put the alias's there


class _Finder(MetaPathFinder):
    """Resolves `nvidia.dali` and everything below it: first on the meta path."""

    _made_by_headrace_as_dali = True

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname == _PREFIX:
            return ModuleSpec(fullname, _TopLoader(), is_package=True)
        if not fullname.startswith(_PREFIX + "."):
            return None
        relative = fullname[len(_PREFIX) + 1 :]
        name = f"headrace.{relative}"
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists, and one that it imports does not
        else:
            return ModuleSpec(
                fullname, _AliasLoader(module), is_package=hasattr(module, "__path__")
            )
        return None


class _NamespaceFinder(MetaPathFinder):
    """Makes `nvidia` an empty package if none is installed: last on the meta path."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, None, is_package=True) if fullname == "nvidia" else None


def _is_ours(thing: object) -> bool:
    """Whether a copy of this file made it. Asks the class: instances may answer to any name."""
    return any(_MARK in vars(kind) for kind in type(thing).__mro__)


def _site_folder() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_as_dali_site")


def install(children: bool = True) -> None:
    """Makes `nvidia.dali` resolve to Headrace in this process.

    Args:
        children: also in Python processes started from this one (through PYTHONPATH).

    Raises:
        RuntimeError: the real `nvidia.dali` was imported before.
    """
    loaded = sys.modules.get(_PREFIX)
    if loaded is not None and not _is_ours(loaded):
        raise RuntimeError(
            "nvidia.dali is imported already: call headrace.as_dali.install() before"
        )
    if not any(_is_ours(finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        sys.meta_path.append(_NamespaceFinder())
    if children:
        paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        if _site_folder() not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_site_folder(), *paths])


def _run_file(path: str) -> None:
    """Runs a script the way the interpreter does: it is `__main__` until the process ends."""
    import io

    sys.path[0] = os.path.dirname(os.path.realpath(path))
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), path, "exec")
    module = ModuleType("__main__")
    module.__file__ = path
    module.__spec__ = None
    vars(module)["__builtins__"] = __builtins__
    vars(module)["__cached__"] = None
    sys.modules["__main__"] = module
    exec(code, vars(module))


def _hide_own_frames() -> None:
    """Lets tracebacks begin at the program, without the frames that lead from here to it."""
    shown = sys.excepthook

    def show(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        rest = trace
        while rest is not None and _leads_here(rest.tb_frame.f_code.co_filename):
            rest = rest.tb_next
        if rest is None and not isinstance(error, SyntaxError):
            rest = trace  # the error is one of this file
        shown(kind, error.with_traceback(rest), rest)

    sys.excepthook = show


def _leads_here(filename: str) -> bool:
    return filename == __file__ or os.path.basename(filename) in ("runpy.py", "<frozen runpy>")


def main(argv: list[str] | None = None) -> int:
    """Command line; the script's own exit status goes through as SystemExit."""
    import runpy

    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help") or (args[0] in ("-m", "-c") and len(args) < 2):
        print(
            "usage: python -m headrace.as_dali [-m MODULE | -c CODE | SCRIPT] [ARGUMENTS...]\n\n"
            "Runs a program written for nvidia.dali on Headrace, unchanged.\n"
            "Processes that it starts (torchrun, DataLoader workers) run on Headrace, too."
        )
        return 0 if args and args[0] in ("-h", "--help") else 2
    install()
    _hide_own_frames()
    if args[0] == "-m":
        sys.argv = args[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    elif args[0] == "-c":
        sys.argv = ["-c", *args[2:]]
        sys.path[0] = ""
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(args[1], "<string>", "exec"), vars(module))
    elif os.path.isfile(args[0]) and not args[0].endswith((".pyz", ".zip")):
        sys.argv = args
        _run_file(args[0])
    elif os.path.exists(args[0]):
        sys.argv = args
        runpy.run_path(args[0], run_name="__main__")
    else:
        print(f"headrace.as_dali: no such file: {args[0]}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
