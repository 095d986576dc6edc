# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of lossless JPEG files (SOF3), which Pillow does not write."""

from __future__ import annotations

import struct

import numpy as np


def _segment(marker: int, *data: bytes) -> bytes:
    body = b"".join(data)
    return struct.pack(">BBH", 0xFF, marker, 2 + len(body)) + body


# Every category of differences has a code of five bits.
_TABLE = bytes([0, 0, 0, 0, 0, 17, *[0] * 11, *range(17)])


def _predicted(rows: np.ndarray, predictor: int, middle: int, restart: int) -> np.ndarray:
    """What a decoder predicts for each sample of rows (height, width, channels)."""
    v = rows.astype(np.int64)
    left, above, corner = (np.zeros_like(v) for _ in range(3))
    left[:, 1:], above[1:], corner[1:, 1:] = v[:, :-1], v[:-1], v[:-1, :-1]
    out = [left, above, corner, left + above - corner, left + (above - corner >> 1),
           above + (left - corner >> 1), left + above >> 1][predictor - 1]  # fmt: skip
    out[:, 0] = above[:, 0]
    for y in range(0, len(v), restart or len(v)):
        out[y] = left[y]
        out[y, 0] = middle
    return out


def _coded(differences: np.ndarray) -> bytes:
    bits = []
    for d in (differences.ravel() + 32768) % 65536 - 32768:
        category = 16 if d == -32768 else int(abs(d)).bit_length()
        bits.append(f"{category:05b}")
        if 0 < category < 16:
            bits.append(f"{int(d) if d > 0 else int(d) + 2**category - 1:0{category}b}")
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0") if text else b""


def lossless(
    picture: np.ndarray, bits: int, predictor: int, *, restart: int = 0, apart: bool = False, shift: int = 0,
    sampling: int = 0x11, interval: int | None = None, before: bytes = b"", ids: bytes = b"\1\2\3\4",
) -> bytes:  # fmt: skip
    """A file of a picture (height, width, channels).

    `restart`: rows between restart markers; `apart`: a scan for each component; `shift`: the lowest bits are zeros that are not
    stored; `before`: segments before the frame."""
    height, width, count = picture.shape
    frame = struct.pack(">BHHB", bits, height, width, count)
    for k in range(count):
        frame += bytes([ids[k], sampling if k == 0 else 0x11, 0])
    out = b"\xff\xd8" + before + _segment(0xC3, frame) + _segment(0xC4, _TABLE)
    if restart or interval:
        out += _segment(0xDD, struct.pack(">H", interval or restart * width))
    for first in range(count) if apart else [0]:
        of = [first] if apart else list(range(count))
        rows = picture[..., of].astype(np.int64) >> shift
        differences = rows - _predicted(rows, predictor, 1 << (bits - shift - 1), restart)
        named = b"".join(bytes([ids[k], 0]) for k in of)
        out += _segment(0xDA, bytes([len(of)]), named, bytes([predictor, 0, shift]))
        for i, y in enumerate(range(0, height, restart or height)):
            out += bytes([0xFF, 0xD0 + (i - 1) % 8]) if i else b""
            out += _coded(differences[y : y + (restart or height)])
    return out + b"\xff\xd9"
