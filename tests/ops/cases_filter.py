# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of filters: gaussian_blur, laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures, scalars, vectors

SHAPES: dict[str, list[tuple[int, ...]]] = {
    "HWC": [(31, 43, 3), (50, 28, 3)],
    "CHW": [(3, 31, 43), (3, 50, 28)],
    "HW": [(31, 43), (50, 28)],
    "FHWC": [(2, 21, 33, 3), (3, 30, 18, 3)],
    "FCHW": [(2, 3, 21, 33), (1, 3, 30, 18)],
    "CFHW": [(3, 2, 21, 33), (3, 1, 30, 18)],
    "DHW": [(4, 11, 17), (6, 14, 9)],
    "DHWC": [(4, 11, 17, 2), (6, 14, 9, 2)],
    "CDHW": [(2, 4, 11, 17), (2, 6, 14, 9)],
    "FDHWC": [(2, 4, 11, 17, 1), (1, 6, 14, 9, 1)],
    "FCDHW": [(2, 1, 4, 11, 17), (1, 1, 6, 14, 9)],
    "X": [(100,), (37,)],
    "FX": [(2, 40), (3, 37)],
    "WH": [(20, 30), (9, 7)],
}
TYPES = ["int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32"]
HWC = pictures(SHAPES["HWC"])
FRAMES = pictures(SHAPES["FHWC"], layout="FHWC")
VOLUME = pictures(SHAPES["DHWC"], layout="DHWC")


def filtered(ours: np.ndarray, theirs: np.ndarray) -> None:
    """UINT8: within 1, mean within 0.05. Other types: 1e-5 of the largest value, and rounding."""
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite])
    wanted = theirs[finite].astype(np.float64)
    difference = np.abs(ours[finite].astype(np.float64) - wanted)
    most = float(np.abs(wanted).max(initial=0))
    if ours.dtype == np.uint8:
        assert difference.max(initial=0) <= 1
        assert difference.size == 0 or difference.mean() <= 0.05
    elif ours.dtype == np.float16:
        assert difference.max(initial=0) <= 1e-3 * most
    else:
        assert difference.max(initial=0) <= 1e-5 * most + (ours.dtype.kind != "f")


def of(layout: str, dtype: str = "uint8") -> Data:
    return pictures(SHAPES[layout], dtype, layout)


def bare(*shapes: tuple[int, ...]) -> Data:
    return Data(pictures(shapes).samples)


def per_frame(*values: Any, dtype: Any = np.float32) -> Data:
    """Numbers, or lists, for each frame of each sample."""
    samples = [np.array(v, dtype) for v in values]
    return Data(samples, "F" if samples[0].ndim == 1 else "FX")


def layouts(op: str, args: dict[str, Any]) -> list[Case]:
    """One case per layout, per type and per unusual shape."""
    found = [Case(op, [of(layout)], args, filtered) for layout in SHAPES]
    found += [Case(op, [of(layout, "float32")], args, filtered) for layout in SHAPES]
    found += [Case(op, [of("HWC", dtype)], args, filtered) for dtype in TYPES]
    found += [Case(op, [of("DHWC", t)], args, filtered) for t in TYPES if t != "float16"]
    found += [
        Case(op, [of("HWC", dtype)], {**args, "dtype": "types.FLOAT"}, filtered)
        for dtype in ("uint8", "int16", "int64", "float32")
    ]
    found.append(Case(op, [of("DHW")], {**args, "dtype": "types.FLOAT"}, filtered))
    for shapes in (
        [(40,), (3,)], [(20, 30), (1, 9)], [(5, 20, 30), (2, 2, 2)],
    ):  # fmt: skip
        found.append(Case(op, [bare(*shapes)], args, filtered))
    for channels in (1, 2, 4, 5, 70):
        data = pictures([(20, 31, channels), (17, 3, channels)])
        found.append(Case(op, [data], args, filtered))
    small = pictures([(1, 1, 3), (1, 9, 3), (9, 1, 3), (2, 2, 3), (3, 200, 3), (300, 2, 3)])
    found.append(Case(op, [small], args, filtered))
    floats = Data([sample.astype(np.float32) for sample in small.samples], "HWC")
    found.append(Case(op, [floats], args, filtered))
    return found


def gaussian_cases() -> list[Case]:
    op = "gaussian_blur"
    found = layouts(op, {"sigma": 1.3})
    for args in (
        {"sigma": 0.5},
        {"sigma": 3.0},
        {"sigma": 0.001},
        {"sigma": 17.0},
        {"sigma": 60.0},
        {"sigma": [0.7, 2.5]},
        {"sigma": [1.0, 0.0], "window_size": [0, 5]},
        {"window_size": 1},
        {"window_size": 7},
        {"window_size": 131},
        {"window_size": [3, 9]},
        {"window_size": 1001},
        {"window_size": 3, "sigma": 5.0},
        {"sigma": scalars(0.6, 2.2)},
        {"sigma": vectors((0.6, 1.0), (2.2, 0.3))},
        {"window_size": scalars(5, 9, dtype=np.int32)},
        {"window_size": vectors((3, 5), (9, 1), dtype=np.int32), "sigma": 1.1},
    ):
        found.append(Case(op, [HWC], args, filtered))
        found.append(Case(op, [HWC], {**args, "dtype": "types.FLOAT"}, filtered))
    for args in (
        {"sigma": per_frame([0.5, 1.5], [2.0, 0.5, 1.0])},
        {"sigma": per_frame([[0.5, 1.5], [1.0, 1.0]], [[2.0, 0.5], [1, 2], [0.4, 3]])},
        {"window_size": per_frame([3, 5], [7, 1, 9], dtype=np.int32)},
        {"window_size": per_frame([3, 5], [7, 1, 9], dtype=np.int32), "sigma": 1.0},
        {"sigma": per_frame([1.5], [0.7])},
    ):
        found.append(Case(op, [FRAMES], args, filtered))
        found.append(Case(op, [of("FHWC", "float32")], args, filtered))
    for args in ({"sigma": [0.5, 1.0, 2.0]}, {"window_size": [3, 5, 7]}, {"window_size": 9}):
        found.append(Case(op, [VOLUME], args, filtered))
    found.append(Case(op, [of("HWC", "float64")], {"sigma": 1.0}, filtered))
    return found


