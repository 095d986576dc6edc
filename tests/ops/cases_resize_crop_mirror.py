# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of resize_crop_mirror and its old form."""

from __future__ import annotations

import dataclasses

import numpy as np

from cases_image import SHAPES, of
from harness import Case, mostly, resampled, rotated, scalars, vectors

NAME, FAST = "resize_crop_mirror", "fast_resize_crop_mirror"
HWC, VOLUME = of("HWC"), of("DHWC")
BASE = {"resize_x": 37.0, "resize_y": 29.0, "crop": (20, 23)}


def cases() -> list[Case]:
    out = [
        Case(NAME, [of(layout)], {"resize_shorter": 19.0, "crop": (13, 11), "mirror": 1}, resampled)
        for layout in SHAPES
        if "D" not in layout
    ]
    for dtype in ("uint8", "int16", "uint16", "float32"):
        out.append(Case(NAME, [of("HWC", dtype)], BASE, resampled))
    for args in (
        {"resize_x": 37.0, "resize_y": 29.0},
        {**BASE, "mirror": 1},
        {**BASE, "mirror": 2},
        {**BASE, "mirror": 3},
        {**BASE, "mirror": scalars(2, 1, dtype=np.int32)},
        {**BASE, "crop_pos_x": 0.0, "crop_pos_y": 1.0},
        {**BASE, "crop_pos_x": 0.31, "crop_pos_y": scalars(0.2, 0.77)},
        {**BASE, "crop": (45, 50)},
        {**BASE, "crop": (45, 11), "crop_pos_y": 0.2, "mirror": 3},
        {**BASE, "crop": vectors([11, 12], [13, 14])},
        {**BASE, "rounding": "truncate"},
        {**BASE, "antialias": False, "minibatch_size": 3, "temp_buffer_hint": 1000},
        {**BASE, "dtype": "types.FLOAT"},
        {**BASE, "interp_type": "types.INTERP_CUBIC"},
        {**BASE, "interp_type": "types.INTERP_LANCZOS3", "mag_filter": "types.INTERP_LINEAR"},
        {**BASE, "min_filter": "types.INTERP_TRIANGULAR"},
        {**BASE, "roi_start": [3.0, 4.0], "roi_end": [20.0, 25.0]},
        {**BASE, "roi_start": [0.1, 0.9], "roi_end": [0.9, 0.2], "roi_relative": True},
        {"resize_longer": 31.0, "crop_h": 12.0, "crop_w": scalars(9, 17)},
        {"resize_shorter": scalars(23, 35), "crop": (21, 21)},
        {"resize_shorter": 23.0, "max_size": 30.0, "crop": (15, 15)},
        {"size": (23, 35), "crop": (21, 21), "mode": "not_smaller"},
        {"size": [-23, 35], "crop": (21, 15), "crop_pos_y": 0.1},
        {"resize_x": 37.3, "crop": (9, 21), "subpixel_scale": False},
        {"resize_y": scalars(37.3, 20), "crop": (9, 11)},
    ):  # fmt: skip
        out.append(Case(NAME, [HWC], args, resampled))
    out.append(Case(NAME, [HWC], {**BASE, "interp_type": "types.INTERP_NN"}, mostly))
    for args in (
        {"size": (3, 9, 8), "crop": (2, 7, 6), "mirror": 1},
        {"size": (7, 9, 8), "crop": (9, 7, 11), "crop_pos_z": 0.3},
        {"size": (7, 9, 8), "crop": (3, 7, 5), "crop_pos_z": 0.3, "mirror": 6},
        {"resize_z": 5.0, "resize_y": 9.0, "resize_x": 8.0, "crop_d": 3.0, "crop_h": 5.0, "crop_w": 5.0},
        {"resize_z": scalars(5, 3), "resize_y": 9.0, "resize_x": 8.0},
        {"size": (3, 9, 8), "crop_d": scalars(2, 1), "crop_h": 5.0, "crop_w": 5.0, "crop_pos_z": scalars(0, 1)},
    ):  # fmt: skip
        out.append(Case(NAME, [VOLUME], args, resampled))
    # Without antialiasing, more values are ties.
    loose = {resampled: rotated, mostly: mostly}
    return out + [dataclasses.replace(case, op=FAST, compare=loose[case.compare]) for case in out]


CASES = cases()
ERRORS = [
    Case(NAME, [HWC], args)
    for args in (
        {"crop": (20, 20)},
        {**BASE, "resize_shorter": 20.0},
        {**BASE, "crop_h": 4.0, "crop_w": 4.0},
        {**BASE, "crop_pos_x": 1.5},
        {"resize_x": 20.0, "crop_w": 4.0},
        {**BASE, "roi_start": [1.0, 2.0]},
        {**BASE, "dtype": "types.INT32"},
        {**BASE, "flip": 1},
    )
]
# Cases of resize and crop vary these.
SHARED = {
    f"{name}({argument})"
    for name in (NAME, FAST)
    for argument in (
        *("size", "roi_start", "roi_end", "resize_x", "resize_longer", "crop_h", "crop_pos_x"),
        *("interp_type", "min_filter", "mag_filter"),
    )
}
DIFFERENT = {
    r"^(fast_)?resize_crop_mirror: crop_pos_z=": "a position outside 0..1 is refused, even if it is not used",
    r"^(fast_)?resize_crop_mirror: (min|mag)_filter='types.INTERP_NN'": "on ties, DALI picks the other pixel",
    r"^(fast_)?resize_crop_mirror: crop=": "values may differ by 1",
}  # fmt: skip
