# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators that overwrite or move pixels."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, mostly, pictures, resampled, scalars, vectors

HWC = pictures([(31, 43, 3), (50, 28, 3)])
CHW = pictures([(3, 31, 43), (3, 50, 28)], layout="CHW")
FRAMES = pictures([(2, 21, 33, 3), (1, 30, 18, 3)], layout="FHWC")
VOLUME = pictures([(4, 11, 17, 2), (6, 14, 9, 2)], layout="DHWC")
FLOATS = pictures([(31, 43, 3), (50, 28, 3)], "float32")
BARE = Data(HWC.samples)
ALL = (
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "int64",
    "uint64",
    "float16",
    "float32",
)


def typed(dtype: str) -> Data:
    return pictures([(31, 43, 3), (50, 28, 3)], dtype)


def erase_cases() -> list[Case]:
    cases = []
    one = {"anchor": [3.0, 5.0], "shape": [7.0, 11.0]}
    for dtype in ALL:
        cases.append(Case("erase", [typed(dtype)], {**one, "fill_value": [-3.7]}))
        cases.append(Case("erase", [typed(dtype)], {**one, "fill_value": [1.5, 2.5, 300]}))
    for args in (
        {},
        one,
        {"shape": [4.0, 6.0]},
        {"anchor": [1.7, 2.9], "shape": [2.5, 3.3]},
        {"anchor": [-5.5, -0.5], "shape": [9.0, 9.0]},
        {"anchor": [20.0, 20.0], "shape": [1e9, 1e9]},
        {"anchor": [900.0, 3.0], "shape": [5.0, 5.0]},
        {"anchor": [3.0, 3.0], "shape": [-2.0, 5.0]},
        {"anchor": [0.2, 0.4], "shape": [0.3, 0.33], "normalized": True},
        {"anchor": [0.2, 0.4], "shape": [4.0, 9.0], "normalized_anchor": True},
        {"anchor": [2.0, 4.0], "shape": [0.3, 0.25], "normalized_shape": True},
        {"anchor": [12.0, 14.0], "shape": [5.0, 8.0], "centered_anchor": True},
        {"anchor": [0.5, 0.5], "shape": [0.3, 0.6], "centered_anchor": True, "normalized": True},
        {"anchor": [0.0, 0.0, 9.0, 9.0, 4.0, 2.0], "shape": [3.0, 3.0, 2.0, 12.0, 8.0, 4.0], "fill_value": 9.0},
        {"anchor": [3.0, 9.0], "shape": [4.0, 5.0], "axis_names": "WH"},
        {"anchor": [3.0, 9.0], "shape": [4.0, 5.0], "axis_names": "W"},
        {"anchor": [3.0, 9.0], "shape": [4.0, 5.0], "axes": [1, 0]},
        {"anchor": [1.0], "shape": [1.0], "axes": [2], "fill_value": [7, 8, 9]},
        {"anchor": [3.0, 9.0, 1.0], "shape": [4.0, 5.0, 2.0], "axes": [0, 1, 2]},
        {"anchor": vectors([1, 2], [3, 4, 20, 20]), "shape": vectors([8, 7], [5, 5, 30, 2])},
        {**one, "fill_value": vectors([1, 2, 3], [4, 5, 6])},
    ):  # fmt: skip
        cases.append(Case("erase", [HWC], args))
    layers = {"anchor": [3.0, 5.0], "shape": [7.0, 11.0], "axis_names": "HW"}
    for data in (CHW, FRAMES, VOLUME):
        cases.append(Case("erase", [data], layers))
        channels = [5, 6] if data is VOLUME else [5, 6, 7]
        cases.append(Case("erase", [data], {**layers, "fill_value": channels}))
        whole = {
            "anchor": [0.0, 3.0],
            "shape": [99.0, 4.0],
            "axis_names": "WH",
            "fill_value": channels,
        }
        cases.append(Case("erase", [data], whole))
    cases.append(Case("erase", [FRAMES], {"anchor": [0.0, 2.0, 3.0], "shape": [1.0, 5.0, 5.0]}))
    cases.append(Case("erase", [BARE], {"anchor": [2.0, 3.0], "shape": [5.0, 5.0], "axes": [0, 2]}))
    deep = pictures([(2, 3, 4, 5, 6), (1, 2, 3, 4, 5)], layout="ABDEG")
    cases.append(Case("erase", [deep], {"anchor": [1.0, 1.0], "shape": [2.0, 2.0], "axes": [1, 3]}))
    flat = pictures([(9,), (4,)], layout="X")
    cases.append(Case("erase", [flat], {"anchor": [2.0], "shape": [3.0], "axes": [0]}))
    return cases


