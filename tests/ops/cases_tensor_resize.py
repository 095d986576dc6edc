# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of tensor_resize."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, Interps, pictures, resampled, vectors

PICTURES = pictures([(31, 47, 3), (20, 53, 3)])
HW = {"axes": [0, 1]}
CALLS: list[dict[str, Any]] = [
    {"sizes": [13, 29, 3]},
    {"sizes": [13, 29], **HW},
    {"sizes": [29, 13], "axes": [1, 0]},
    {"sizes": [13, 29], "axis_names": "HW"},
    {"sizes": 17, **HW},
    {"scales": [0.45, 0.37], "axis_names": "HW"},
    {"scales": 0.45, **HW},
    {"sizes": [13, 0], **HW},
    {"sizes": [13, 0], "mode": "stretch", **HW},
    {"sizes": [13, 15, 3], "mode": "not_smaller"},
    {"sizes": [60, 70], "max_size": [37, 51], **HW},
    {"sizes": [13, 29], "roi_start": [1.0, 2.0], "roi_end": [19.0, 31.0], **HW},
    {
        "sizes": [13, 29],
        "roi_start": [0.1, 0.1],
        "roi_end": [0.9, 0.8],
        "roi_relative": True,
        **HW,
    },
    {"sizes": [-13, 29], **HW},
    {"sizes": [13.4, 29.7], "size_rounding": "truncate", **HW},
    {"sizes": [13.4, 29.7], "size_rounding": "ceil", **HW},
    {"sizes": [13.4, 29.7], "subpixel_scale": False, **HW},
    {"sizes": [13.4, 29.7], "alignment": [0.0, 1.0], **HW},
    {"sizes": [13.4, 29.7], "alignment": 0.0, **HW},
    {"sizes": [13, 29], "dtype": "types.FLOAT", **HW},
    {"sizes": [13, 29], "antialias": False, **HW},
    {"sizes": [13, 70], "min_filter": "types.INTERP_CUBIC", **HW},
    {"sizes": [13, 70], "mag_filter": "types.INTERP_CUBIC", **HW},
    {"sizes": [13, 29], "interp_type": "types.INTERP_LANCZOS3", **HW},
    {"sizes": [13, 29], "minibatch_size": 4, "temp_buffer_hint": 100, **HW},
    {"sizes": vectors([13, 29], [17, 11]), **HW},
    {"scales": vectors([0.4, 0.7], [0.3, 0.9]), "alignment": vectors([0.0, 1.0], [0.5, 0.2]), **HW},
    {
        "sizes": [13, 29],
        "roi_start": vectors([1, 2], [3, 4]),
        "roi_end": vectors([17, 31], [13, 24]),
        **HW,
    },
    {"sizes": [13, 29, 2.5]},
    {"sizes": [13, 29, -3]},
    {"sizes": [13, 29, 3], "roi_start": [0, 0, 1], "roi_end": [20, 40, 3]},
    *[
        {"scales": scales, "interp_type": "types.INTERP_GAUSSIAN"}
        for scales in ([0.5, 0.6, 1], [0.5, 0.6, 0.7], [0.5, 1, 1], [1, 0.6, 1.6], [1, 1, 0.7])
    ],
    {"sizes": [13, 29], "interp_type": "types.INTERP_GAUSSIAN", **HW},
    {"scales": [1, 0.5], "interp_type": "types.INTERP_GAUSSIAN", **HW},
    {"scales": 1, "interp_type": "types.INTERP_GAUSSIAN"},
    {"sizes": [13, 70], "interp_type": Interps([1, 2]), **HW},
    {"sizes": [13, 70], "min_filter": Interps([1, 2]), **HW},
    {"sizes": [13, 70], "mag_filter": Interps([1, 2]), **HW},
]

