# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of `slice`, alone and after a resize."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases_generic import TYPES
from cases_shapes import floats, ints
from harness import Case, Data, pictures

IMAGES = pictures([(8, 10, 3), (12, 10, 3)])
PLAIN = Data(IMAGES.samples)
PAD = {"out_of_bounds_policy": "pad"}
BORDERS = ["constant", "edge", "clamp", "reflect", "reflect_1001", "reflect_101", "wrap"]
TRIM = {"out_of_bounds_policy": "trim_to_shape"}

WINDOWS: list[dict[str, Any]] = [
    {"rel_start": [0.25, 0.25], "rel_shape": [0.5, 0.5]},
    {"rel_start": [0.1, 0.1], "rel_end": [0.55, 0.5]},
    {"rel_start": [0.25, 0.25], "shape": [2, 2]},
    {"rel_start": [0.25, 0.25], "end": [6, 6]},
    {"rel_start": [0.25], "axes": [0]},
    {"rel_shape": [0.35], "axes": [0]},
    {"rel_end": [0.6, 0.4]},
    {"start": [1, 1], "rel_shape": [0.5, 0.5]},
    {"start": [1, 0], "end": [3, 2]},
    {"start": [1, 0]},
    {"end": [3, 2]},
    {"shape": [3, 2]},
    {"start": [1], "end": [2]},
    {"start": [1, 0], "end": [2]},
    {"start": 1, "end": 2, "axes": 0},
    {"start": [1], "axes": [2]},
    {"start": [1], "end": [2], "axis_names": "C"},
    {"start": [2], "end": [5], "axis_names": "H"},
    {"start": [1], "end": [2], "axis_names": ""},
    {"start": [1], "end": [2], "axes": [-1]},
    {"start": [3], "end": [3], "axes": [0]},
    {"start": [1], "shape": [0], "axes": [0]},
    {"start": [], "end": [], "axes": []},
    {"start": [], "end": []},
    {"start": [1], "end": [], "axes": [0]},
    {"rel_start": [], "rel_shape": [], "axes": [1]},
    {"start": ints([1], [2]), "end": ints([2], [4]), "axes": [0]},
    {"start": ints([1, 2], [2, 0]), "shape": ints([2, 3], [4, 4])},
    {"rel_start": floats([0.1], [0.2]), "rel_shape": floats([0.5], [0.25]), "axes": [1]},
    {"rel_start": floats([0.1], [0.2]), "rel_end": floats([0.5], [0.75]), "axes": [0]},
    {"start": [1], "end": [2], "axes": ints([0], [1])},
    {"start": [-1], "end": [2], "axes": [0], "fill_values": 9.0, **PAD},
    {"start": [-1], "end": [20], "axes": [0], "fill_values": [1, 2, 3], **PAD},
    {"start": [-3, 2], "end": [4, 15], "fill_values": [1, 2, 3], **PAD},
    {"start": [-3, 2, -1], "end": [4, 15, 4], "axes": [0, 1, 2], "fill_values": [5], **PAD},
    {"start": [20], "end": [22], "axes": [0], **PAD},
    {"start": [-9], "end": [-2], "axes": [1], "fill_values": 300.7, **PAD},
    {"start": [-1], "end": [4], "axes": [0], "fill_values": -3.2, **PAD},
    {"start": [-1], "end": [4], "axes": [0], "fill_values": [], **PAD},
    {"start": [-1], "end": [4], "axes": [2], "fill_values": [1, 2, 3, 4, 5], **PAD},
    {"start": [-1], "end": [20], "axes": [0], **TRIM},
    {"start": [20], "end": [22], "axes": [0], **TRIM},
    {"start": [-2], "shape": [3], "axes": [0], **TRIM},
    {"start": [0], "shape": [2**31 - 1], "axes": [0], **TRIM},
    {"start": [0], "end": [1], "axes": [0], "dtype": "types.FLOAT"},
    {"start": [-1, 2], "end": [3, 5], "dtype": "types.FLOAT16", "fill_values": 2.5, **PAD},
    {"start": [0], "end": [1], "axes": [0], "output_dtype": "types.FLOAT"},
    {"start": [0], "end": [1], "axes": [0], "image_type": "types.RGB"},
]


