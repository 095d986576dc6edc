# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of dilate, erode and median_blur, which DALI has on a GPU only: test_windows.py compares them with OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures, vectors

SHAPES = {
    "HW": [(21, 33), (1, 1), (2, 90)],
    "HWC": [(19, 23, 3), (5, 70, 1), (7, 3, 5)],
    "CHW": [(3, 19, 23), (1, 5, 70)],
    "FHWC": [(2, 11, 13, 3), (3, 6, 5, 1)],
    "FCHW": [(2, 3, 11, 13), (1, 2, 6, 5)],
}
TYPES = ("uint8", "uint16", "int32", "float32")
BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")
PICTURES = pictures(SHAPES["HWC"])
# Negative numbers, zeros of both signs, infinities.
SPECIAL = Data(
    [np.random.default_rng(4).choice(np.array([-3, -0.5, -0.0, 0, 1, np.inf, -np.inf], np.float32), (9, 14, 2))], "HWC"
)
NEGATIVE = Data([np.random.default_rng(5).integers(-(2**31), 2**31, (9, 14, 2), dtype=np.int32)], "HWC")


def morphology(op: str) -> list[Case]:
    out = [Case(op, [pictures(shapes, layout=layout)], {}) for layout, shapes in SHAPES.items()]
    out += [Case(op, [pictures(SHAPES["HWC"], dtype)], {"mask_size": [5, 2]}) for dtype in TYPES]
    out += [Case(op, [data], {}) for data in (SPECIAL, NEGATIVE)]
    for border in BORDERS:
        for size, anchor in (([3, 3], [-1, -1]), ([4, 1], [3, 0]), ([1, 6], [0, 1]), ([9, 40], [0, -1])):
            out.append(Case(op, [PICTURES], {"mask_size": size, "anchor": anchor, "border_mode": border}))
        out.append(Case(op, [PICTURES], {"mask_size": 4, "anchor": 1, "iterations": 3, "border_mode": border}))
        out.append(Case(op, [PICTURES], {"mask_size": [2000000000, 1], "border_mode": border}))
    per_frame = Data([np.array([(3, 1), (1, 4)], np.int32), np.array([(2, 2), (1, 1), (5, 3)], np.int32)], "F*")
    frames = pictures(SHAPES["FHWC"], layout="FHWC")
    return [
        *out,
        Case(op, [PICTURES], {"iterations": 0}),
        Case(op, [PICTURES], {"mask_size": -1, "border_mode": "Wrap"}),
        Case(op, [PICTURES], {"mask_size": vectors((3, 1), (2, 5), (1, 1), dtype=np.int32)}),
        Case(op, [PICTURES], {"anchor": vectors((0, 0), (2, 1), (-1, 2), dtype=np.int32)}),
        Case(op, [frames], {"mask_size": per_frame}),
        Case(op, [frames], {"mask_size": 6, "anchor": per_frame}),
    ]


def median() -> list[Case]:
    op = "experimental.median_blur"
    out = [Case(op, [pictures(shapes, layout=layout)], {}) for layout, shapes in SHAPES.items()]
    out += [Case(op, [data], {"window_size": 3}) for data in (SPECIAL, NEGATIVE)]
    for dtype in TYPES:
        for size in ([5, 5], [1, 1], [7, 3], [1, 9]):
            out.append(Case(op, [pictures(SHAPES["HWC"], dtype)], {"window_size": size}))
    out.append(Case(op, [PICTURES], {"window_size": 17}))  # more than 255 elements
    out.append(Case(op, [pictures([(40, 50)], layout="HW")], {"window_size": [31, 15]}))
    out.append(Case(op, [PICTURES], {"window_size": vectors((3, 1), (5, 5), (1, 3), dtype=np.int32)}))
    return out


def refused(op: str, args: dict[str, Any], text: str) -> tuple[Case, str]:
    return Case("experimental." + op, [pictures([(5, 6, 3)])], args), text


REFUSED = [  # with a part of the message
    refused("dilate", {"mask_size": 0}, "`mask_size` is 0; it must be positive"),
    refused("dilate", {"mask_size": [3, 2], "anchor": [0, 2]}, "`anchor` is 2, which is outside a window of 2 pixels"),
    refused("erode", {"border_mode": "mirror"}, 'unknown `border_mode` "mirror"'),
    refused("erode", {"mask_size": [1, 2, 3]}, 'Argument "mask_size" expects either a single value or a list of 2'),
    refused("erode", {"iterations": -1}, "iterations"),
    refused("median_blur", {"window_size": 4}, "`window_size` is 4; it must be odd"),
    refused("median_blur", {"window_size": 257}, "window_size"),
]
OURS = [*morphology("experimental.dilate"), *morphology("experimental.erode"), *median()]
OUR_ERRORS = [case for case, _ in REFUSED]
OPS = ("experimental.dilate", "experimental.erode", "experimental.median_blur")
ELSEWHERE = dict.fromkeys(OPS, "test_windows.py")
