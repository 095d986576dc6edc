# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of equalize."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures

SHAPES = {
    "HW": [(31, 43), (1, 1)],
    "HWC": [(31, 43, 3), (50, 28, 3)],
    "CHW": [(3, 31, 43), (3, 50, 28)],
    "FHW": [(2, 21, 33), (1, 30, 18)],
    "FHWC": [(2, 21, 33, 3), (1, 30, 18, 3)],
    "FCHW": [(2, 3, 21, 33), (1, 3, 30, 18)],
}
RNG = np.random.default_rng(3)
# Few values, one value, values in a narrow range, and a channel of each kind.
NARROW = [(RNG.integers(0, n, (40, 37, 3)) + at).astype(np.uint8) for n, at in ((2, 0), (1, 77), (5, 250), (60, 90))]
MIXED = [np.stack([NARROW[k][..., 0] for k in order], -1) for order in ((0, 1, 2), (3, 1, 0))]


def cases() -> list[Case]:
    out = [Case("equalize", [pictures(shapes, layout=layout)], {}) for layout, shapes in SHAPES.items()]
    out += [Case("equalize", [Data([sample], "HWC")], {}) for sample in [*NARROW, *MIXED]]
    for channels in (1, 2, 4, 9):
        out.append(Case("equalize", [pictures([(13, 17, channels), (1, 300, channels)])], {}))
    for seed in range(4):
        out.append(Case("equalize", [pictures([(97, 61, 3), (5, 7, 3)], seed=seed)], {}))
    ramps = [np.minimum(np.abs(RNG.normal(60, 30, (64, 80, 3))), 255).astype(np.uint8) for _ in range(2)]
    out.append(Case("equalize", [Data(ramps, "HWC")], {}))
    out.append(Case("equalize", [Data(ramps)], {}))
    out.append(Case("experimental.equalize", [Data(ramps, "HWC")], {}))
    return out


CASES = cases()
ERRORS = [
    Case("equalize", [pictures([(9, 8, 3)], "int16")], {}),
    Case("equalize", [pictures([(9, 8, 3)], "float32")], {}),
    Case("equalize", [pictures([(2, 9, 8, 3)], layout="DHWC")], {}),
    Case("equalize", [pictures([(9, 8, 3)])], {"bins": 3}),
]
