# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of elements that are members of an enumeration: which operators take them, and what becomes of the type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases_generic import Expression
from harness import Data, pictures

NUMBERS = Data([np.array([0, 2], np.int32), np.array([5, 1], np.int32)])
PAIRS = Data([np.array([[0, 2], [5, 1]], np.int32)], "FX")
KINDS = ("IMAGE_TYPE", "DATA_TYPE", "INTERP_TYPE")
IMAGE = pictures([(9, 7, 3), (9, 7, 3)])


def case(name: str, data: Data, apply: Callable[..., Any], kind: str = "INTERP_TYPE") -> Expression:
    """`apply` gets fn, types and a node whose elements are of type `kind`."""

    def define(engine: Any, node: Any, *more: Any) -> Any:
        members = engine.fn.reinterpret(node, dtype=getattr(engine.types, kind))
        return apply(engine.fn, engine.types, members, *more)

    return Expression(f"enum_{name}_{kind}", define, [data])


def free(name: str, apply: Callable[..., Any]) -> Expression:
    """`apply` gets fn and types."""
    return Expression(f"enum_{name}", lambda e, _: apply(e.fn, e.types), [NUMBERS])


def resized(fn: Any, types: Any, name: str, node: Any) -> Any:
    image = types.Constant(IMAGE.samples[0], layout="HWC", device="cpu")
    return fn.resize(image, size=[5, 4], **{name: node})


def as_interp(fn: Any, types: Any, x: Any) -> Any:
    return resized(fn, types, "interp_type", x[1])


COPYING: dict[str, Callable[..., Any]] = {
    "itself": lambda fn, types, x: x,
    "copy": lambda fn, types, x: fn.copy(x),
    "pos": lambda fn, types, x: +x,
    "reshape": lambda fn, types, x: fn.reshape(x, shape=[-1, 1]),
    "reinterpret": lambda fn, types, x: fn.reinterpret(x, dtype=types.INT32),
    "reinterpret_bytes": lambda fn, types, x: fn.reinterpret(x, dtype=types.UINT8),
    "expand_dims": lambda fn, types, x: fn.expand_dims(x, axes=[0]),
    "squeeze": lambda fn, types, x: fn.squeeze(fn.expand_dims(x, axes=[0]), axes=[0]),
    "at": lambda fn, types, x: x[1],
    "range": lambda fn, types, x: x[::-1],
    "permute": lambda fn, types, x: fn.permute_batch(x, indices=[0, 0]),
    "per_frame": lambda fn, types, x: fn.per_frame(x),
    "shape": lambda fn, types, x: x.shape(),
    "choice": lambda fn, types, x: fn.random.choice(x, p=[0, 1]),
    "choices": lambda fn, types, x: fn.random.choice(x, p=[0, 1], shape=[3]),
    "cast_like": lambda fn, types, x: fn.cast_like(types.Constant([3, -3]), x),
    "cast_to_like": lambda fn, types, x: fn.cast_like(x, types.Constant([1])),
}
REFUSED: dict[str, Callable[..., Any]] = {
    "cat": lambda fn, types, x: fn.cat(x, x),
    "stack": lambda fn, types, x: fn.stack(x, x),
    "transpose": lambda fn, types, x: fn.transpose(fn.reshape(x, shape=[1, 2]), perm=[1, 0]),
    "pad": lambda fn, types, x: fn.pad(x, axes=[0], shape=[4]),
    "slice": lambda fn, types, x: fn.slice(x, 0, 1, axes=[0]),
    "flip": lambda fn, types, x: fn.flip(fn.reshape(x, shape=[1, 2, 1], layout="HWC")),
    "crop": lambda fn, types, x: fn.crop(fn.reshape(x, shape=[1, 2, 1], layout="HWC"), crop=[1, 1]),
    "one_hot": lambda fn, types, x: fn.one_hot(x, num_classes=3),
    "lookup": lambda fn, types, x: fn.lookup_table(x, keys=[1], values=[4]),
    "sum": lambda fn, types, x: fn.reductions.sum(x),
    "max": lambda fn, types, x: fn.reductions.max(x),
    "normalize": lambda fn, types, x: fn.normalize(x),
    "full_like": lambda fn, types, x: fn.full_like(x, 1),
    "zeros_like": lambda fn, types, x: fn.zeros_like(x),
    "add": lambda fn, types, x: x + 1,
    "eq": lambda fn, types, x: x == x,
    "and": lambda fn, types, x: x & x,
    "neg": lambda fn, types, x: -x,
    "abs": lambda fn, types, x: abs(x),
    "choice_count": lambda fn, types, x: fn.random.choice(x[0]),
    "python": lambda fn, types, x: fn.python_function(x, function=lambda v: v),
    "index": lambda fn, types, x: types.Constant([5, 6, 7])[x[0]],
    "shape_argument": lambda fn, types, x: fn.reshape(types.Constant([1, 2]), shape=x),
    "range_argument": lambda fn, types, x: fn.random.uniform(range=x),
    "cast_FLOAT": lambda fn, types, x: fn.cast(x, dtype=types.FLOAT),
    "cast_FLOAT16": lambda fn, types, x: fn.cast(x, dtype=types.FLOAT16),
    "cast_like_float": lambda fn, types, x: fn.cast_like(x, types.Constant([1.0])),
    "cast_of_float": lambda fn, types, x: fn.cast_like(types.Constant([1.0]), x),
}
INTEGERS = "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64".split()


