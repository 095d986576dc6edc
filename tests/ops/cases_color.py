# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators that map colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Compare, Data, exact, pictures, scalars, vectors

SHAPES = {
    "HWC": [(31, 43, 3), (50, 28, 3)],
    "FHWC": [(3, 21, 33, 3), (1, 30, 18, 3)],
    "DHWC": [(4, 11, 17, 3), (6, 14, 9, 3)],
}
HWC, FRAMES, VOLUME = (pictures(SHAPES[layout], layout=layout) for layout in SHAPES)
BARE = Data(HWC.samples)
WIDE = pictures([(13, 7, 5), (9, 11, 5)])
GREY = pictures([(31, 43, 1), (50, 28, 1)])
TINY = pictures([(1, 1, 3), (1, 300, 3), (0, 4, 3)])
TYPES = ("uint8", "int16", "int32", "float32")
OUTPUTS = ("UINT8", "INT16", "INT32", "FLOAT")
# Ties, values beyond all ranges, infinities and NaN.
SPECIAL = Data(
    [np.array([[[0.5, 1.5, 2.5], [-0.5, 1e10, -1e10], [np.inf, -np.inf, np.nan]]], np.float32)],
    "HWC",
)


def converted(ours: np.ndarray, theirs: np.ndarray) -> None:
    """UINT8: within 1, mean within 0.05. Others: relative to the largest value, by the precision of the type."""
    mine, other = ours.astype(np.float64), theirs.astype(np.float64)
    np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(other))
    difference = np.abs(np.nan_to_num(mine) - np.nan_to_num(other))
    if ours.dtype == np.uint8:
        assert difference.max(initial=0) <= 1
        assert difference.size == 0 or difference.mean() <= 0.05
        return
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=1.0))
    step = {np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-5}.get(
        ours.dtype, 1e-5 + 1 / scale
    )
    assert difference.max(initial=0) <= step * scale


def per_frame(*values: list[float]) -> Data:
    """One list per sample, with a number for each frame."""
    return Data([np.array(v, np.float32) for v in values], "F")


def typed(op: str, args: dict[str, Any], types: tuple[str, ...], outputs: tuple[str, ...],
          compare: Compare) -> list[Case]:  # fmt: skip
    """Every input type with every output type."""
    cases = []
    for dtype in types:
        data = pictures(SHAPES["HWC"], dtype)
        cases.append(Case(op, [data], args, compare))
        for output in outputs:
            cases.append(Case(op, [data], {**args, "dtype": "types." + output}, compare))
    return cases


def brightness_contrast_cases() -> list[Case]:
    op = "brightness_contrast"
    both = {"brightness": 1.3, "contrast": 0.7}
    cases = typed(op, {**both, "brightness_shift": 0.01}, TYPES, OUTPUTS, exact)
    cases += typed("brightness", {"brightness": 0.6}, TYPES, OUTPUTS, exact)
    cases += typed("contrast", {"contrast": 1.7}, TYPES, OUTPUTS, exact)
    for data in (HWC, FRAMES, VOLUME, BARE, WIDE, GREY, TINY):
        cases += [Case(op, [data], {}), Case(op, [data], both)]
    for args in (
        {"brightness": 0.0},
        {"brightness": -2.5, "brightness_shift": 1.0},
        {"brightness_shift": -0.3},
        {"contrast": 0.0},
        {"contrast": -1.0, "contrast_center": 99.25},
        {"contrast": 1e6},
        {"contrast": 3.0, "contrast_center": 0.3},
        {"brightness": scalars(0.4, 1.9), "brightness_shift": scalars(0.2, -0.1)},
        {"contrast": scalars(0.4, 1.9), "contrast_center": scalars(20, 200)},
        {"brightness": scalars(0.4, 1.9), "contrast": 0.5, "dtype": "types.FLOAT"},
    ):  # fmt: skip
        cases.append(Case(op, [HWC], args))
        cases.append(Case(op, [pictures(SHAPES["HWC"], "float32")], args))
    frames = {
        "brightness": per_frame([0.3, 1.0, 1.6], [2.0]),
        "brightness_shift": per_frame([0.1, 0.0, -0.1], [0.5]),
        "contrast": per_frame([0.5, 2.0, 1.0], [0.1]),
        "contrast_center": per_frame([10.0, 128.0, 200.0], [77.0]),
    }
    for dtype in TYPES:
        data = pictures(SHAPES["FHWC"], dtype, "FHWC")
        cases.append(Case(op, [data], frames))
        cases.append(
            Case(op, [data], {**frames, "contrast": scalars(0.5, 1.5), "dtype": "types.FLOAT"})
        )
    cases.append(Case("brightness", [FRAMES], {k: v for k, v in frames.items() if "bright" in k}))
    cases.append(Case("contrast", [FRAMES], {k: v for k, v in frames.items() if "contrast" in k}))
    cases.append(Case("brightness", [FRAMES], {"brightness": per_frame([0.5], [0.25])}))
    special = Data(SPECIAL.samples, "HWC")
    cases += [Case(op, [special], {"dtype": "types." + t}) for t in ("FLOAT", "UINT8")]
    cases += [Case("brightness", [HWC], {"brightness": scalars(0.4, 1.9)}),
              Case("brightness", [HWC], {"brightness_shift": scalars(0.4, -0.2)}),
              Case("contrast", [HWC], {"contrast": scalars(0.4, 1.9)}),
              Case("contrast", [HWC], {"contrast_center": scalars(9, 200), "contrast": 0.3})]  # fmt: skip
    return cases


