# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pickles callbacks for spawned processes. Functions that cannot be imported are pickled by value, with their code."""

from __future__ import annotations

import builtins
import importlib
import io
import marshal
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_BY_VALUE = "_headrace_pickle_by_value"


def pickle_by_value(function: Any) -> Any:
    """Marks a function to be pickled by value (its code), not by reference (its name). Returns the function.

    Raises:
        TypeError: it is not a Python function.
    """
    if not isinstance(function, types.FunctionType):
        raise TypeError(
            f"Only functions can be explicitly set to be pickled by value, not {function!r}."
        )
    setattr(function, _BY_VALUE, True)
    return function


def functions(pickler: Any) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """The functions that pickle and unpickle a callback.

    Args:
        pickler: None, a module with ``dumps`` and ``loads``, or a tuple of the module and up to two dictionaries
            of keyword arguments for the two functions.

    Raises:
        ValueError: `pickler` is none of these.
    """
    if pickler is None:
        return dumps, loads
    module, *arguments = pickler if isinstance(pickler, (tuple, list)) else (pickler,)
    if len(arguments) > 2 or not all(hasattr(module, name) for name in ("dumps", "loads")):
        raise ValueError(
            "py_callback_pickler must be a module with the functions `dumps` and `loads`, or a tuple of the module "
            f"and up to two dictionaries of keyword arguments for them, not {pickler!r}."
        )
    first, second = [*arguments, {}, {}][:2]
    kwargs = first or {}
    return lambda value: module.dumps(value, **kwargs), _Loads(module, second or {})


class _Loads:
    """``loads`` of a user's pickler. Modules are pickled by name and imported in the worker."""

    def __init__(self, module: Any, kwargs: dict[str, Any]) -> None:
        self._name = module.__name__ if isinstance(module, types.ModuleType) else None
        self._module = None if self._name else module
        self._kwargs = kwargs

    def __call__(self, data: bytes) -> Any:
        module = self._module or importlib.import_module(self._name or "")
        return module.loads(data, **self._kwargs)


# ---- functions by value ----


def _empty_cell() -> Any:
    return types.CellType()


def _make_function(code: bytes, name: str, module: str, closure: int) -> types.FunctionType:
    cells = tuple(_empty_cell() for _ in range(closure))
    space = {"__builtins__": builtins, "__name__": module}
    return types.FunctionType(marshal.loads(code), space, name, None, cells or None)


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__qualname__ = state["qualname"]
    function.__dict__.update(state["dict"])
    for cell, value in zip(function.__closure__ or (), state["cells"], strict=True):
        if value:
            cell.cell_contents = value[0]


def _import(name: str) -> types.ModuleType:
    return importlib.import_module(name)


def _names(code: types.CodeType) -> Iterator[str]:
    """Global names that the code, or code nested in it, may use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _importable(function: types.FunctionType) -> bool:
    if getattr(function, _BY_VALUE, False) or function.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _cell(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not filled yet
        return ()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return _import, (value.__name__,)
        if not isinstance(value, types.FunctionType) or _importable(value):
            return NotImplemented
        cells = value.__closure__ or ()
        state = {
            "globals": {
                name: value.__globals__[name]
                for name in _names(value.__code__)
                if name in value.__globals__
            },
            "defaults": value.__defaults__,
            "kwdefaults": value.__kwdefaults__,
            "qualname": value.__qualname__,
            "dict": value.__dict__,
            "cells": [_cell(cell) for cell in cells],
        }
        code = marshal.dumps(value.__code__)
        made = (code, value.__name__, value.__module__ or "", len(cells))
        return _make_function, made, state, None, None, _fill_function


def dumps(value: Any) -> bytes:
    """Pickles a value. Lambdas, local functions and functions of the main module are pickled by value."""
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


loads = pickle.loads
