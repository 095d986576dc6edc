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

_ARITY = {"atan2": 2, "clamp": 3, "fpow": 2, "max": 2, "min": 2, "pow": 2}


def _function(name: str) -> Any:
    arity = _ARITY.get(name, 1)

    def function(*operands: Any) -> DataNode:
        if len(operands) != arity:
            raise TypeError(f"math.{name}() takes {arity} arguments, {len(operands)} were given")
        if not any(isinstance(operand, DataNode) for operand in operands):
            raise TypeError(f"math.{name}() needs a DataNode among its arguments")
        return arithmetic(name, *operands)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"`{name}` of the elements; operands are nodes or numbers."
    return function


for _name in __all__:
    globals()[_name] = _function(_name)
