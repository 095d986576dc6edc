# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of clahe."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures

RNG = np.random.default_rng(8)
BOTH = [pictures([(50, 70, 3), (32, 64, 3)]), pictures([(50, 70, 1), (32, 64, 1)])]
SMALL = pictures([(1, 1, 1), (2, 2, 1), (1, 9, 1), (5, 3, 1), (8, 8, 1)])
SMALL_RGB = pictures([(1, 1, 3), (2, 5, 3), (7, 1, 3)])


def case(data: Data, x: int, y: int, limit: float = 2.0, **args: Any) -> Case:
    return Case("clahe", [data], {"tiles_x": x, "tiles_y": y, "clip_limit": limit, **args})


def smooth() -> Data:
    y, x = np.mgrid[:90, :110]
    waves = [np.sin(x / 17 + c) * 60 + np.cos(y / 9 - c) * 40 + 120 for c in range(3)]
    return Data([(np.stack(waves, -1) + RNG.integers(0, 12, (90, 110, 3))).astype(np.uint8)], "HWC")


def colours() -> Data:
    """The corners and edges of the RGB cube."""
    steps = [np.array(v, np.uint8) for v in (np.arange(0, 256, 5), [0, 1, 2, 127, 254, 255])]
    return Data([np.stack(np.meshgrid(s, s, s), -1).reshape(len(s), -1, 3) for s in steps], "HWC")


CASES = [case(data, x, y) for data in BOTH for x, y in ((4, 4), (1, 1), (7, 3), (2, 8), (100, 60))]
CASES += [case(data, 4, 2, limit) for data in BOTH for limit in (0.0, -1.0, 0.01, 1.0, 3.7, 40.0, 1e6)]
CASES += [case(data, 4, 4, luma_only=False) for data in (*BOTH, smooth())]
CASES += [case(smooth(), 8, 8), case(smooth(), 3, 5, 1.5), case(colours(), 1, 1, 1.0), case(colours(), 5, 2, 9.0)]
CASES += [case(data, 4, 4) for data in (SMALL, SMALL_RGB)]
CASES += [case(BOTH[1], 4, 4, bins=64), case(pictures([(20, 30, 3)], layout=""), 4, 4)]
CASES += [case(Data([np.full((30, 40, 3), 90, np.uint8)], "HWC"), 4, 4)]
ERRORS = [
    case(pictures([(20, 30, 2)]), 4, 4),
    case(pictures([(20, 30, 4)]), 4, 4),
    case(pictures([(20, 30)], layout="HW"), 4, 4),
    case(pictures([(2, 20, 30, 3)], layout="FHWC"), 4, 4),
    case(pictures([(3, 20, 30)], layout="CHW"), 4, 4),
    case(pictures([(20, 30, 3)], "float32"), 4, 4),
    case(pictures([(20, 30, 3)], "uint16"), 4, 4),
    Case("clahe", [BOTH[0]], {"tiles_x": 4, "tiles_y": 4}),
    Case("clahe", [BOTH[0]], {"tiles_x": 4, "clip_limit": 2.0}),
]
