# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions of nodes, element by element. Integers become FLOAT except in abs, min, max and clamp."""

from __future__ import annotations

from typing import Any

from headrace.data_node import DataNode, arithmetic

__all__ = (
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp cos cosh exp fabs floor fpow log "
    "log10 log2 max min pow rsqrt sin sinh sqrt tan tanh"
).split()

_TWO = ("atan2", "fpow", "max", "min", "pow")


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """`value`, but at least `lo` and at most `hi`; operands are nodes or numbers."""
    if not any(isinstance(operand, DataNode) for operand in (value, lo, hi)):
        raise ValueError("math.clamp() needs a DataNode among its arguments")
    if isinstance(value, DataNode) or isinstance(lo, DataNode):
        return arithmetic("min", arithmetic("max", value, lo), hi)
    return arithmetic("max", arithmetic("min", value, hi), lo)


def _function(name: str) -> Any:
    arity = 2 if name in _TWO else 1

    def function(*operands: Any) -> DataNode:
        if len(operands) != arity:
            raise TypeError(f"math.{name}() takes {arity} arguments, {len(operands)} were given")
        if not any(isinstance(operand, DataNode) for operand in operands):
            raise ValueError(f"math.{name}() needs a DataNode among its arguments")
        return arithmetic(name, *operands)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"`{name}` of the elements; operands are nodes or numbers."
    return function


for _name in __all__:
    globals().setdefault(_name, _function(_name))
