# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Element types, kinds of images and of interpolation, constants, and other types of the interface."""

from __future__ import annotations

from typing import Any

from headrace._base import types as _types
from headrace._base.types import *  # noqa: F403
from headrace._base.types import DTypeLike, ScalarConstant, enum_type, is_enum
from headrace._graph.constants import constant as _constant
from headrace.data_node import DataNode as _DataNode
from headrace.data_node import arithmetic as _data_node_arithmetic


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if not any(isinstance(side, _DataNode) for side in (left, right)):
        raise TypeError("One operand of an operation with a constant must be a DataNode.")
    return _data_node_arithmetic(op, left, right)


def _add_operators() -> None:
    """Adds the operators of DataNode; an operation on two constants is an error."""

    def both(op: str) -> tuple[Any, Any]:
        def forward(self: ScalarConstant, other: Any) -> Any:
            return _arithmetic(op, self, other)

        def backward(self: ScalarConstant, other: Any) -> Any:
            return _arithmetic(op, other, self)

        return forward, backward

    names = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
    for name in names:
        forward, backward = both({"truediv": "div"}.get(name, name))
        setattr(ScalarConstant, f"__{name}__", forward)
        setattr(ScalarConstant, f"__r{name}__", backward)
    for name in "eq ne lt le gt ge".split():
        setattr(ScalarConstant, f"__{name}__", both(name)[0])
    ScalarConstant.__hash__ = object.__hash__  # type: ignore[method-assign]


_add_operators()


def Constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> Any:
    """A constant: a `ScalarConstant`, or a node with the same value for every sample.

    A number without `shape`, `layout` and `device` gives a `ScalarConstant`.

    Args:
        value: number, list of numbers, array, or member or list of members of an enumeration
            (`types.INTERP_LINEAR`, which gives elements of type `INTERP_TYPE`).
        dtype: element type; by default that of the value, except that NumPy's float64 becomes
            FLOAT and int64 becomes INT32.
        shape: shape of the tensor; by default that of the value.
        layout: one letter per dimension.
        device: "cpu" or "gpu".

    Raises:
        TypeError: the value is not numeric, or `dtype` is not an element type.
        RuntimeError: the number of values does not match the shape.
        OverflowError: an integer does not fit into INT32 and no `dtype` was given.
    """
    number = isinstance(value, (bool, int, float)) or getattr(value, "shape", None) == ()
    number = number and enum_type(value) is None and not (dtype is not None and is_enum(dtype))
    if number and device is None and layout is None and not shape and not kwargs:
        return ScalarConstant(value, dtype)
    if isinstance(value, ScalarConstant):
        dtype = value.dtype if dtype is None else dtype
        value = value.value
    return _constant(value, dtype, shape, layout, device or "cpu", **kwargs)


ConstantNode = Constant

for _name in _types.__all__:
    if isinstance(getattr(_types, _name), type):
        getattr(_types, _name).__module__ = __name__  # for pickles and messages
