# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The transforms that the code of a data set may call.

They are found where Python code has them: in attributes, lists and dictionaries, and in the globals
and closures of functions, such as that of `set_transform` of Hugging Face's `datasets`.
"""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

from headrace.torch._compile.table import owned

# Code that calls one of these may repeat random numbers, for example for an image and its mask.
SEEDS = {"manual_seed", "seed", "set_rng_state", "setstate", "set_state", "fork_rng"}
_LIBRARIES = {"torch", "torchvision", "builtins", "numpy", "PIL", "pyarrow", "pandas", "datasets"}
_LIBRARIES |= {"headrace", "collections", "abc", "typing", "os", "pathlib", "random", "functools"}
_WIDEST = 64  # elements of a list that are looked at
_MOST = 3000  # objects


class Found:
    """What there is within a data set.

    Attributes:
        transforms: of torchvision, each of them once. Those within another one are not listed.
        objects: all that were looked at.
        seeds: a function that sets the seeds or states of random numbers, if there is one.
    """

    def __init__(self, dataset: Any) -> None:
        self.transforms: list[Any] = []
        self.seeds: str | None = None
        self.objects: list[Any] = []  # kept, else another object might get the same id
        seen: set[int] = set()
        queue = deque([dataset])
        while queue and len(seen) < _MOST:
            one = queue.popleft()
            if id(one) in seen:
                continue
            seen.add(id(one))
            self.objects.append(one)
            if is_transform(one):
                self.transforms.append(one)
            else:
                queue.extend(self._within(one))

    def _within(self, one: Any) -> Iterator[Any]:
        if isinstance(one, dict):
            yield from list(one.values())[:_WIDEST]
        elif isinstance(one, (list, tuple)):
            yield from one[:_WIDEST]
        elif isinstance(one, types.FunctionType):
            yield from self._function(one)
        elif isinstance(one, types.MethodType):
            yield from (one.__self__, one.__func__)
        elif isinstance(one, functools.partial):
            yield from (one.func, one.args, one.keywords)
        elif isinstance(one, (staticmethod, classmethod)):
            yield one.__func__
        elif isinstance(one, property):
            yield one.fget
        elif isinstance(one, type):
            yield from _members(one)
        elif hasattr(one, "__dict__") and not isinstance(one, (types.ModuleType, torch.Tensor)):
            yield from list(vars(one).values())[:_WIDEST]
            yield type(one)

    def _function(self, function: Any) -> Iterator[Any]:
        if _library(function):
            return
        codes = list(_codes(function.__code__))
        if function.__name__ == "__init__":  # it has run, but functions within it have not
            codes = codes[1:]
        names = {name for code in codes for name in code.co_names}
        if SEEDS & names:
            self.seeds = function.__qualname__
        yield from (function.__globals__[name] for name in names if name in function.__globals__)
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it is empty
                continue
        yield from (function.__defaults__, function.__kwdefaults__, vars(function))


def is_transform(one: Any) -> bool:
    """Whether an object is a transform of torchvision, or a sequence of them."""
    kind = type(one)
    if not owned(kind) or not callable(one):
        return False
    if isinstance(one, torch.nn.Module) and kind.__module__.startswith("torch.nn."):
        return kind.__name__ == "Sequential" and len(one) > 0 and all(map(is_transform, one))
    return True


def _members(kind: type) -> Iterator[Any]:
    for base in kind.__mro__:
        if not _library(base):
            yield from vars(base).values()


def _library(one: Any) -> bool:
    name = str(getattr(one, "__module__", "")).partition(".")[0]
    if name == "datasets" and not hasattr(sys.modules.get(name), "load_dataset"):
        return False  # a module of the user, not that of Hugging Face
    return name in _LIBRARIES


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
