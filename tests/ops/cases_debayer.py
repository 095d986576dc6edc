# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of debayer."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, exact, pictures, vectors


def sevenths(ours: np.ndarray, theirs: np.ndarray) -> None:
    """OpenCV divides by seven inexactly in some pixels: there ties may differ by 1."""
    difference = np.abs(ours.astype(np.int16) - theirs)
    assert difference.max(initial=0) <= 1 and np.count_nonzero(difference) <= 2 + difference.size // 1000


SHAPES = {
    "HW": [(32, 46), (30, 18)],
    "HWC": [(22, 34, 1), (10, 90, 1)],
    "FHW": [(3, 22, 34), (1, 12, 130)],
    "FHWC": [(2, 22, 34, 1), (2, 8, 8, 1)],
}
EXACT = ("bilinear_ocv", "edgeaware_ocv", "gray_ocv")
POSITIONS = ((0, 0), (0, 1), (1, 0), (1, 1))
SMALL = [(4, 4), (2, 8), (8, 2), (2, 2), (6, 20), (4, 50), (8, 8)]
PER_SAMPLE = vectors((0, 1), (1, 1), dtype=np.int32)


def ramps(dtype: type) -> Data:
    """Smooth pictures with a little noise: few directions of equal gradients."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:48, :70]
    scale = 1 if dtype is np.uint8 else 257
    return Data([((y * 2 + x + rng.integers(0, 9, x.shape)) % 256 * scale).astype(dtype) for _ in range(2)], "HW")


def cases() -> list[Case]:
    out = []
    for algorithm in (*EXACT, "vng_ocv"):
        compare = sevenths if algorithm == "vng_ocv" else exact
        for dtype in (np.uint8, np.uint16)[: 1 if algorithm == "vng_ocv" else 2]:
            for position in POSITIONS:
                args = {"algorithm": algorithm, "blue_position": list(position)}
                out.append(Case("debayer", [pictures(SHAPES["HW"], dtype, "HW", seed=len(out))], args, compare))
            args = {"algorithm": algorithm, "blue_position": [1, 0]}
            for layout in ("HWC", "FHW", "FHWC"):
                out.append(Case("debayer", [pictures(SHAPES[layout], dtype, layout)], args, compare))
            out.append(Case("debayer", [ramps(dtype)], args, compare))
            out.append(Case("debayer", [pictures(SMALL, dtype, "HW")], args, compare))
            extremes = [np.where(p > 128, np.iinfo(dtype).max, 0).astype(dtype) for p in pictures([(40, 60)] * 2).samples]
            out.append(Case("debayer", [Data(extremes, "HW")], args, compare))
    out.append(Case("debayer", [pictures(SHAPES["HW"], layout="HW")], {"blue_position": PER_SAMPLE}))
    out.append(Case("debayer", [pictures(SHAPES["HW"], layout="")], {"blue_position": [0, 1]}))
    per_frame = Data([np.array(POSITIONS[:3], np.int32), np.array(POSITIONS[3:], np.int32)], "F*")
    out.append(Case("debayer", [pictures(SHAPES["FHW"], layout="FHW")], {"blue_position": per_frame}))
    out.append(Case("experimental.debayer", [pictures(SHAPES["HW"], layout="HW")], {"blue_position": [0, 0]}))
    out.append(Case("debayer", [pictures(SHAPES["HW"], layout="HW")], {"blue_position": [0, 0], "algorithm": "Gray_OCV"}))
    return out


CASES = cases()
ONE = [pictures([(8, 8)], layout="HW")]
ERRORS = [
    Case("debayer", [pictures([(8, 8)], "int16", "HW")], {"blue_position": [0, 0]}),
    Case("debayer", [pictures([(8, 8)], "float32", "HW")], {"blue_position": [0, 0]}),
    Case("debayer", [pictures([(8, 8)], "uint16", "HW")], {"blue_position": [0, 0], "algorithm": "vng_ocv"}),
    Case("debayer", [pictures([(8, 8, 3)])], {"blue_position": [0, 0]}),
    Case("debayer", [pictures([(7, 8)], layout="HW")], {"blue_position": [0, 0]}),
    Case("debayer", [pictures([(8, 7)], layout="HW")], {"blue_position": [0, 0]}),
    Case("debayer", [pictures([(1, 8, 8)], layout="CHW")], {"blue_position": [0, 0]}),
    Case("debayer", ONE, {}),
    Case("debayer", ONE, {"blue_position": [0, 2]}),
    Case("debayer", ONE, {"blue_position": [0, -1]}),
    Case("debayer", ONE, {"blue_position": [0, 0, 0]}),
    Case("debayer", ONE, {"blue_position": [0, 0], "algorithm": "bilinear"}),
]
