# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the random operators: what of them is not left to chance, and what is wrong."""

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
# Ranges of a unit in the last place or two.
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
# The sweep's differences that are meant (see sweep.py).
DIFFERENT = {r"^random.uniform: range=": "a range has two ends, no more"}
