# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
TYPES = [*INTEGERS, "float32"]
NAMES = ["sum", "min", "max", "mean", "mean_square", "rms"]
VARIANCES = ["std_dev", "variance"]


def enum(dtype: str) -> str:
    return "types." + ("FLOAT" if dtype == "float32" else dtype.upper())


def summed(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Integers must be equal; floats within the rounding of single precision: DALI adds up floats, Headrace doubles."""
    if ours.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
    else:
        scale = float(np.abs(np.nan_to_num(theirs)).max(initial=0))
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-7 * scale)


def images(dtype: str) -> Data:
    return pictures([(19, 23, 3), (40, 1, 3), (3, 70, 1)], dtype)


# Axes that are outer, inner, adjacent or apart; rows that are narrow, wide, short or long.
AXES: list[dict[str, Any]] = [
    {},
    {"axes": [0]},
    {"axes": [1]},
    {"axes": [2]},
    {"axes": [0, 1]},
    {"axes": [-1, 0]},
    {"axes": [1, 2], "keep_dims": True},
    {"axes": []},
    {"axes": 1},
    {"axis_names": "HW"},
    {"axis_names": "C", "keep_dims": True},
    {"axis_names": ""},
    {"keep_dims": True},
]


def with_means(data: Data, args: dict[str, Any], keep: bool) -> Data:
    """Means along the axes of a case, slightly changed."""
    names = args.get("axis_names")
    axes = [data.layout.index(n) for n in names] if names is not None else args.get("axes")
    if axes is not None:
        axes = tuple(np.atleast_1d(np.array(axes, int)))
    means = [s.astype(float).mean(axis=axes, keepdims=keep) for s in data.samples]
    return Data([np.asarray(m + 0.25, np.float32) for m in means])


def reduction_cases() -> list[Case]:
    cases = []
    for name in NAMES + VARIANCES:
        for dtype in TYPES:
            data = images(dtype)
            if dtype == "uint16":  # DALI squares 65535 as an int, which overflows
                data = Data([s // 2 for s in data.samples], "HWC")
            for args in AXES if dtype in ("uint8", "int32", "float32") else AXES[:6]:
                more = [with_means(data, args, False)] if name in VARIANCES else []
                cases.append(Case("reductions." + name, [data, *more], args, summed))
    for name in NAMES:
        for shape in ((), (1,), (17,), (5000,), (2, 3, 4, 5), (3, 16, 2, 5, 2), (1, 70, 65)):
            for dtype in ("uint8", "float32"):
                data = pictures([shape], dtype, "")
                for axes in ([], [0], [1, 3], [-2], [0, 2, 4]):
                    if max([len(shape), *[a + 1 for a in axes]]) == len(shape) >= -min([0, *axes]):
                        cases.append(Case("reductions." + name, [data], {"axes": axes}, summed))
    return cases


def dtype_cases() -> list[Case]:
    cases = []
    small = {t: Data([np.array([[1, 2, 3], [4, 5, 6]], t)]) for t in TYPES}
    signed = {t: Data([np.array([[-1, 2, 0], [-4, 5, -9]], t)]) for t in TYPES if "u" not in t}
    for data in (small, signed):
        for dtype, values in data.items():
            wide = "FLOAT" if dtype == "float32" else "INT64"
            wide = "types." + ("U" if "u" in dtype else "") + wide
            for name in ("mean", "rms", "mean_square"):
                own = wide if name == "mean_square" else enum(dtype)
                for target in sorted({own, "types.FLOAT"}):
                    for axes in ({"axes": [0]}, {"axes": [1]}):
                        args = {"dtype": target, **axes}
                        cases.append(Case("reductions." + name, [values], args, summed))
            some = {enum(dtype), "types.FLOAT"} if dtype in TYPES and "64" not in dtype else set()
            for target in sorted({wide, *some}):
                cases.append(Case("reductions.sum", [values], {"dtype": target}, summed))
    wraps = Data([np.array([200, 100, 250], np.uint8)])
    cases.append(Case("reductions.sum", [wraps], {"dtype": "types.UINT8"}))
    wraps = Data([np.array([-100, -100], np.int8)])
    cases.append(Case("reductions.sum", [wraps], {"dtype": "types.INT8"}))
    big = Data([np.array([2**63 - 1, 5], np.int64)])
    cases.append(Case("reductions.sum", [big], {}))
    huge = Data([np.array([2**62] * 3, np.int64)])
    cases.append(Case("reductions.mean", [huge], {}, summed))
    squares = Data([np.array([2**20, 2**31 - 1], np.int32)])
    cases.append(Case("reductions.mean_square", [squares], {}, summed))
    return cases


def odd_cases() -> list[Case]:
    """No axes, NaN, infinities, long sums."""
    cases = []
    nothing = Data([np.zeros((0, 3), np.float32), np.zeros((2, 0), np.float32)])
    no_bytes = Data([np.zeros((0, 3), np.uint8)])
    nans = Data([np.array([np.nan, 1, -3, np.nan, 7], np.float32), np.array([np.nan], np.float32)])
    infinite = Data([np.array([np.inf, np.inf], np.float32), np.array([-np.inf] * 3, np.float32)])
    for name in NAMES:
        for data in (nothing, no_bytes, nans, infinite):
            for args in ({}, {"axes": [0]}, {"axes": []}):
                if data is infinite and name in ("mean_square", "rms"):
                    continue
                cases.append(Case("reductions." + name, [data], args, summed))
    zero = Data([np.float32(0)])
    for name in VARIANCES:
        cases.append(Case("reductions." + name, [no_bytes, zero], {}))
        number = Data([np.float32(10)])
        for args in ({}, {"axes": []}):
            cases.append(Case("reductions." + name, [number, Data([np.float32(4)])], args, summed))
        scalar = Data([np.array([[1, 5], [7, 8]], np.uint8)])
        for shape in ((), (1,), (1, 1), (1, 1, 1)):
            mean = Data([np.full(shape, 4.5, np.float32)])
            cases.append(Case("reductions." + name, [scalar, mean], {}, summed))
        pair = Data([np.array([3, 6], np.float32)])
        for ddof in (1, 2, 3, -1):
            args = {"axes": [0], "ddof": ddof}
            cases.append(Case("reductions." + name, [scalar, pair], args, summed))
        cases.append(Case("reductions." + name, [nans, Data([zero.samples[0]] * 2)], {}, summed))
    long = pictures([(300, 211, 3)], np.float32)
    bytes_ = pictures([(700, 300, 3)], np.uint8)
    for name in ("sum", "mean", "mean_square"):
        for args in ({}, {"axes": [0, 1]}, {"axes": [0]}, {"axes": [1]}, {"axes": [2]}):
            cases.append(Case("reductions." + name, [long], args, summed))
            cases.append(Case("reductions." + name, [bytes_], args, summed))
    return cases


CASES = [*reduction_cases(), *dtype_cases(), *odd_cases()]

IMAGE = pictures([(4, 5, 3)])
MEAN = Data([np.array([1, 2, 3], np.float32)])
ERRORS = [
    *[
        Case("reductions." + name, [Data([np.ones(3, dtype)])], {})
        for name in NAMES
        for dtype in ("float16", "float64", "bool")
    ],
    *[
        Case("reductions." + name, [IMAGE], args)
        for name in ("sum", "min", "mean", "rms")
        for args in (
            {"axes": [3]},
            {"axes": [-4]},
            {"axes": [1, 1]},
            {"axis_names": "X"},
            {"axis_names": "H", "axes": [0]},
            {"ddof": 1},
        )
    ],
    Case("reductions.sum", [Data([np.float32(1)])], {"axes": [0]}),
    Case("reductions.sum", [Data(IMAGE.samples)], {"axis_names": "H"}),
    Case("reductions.sum", [IMAGE], {"dtype": "types.INT8"}),
    Case("reductions.sum", [IMAGE], {"dtype": "types.FLOAT64"}),
    Case("reductions.sum", [Data([np.ones(3, np.int64)])], {"dtype": "types.FLOAT"}),
    Case("reductions.sum", [Data([np.ones(3, np.float32)])], {"dtype": "types.INT64"}),
    Case("reductions.mean", [IMAGE], {"dtype": "types.INT32"}),
    Case("reductions.rms", [IMAGE], {"dtype": "types.UINT16"}),
    Case("reductions.mean_square", [IMAGE], {"dtype": "types.UINT8"}),
    Case("reductions.min", [IMAGE], {"dtype": "types.UINT8"}),
    Case("reductions.variance", [IMAGE], {}),
    Case("reductions.variance", [IMAGE, Data([np.int32(1)])], {}),
    Case("reductions.std_dev", [IMAGE, Data([np.float64(1)])], {}),
]
