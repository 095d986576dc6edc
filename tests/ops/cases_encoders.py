# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the encoders, which DALI does not have."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, scalars

NAME = "encoders.jpeg"
COLOURS = pictures([(33, 65, 3), (1, 1, 3), (16, 48, 3), (65, 33, 3)])
GREY = pictures([(33, 65, 1), (1, 1, 1), (16, 48, 1), (65, 33, 1)])

OURS = [
    Case(NAME, [data], args)
    for data in (COLOURS, GREY)
    for args in (
        {},
        {"quality": 1},
        {"quality": 100},
        {"quality": scalars(3, 50, 77, 96, dtype=np.int32)},
        {"subsampling": "4:2:2"},
        {"subsampling": "4:4:4", "quality": 90},
        {"optimize": True},
        {"optimize": True, "subsampling": "4:4:4", "restart_rows": 0},
        {"restart_rows": 0},
        {"restart_rows": 2, "quality": 30},
    )
]
OURS.append(Case(NAME, [pictures([(33, 65), (1, 1)], layout="HW")], {}))
OURS.append(Case(NAME, [Data([np.full((20, 35, 3), v, np.uint8) for v in (0, 255, 128)])], {}))

ALPHA = pictures([(33, 65, 4), (1, 1, 4), (16, 48, 4), (65, 33, 4)])
BOTH = pictures([(33, 65, 2), (1, 1, 2), (16, 48, 2), (65, 33, 2)])
for data in (COLOURS, GREY, ALPHA, BOTH):
    OURS.append(Case("encoders.png", [data], {}))
    OURS.append(Case("encoders.png", [data], {"compression": scalars(0, 1, 9, 12, dtype=np.int32)}))
OURS.append(Case("encoders.png", [pictures([(33, 65), (1, 1)], layout="HW")], {}))
OURS.append(Case("encoders.png", [pictures([(33, 65, 3), (4, 5, 3)], "uint16")], {}))
for data in (COLOURS, ALPHA):
    OURS.append(Case("encoders.webp", [data], {}))
    OURS.append(Case("encoders.webp", [data], {"quality": scalars(0, 50.5, 90, 100)}))
    OURS.append(Case("encoders.webp", [data], {"lossless": True, "method": 0}))
    OURS.append(Case("encoders.webp", [data], {"method": 6, "quality": 20.0}))
ELSEWHERE = {
    NAME: "tests/python/test_encoders.py",
    "encoders.png": "tests/python/test_encoders_png_webp.py",
    "encoders.webp": "tests/python/test_encoders_png_webp.py",
}