def cast_to(dtype: str) -> Callable[..., Any]:
    return lambda fn, types, x: fn.cast(x, dtype=getattr(types, dtype))


def cast_from(dtype: str, kind: str) -> Callable[..., Any]:
    def apply(fn: Any, types: Any) -> Any:
        numbers = fn.cast(types.Constant([-1, 0, 1, 100]), dtype=getattr(types, dtype))
        return fn.cast(numbers, dtype=getattr(types, kind))

    return apply


CASES: list[Any] = [
    *[case(name, NUMBERS, apply, kind) for name, apply in COPYING.items() for kind in KINDS],
    *[case("cast_" + name, NUMBERS, cast_to(name), kind) for name in INTEGERS for kind in KINDS],
    *[free(f"cast_from_{name}_{k}", cast_from(name, k)) for name in INTEGERS for k in KINDS],
    case("sequence", PAIRS, lambda fn, types, x: fn.sequence_rearrange(x, new_order=[1, 0])),
    case("extract", PAIRS, lambda fn, types, x: fn.element_extract(x, element_map=[1])),
    case("interp", NUMBERS, as_interp),
    case("mag_filter", NUMBERS, lambda fn, types, x: resized(fn, types, "mag_filter", x[1])),
    free("member", lambda fn, types: fn.copy(types.INT16)),
    free("members", lambda fn, types: fn.copy([types.INTERP_CUBIC, types.INTERP_GAUSSIAN])),
    free("tuple", lambda fn, types: fn.copy((types.RGB, types.GRAY))),
    free("constant", lambda fn, types: types.Constant(types.RGB)),
    free("constant_shape", lambda fn, types: types.Constant(types.INT16, shape=[2])),
    free("constant_layout", lambda fn, types: types.Constant([types.RGB], layout="X")),
    free("constant_dtype", lambda fn, types: types.Constant([5, 6], dtype=types.DATA_TYPE)),
    free("constant_other", lambda fn, types: types.Constant([types.RGB], dtype=types.DATA_TYPE)),
    free("constant_INT32", lambda fn, types: types.Constant([types.BGR], dtype=types.INT32)),
    free("constant_FLOAT", lambda fn, types: types.Constant([types.BGR], dtype=types.FLOAT)),
    free("choice_list", lambda fn, types: fn.random.choice([types.RGB, types.BGR], p=[0, 1])),
]
ERRORS: list[Any] = [
    *[case(name, NUMBERS, apply) for name, apply in REFUSED.items()],
    *[case("interp", NUMBERS, as_interp, kind) for kind in KINDS[:2]],
    free("interp_INT32", lambda fn, t: resized(fn, t, "interp_type", fn.copy(t.Constant(1)))),
    free("mixed", lambda fn, types: fn.copy([types.INT16, types.RGB])),
    free("mixed_int", lambda fn, types: fn.copy([types.INT16, 1])),
    free("nested", lambda fn, types: types.Constant([[types.INT16], [types.INT8]])),
    free("scalar", lambda fn, types: types.ScalarConstant(types.INT16)),
    free("uniform", lambda fn, t: fn.random.uniform(range=[0, 1], dtype=t.INTERP_TYPE)),
    free("zeros", lambda fn, types: fn.zeros(shape=[2], dtype=types.INTERP_TYPE)),
    free("coin_flip", lambda fn, types: fn.random.coin_flip(dtype=types.DATA_TYPE)),
]