Row = tuple[tuple[int, ...], dict[str, Any]]
# Axes that are not named keep their extent; with `alignment`, they keep their start.
UNNAMED: list[Row] = [
    ((6, 277, 13), {"axes": [1, 0], "sizes": [283, 0]}),  # 6 stays 6, and is resampled all the same
    ((56, 4, 4, 53), {"axes": [1, 0], "sizes": [-31, 0]}),
    ((4, 36, 50, 2), {"axes": [0, 2], "sizes": [1, 0]}),
    *[
        ((378, 20), {"axes": [0], "sizes": [53.7], "mode": "not_larger", "alignment": alignment})
        for alignment in ([0.0], 0.3, [0.5])
    ],
    ((40, 345, 15), {"axes": [0, 1], "sizes": [20, 85], "mode": "not_larger", "alignment": [1, 1]}),
]
# The alignment is relative to the higher end of a mirrored region.
MIRRORED: list[Row] = [
    ((44, 54, 3), {"axes": [0, 2], "scales": [1.0, -1.7], "alignment": [1.0, 0.3]}),
    ((12, 20), {"axes": [0], "scales": [-3.15], "alignment": [0.3]}),
    (
        (42, 20),
        {
            "axes": [1, 0],
            "scales": [-1.7, 0.3],
            "alignment": [0.3, 1.0],
            "roi_start": [10.4, 27.6],
            "roi_end": [0.3, 0.5],
        },
    ),
]
# Scales are relative to the extents of the input, not of the region.
REGIONS: list[Row] = [
    ((29, 37), {"axes": [1], "scales": [0.7], "roi_start": [11.6], "roi_end": [30.1]}),
    ((19, 23), {"scales": [1.0, 0.413], "roi_start": [0.1, 0.6], "roi_end": [0.9, 0.1], "roi_relative": True}),
]  # fmt: skip


def cases() -> list[Case]:
    found = [Case("tensor_resize", [PICTURES], args, resampled) for args in CALLS]
    for dtype in ("int16", "uint16", "float32"):
        data = pictures([(31, 47, 3)], dtype)
        found.append(Case("tensor_resize", [data], CALLS[1], resampled))
    volume = pictures([(7, 9, 11, 2)], np.float32, "DHWC")
    for args in (
        {"sizes": [5, 6, 13], "axes": [0, 1, 2]},
        {"sizes": [6, 13], "axes": [1, 2]},
        {"sizes": [13], "axes": [2]},
        {"sizes": [5, 13], "axis_names": "DW"},
        {"sizes": [5, 6], "axes": [0, 1], "interp_type": "types.INTERP_GAUSSIAN"},
        {"scales": [1, 0.6], "axes": [1, 2], "interp_type": "types.INTERP_GAUSSIAN"},
    ):
        found.append(Case("tensor_resize", [volume], args, resampled))
    for shape, args in UNNAMED + MIRRORED + REGIONS:
        data = pictures([shape], np.uint8, "")
        found.append(Case("tensor_resize", [data], args, resampled))
    line = pictures([(17,)], np.float32, "")
    found.append(Case("tensor_resize", [line], {"sizes": [7]}, resampled))
    plane = pictures([(17, 23)], np.uint8, "")
    found.append(Case("tensor_resize", [plane], {"sizes": [7, 11]}, resampled))
    found.append(Case("tensor_resize", [PICTURES], {"sizes": [37, 2], "axes": [1, 2]}, resampled))
    return found


CASES = cases()
ERRORS = [
    *[
        Case("tensor_resize", [PICTURES], args)
        for args in (
            {},
            {"sizes": [2, 2, 3], "scales": [1, 1, 1]},
            {"sizes": [2, 3], "roi_start": [1, 1], **HW},
            {"sizes": [2, 3], "size_rounding": "x", **HW},
            {"sizes": [2, 3], "mode": "x", **HW},
            {"scales": 0.5, "mode": "not_larger", **HW},
            {"scales": 0.5, "mode": "not_smaller", **HW},
            {"sizes": [2, 3], "axes": [0, 3]},
            {"sizes": [2, 3], "axes": [0, 0]},
            {"sizes": [2, 3], "dtype": "types.INT16", **HW},
            {"sizes": [2, 3, 4], **HW},
        )
    ],
    *[
        Case("tensor_resize", [Data([np.ones((4, 4), dtype)])], {"sizes": [2, 2]})
        for dtype in "uint32 uint64 int8 int32 int64 float16 float64 bool".split()
    ],
]
