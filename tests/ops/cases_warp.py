# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of warp_affine."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases_image import BARE, HWC, VOLUME, of
from harness import Case, Data, mostly, pictures, rotated, vectors

MATRICES = [
    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    [1.0, 0.0, 7.0, 0.0, 1.0, -4.0],
    [-1.0, 0.0, 43.0, 0.0, 1.0, 0.0],
    [1.1, 0.2, -1.0, 0.1, 0.9, 0.5],
    [0.3, 0.0, 11.3, 0.0, 0.4, 2.7],
    [0.6, 0.8, -3.0, -0.8, 0.6, 20.0],
    [0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 5.2, 0.0, 0.0, 6.9],
]
SKEWED = MATRICES[3]
# No positions between two pixels.
TURNED = [0.913, 0.117, 0.03, 0.51, -0.107, 1.093, 0.211, -0.73, 0.053, -0.109, 0.817, 0.41]
NEAREST = {"interp_type": "types.INTERP_NN"}
OTHERS: list[dict[str, Any]] = [
    {"inverse_map": False},
    {"fill_value": 77.0},
    {"fill_value": 300.0},
    {"fill_value": 77.4, "dtype": "types.FLOAT"},
    {"dtype": "types.FLOAT"},
    {"output_dtype": "types.FLOAT"},
    {"size": (20, 60.5)},
    {"size": (1, 1)},
    {"size": vectors((20, 30), (40, 21))},
]


def tensor(values: Any, count: int = 2, layout: str = "") -> Data:
    """The same matrix, or matrices, for every sample."""
    return Data([np.array(values, np.float32)] * count, layout)


def rows(values: list[float], axes: int = 2) -> np.ndarray:
    return np.array(values, np.float32).reshape(axes, axes + 1)


CASES = [Case("warp_affine", [HWC], {"matrix": m}, rotated) for m in MATRICES]
CASES += [Case("warp_affine", [HWC], {"matrix": m, **NEAREST}, mostly) for m in MATRICES]
CASES += [
    Case("warp_affine", [HWC], {"matrix": m, "inverse_map": False}, rotated) for m in MATRICES[:-1]
]
CASES += [Case("warp_affine", [HWC], {"matrix": SKEWED, **args}, rotated) for args in OTHERS]
CASES += [
    Case("warp_affine", [HWC], {"matrix": SKEWED, **args, **NEAREST}, mostly) for args in OTHERS
]
CASES += [
    Case("warp_affine", [of("HWC", t)], {"matrix": SKEWED, **NEAREST}, mostly)
    for t in ("int16", "int32", "float32")
]
CASES += [
    Case("warp_affine", [of("HWC", "float32")], {"matrix": SKEWED, "dtype": "types." + t}, rotated)
    for t in ("UINT8", "INT16", "INT32", "FLOAT")
]
CASES += [Case("warp_affine", [of(layout)], {"matrix": SKEWED}, rotated) for layout in ("FHWC",)]
CASES += [
    Case(
        "warp_affine",
        [of(layout)],
        {"matrix": TURNED, **args},
        mostly if args == NEAREST else rotated,
    )
    for layout in ("DHWC", "FDHWC")
    for args in ({}, {"size": (3, 14, 9)}, {"inverse_map": False}, {"fill_value": 9.0}, NEAREST)
]
CASES += [
    Case("warp_affine", [BARE], {"matrix": SKEWED}, rotated),
    Case("warp_affine", [pictures([(1, 1, 3)])], {"matrix": SKEWED, "size": (5, 4)}, rotated),
    Case("warp_affine", [pictures([(300, 1, 1)])], {"matrix": SKEWED, "size": (5, 600)}, rotated),
    Case("warp_affine", [pictures([(9, 8, 5)])], {"matrix": SKEWED}, rotated),
]

# The matrix as an input and as a tensor
BOTH = Data([rows(MATRICES[3]), rows(MATRICES[5])])
THREE = [rows(m) for m in MATRICES[3:6]]
FRAMES = pictures([(3, 20, 31, 2), (1, 9, 11, 2)], layout="FHWC")
EACH = Data([np.stack(THREE), THREE[1][None]], "F**")
VOLUMES = pictures([(2, 4, 11, 17, 1)], layout="FDHWC")
TWO = np.stack([rows(TURNED, 3), np.eye(3, 4, dtype=np.float32)])
CASES += [
    Case("warp_affine", [HWC, BOTH], {}, rotated),
    Case("warp_affine", [HWC, BOTH], {"matrix": MATRICES[1], "inverse_map": False}, rotated),
    Case("warp_affine", [HWC], {"matrix": BOTH}, rotated),
    Case("warp_affine", [HWC], {"matrix": BOTH, **NEAREST, "fill_value": 3.0}, mostly),
    Case("warp_affine", [VOLUME, tensor(rows(TURNED, 3))], {}, rotated),
    Case("warp_affine", [FRAMES, EACH], {}, rotated),
    Case("warp_affine", [FRAMES], {"matrix": EACH}, rotated),
    Case("warp_affine", [FRAMES], {"matrix": EACH, "inverse_map": False, "size": (8, 40)}, rotated),
    Case(
        "warp_affine", [FRAMES], {"matrix": Data([THREE[0][None], THREE[1][None]], "F**")}, rotated
    ),
    Case("warp_affine", [FRAMES], {"matrix": BOTH}, rotated),
    Case("warp_affine", [VOLUMES], {"matrix": Data([TWO], "F**")}, rotated),
]
ERRORS = [
    Case("warp_affine", [HWC], args)
    for args in (
        {},
        {"matrix": []},
        {"matrix": SKEWED[:5]},
        {"matrix": [*SKEWED, 0.0, 0.0, 1.0]},
        {"matrix": SKEWED, "size": [4]},
        {"matrix": SKEWED, "size": [0, 5]},
        {"matrix": SKEWED, "size": [-1, 5]},
        {"matrix": SKEWED, "size": [4, 5, 6]},
        {"matrix": SKEWED, "dtype": "types.INT16"},
        {"matrix": SKEWED, "dtype": "types.FLOAT16"},
        {"matrix": SKEWED, "interp_type": "types.INTERP_CUBIC"},
        {"matrix": [0.0] * 6, "inverse_map": False},
        {"matrix": [1.0, 2.0, 0.0, 2.0, 4.0, 0.0], "inverse_map": False},
    )
]
ERRORS += [
    Case("warp_affine", [VOLUME], {"matrix": SKEWED}),
    Case("warp_affine", [of("CHW")], {"matrix": SKEWED}),
    Case("warp_affine", [of("HWC", "uint16")], {"matrix": SKEWED}),
    Case("warp_affine", [HWC, tensor(SKEWED)], {}),
    Case("warp_affine", [HWC, Data([rows(SKEWED).astype(np.float64)] * 2)], {}),
    Case("warp_affine", [HWC, tensor(np.eye(3))], {}),
    Case("warp_affine", [FRAMES], {"matrix": Data([np.stack(THREE)] * 2, "F**")}),
    Case("warp_affine", [FRAMES, Data([np.stack(THREE)] * 2, "F**")], {}),
]
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {
    r"^warp_affine: size=per sample": "DALI truncates sizes per sample, and rounds constant ones",
}
