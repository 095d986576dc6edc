# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of `filter`."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, pictures, scalars


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Integers within 1 where sums are ties; floats relative to the largest."""
    difference = np.abs(ours.astype(np.float64) - theirs)
    if ours.dtype.kind == "f":
        assert difference.max(initial=0) <= 2e-6 * max(1.0, float(np.abs(theirs).max(initial=0)))
    else:
        assert difference.max(initial=0) <= 1 and difference.mean() <= 0.05


RNG = np.random.default_rng(12)


def kernels(*shapes: tuple[int, ...], layout: str = "") -> Data:
    """Filters with a sum of 1."""
    found = []
    for shape in shapes:
        values = RNG.uniform(-0.2, 1, shape).astype(np.float32)
        found.append((values / values.sum(axis=(-2, -1), keepdims=True)).astype(np.float32))
    return Data(found, layout)


HWC = pictures([(31, 43, 3), (50, 28, 3)])
K = kernels((3, 3), (5, 4))
LAYOUTS = {
    "HW": [(21, 33), (9, 8)],
    "CHW": [(3, 21, 33), (3, 9, 8)],
    "FHWC": [(3, 21, 33, 3), (1, 9, 8, 3)],
    "FCHW": [(3, 2, 21, 33), (1, 2, 9, 8)],
    "FHW": [(3, 21, 33), (1, 9, 8)],
    "WH": [(21, 33), (9, 8)],
}
BORDERS = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")


def case(data: Data, kernel: Data, *more: Data, **args: Any) -> Case:
    return Case("filter", [data, kernel, *more], args, close)


CASES = [case(pictures(shapes, layout=name), K) for name, shapes in LAYOUTS.items()]
for dtype in ("uint8", "uint16", "int16", "float32"):
    data = pictures(LAYOUTS["FHWC"], dtype, "FHWC")
    CASES += [case(data, K), case(data, K, dtype="types.FLOAT")]
for border in BORDERS:
    CASES += [
        case(HWC, kernels((7, 9), (2, 1)), border=border),
        case(pictures([(2, 4, 3), (5, 3, 1)], "float32"), kernels((2, 5), (5, 4)), border=border),
    ]
CASES += [
    case(HWC, K, Data([np.uint8(77), np.uint8(250)]), border="constant"),
    case(HWC, K, border="Reflect_1001"),
    case(HWC, K, mode="valid"),
    case(HWC, kernels((31, 2), (1, 28)), mode="valid"),
    case(HWC, K, anchor=0),
    case(HWC, K, anchor=[2, 0]),
    case(HWC, K, anchor=[-1, 1]),
    case(HWC, K, anchor=scalars(2, 0, dtype="int32")),
    case(HWC, kernels((1, 1), (1, 1))),
    case(pictures([(31, 43, 5), (20, 21, 7)]), K),
    case(pictures([(21, 33), (9, 8)], layout=""), K),
    case(pictures(LAYOUTS["FHWC"], layout="FHWC"), kernels((3, 3, 5), (1, 2, 2), layout="FHW")),
    Case("experimental.filter", [HWC, K], {}, close),
]
ERRORS = [
    case(pictures([(9, 9, 3)] * 2, "int32"), K),
    case(pictures([(9, 9, 3)] * 2, "float16"), K),
    case(pictures([(4, 9, 9, 3)] * 2, layout="DHWC"), K),
    case(pictures([(9, 3, 9)] * 2, layout="HCW"), K),
    case(pictures([(9, 8, 0), (5, 7, 0)]), K),
    case(HWC, Data([np.ones((3, 3), np.float64)] * 2)),
    case(HWC, Data([np.ones((1, 3, 3), np.float32)] * 2)),
    case(HWC, Data([np.ones((0, 3), np.float32)] * 2)),
    case(HWC, kernels((60, 3), (60, 3)), mode="valid"),
    case(HWC, K, mode="full"),
    case(HWC, K, border="mirror"),
    case(HWC, K, anchor=5),
    case(HWC, K, anchor=-2),
    case(HWC, K, anchor=[0, 0, 0]),
    case(HWC, K, dtype="types.INT16"),
    case(HWC, K, Data([np.float32(1)] * 2), border="constant"),
    case(HWC, K, Data([np.ones(1, np.uint8)] * 2), border="constant"),
]
