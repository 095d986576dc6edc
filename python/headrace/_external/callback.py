# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What users give as a source, as something to call: callables, iterables, generators, generator functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any


def _positional(function: Callable[..., Any]) -> tuple[int, int]:
    """Positional parameters without default, and all of them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0, 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [p for p in parameters if p.kind in kinds]
    return sum(p.default is inspect.Parameter.empty for p in own), len(own)


def _takes_argument(function: Callable[..., Any]) -> bool:
    required, count = _positional(function)
    if required > 1:
        raise TypeError(
            "External source callback must be a callable with 0 or 1 argument, this one needs "
            f"{required}."
        )
    return required == 1 or count == 1


def _cycling(cycle: Any) -> str:
    """One of "no", "quiet", "raise"."""
    if cycle is None or cycle is False or cycle == "no":
        return "no"
    if cycle is True or cycle == "quiet":
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise ValueError(
        f'Invalid value {cycle!r} for the argument `cycle`: None, False or "no", True or "quiet", or '
        '"raise".'
    )


class Items:
    """An iterable or generator function as a callable without argument."""

    def __init__(self, make: Callable[[], Iterator[Any]], cycle: str) -> None:
        self._make = make
        self._cycle = cycle
        self._iterator = make()

    def __call__(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle == "no":
                raise
            self._iterator = self._make()
            if self._cycle == "raise":
                raise
            return next(self._iterator)


def callback_of(source: Any, cycle: Any) -> tuple[Callable[..., Any], bool, bool]:
    """The source as a callable, whether it takes an argument, and whether it is a plain callable.

    Raises:
        TypeError: it is no source.
        ValueError: `cycle` where nothing can be cycled.
    """
    mode = _cycling(cycle)
    call = getattr(type(source), "__call__", None)  # noqa: B004 - an object whose call generates
    if inspect.isgeneratorfunction(source) or inspect.isgeneratorfunction(call):
        if _positional(source)[0]:
            raise TypeError("A generator function passed as `source` must not need an argument.")
        return Items(source, mode), False, False
    if inspect.isgenerator(source):
        if mode != "no":
            raise TypeError(
                "Cannot cycle through a generator - if the generator is a result of calling a generator "
                "function, pass that function instead."
            )
        return Items(lambda: source, mode), False, False
    kind = type(source)
    iterable = hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")  # before being called, as in DALI
    if callable(source) and not iterable:
        if cycle is not None:
            raise ValueError("`cycle` argument is only valid for iterable `source`")
        return source, _takes_argument(source), True
    try:
        iter(source)
    except TypeError:
        raise TypeError(
            f"`source` must be a callable, an iterable or a generator function, not "
            f"{type(source).__name__}."
        ) from None
    return Items(lambda: iter(source), mode), False, False
