# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the random operators whose result is not random, and errors."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, close, pictures, scalars, vectors

CASES = [
    Case("random.coin_flip", [], args, size=4)
    for args in (
        {"probability": 1.0},
        {"probability": 0.0},
        {"probability": 2.0},
        {"probability": -1.0, "shape": [2, 3]},
        {"probability": 1.0, "dtype": "types.BOOL"},
        {"probability": 1.0, "dtype": "types.UINT8", "shape": []},
        {"probability": 1.0, "dtype": "types.INT32", "shape": 3},
        {"probability": scalars(0, 1, 1, 0)},
        {"probability": 1.0, "shape": vectors([2], [0], [3], [1], dtype=np.int32)},
    )
]
CASES += [
    Case("random.uniform", [], args, size=4)
    for args in (
        {"values": [2.5]},
        {"values": [2.5], "shape": [2, 3]},
        {"values": [2.5], "dtype": "types.INT32"},
        {"values": [3.0], "range": [5.0, 6.0], "dtype": "types.FLOAT64"},
        {"values": vectors([1.0], [2.0], [3.0], [4.0])},
    )
]
# Ranges that span one or two units in the last place.
NARROW = vectors([1.0, 1.0000002], [2.0, 2.0000005], [-3.0, -2.9999998], [4.0, 4.000001])
CASES += [
    Case("random.uniform", [], {"range": NARROW, **args}, close, size=4)
    for args in ({}, {"shape": [5]}, {"shape": vectors([2], [0], [3], [1], dtype=np.int32)})
]
LIKE = pictures([(2, 3, 1), (4, 5, 2)])
CASES += [
    Case("random.coin_flip", [LIKE], {"probability": 1.0}),
    Case("random.uniform", [LIKE], {"values": [1.5]}),
]
ERRORS = [
    Case("random.coin_flip", [], {"dtype": "types.FLOAT"}),
    Case("random.coin_flip", [], {"dtype": "types.INT64"}),
    Case("random.coin_flip", [LIKE], {"shape": [3]}),
    Case("random.uniform", [], {"range": [2.0, 1.0]}),
    Case("random.uniform", [], {"range": [1.0]}),
    Case("random.uniform", [], {"range": [1.0, 2.0, 3.0]}),
    Case("random.uniform", [], {"dtype": "types.FLOAT16"}),
    Case("random.uniform", [], {"dtype": "types.BOOL"}),
    Case("random.uniform", [LIKE], {"shape": [3]}),
    Case("random.uniform", [Data(LIKE.samples)], {"rang": [1.0, 2.0]}),
]
SHARED = {"random.uniform(shape)"}
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {r"^random.uniform: range=": "a range has exactly two ends"}

NUMBERS = "UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT FLOAT64".split()
SURE = {"mean": 2.5, "stddev": 0.0}
CASES += [Case("random.normal", [], {**SURE, "dtype": "types." + t}, size=2) for t in NUMBERS]
CASES += [
    Case("random.normal", [], {"stddev": 0.0, **args}, size=2)
    for args in (
        {},
        {"mean": 300.0, "dtype": "types.UINT8"},
        {"mean": -3.5, "dtype": "types.INT8"},
        {"mean": 3.0, "shape": [2, 3]},
        {"mean": 3.0, "shape": []},
        {"shape": 0},
        {"shape": vectors([2], [3], dtype=np.int32)},
        {"mean": scalars(3, 4), "stddev": scalars(0, 0)},
    )
]
CASES.append(Case("random.normal", [LIKE], SURE))
CASES.append(Case("normal_distribution", [], SURE, size=2))
# All of the probability at one end.
CASES += [
    Case("random.beta", [], args, size=2)
    for args in (
        {"alpha": 1e12, "beta": 1e-9, "shape": [3]},
        {"alpha": 1e12, "beta": 1e-9, "dtype": "types.FLOAT64"},
        {"alpha": scalars(1e12, 1e12), "beta": scalars(1e-9, 1e-9)},
        {"alpha": 1e12, "beta": 1e-9, "shape": vectors([2], [3], dtype=np.int32)},
    )
]
CASES.append(Case("random.beta", [LIKE], {"alpha": 1e12, "beta": 1e-9}))

BYTES = Data([np.array([10, 20, 30], np.uint8)])
ROWS = Data([np.array([[1, 2], [3, 4]], np.float32)], "AB")
MIDDLE = {"p": [0, 1, 0]}
for dtype in "uint8 uint16 uint32 uint64 int8 int16 int32 int64".split():
    CASES.append(Case("random.choice", [Data([np.array(3, dtype)])], MIDDLE))
    CASES.append(Case("random.choice", [Data([np.array(1, dtype)])], {"shape": [4]}))
for dtype in "uint8 int64 float16 float32 float64 bool".split():
    CASES.append(Case("random.choice", [Data([np.array([0, 1, 0], dtype)])], MIDDLE))