def erase_errors() -> list[Case]:
    return [
        Case("erase", [HWC], args)
        for args in (
            {"anchor": [2.0, 3.0]},
            {"anchor": [2.0, 3.0], "shape": [2.0]},
            {"anchor": [2.0, 3.0, 4.0], "shape": [2.0, 2.0, 2.0]},
            {"anchor": [2.0, 3.0], "shape": [2.0, 2.0], "fill_value": [1, 2]},
            {"anchor": [2.0, 3.0], "shape": [2.0, 2.0], "axis_names": "DH"},
            {
                "anchor": [2.0, 3.0],
                "shape": [2.0, 2.0],
                "normalized": True,
                "normalized_shape": True,
            },
        )
    ] + [Case("erase", [typed(t)], {"shape": [3.0, 3.0]}) for t in ("float64", "bool")]


def grid_mask_cases() -> list[Case]:
    cases = [
        Case("grid_mask", [typed(t)], {"tile": 7, "angle": 0.3})
        for t in ("uint8", "int16", "int32", "float32")
    ]
    for args in (
        {},
        {"tile": 10},
        {"tile": 1},
        {"tile": 11, "ratio": 0.3, "angle": 0.77, "shift_x": 3.3, "shift_y": -8.1},
        {"tile": 9, "ratio": 0.61, "angle": -2.5, "shift_x": 13.7},
        {"tile": 4, "ratio": 0.0},
        {"tile": 4, "ratio": 1.0},
        {"tile": 4, "ratio": -0.5},
        {"tile": scalars(5, 9, dtype=np.int32), "ratio": scalars(0.25, 0.7), "angle": scalars(0.1, 1.9)},
        {"tile": 8, "shift_x": scalars(2.5, -1.5), "shift_y": scalars(0.3, 77.7)},
    ):  # fmt: skip
        cases.append(Case("grid_mask", [HWC], args))
    cases += [Case("grid_mask", [data], {"tile": 6, "angle": 0.2}) for data in (CHW, BARE)]
    special = Data([np.array([[[np.nan, -1.0, np.inf, -np.inf]] * 5] * 3, np.float32)], "HWC")
    return [*cases, Case("grid_mask", [special], {"tile": 4})]


def grid_mask_errors() -> list[Case]:
    return [
        *(Case("grid_mask", [typed(t)], {}) for t in ("int8", "uint16", "float16", "float64")),
        Case("grid_mask", [HWC], {"tile": -3}),
        Case("grid_mask", [HWC], {"angel": 1.0}),
    ]


