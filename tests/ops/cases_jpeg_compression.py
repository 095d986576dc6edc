# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of jpeg_compression_distortion: equal to what libjpeg-turbo makes of the pictures."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, scalars

NAME = "jpeg_compression_distortion"
# All remainders of sides that blocks of 8 and of 16 leave, and widths whose chroma is not interpolated.
SIDES = [(16 + k, 47 - 3 * k, 3) for k in range(16)]
NARROW = [(9, width, 3) for width in (1, 2, 3, 4, 5)] + [(1, 40, 3), (2, 17, 3)]
RNG = np.random.default_rng(8)


def smooth(shape: tuple[int, ...]) -> np.ndarray:
    """A picture whose neighbouring pixels are alike, as in photographs."""
    walk = np.cumsum(np.cumsum(RNG.normal(0, 1, shape), -2), -3)
    return np.clip(128 + 2 * walk, 0, 255).astype(np.uint8)


SMOOTH = Data([smooth((61, 90, 3)), smooth((48, 32, 3))], "HWC")
BINARY = Data([(RNG.integers(0, 2, (33, 50, 3)) * 255).astype(np.uint8)], "HWC")
FLAT = Data([np.full((20, 35, 3), value, np.uint8) for value in (0, 255, (9, 130, 77))], "HWC")


def cases() -> list[Case]:
    out = [Case(NAME, [data], {}) for data in (pictures(SIDES), pictures(NARROW), SMOOTH, BINARY, FLAT)]
    for quality in (1, 2, 5, 10, 25, 49, 50, 51, 75, 90, 95, 99, 100):
        out += [Case(NAME, [data], {"quality": quality}) for data in (SMOOTH, pictures([(41, 23, 3)]))]
    out += [Case(NAME, [BINARY], {"quality": quality}) for quality in (0, -3, 150, 1, 100)]
    out.append(Case(NAME, [SMOOTH], {"quality": scalars(7, 93, dtype=np.int32)}))
    out.append(Case(NAME, [Data([smooth((3, 21, 33, 3)), smooth((1, 30, 18, 3))], "FHWC")], {"quality": 30}))
    out.append(Case(NAME, [Data([np.zeros((0, 4, 4, 3), np.uint8)], "FHWC")], {}))
    out.append(Case(NAME, [Data([smooth((24, 24, 3))])], {}))
    return out


CASES = cases()
ERRORS = [
    Case(NAME, [pictures([(9, 8, 3)], "float32")], {}),
    Case(NAME, [pictures([(9, 8, 1)])], {}),
    Case(NAME, [pictures([(9, 8, 4)])], {}),
    Case(NAME, [pictures([(3, 9, 8)], layout="CHW")], {}),
    Case(NAME, [pictures([(9, 8, 3)])], {"quality": "high"}),
]
