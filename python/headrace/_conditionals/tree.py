# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Nested tuples, lists and dictionaries of nodes. None is a structure without leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _children(value: Any) -> list[Any] | None:
    """The items of a structure, or None for a leaf."""
    if value is None:
        return []
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (tuple, list)) else None


def alike(a: Any, b: Any) -> bool:
    """Whether both have the same structure."""
    if _children(a) is None or _children(b) is None:
        return _children(a) is _children(b)
    if type(a) is not type(b) or len(_children(a) or []) != len(_children(b) or []):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    return all(alike(x, y) for x, y in zip(_children(a) or [], _children(b) or [], strict=True))


def map_leaves(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """Applies `function` to each leaf, or to corresponding leaves of several structures that are alike. Returns the
    same structure."""
    if value is None:
        return None
    if isinstance(value, dict):
        made = {k: map_leaves(function, v, *(o[k] for o in others)) for k, v in value.items()}
        if type(value) is dict:
            return made
        copied = value.copy()
        copied.update(made)
        return copied
    if isinstance(value, (tuple, list)):
        items = [map_leaves(function, *row) for row in zip(value, *others, strict=True)]
        make = getattr(type(value), "_make", type(value))  # named tuples
        return make(items)
    return function(value, *others)


def sketch(value: Any) -> str:
    """The structure as text with ``*`` for leaves: ``(*, [*, *])``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {sketch(v)}" for k, v in value.items()) + "}"
    children = _children(value)
    if value is None or children is None:
        return "None" if value is None else "*"
    inner = ", ".join(map(sketch, children))
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(children) == 1 else f"({inner})"