def gaussian_errors() -> list[Case]:
    op = "gaussian_blur"
    calls: tuple[dict[str, Any], ...] = (
        {}, {"sigma": 0.0}, {"sigma": -1.0}, {"window_size": 4}, {"window_size": -3},
        {"sigma": [1.0, 2.0, 3.0]}, {"sigma": [1.0, 0.0]}, {"window_size": [3, 3, 3]},
        {"sigma": float("nan")}, {"sigma": 1.0, "dtype": "types.INT16"},
    )  # fmt: skip
    found = [Case(op, [HWC], args) for args in calls]
    for layout, shape in (
        ("C", (5,)), ("FC", (5, 3)), ("HCW", (9, 3, 8)), ("HWF", (5, 6, 2)), ("XYZW", (2, 3, 4, 5)),
    ):  # fmt: skip
        found.append(Case(op, [pictures([shape], layout=layout)], {"sigma": 1.0}))
    found.append(Case(op, [bare((2, 3, 4, 5))], {"sigma": 1.0}))
    found.append(Case(op, [pictures([(5, 6, 1)], "bool")], {"sigma": 1.0}))
    return found


def laplacian_cases() -> list[Case]:
    op = "laplacian"
    found = layouts(op, {"window_size": 5})
    for args in (
        {},
        {"window_size": [3, 7]},
        {"window_size": 31},
        {"smoothing_size": 1},
        {"smoothing_size": [5, 1]},
        {"window_size": [3, 5], "smoothing_size": [1, 7]},
        {"scale": 0.25},
        {"scale": [0.5, -2.0]},
        {"normalized_kernel": True},
        {"normalized_kernel": True, "window_size": [5, 9]},
        {"normalized_kernel": False, "window_size": [5, 3], "scale": [0.25, 2.0]},
        {"normalized_kernel": True, "window_size": [5, 3], "smoothing_size": [7, 1]},
        {"window_size": vectors((3, 5), (9, 7), dtype=np.int32)},
        {"smoothing_size": scalars(1, 5, dtype=np.int32)},
        {"scale": vectors((1.0, 0.5), (0.1, 0.2))},
    ):
        found.append(Case(op, [HWC], args, filtered))
        found.append(Case(op, [HWC], {**args, "dtype": "types.FLOAT"}, filtered))
    for args in (
        {"window_size": per_frame([3, 5], [7, 3, 9], dtype=np.int32)},
        {"window_size": per_frame([[3, 5], [3, 3]], [[7, 3], [3, 5], [9, 3]], dtype=np.int32)},
        {"smoothing_size": per_frame([1, 5], [7, 3, 9], dtype=np.int32)},
        {"scale": per_frame([0.5, 1.5], [2.0, 0.5, 1.0])},
    ):
        found.append(Case(op, [FRAMES], args, filtered))
    volumes = {"scale": per_frame([0.5, 1.5], [2.0])}
    found.append(Case(op, [of("FDHWC")], volumes, filtered))
    for args in (
        {},
        {"window_size": [3, 5, 7], "smoothing_size": [1, 3, 5], "scale": [1.0, 0.5, 0.25]},
        {"normalized_kernel": True, "window_size": [3, 5, 3]},
    ):
        found.append(Case(op, [VOLUME], {**args, "dtype": "types.FLOAT"}, filtered))
    return found


def laplacian_errors() -> list[Case]:
    op = "laplacian"
    calls: tuple[dict[str, Any], ...] = (
        {"window_size": 1}, {"window_size": 2}, {"window_size": 33}, {"window_size": -3},
        {"smoothing_size": 0}, {"smoothing_size": 2}, {"smoothing_size": 33},
        {"window_size": [3, 3, 3]}, {"smoothing_size": [1, 3, 5]}, {"scale": [1.0, 2.0, 3.0]},
        {"scale": 2.0, "normalized_kernel": True}, {"dtype": "types.INT16"},
    )  # fmt: skip
    found = [Case(op, [HWC], args) for args in calls]
    found.append(Case(op, [pictures([(9, 3, 8)], layout="HCW")], {}))
    found.append(Case(op, [of("HWC", "float64")], {}))
    return found


CASES = gaussian_cases() + laplacian_cases()
ERRORS = gaussian_errors() + laplacian_errors()
