# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Nodes whose every sample is the same constant."""

from __future__ import annotations

from typing import Any

from headrace._base import types
from headrace._graph.graph import Instance, check_device

_LOSSY = {"float64": types.FLOAT, "int64": types.INT32, "uint64": types.UINT32}
_RANGES = {types.INT32: (-(2**31), 2**31 - 1), types.UINT32: (0, 2**32 - 1)}


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = "cpu",
    **kwargs: Any,
) -> Any:
    """A node whose every sample is `value`.

    Args:
        value: a number, a member of an enumeration, a list of either, or an array.
        dtype: element type. By default that of `value`; 64-bit types become 32-bit ones, as in DALI.
        shape: shape of each sample, by default that of `value`. A single number fills any shape.
        layout: layout of the samples.
        device: "cpu" or "gpu".

    Raises:
        TypeError: the value is not numeric, or `dtype` is not an element type.
        ValueError: no such device.
        RuntimeError: the number of values does not match the shape.
        OverflowError: without `dtype`, an integer does not fit into 32 bits.
    """
    check_device(device, "Constant")
    if isinstance(value, types.ScalarConstant):
        dtype = value.dtype if dtype is None else dtype
        value = value.value
    flat, own_shape, own_dtype = _flatten(value)
    low, high = _RANGES.get(own_dtype, (None, None)) if dtype is None else (None, None)
    if low is not None and high is not None and flat and not low <= min(flat) <= max(flat) <= high:
        raise OverflowError(f"{value} does not fit into {own_dtype.name}. Pass a larger dtype.")
    dtype = types.element_type(own_dtype if dtype is None else dtype, enums=True)
    if shape is None:
        shape = own_shape
    elif isinstance(shape, int):
        shape = [shape]
    args: dict[str, Any] = {"dtype": dtype, "shape": [int(n) for n in shape]}
    volume = 1
    for extent in args["shape"]:
        volume *= extent
    if len(flat) != volume and len(flat) != 1:
        raise RuntimeError(f"{len(flat)} values do not fill a tensor of shape {list(shape)}.")
    floats = dtype in (types.FLOAT, types.FLOAT16, types.FLOAT64)
    if floats or any(isinstance(v, float) for v in flat):
        args["fdata"] = [float(v) for v in flat]  # the operator rounds
    else:
        args["idata"] = [int(v) for v in flat]
    if layout:
        args["layout"] = str(layout)
    name = kwargs.pop("name", None)
    runs_on = "gpu" if device == "gpu" else "cpu"
    return Instance("constant", [], args | kwargs, {}, name, False, "Constant", runs_on).nodes()[0]


def _has_enums(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_enums, value))
    return types.enum_type(value) is not None


def _flatten_enums(value: Any) -> tuple[list[Any], list[int], types.DALIDataType]:
    """As `_flatten`, for a member of an enumeration or a list of members."""
    if not isinstance(value, (list, tuple)):
        return [value], [], types.enum_type(value)  # type: ignore[return-value]
    kinds = list(dict.fromkeys(map(type, value)))
    if list in kinds or tuple in kinds:
        raise TypeError("A constant of an enumeration has at most one dimension: use fn.reshape.")
    if len(kinds) > 1:
        raise TypeError(
            f"Expected all elements of the input to be the same enum type: `{kinds[0].__name__}` but got "
            f"`{kinds[1].__name__}` for one of the elements."
        )
    return list(value), [len(value)], types.enum_type(value[0])  # type: ignore[return-value]


def _flatten(value: Any) -> tuple[list[Any], list[int], types.DALIDataType]:
    """The elements in row-major order, the shape and the type of a number, list or array."""
    if _has_enums(value):
        return _flatten_enums(value)
    if isinstance(value, bool):
        return [value], [], types.BOOL
    if isinstance(value, int):
        return [value], [], types.INT32
    if isinstance(value, float):
        return [value], [], types.FLOAT
    if isinstance(value, (list, tuple)) and all(isinstance(v, (bool, int, float)) for v in value):
        if value and all(isinstance(v, bool) for v in value):
            return list(value), [len(value)], types.BOOL
        if not value or any(isinstance(v, float) for v in value):
            return list(value), [len(value)], types.FLOAT
        return list(value), [len(value)], types.INT32
    import numpy

    try:
        array = numpy.asarray(value)
    except ValueError:
        raise TypeError("A constant cannot be made from lists of different lengths.") from None
    name = array.dtype.name
    if array.dtype.kind not in "biuf":
        raise TypeError(f"A constant cannot be made from a {type(value).__name__}.")
    narrowed = isinstance(value, (list, tuple, numpy.ndarray, numpy.generic))  # as DALI does
    dtype = (narrowed and _LOSSY.get(name)) or types.to_dali_type(name)
    return array.reshape(-1).tolist(), list(array.shape), dtype