def paste_cases() -> list[Case]:
    base = {"fill_value": [7, 8, 9], "ratio": 1.5}
    cases = [
        Case("paste", [HWC], args)
        for args in (
            base,
            {**base, "ratio": 1.0},
            {**base, "fill_value": 33},
            {**base, "fill_value": [300, -1, 5]},
            {**base, "paste_x": 0.0, "paste_y": 1.0},
            {**base, "paste_x": 0.37, "paste_y": 0.81},
            {**base, "min_canvas_size": 60.9},
            {
                "fill_value": 1,
                "ratio": scalars(1.0, 2.7),
                "paste_x": scalars(0.1, 0.9),
                "paste_y": scalars(1, 0),
            },
            {**base, "min_canvas_size": scalars(0, 99)},
        )
    ]
    grey = pictures([(31, 43, 1), (50, 28, 1)])
    wide = pictures([(3, 4, 7), (5, 2, 7)])
    return [
        *cases,
        Case("paste", [BARE], base),
        Case("paste", [grey], {"fill_value": 5, "ratio": 2.0, "n_channels": 1}),
        Case("paste", [wide], {"fill_value": [1, 2, 3, 4, 5, 6, 7], "ratio": 2.3, "n_channels": 7}),
    ]


def paste_errors() -> list[Case]:
    base = {"fill_value": [7, 8, 9], "ratio": 1.5}
    return [
        Case("paste", [HWC], args)
        for args in (
            {"ratio": 1.5},
            {"fill_value": 3},
            {**base, "ratio": 0.9},
            {**base, "paste_x": 1.5},
            {**base, "paste_y": -0.1},
            {**base, "fill_value": [1, 2]},
            {**base, "fill_value": [1, 2, 3, 4]},
            {**base, "scale": 2.0},
        )
    ] + [Case("paste", [CHW], base)]


def displacement_cases() -> list[Case]:
    waves = {
        "ampl_x": 3.3,
        "ampl_y": 7.1,
        "freq_x": 0.31,
        "freq_y": 0.17,
        "phase_x": 1.0,
        "phase_y": -2.0,
    }
    linear = {"interp_type": "types.INTERP_LINEAR"}
    cases = []
    for op, args in (("sphere", {}), ("water", {}), ("water", waves)):
        for data in (
            HWC,
            FLOATS,
            BARE,
            pictures([(31, 43, 1), (5, 300, 1)]),
            pictures([(9, 8, 5), (2, 2, 5)]),
        ):
            cases.append(Case(op, [data], args, mostly))
            cases.append(Case(op, [data], {**args, **linear, "fill_value": 77.0}, resampled))
        cases.append(Case(op, [HWC], {**args, "fill_value": 300.0}, mostly))
        cases.append(Case(op, [HWC], {**args, "mask": 0}, mostly))
        cases.append(Case(op, [HWC], {**args, "mask": scalars(0, 1, dtype=np.int32)}, mostly))
    cases.append(Case("water", [HWC], {"ampl_x": 0.0, "ampl_y": 0.0}))
    return cases


def displacement_errors() -> list[Case]:
    return [
        Case(op, inputs, args)
        for op in ("sphere", "water")
        for inputs, args in (
            ([typed("int16")], {}),
            ([HWC], {"interp_type": "types.INTERP_CUBIC"}),
            ([CHW], {}),
            ([HWC], {"depth": 1.0}),
        )
    ]


CASES = [*erase_cases(), *grid_mask_cases(), *paste_cases(), *displacement_cases()]
ERRORS = [*erase_errors(), *grid_mask_errors(), *paste_errors(), *displacement_errors()]
OURS = [
    *(Case("jitter", [data], {"nDegree": 5}) for data in (HWC, FLOATS)),
    Case("jitter", [HWC], {"mask": scalars(0, 1, dtype=np.int32), "fill_value": 9.0}),
]
ELSEWHERE = {"jitter": "test_random.py"}
DIFFERENT = {
    r"^erase: axes=\[(-1|3)": "axes that the input does not have are refused",
    r"^grid_mask: input 0 (scalar|[0124] dim|HW uint8|FHWC|DHWC)": "other than three dimensions are refused; DALI reads three extents of any input",
    r"^paste: input 0 (3 dimensions|empty)": "`n_channels` must fit the input; DALI reads beyond it",
    r"^(sphere|water): mask=per sample .*\[": "one mask per sample; DALI reads the first element of a tensor",
}  # fmt: skip
