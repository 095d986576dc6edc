# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Converts the `source` argument (callable, iterable, generator or generator function) to one callable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from headrace import _core

_REFUSED = {
    inspect.Parameter.VAR_POSITIONAL: "var-positional argument `*{}`",
    inspect.Parameter.VAR_KEYWORD: "var-keyword argument `**{}`",
    inspect.Parameter.KEYWORD_ONLY: "keyword-only argument `{}`",
}


def _takes_argument(function: Callable[..., Any]) -> bool:
    """Whether a callable takes an argument: the index of a batch or sample.

    Raises:
        TypeError: it takes variadic or keyword-only arguments, or more than one argument.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    given = function.keywords if isinstance(function, functools.partial) else {}
    parameters = [p for p in parameters if p.name not in given]
    found = [_REFUSED[p.kind].format(p.name) for p in parameters if p.kind in _REFUSED]
    if not found and len(parameters) > 1:
        found = ["more than one positional argument,"]
    if found:
        raise TypeError(
            "The `source` callable must accept either 0 or 1 positional arguments to indicate whether it accepts "
            f"the batch or sample indexing information. Found {found[0]} which is not allowed."
        )
    return len(parameters) == 1


def _required(function: Callable[..., Any]) -> int:
    """The number of positional arguments without default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def _cycling(cycle: Any) -> str:
    """The `cycle` argument as one of "no", "quiet", "raise"."""
    if cycle is None or cycle is False or cycle == "no":
        return "no"
    if cycle is True or cycle == "quiet":
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise ValueError(
        f'Invalid value {cycle!r} for the argument `cycle`. Valid values are None, False, "no", True, "quiet" and '
        '"raise".'
    )


class Items:
    """A callable without argument that returns the next item of an iterable or generator function.

    An exception of a signal handler loses no item: handlers run after calls, so an item is returned without any call
    after it is no longer kept.
    """

    def __init__(self, make: Callable[[], Iterator[Any]], cycle: str) -> None:
        self._make = make
        self._cycle = cycle
        self._iterator = make()
        self._next: list[Any] = []  # an item that was not returned yet

    def __call__(self) -> Any:
        if not self._next:
            try:
                _core.collect(self._next, self._iterator.__next__)
            except StopIteration:
                if self._cycle == "no":
                    raise
                again = self._make()
                self._iterator = again
                if self._cycle == "raise":
                    raise
                _core.collect(self._next, self._iterator.__next__)
        item = self._next[0]
        self._next = []
        return item


def callback_of(source: Any, cycle: Any) -> tuple[Callable[..., Any], bool, bool]:
    """Converts a source to a callable.

    Returns:
        The callable, whether it takes an argument, and whether the source itself is the callable.

    Raises:
        TypeError: `source` is not a source.
        ValueError: `cycle` for a source that is not iterable.
    """
    mode = _cycling(cycle)
    call = getattr(type(source), "__call__", None)  # noqa: B004 - may be a generator function
    if inspect.isgeneratorfunction(source) or inspect.isgeneratorfunction(call):
        if _required(source):
            raise TypeError(
                "A generator function passed as `source` must not have required arguments."
            )
        return Items(source, mode), False, False
    if inspect.isgenerator(source):
        if mode != "no":
            raise TypeError(
                "Cannot cycle through a generator - if the generator is a result of calling a generator "
                "function, pass that function instead as `source`."
            )
        return Items(lambda: source, mode), False, False
    kind = type(source)
    iterable = hasattr(kind, "__iter__") or hasattr(
        kind, "__getitem__"
    )  # before being called, as in DALI
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
