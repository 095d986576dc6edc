# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of `decoders.volume`, which DALI does not have."""

from __future__ import annotations

import struct

import numpy as np

from harness import Case, Data

NAME = "decoders.volume"


def nifti(values: np.ndarray, slope: float) -> np.ndarray:
    """A NIfTI-1 file of INT16 values (depth, height, width)."""
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, *values.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<hh", head, 70, 4, 16)
    struct.pack_into("<fff", head, 108, 352, slope, -3.0 if slope else 0.0)
    head[344:348] = b"n+1\0"
    return np.frombuffer(bytes(head) + values.astype("<i2").tobytes(), np.uint8)


SHAPES = [(3, 5, 7), (1, 1, 1), (2, 9, 4)]
VALUES = [np.arange(np.prod(shape)).reshape(shape) * 37 - 500 for shape in SHAPES]
FILES = Data([nifti(values, 0.25) for values in VALUES])
PLAIN = Data([nifti(values, 0.0) for values in VALUES])
OURS = [
    Case(NAME, [data], args)
    for data in (FILES, PLAIN)
    for args in (
        {},
        {"dtype": "types.INT16"},
        {"dtype": "types.UINT8"},
        {"dtype": "types.FLOAT16"},
        {"dtype": "types.ANY"},
        {"rescale": False},
        {"rescale": False, "dtype": "types.ANY"},
    )
]
ELSEWHERE = {NAME: "tests/python/test_volumes.py"}