CASES += [
    Case("random.choice", [data], {"p": [0, 1], **args})
    for data in (ROWS, Data(ROWS.samples), Data([np.array([1, 2], np.int16)], "A"))
    for args in ({}, {"shape": [3]}, {"shape": [3, 2]}, {"shape": []}, {"shape": [0]})
]
CASES += [
    Case("random.choice", [BYTES, pictures([(2, 1)], layout="AB")], MIDDLE),
    Case("random.choice", [BYTES], {"p": vectors([0, 1, 0])}),
    Case("random.choice", [BYTES], {**MIDDLE, "shape": vectors([2], dtype=np.int32)}),
    Case("random.choice", [Data([np.zeros((3, 0), np.float32)])], {"shape": [2]}),
    Case("random.choice", [BYTES], {"p": [0.00001, 0.99999, 0]}),
    *[
        Case("random.choice", [Data([np.array([7, 7])])], {"p": p})
        for p in (0.5, [0.5], scalars(0.5))
    ],
]

# Arguments with exactly one solution.
ONE = {"random_area": [1.0, 1.0], "random_aspect_ratio": [1.0, 1.0]}
for dtype in "uint8 int16 uint16 int32 uint32 int64".split():
    CASES.append(Case("random_crop_generator", [Data([np.array([9, 9], dtype)])], ONE))
CASES += [
    Case("random_crop_generator", [Data([np.array(shape)])], args)
    for shape, args in (
        ([50, 50, 3], ONE),
        ([0, 5], {}),
        ([5, -1], {}),
        ([9, 9], {**ONE, "num_attempts": 3}),
        ([1, 1], {}),
    )
]
FIXED = {"crop_shape": [2, 3], "roi_start": [5, 6], "roi_shape": [2, 3]}
INTS = {key: vectors(value, value, dtype=np.int32) for key, value in FIXED.items()}
CASES += [
    Case("roi_random_crop", [], args, size=2)
    for args in (
        FIXED,
        INTS,
        {"crop_shape": [2, 3], "roi_start": [5, 6], "roi_end": [7, 9]},
        {
            "crop_shape": [2, 3],
            "roi_start": [5, 6],
            "roi_end": vectors([7, 9], [7, 9], dtype=np.int32),
            "in_shape": vectors([7, 9], [8, 10], dtype=np.int32),
        },
        {"crop_shape": [4, 6], "roi_start": [0, 0], "roi_shape": [2, 3], "in_shape": [4, 6]},
        {"crop_shape": 2, "roi_start": 3, "roi_shape": 2},
        {"crop_shape": [0, 0], "roi_start": [5, 6], "roi_shape": [0, 0]},
        {"crop_shape": [], "roi_start": [], "roi_shape": []},
    )
]
WHOLE = {"crop_shape": [4, 6], "roi_start": [0, 0], "roi_shape": [2, 3]}
CASES += [Case("roi_random_crop", [pictures([shape])], WHOLE) for shape in ((4, 6, 3), (4, 6, 1))]

ERRORS += [
    Case("random.normal", [], {"dtype": "types.FLOAT16"}),
    Case("random.normal", [], {"dtype": "types.BOOL"}),
    Case("random.normal", [LIKE], {"shape": [3]}),
    Case("random.normal", [], {"shape": [-1]}),
    *[Case("random.beta", [], {"dtype": "types." + t}) for t in ("UINT8", "INT32", "FLOAT16")],
    *[Case("random.beta", [], {key: v}) for key in ("alpha", "beta") for v in (0.0, -1.0)],
    *[
        Case("random.choice", [BYTES], {"p": p})
        for p in ([0, 1], [0, 2, 0], [0, 0.5, 0.6], [-1, 1, 1], [0, 0, 0], [0, 1, float("nan")])
    ],
    *[
        Case("random.choice", [Data([np.array(2, t)])], {})
        for t in ("float16", "float32", "float64", "bool")
    ],
    Case("random.choice", [Data([np.array(0)])], {}),
    Case("random.choice", [Data([np.array(-2)])], {}),
    Case("random.choice", [Data([np.zeros(0, np.float32)])], {}),
    Case("random.choice", [], {}),
    Case("random.choice", [BYTES, LIKE], {"shape": [3]}),
    *[
        Case("random_crop_generator", [Data([value])], {})
        for value in (
            np.array([300]),
            np.array([1, 2, 3, 4]),
            np.array([[3, 4]]),
            np.array([3, 4], np.float32),
            np.array([3, 4], np.uint64),
        )
    ],
    Case("random_crop_generator", [Data([np.array([3, 4])])], {"random_area": [0.9, 0.5]}),
    Case("random_crop_generator", [Data([np.array([3, 4])])], {"random_aspect_ratio": [2.0, 1.0]}),
    *[
        Case("roi_random_crop", [], args)
        for args in (
            {**FIXED, "roi_end": [7, 9]},
            {"crop_shape": [2, 3], "roi_start": [5, 6]},
            {**FIXED, "roi_shape": [2, 3, 4]},
            {**FIXED, "crop_shape": [2, 3, 4]},
            {**WHOLE, "in_shape": [3, 6]},
            {**WHOLE, "in_shape": [4, 6], "roi_start": [-3, 0]},
            {**WHOLE, "in_shape": [4, 6], "crop_shape": [1, 1], "roi_start": [3, 3]},
            {"roi_start": [3, 3], "roi_shape": [4, 4]},
        )
    ],
    Case("roi_random_crop", [pictures([(4, 6, 3)])], {**WHOLE, "in_shape": [4, 6]}),
]