def brightness_contrast_errors() -> list[Case]:
    return [
        Case(op, inputs, args)
        for op in ("brightness", "contrast", "brightness_contrast")
        for inputs, args in (
            ([pictures(SHAPES["HWC"], "uint16")], {}),
            ([pictures(SHAPES["HWC"], "float16")], {}),
            ([HWC], {"dtype": "types.UINT16"}),
            ([HWC], {"dtype": "types.FLOAT16"}),
            ([pictures([(3, 9, 8)], layout="CHW")], {}),
            ([pictures([(9, 8)], layout="HW")], {}),
            ([HWC], {"hue": 1.0}),
        )
    ] + [
        Case("brightness", [FRAMES], {"brightness": per_frame([1.0, 2.0], [1.0])}),
        Case("brightness", [HWC], {"brightness": vectors([1.0, 2.0], [1.0, 3.0])}),
    ]


TWISTS: dict[str, dict[str, Any]] = {
    "hue": {"hue": 40.0},
    "saturation": {"saturation": 0.4},
    "hsv": {"hue": -70.0, "saturation": 1.7, "value": 0.8},
    "color_twist": {"hue": 25.0, "saturation": 0.6, "brightness": 1.2, "contrast": 0.8},
}


def twist_cases() -> list[Case]:
    cases = []
    for op, args in TWISTS.items():
        cases += typed(op, args, (*TYPES, "float16"), (*OUTPUTS, "FLOAT16"), converted)
        for data in (HWC, FRAMES, VOLUME, BARE, TINY):
            cases += [Case(op, [data], {}, converted), Case(op, [data], args, converted)]
        per_sample = {key: scalars(value, 1.5 - value) for key, value in args.items()}
        cases.append(Case(op, [HWC], per_sample, converted))
        frames = {key: per_frame([value, 0.3, 1.1], [0.7 * value]) for key, value in args.items()}
        for dtype in TYPES:
            data = pictures(SHAPES["FHWC"], dtype, "FHWC")
            cases.append(Case(op, [data], frames, converted))
        cases.append(Case(op, [FRAMES], {**frames, next(iter(args)): 0.9}, converted))
    for args in (
        {"hue": 360.0},
        {"hue": -1234.5},
        {"saturation": 0.0},
        {"saturation": -1.0},
        {"brightness": 0.0, "contrast": 3.0},
        {"contrast": 0.0},
        {"contrast": -2.0, "brightness": 1.7},
        {"hue": 10.0, "image_type": "types.BGR"},
        {"hue": 1e6, "saturation": 50.0, "dtype": "types.FLOAT"},
    ):  # fmt: skip
        cases.append(Case("color_twist", [HWC], args, converted))
    cases.append(Case("hue", [HWC], {"hue": 10.0, "image_type": "types.BGR"}, converted))
    cases.append(Case("saturation", [HWC], {"image_type": "types.GRAY"}, converted))
    return cases


def twist_errors() -> list[Case]:
    return [
        Case(op, inputs, args)
        for op in TWISTS
        for inputs, args in (
            ([pictures(SHAPES["HWC"], "uint16")], {}),
            ([HWC], {"dtype": "types.UINT16"}),
            ([HWC], {"dtype": "types.FLOAT64"}),
            ([pictures([(3, 9, 8)], layout="CHW")], {}),
            ([pictures([(9, 8)], layout="HW")], {}),
            ([FRAMES], {"hue" if op != "saturation" else op: per_frame([1.0, 2.0], [1.0])}),
            ([HWC], {"sharpness": 1.0}),
        )
    ]


CASES = [*brightness_contrast_cases(), *twist_cases()]
ERRORS = [*brightness_contrast_errors(), *twist_errors()]
DIFFERENT = {
    r"^(brightness|contrast|brightness_contrast|hue|saturation|hsv|color_twist): \w+=\[": "a list is refused only if its length is wrong",
    r"^(hue|saturation|hsv|color_twist): input 0 (3 dimensions|empty)": "three channels are required; with fewer, DALI reads and writes beyond the image",
}  # fmt: skip
