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


def _apply(name: str, *operands: Any) -> DataNode:
    for i, operand in enumerate(operands):
        if isinstance(operand, (list, tuple)) and any(isinstance(v, DataNode) for v in operand):
            raise TypeError(
                f"input {i} of operator `{name}` must be a DataNode, a number or an array. "
                f"Got a `{type(operand).__name__}` with nested DataNode: use fn.stack or fn.cat."
            )
    if not any(isinstance(operand, DataNode) for operand in operands):
        raise ValueError(f"math.{name}() needs a DataNode among its arguments")
    return arithmetic(name, *operands)


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """`value`, but at least `lo` and at most `hi`; operands are nodes or numbers."""
    if not any(isinstance(operand, DataNode) for operand in (value, lo, hi)):
        raise ValueError("math.clamp() needs a DataNode among its arguments")
    if isinstance(value, DataNode) or isinstance(lo, DataNode):
        return arithmetic("min", arithmetic("max", value, lo), hi)
    return arithmetic("max", arithmetic("min", value, hi), lo)


def atan2(x: Any, y: Any) -> DataNode:
    """The angle, in radians, whose sine and cosine are as `x` to `y`; operands are nodes or numbers."""
    return _apply("atan2", x, y)


def fpow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`, as floats; operands are nodes or numbers."""
    return _apply("fpow", base, exponent)


def max(left: Any, right: Any) -> DataNode:
    """The greater of two elements; operands are nodes or numbers."""
    return _apply("max", left, right)


def min(left: Any, right: Any) -> DataNode:
    """The lesser of two elements; operands are nodes or numbers."""
    return _apply("min", left, right)


def pow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`; operands are nodes or numbers."""
    return _apply("pow", base, exponent)


def _function(name: str) -> Any:
    def function(input: Any) -> DataNode:
        return _apply(name, input)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"`{name}` of the elements of a node."
    return function


for _name in __all__:
    globals().setdefault(_name, _function(_name))
