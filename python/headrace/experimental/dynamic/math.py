# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Mathematical functions of tensors and batches, computed element by element; as `headrace.math`."""

from __future__ import annotations

from typing import Any

from headrace.experimental.dynamic._operators import arithmetic

__all__ = (
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp cos cosh exp fabs floor fpow log "
    "log10 log2 max min pow rsqrt sin sinh sqrt tan tanh"
).split()


def clamp(value: Any, lo: Any, hi: Any) -> Any:
    """`value` limited to the range from `lo` to `hi`."""
    return arithmetic("min", arithmetic("max", value, lo), hi)


def _function(name: str) -> Any:
    two = name in ("atan2", "fpow", "max", "min", "pow")

    def unary(input: Any, /) -> Any:
        return arithmetic(name, input)

    def binary(left: Any, right: Any, /) -> Any:
        return arithmetic(name, left, right)

    function = binary if two else unary
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    return function


for _name in __all__:
    globals().setdefault(_name, _function(_name))