def slice_cases() -> list[Case]:
    cases = [Case("slice", [IMAGES], args) for args in WINDOWS]
    cases += [Case("slice", [PLAIN], args) for args in WINDOWS if "axis_names" not in args]
    inputs: list[tuple[list[Data], dict[str, Any]]] = [
        ([floats([0.2, 0.25], [0.2, 0.25]), floats([0.5, 0.5], [0.5, 0.5])], {}),
        ([floats([0.15], [0.35]), floats([0.35], [0.5])], {"axes": [0]}),
        ([ints([1, 1], [1, 1]), ints([2, 2], [2, 2])], {}),
        ([ints([1], [1]), ints([2], [2])], {"axes": [0]}),
        ([ints([1], [1], dtype=np.int64), ints([2], [2], dtype=np.int64)], {"axis_names": "W"}),
        ([ints(1, 1), ints(2, 2)], {"axes": [0]}),
        (
            [floats([1, 1], [1, 1]), floats([2, 2], [2, 2])],
            {"normalized_anchor": False, "normalized_shape": False},
        ),
        ([floats([1, 1], [1, 1]), floats([0.5, 0.5], [0.5, 0.5])], {"normalized_anchor": False}),
        ([floats([0.1, 0.1], [0.1, 0.1]), floats([3, 3], [3, 3])], {"normalized_shape": False}),
    ]
    cases += [Case("slice", [IMAGES, *data], args) for data, args in inputs]
    for dtype in TYPES:
        if dtype == "bool":
            continue
        data = pictures([(9, 11), (6, 8)], dtype, "")
        cases.append(Case("slice", [data], {"start": [2, 3], "end": [6, 6], "axes": [1, 0]}))
        args = {"start": [-2, 3], "end": [7, 16], "axes": [0, 1], "fill_values": 7.75, **PAD}
        cases.append(Case("slice", [data], args))
        for target in ("types.UINT8", "types.FLOAT"):
            cases.append(Case("slice", [data], {**args, "dtype": target, "fill_values": 3.0}))
    for shape, layout in (
        ((4, 7, 8), "CHW"),
        ((3, 7, 8, 2), "FHWC"),
        ((3, 7, 8, 2), "DHWC"),
        ((3, 2, 7, 8), "FCHW"),
        ((3, 7, 8, 2), ""),
        ((7, 8), ""),
        ((7, 8), "HW"),
    ):
        data = pictures([shape], layout=layout)
        cases.append(Case("slice", [data], {"start": [0, 1], "end": [5, 4]}))
        args = {"start": [-1, 1], "end": [5, 9], "fill_values": 8.0, **PAD}
        cases.append(Case("slice", [data], args))
        cases.append(Case("slice", [data], {"start": [1], "end": [3], "axes": [0]}))
    volume = pictures([(5, 7, 8, 2)], layout="DHWC")
    cases.append(Case("slice", [volume], {"start": [1, 2], "end": [3, 6], "axis_names": "DH"}))
    args = {"start": [-1, 2], "end": [3, 6], "axis_names": "DH", "fill_values": [4, 5], **PAD}
    cases.append(Case("slice", [volume], args))
    for border in BORDERS:
        far = {"start": [-27, -9], "end": [31, 40], "axes": [0, 1], "out_of_bounds_policy": border}
        beyond = {**far, "start": [40, -30], "end": [45, -20]}
        cases += [Case("slice", [IMAGES], far), Case("slice", [IMAGES], beyond)]
        cases.append(Case("slice", [IMAGES], {**far, "start": [1, 1], "end": [3, 3]}))
        cases.append(Case("slice", [floats([1, 2, 3], [4, 5, 6])], {**far, "start": [-7], "end": [9], "axes": [0]}))
        cases.append(Case("slice", [pictures([(2, 1, 5)], layout="CHW")], {**far, "axes": [1, 2]}))
        cases.append(Case("slice", [IMAGES], {**far, "dtype": "types.FLOAT"}))
    cases += [
        Case(
            "slice", [floats([1.7, 300, -5])], {"start": [0], "axes": [0], "dtype": "types.UINT8"}
        ),
        Case("slice", [ints([1, 300, -5])], {"start": [0], "axes": [0], "dtype": "types.UINT8"}),
        Case("slice", [Data([np.zeros((0, 4))])], {"start": [0], "end": [2], "axes": [1]}),
        Case("slice", [Data([np.zeros((0, 4))])], {"start": [0], "end": [2], "axes": [0], **PAD}),
        Case("slice", [pictures([(70, 90, 3)])], {"start": [3], "end": [60], "axes": [0]}),
    ]
    return cases


SLICE_ERRORS: list[dict[str, Any]] = [
    {"start": [-1], "end": [2], "axes": [0]},
    {"start": [-1], "end": [1], "axes": [0], "fill_values": [1, 2], **PAD},
    {"start": [0], "end": [1], "axes": [0], "fill_values": [1, 2], **PAD},
    {"start": [-1], "end": [4], "axes": [2], "fill_values": [1, 2, 3], **PAD},
    {"start": [0], "end": [1], "axes": [0], "out_of_bounds_policy": "foo"},
    {"start": [3], "end": [1], "axes": [0]},
    {"start": [0], "end": [1], "axes": [0], "dtype": "types.INT16"},
    {},
    {"start": [0], "rel_start": [0.0], "axes": [0]},
    {"end": [1], "shape": [1], "axes": [0]},
    {"end": [1], "rel_end": [1.0], "axes": [0]},
    {"start": [1], "end": [2], "axes": [3]},
    {"start": [1], "end": [2], "axes": [-4]},
    {"start": [1, 1], "end": [2, 2], "axes": [1, 1]},
    {"start": [1], "end": [2], "axis_names": "Z"},
    {"start": [1], "end": [2], "axes": [0], "axis_names": "W"},
    {"start": [0, 0, 0], "end": [2, 2, 1]},
    {"rel_start": [float("nan")], "axes": [0]},
    {"rel_start": [-0.1], "rel_shape": [0.5], "axes": [0]},
    {"rel_start": [0.5], "rel_end": [0.2], "axes": [0]},
    {"start": [1], "shape": [-1], "axes": [0]},
]

CASES: list[Any] = slice_cases()
ERRORS: list[Any] = [
    *[Case("slice", [IMAGES], args) for args in SLICE_ERRORS],
    Case("slice", [IMAGES, ints([1, 1], [1, 1])], {}),
    Case("slice", [IMAGES, ints([1], [1]), ints([2], [2])], {"start": [0], "axes": [0]}),
    Case("slice", [IMAGES, ints([1, 1], [1, 1]), floats([0.5, 0.5], [0.5, 0.5])], {}),
    Case("slice", [IMAGES, ints([1], [1]), ints([2], [2])], {}),
    Case("slice", [IMAGES, ints([1], [1]), ints([-2], [2])], {"axes": [0]}),
    Case("slice", [IMAGES, floats([1e30], [0]), floats([1], [1])], {"axes": [0]}),
    Case("slice", [ints([1, 2, 3])], {"start": [1], "end": [2]}),
    Case("slice", [ints(1, 2)], {"start": [0], "end": [1], "axes": [0]}),
]
