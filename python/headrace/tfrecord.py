# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The features that `fn.readers.tfrecord` takes from TFRecord files."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

from headrace._base import types

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]

int64 = 0
string = 1
float32 = 2

_DATA_TYPES = {types.INT64: int64, types.STRING: string, types.FLOAT: float32}
_TYPES = (("int64", int, "an int"), ("string", str, "a string"), ("float32", float, "a float"))


class Feature(tuple[str, list[int], str, Any]):
    """What to read from a feature: kind, shape, type and default. `FixedLenFeature` and `VarLenFeature` make it."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind, shape, dtype, default = self
        name = {"fixed": "FixedLenFeature", "var": "VarLenFeature"}[kind]
        return f"{name}({shape}, {dtype}, {default!r})"


def _number(dtype: int | types.DTypeLike) -> int:
    if type(dtype) is int:
        return dtype
    if dtype is str or dtype == "string":
        return string
    try:
        return _DATA_TYPES[types.to_dali_type(dtype)]
    except (KeyError, TypeError):
        raise TypeError(
            f"The type of a feature must be tfrecord.int64, string or float32, not {dtype!r}."
        ) from None


def _feature(
    kind: str, shape: Iterable[SupportsIndex], dtype: int | types.DTypeLike, default: Any
) -> Feature:
    number = _number(dtype)
    if number not in range(len(_TYPES)):
        raise RuntimeError("The type of a feature must be tfrecord.int64, string or float32.")
    extents = [operator.index(extent) for extent in shape]
    name, python_type, text = _TYPES[number]
    if not isinstance(default, python_type):
        raise RuntimeError(
            f"The default value of a feature of type tfrecord.{name} must be {text}, not {default!r}."
        )
    return Feature((kind, extents, name, default))


def FixedLenFeature(
    shape: Iterable[SupportsIndex], dtype: int | types.DTypeLike, default_value: object, /
) -> Feature:
    """A feature with a fixed number of values.

    Args:
        shape: the shape of the output. For strings its volume must be 1; the output is the bytes of the first string.
        dtype: `tfrecord.int64`, `tfrecord.float32` or `tfrecord.string`, or such a type of another library.
        default_value: takes the place of values that a record lacks.

    Raises:
        RuntimeError: the default value does not have the type `dtype`.
        TypeError: `dtype` is another type.
    """
    return _feature("fixed", shape, dtype, default_value)


@overload
def VarLenFeature(dtype: int | types.DTypeLike, default_value: object, /) -> Feature: ...
@overload
def VarLenFeature(
    partial_shape: Iterable[SupportsIndex], dtype: int | types.DTypeLike, default_value: object, /
) -> Feature: ...
def VarLenFeature(*arguments: Any) -> Feature:
    """A feature with any number of numbers: `VarLenFeature([partial_shape,] dtype, default_value)`.

    Args:
        partial_shape: all extents of the output but the first, which follows from the number of values.
        dtype: `tfrecord.int64` or `tfrecord.float32`, or such a type of another library.
        default_value: the value of the output if a record lacks the feature.

    Raises:
        RuntimeError: the default value does not have the type `dtype`.
        TypeError: wrong number of arguments, or `dtype` is another type.
    """
    if len(arguments) == 2:
        return _feature("var", (), *arguments)
    if len(arguments) == 3:
        return _feature("var", *arguments)
    raise TypeError(f"VarLenFeature takes 2 or 3 arguments, not {len(arguments)}.")
