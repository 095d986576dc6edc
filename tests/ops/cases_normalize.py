# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures

TYPES = "uint8 uint16 uint32 int8 int16 int32 float32".split()


def normal(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Floats must agree within 1e-5 of their range; integers may differ by 1 where single precision rounds."""
    difference = np.abs(ours.astype(float) - theirs.astype(float))
    if ours.dtype.kind == "f":
        scale = max(1.0, float(np.abs(np.nan_to_num(theirs, posinf=0, neginf=0)).max(initial=0)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * scale)
    elif difference.size:
        assert difference.max() <= 1 and np.mean(difference) < 0.01


def tensors(shape: tuple[int, ...], count: int = 2) -> Data:
    rng = np.random.default_rng(5)
    return Data([(rng.random(shape) * 50 + 20).astype(np.float32) for _ in range(count)])


AXES: list[dict[str, Any]] = [
    {},
    {"axes": [0]},
    {"axes": [1]},
    {"axes": [2]},
    {"axes": 2},
    {"axes": [0, 1]},
    {"axes": [1, 2]},
    {"axes": [0, 2]},
    {"axis_names": "HW"},
    {"axis_names": "C"},
    {"axis_names": ""},
]
OPTIONS: list[dict[str, Any]] = [
    {"ddof": 1},
    {"ddof": -1},
    {"ddof": 10**6},
    {"epsilon": 100.0},
    {"scale": 64.0, "shift": 128.0},
    {"mean": 100.0},
    {"mean": 100.0, "ddof": 1, "epsilon": 3.0},
    {"stddev": 30.0},
    {"stddev": 30.0, "epsilon": 500.0},
    {"stddev": -30.0, "scale": 2.0},
    {"mean": 100.0, "stddev": 30.0},
    {"mean": 100.0, "stddev": 30.0, "epsilon": 500.0, "ddof": 1},
]


def cases() -> list[Case]:
    images = pictures([(19, 23, 3), (7, 300, 3)])
    found = [Case("normalize", [images], args, normal) for args in AXES + OPTIONS]
    for options in OPTIONS[:9]:
        found.append(Case("normalize", [images], {"axes": [0, 1], **options}, normal))
    for dtype in TYPES:
        found.append(Case("normalize", [pictures([(9, 7, 3)], dtype)], {"axes": [0, 1]}, normal))
        target = "types." + ("FLOAT" if dtype == "float32" else dtype.upper())
        args = {"dtype": target, "scale": 40.3, "shift": 100.0}
        found.append(Case("normalize", [images], args, normal))
        found.append(Case("normalize", [pictures([(9, 7, 3)], np.float32)], args, normal))
    for shape in ((2, 3, 4, 5, 3), (6, 1, 700, 2), (600,), (1, 1)):
        data = pictures([shape], np.float32, "")
        for axes in ([0], [1], [0, 2], [1, 3], [0, 1, 2]):
            if max(axes) < len(shape):
                found.append(Case("normalize", [data], {"axes": axes}, normal))
    batch = pictures([(19, 23, 3), (7, 30, 3), (19, 23, 3)])
    for args in ({}, {"axes": [0, 1]}, {"axis_names": "HW", "ddof": 1, "epsilon": 20.0}):
        found.append(Case("normalize", [batch], {"batch": True, **args}, normal))
    same = pictures([(5, 6, 3)] * 3, np.int16)
    for args in ({"axes": [2]}, {"axes": [0]}, {"mean": 3.0}, {"stddev": 3.0, "axes": [0, 1]}):
        found.append(Case("normalize", [same], {"batch": True, **args}, normal))
    return found + tensor_cases() + odd_cases()


def tensor_cases() -> list[Case]:
    """Means and deviations given as tensors."""
    found = []
    images = pictures([(19, 23, 3), (7, 30, 3)])
    colours = tensors((1, 1, 3))
    for args in (
        {"mean": colours},
        {"stddev": colours},
        {"mean": colours, "stddev": colours},
        {"mean": colours, "stddev": 30.0},
        {"mean": 100.0, "stddev": colours},
        {"mean": colours, "axes": [0, 1], "epsilon": 2.0, "ddof": 1},
        {"stddev": colours, "axis_names": "HW", "scale": 3.0},
        {"mean": tensors((1, 1, 1))},
    ):
        found.append(Case("normalize", [images], args, normal))
    one = pictures([(4, 5, 2)], np.float32)
    for shape in ((4, 1, 1), (4, 5, 1), (1, 5, 2), (4, 5, 2)):
        args = {"mean": tensors(shape, 1), "stddev": tensors(shape, 1)}
        found.append(Case("normalize", [one], args, normal))
    return found


def odd_cases() -> list[Case]:
    f32 = np.float32
    return [
        Case("normalize", [data], args, normal)
        for data in (
            Data([np.full((2, 3), 5, f32)]),
            Data([np.zeros((0, 3), f32)]),
            Data([np.array([1, np.nan, 3], f32)]),
        )
        for args in ({}, {"axes": [0]}, {"epsilon": 0.5}, {"shift": 7.0})
    ]


CASES = cases()
IMAGE = pictures([(4, 5, 3)])
ERRORS = [
    *[
        Case("normalize", [IMAGE], args)
        for args in (
            {"axes": []},
            {"axes": [3]},
            {"axis_names": "X"},
            {"axis_names": "H", "axes": [0]},
            {"mean": 1.0, "stddev": 2.0, "axes": [0]},
            {"mean": tensors((7,), 1)},
            {"mean": tensors((4, 1, 1), 1), "axes": [0, 1]},
            {"mean": tensors((4, 1, 1), 1), "stddev": tensors((1, 5, 1), 1)},
            {"batch": True, "mean": tensors((1, 1, 3), 1)},
            {"dtype": "types.FLOAT16"},
            {"dtype": "types.FLOAT64"},
            {"dtype": "types.INT64"},
            {"dtype": "types.BOOL"},
        )
    ],
    *[
        Case("normalize", [Data([np.ones(4, dtype)])], {})
        for dtype in ("uint64", "int64", "float16", "float64", "bool")
    ],
    Case("normalize", [pictures([(4, 5, 3), (4, 6, 3)])], {"batch": True, "axes": [0]}),
]
