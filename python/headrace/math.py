# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Mathematical functions of nodes, computed element by element.

Operands are nodes, numbers or arrays; at least one must not be a number. Operands are broadcast like in arithmetic.
Integers are converted to FLOAT, except by `abs`, `min`, `max`, `clamp` and `pow`.

All functions raise ValueError if every operand is a number, and TypeError for a list of nodes.
"""

from __future__ import annotations

from typing import Any

from headrace.data_node import DataNode, arithmetic, check_operand, is_number

__all__ = (
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp cos cosh exp fabs floor fpow log "
    "log10 log2 max min pow rsqrt sin sinh sqrt tan tanh"
).split()


def _checked(name: str, *operands: Any) -> None:
    """Raises TypeError for a list of nodes, and ValueError if all operands are numbers."""
    for side, operand in enumerate(operands):
        check_operand(name, side, operand)
    if all(is_number(operand) for operand in operands):
        raise ValueError(f"math.{name}() needs a DataNode, a list or an array among its arguments")


def _apply(name: str, *operands: Any) -> DataNode:
    _checked(name, *operands)
    return arithmetic(name, *operands)


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """`value` limited to the range from `lo` to `hi`."""
    _checked("clamp", value, lo, hi)
    if is_number(value) and is_number(lo):
        return arithmetic("max", arithmetic("min", value, hi), lo)
    return arithmetic("min", arithmetic("max", value, lo), hi)


def atan2(x: Any, y: Any) -> DataNode:
    """The angle in radians, from -pi to pi, of the point with ordinate `x` and abscissa `y`: C's ``atan2(x, y)``."""
    return _apply("atan2", x, y)


def fpow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`. Integers are converted to FLOAT."""
    return _apply("fpow", base, exponent)


def max(left: Any, right: Any) -> DataNode:
    """The greater of two elements."""
    return _apply("max", left, right)


def min(left: Any, right: Any) -> DataNode:
    """The lesser of two elements."""
    return _apply("min", left, right)


def pow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`. The result of integers is an integer."""
    return _apply("pow", base, exponent)


def _function(name: str) -> Any:
    def function(input: Any) -> DataNode:
        return _apply(name, input)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"`{name}` of each element of a node."
    return function


for _name in __all__:
    globals().setdefault(_name, _function(_name))
