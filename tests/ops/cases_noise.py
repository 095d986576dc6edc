# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the noise operators whose result is not random. The noise itself is tested in test_noise.py."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, scalars

SHAPES = [(31, 43, 3), (5, 8, 3)]
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32"]
HWC = pictures(SHAPES)
OTHERS = [
    pictures([(3, 20, 31)], layout="CHW"),
    pictures([(2, 9, 11, 3)], layout="FHWC"),
    pictures([(2, 4, 9, 11, 1)], layout="FDHWC"),
    pictures([(9, 11, 1), (0, 3, 1)]),
    Data(HWC.samples),
]

SURE = {"stddev": 0.0}
CASES = [
    Case("noise.gaussian", [pictures(SHAPES, t)], {**SURE, "mean": mean})
    for t in TYPES
    for mean in (0.0, 2.5, -2.5, 100.0)
]
CASES += [Case("noise.gaussian", [data], {**SURE, "mean": 3.0}) for data in OTHERS]
CASES += [
    Case("noise.gaussian", [HWC], {"mean": scalars(3, 70), "stddev": scalars(0, 0)}),
    Case("noise.gaussian", [Data([np.array(7, np.uint8)])], {**SURE, "mean": 1.0}),
]

CASES += [Case("noise.shot", [pictures(SHAPES, t)], {"factor": 0.0}) for t in TYPES]
CASES += [Case("noise.shot", [Data([np.zeros(s, t) for s in SHAPES])], {}) for t in TYPES]
CASES += [
    Case("noise.shot", [Data([-s for s in pictures(SHAPES, "float32").samples], "HWC")], {}),
    Case("noise.shot", [HWC], {"factor": scalars(0, 0)}),
    Case("noise.shot", [Data([np.zeros((0, 4), np.uint8)])], {}),
]

ALL = {"prob": 1.0}
SALT = {**ALL, "salt_vs_pepper": 1.0}
PEPPER = {**ALL, "salt_vs_pepper": 0.0}
CASES += [
    Case("noise.salt_and_pepper", [pictures(SHAPES, t)], a) for t in TYPES for a in (SALT, PEPPER)
]
CASES += [
    Case("noise.salt_and_pepper", [data], args)
    for data in (OTHERS[0], OTHERS[1], OTHERS[3], OTHERS[4])
    for args in (SALT, {**PEPPER, "per_channel": True})
]
CASES += [
    Case("noise.salt_and_pepper", [HWC], args)
    for args in (
        {"prob": 0.0},
        {"prob": scalars(0, 1), "salt_vs_pepper": scalars(1, 0)},
        {**SALT, "salt_val": 7.9},
        {**SALT, "salt_val": 300.0},
        {**SALT, "salt_val": -3.6},
        {**PEPPER, "pepper_val": 9.0, "per_channel": True},
        {**PEPPER, "pepper_val": scalars(3, 4), "salt_val": scalars(1, 2)},
    )
]
CASES += [
    Case("noise.salt_and_pepper", [pictures(SHAPES, "int8")], {**SALT, "salt_val": 200.0}),
    Case("noise.salt_and_pepper", [pictures(SHAPES, "float32")], {**PEPPER, "pepper_val": -0.3}),
    Case("noise.salt_and_pepper", [pictures([(9, 8)], layout="HW")], {**SALT, "per_channel": True}),
]
NAMES = ("noise.gaussian", "noise.shot", "noise.salt_and_pepper")
ERRORS = [Case(n, [pictures(SHAPES, t)], {}) for n in NAMES for t in ("float16", "float64")]
ERRORS += [Case(n, [Data([np.ones((4, 4), bool)])], {}) for n in NAMES]
ERRORS += [
    Case("noise.salt_and_pepper", [HWC], args)
    for args in ({"prob": 2.0}, {"prob": -1.0}, {"salt_vs_pepper": 2.0}, {"salt_vs_pepper": -0.5})
]
ERRORS += [
    Case("noise.salt_and_pepper", [pictures([(9, 8)], layout="HW")], {}),
    Case("noise.salt_and_pepper", [pictures([(9, 3, 8)], layout="HCW")], {}),
]
