# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Which keyword arguments reach which augmentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class MissingArgException(Exception):
    """An augmentation was called without arguments that it requires."""

    def __init__(self, message: str, augmentation: Any, missing_args: list[str]) -> None:
        super().__init__(message)
        self.augmentation = augmentation
        self.missing_args = missing_args


class UnusedArgException(Exception):
    """No augmentation takes an argument."""

    def __init__(self, message: str, unused_args: list[str]) -> None:
        super().__init__(message)
        self.unused_args = unused_args


def positional_count(function: Callable[..., Any]) -> int:
    """The number of parameters that can be given by position."""
    return sum(p.kind in _POSITIONAL for p in inspect.signature(function).parameters.values())


def _extra(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters after the samples and the parameter of the augmentation that can be given by name."""
    parameters = list(inspect.signature(function).parameters.items())
    return {
        name: parameter
        for i, (name, parameter) in enumerate(parameters)
        if parameter.kind in _KEYWORD and (i >= 2 or parameter.kind not in _POSITIONAL)
    }


def accepted(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `kwargs` that an augmentation's function takes."""
    names = _extra(function)
    return {name: value for name, value in kwargs.items() if name in names}


def missing(function: Callable[..., Any], kwargs: Collection[str]) -> list[str]:
    """The parameters without a default that are not in `kwargs`."""
    return [
        name
        for name, parameter in _extra(function).items()
        if parameter.default is parameter.empty and name not in kwargs
    ]


def forbid_unused_kwargs(
    functions: Iterable[Callable[..., Any]], kwargs: Mapping[str, Any], call_name: str
) -> None:
    """Checks that every argument is taken by the function of some augmentation.

    Raises:
        UnusedArgException: no augmentation takes one of the arguments.
    """
    used = {name for function in functions for name in accepted(function, kwargs)}
    unused = [name for name in kwargs if name not in used]
    if unused:
        noun, verb = ("kwarg", "is") if len(unused) == 1 else ("kwargs", "are")
        raise UnusedArgException(
            f"{call_name} got an unexpected argument. The {noun} `{', '.join(unused)}` {verb} not used by any of "
            "the augmentations.",
            unused,
        )
