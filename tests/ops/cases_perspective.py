# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of experimental.warp_perspective.

DALI computes the positions in pictures of two channels and, nearest and linear, of INT16 in steps of 1/32 pixel, and
all others in single precision, as Headrace always does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cases_image import BARE, HWC, of
from harness import Case, Data, mostly, pictures, vectors

NAME = "experimental.warp_perspective"
MATRICES = [
    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    [1.0, 0.0, 7.0, 0.0, 1.0, -4.0, 0.0, 0.0, 1.0],
    [0.607, 0.793, -3.31, -0.791, 0.611, 20.13, 0.0, 0.0, 1.0],
    [1.13, 0.21, -3.31, -0.14, 0.93, 4.17, 0.0021, -0.0013, 1.023],
    [-1.0, 0.1, 30.3, 0.2, -1.1, 41.7, 0.02, 0.011, -0.973],
]
SKEWED = MATRICES[3]
NEAREST = {"interp_type": "types.INTERP_NN"}
CUBIC = {"interp_type": "types.INTERP_CUBIC"}
BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")


def near(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Integers are rounded, and few differ; otherwise within the precision of positions."""
    difference = np.abs(ours.astype(np.float64) - theirs)
    scale = max(1.0, float(np.abs(theirs).max(initial=0)) / 255)
    if ours.dtype == np.uint8:
        assert difference.max(initial=0) <= 1 and difference.mean() <= 2e-2
    else:
        assert difference.max(initial=0) <= (ours.dtype.kind != "f") + 5e-2 * scale


def stepped(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Noise, within 1/64 pixel along both axes."""
    difference = np.abs(ours.astype(np.float64) - theirs)
    extent = float(theirs.max()) - float(theirs.min())
    assert difference.max() <= extent / 32 + 1 and difference.mean() <= extent / 120


def case(*inputs: Data, compare: Any = near, **args: Any) -> Case:
    return Case(NAME, list(inputs), args, compare)


def rows(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32).reshape(3, 3)


NOISE = np.random.default_rng(3).integers(-1000, 1000, (2, 40, 33, 3)).astype(np.int16)
FRAMES = pictures([(3, 20, 31, 3), (1, 9, 11, 3)], layout="FHWC")
BOTH = Data([rows(MATRICES[3]), rows(MATRICES[2])])
EACH = Data([np.stack([rows(m) for m in MATRICES[2:]]), rows(SKEWED)[None]], "F**")

CASES = [case(HWC, matrix=m) for m in MATRICES]
CASES += [case(HWC, matrix=m, inverse_map=False) for m in MATRICES]
CASES += [case(HWC, matrix=m, **NEAREST, compare=mostly) for m in MATRICES]
CASES += [case(HWC, matrix=m, pixel_origin="center", **CUBIC) for m in MATRICES]
for border in BORDERS:
    args: dict[str, Any] = {"matrix": SKEWED, "border_mode": border, "fill_value": [9.0, 77.5, 300.0]}
    CASES += [
        case(HWC, **args),
        case(HWC, **args, size=(90, 120)),
        case(HWC, **args, **CUBIC),
        case(HWC, **args, **NEAREST, compare=mostly),
        case(of("HWC", "float32"), **args),
        case(pictures([(1, 1, 3), (1, 7, 3)]), **args, size=(5, 9)),
        case(pictures([(5, 2, 3), (3, 3, 3)]), **args, **CUBIC, size=(12, 9)),
    ]
for dtype in ("uint16", "float32"):
    CASES += [
        case(of("HWC", dtype), matrix=SKEWED, fill_value=-1.5),
        case(of("HWC", dtype), matrix=SKEWED, **CUBIC, inverse_map=False),
        case(of("HWC", dtype), matrix=SKEWED, **NEAREST, compare=mostly),
    ]
CASES += [
    case(pictures([(31, 43, 2)] * 2), matrix=SKEWED, fill_value=200.0, compare=stepped),
    case(Data(NOISE, "HWC"), matrix=SKEWED, compare=stepped),
    case(Data(NOISE, "HWC"), matrix=SKEWED, **CUBIC),
    case(Data(NOISE, "HWC"), matrix=SKEWED, **NEAREST, compare=mostly),
]
for layout, shapes in (
    ("HW", [(31, 43), (50, 28)]),
    ("CHW", [(3, 31, 43), (2, 50, 28)]),
    ("FHWC", [(2, 21, 33, 3), (1, 30, 18, 3)]),
    ("FCHW", [(2, 3, 21, 33), (1, 3, 30, 18)]),
):
    CASES.append(case(pictures(shapes, layout=layout), matrix=SKEWED, fill_value=5.0))
CASES += [case(pictures([(31, 43, c)] * 2), matrix=SKEWED, fill_value=200.0) for c in (1, 4)]
CASES += [
    case(BARE, matrix=SKEWED),
    case(HWC, matrix=BOTH),
    case(HWC, BOTH),
    case(HWC, BOTH, inverse_map=False, pixel_origin="center"),
    case(FRAMES, EACH),
    case(FRAMES, matrix=EACH),
    case(FRAMES, matrix=EACH, inverse_map=False, size=(8, 40)),
    case(FRAMES, matrix=BOTH),
    case(HWC, matrix=SKEWED, size=(20, 60.5)),
    case(HWC, matrix=SKEWED, size=33),
    case(HWC, matrix=SKEWED, size=(0, -3)),
    case(HWC, matrix=SKEWED, size=vectors((20, 30), (40, 21))),
    case(HWC, matrix=[0.0] * 9, fill_value=7.0),
    case(HWC, matrix=[1.0, 2, 3, 2, 4, 6, 0, 0, 1], inverse_map=False, fill_value=7.0),
]
ERRORS = [
    case(HWC, **args)
    for args in (
        {},
        {"matrix": SKEWED[:6]},
        {"matrix": [*SKEWED, 1.0]},
        {"matrix": SKEWED, "size": [4, 5, 6]},
        {"matrix": SKEWED, "fill_value": [1.0, 2.0]},
        {"matrix": SKEWED, "fill_value": [1.0, 2.0, 3.0, 4.0]},
        {"matrix": SKEWED, "border_mode": "clamp"},
        {"matrix": SKEWED, "border_mode": "Constant"},
        {"matrix": SKEWED, "pixel_origin": "centre"},
        {"matrix": SKEWED, "interp_type": "types.INTERP_LANCZOS3"},
    )
]
ERRORS += [case(of("HWC", t), matrix=SKEWED) for t in ("int8", "int32", "float16")]
ERRORS += [
    case(of("CHW"), matrix=SKEWED, fill_value=[1.0, 2.0, 3.0]),
    case(of("DHWC"), matrix=SKEWED),
    case(HWC, BOTH, matrix=SKEWED),
    case(HWC, Data([np.eye(3)] * 2)),
    case(HWC, Data([np.eye(3, dtype=np.float32)[:2]] * 2)),
    case(HWC, Data([np.eye(3, dtype=np.float32).ravel()] * 2)),
    case(FRAMES, Data([np.stack([rows(SKEWED)] * 2)] * 2, "F**")),
    case(pictures([(0, 5, 3)] * 2), matrix=SKEWED, size=(4, 4)),
]
# DALI has remap for the GPU only.
PLACES = [
    Data([np.random.default_rng(k).uniform(-4, 50, (37, 29)).astype(np.float32) for k in (k, 5)])
    for k in (3, 4)
]
OURS = [
    Case(
        "experimental.remap",
        [of("HWC", dtype), *PLACES],
        {"interp": "types.INTERP_" + interp, "pixel_origin": origin},
    )
    for dtype in ("uint8", "uint16", "int16", "float32")
    for interp in ("NN", "LINEAR", "CUBIC")
    for origin in ("corner", "center")
]
OURS += [Case("experimental.remap", [of("FHWC"), *PLACES], {})]
ELSEWHERE = {"experimental.remap": "test_remap.py"}
DIFFERENT = {
    r"^experimental.warp_perspective: matrix=": "nine numbers are required; DALI takes one for all nine",
}
