# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of TIFF files, for kinds that other libraries do not write."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

_FORMATS = {1: "B", 3: "H", 4: "L", 7: "B", 16: "Q"}


def pack_bits(data: bytes) -> bytes:
    """PackBits with runs and literals."""
    out = bytearray()
    at = 0
    while at < len(data):
        run = 1
        while at + run < len(data) and run < 128 and data[at + run] == data[at]:
            run += 1
        if run > 2:
            out += bytes([257 - run, data[at]])
            at += run
        else:
            literal = data[at : at + 100]
            out += bytes([len(literal) - 1]) + literal
            at += len(literal)
    return bytes(out)


def _predicted(rows: np.ndarray, predictor: int) -> np.ndarray:
    """Rows (height, width, channels) as a predictor stores them."""
    if predictor == 2:
        out = rows.copy()
        out[:, 1:] = rows[:, 1:] - rows[:, :-1]
        return out
    height, width, channels = rows.shape
    planes = rows.astype(">f4").view(np.uint8).reshape(height, width * channels, 4)
    data = np.ascontiguousarray(planes.transpose(0, 2, 1)).reshape(height, -1)
    data[:, channels:] = data[:, channels:] - data[:, :-channels]
    return data


def _bits(rows: np.ndarray, bits: int) -> bytes:
    """Samples of less than 8 bits; every row begins with a new byte."""
    ones = np.unpackbits(rows.astype(np.uint8)[..., None], axis=-1)[..., 8 - bits :]
    return np.packbits(ones.reshape(rows.shape[0], -1), axis=1).tobytes()


def tiff(
    picture: np.ndarray,
    photometric: int,
    *,
    order: str = "<",
    big: bool = False,
    compression: int = 1,
    predictor: int = 1,
    planar: bool = False,
    tile: tuple[int, int] | None = None,
    rows_per_strip: int | None = None,
    bits: int | None = None,
    fields: dict[int, tuple[int, Any]] | None = None,
) -> bytes:
    """A file with one picture of shape (height, width, channels).

    `fields` are further fields, or replaced ones: tag -> (type, values).
    """
    height, width, channels = picture.shape
    pack = {1: bytes, 8: zlib.compress, 32773: pack_bits}[compression]
    block_h, block_w = tile or (rows_per_strip or height, width)
    blocks = []
    for plane in range(channels) if planar else [slice(None)]:
        samples = np.atleast_3d(picture[:, :, plane])
        for y in range(0, height, block_h):
            for x in range(0, width, block_w):
                part = samples[y : y + block_h, x : x + block_w]
                if tile:
                    full = np.zeros((block_h, block_w, samples.shape[2]), picture.dtype)
                    full[: part.shape[0], : part.shape[1]] = part
                    part = full
                if predictor == 3:
                    data = _predicted(part, 3).tobytes()
                elif bits is not None and bits < 8:
                    data = _bits(part, bits)
                else:
                    part = _predicted(part, 2) if predictor == 2 else part
                    data = part.astype(part.dtype.newbyteorder(order)).tobytes()
                row = len(data) // part.shape[0]
                rows = [data[i : i + row] for i in range(0, len(data), row)]
                # PackBits begins anew with each row.
                blocks.append(b"".join(map(pack, rows)) if compression == 32773 else pack(data))
    head = 16 if big else 8
    starts = list(np.cumsum([head, *map(len, blocks)])[:-1])
    entries: dict[int, tuple[int, Any]] = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [bits or 8 * picture.itemsize] * channels),
        259: (3, [compression]),
        262: (3, [photometric]),
        277: (3, [channels]),
        284: (3, [2 if planar else 1]),
        317: (3, [predictor]),
        339: (3, [3 if picture.dtype.kind == "f" else 1] * channels),
        324 if tile else 273: (16 if big else 4, starts),
        325 if tile else 279: (4, [len(block) for block in blocks]),
    }
    if tile:
        entries |= {322: (4, [block_w]), 323: (4, [block_h])}
    else:
        entries |= {278: (4, [block_h])}
    return _file(b"".join(blocks), {**entries, **(fields or {})}, order, big)


def _file(pixels: bytes, entries: dict[int, tuple[int, Any]], order: str, big: bool) -> bytes:
    word, counter, version = ("Q", "Q", 43) if big else ("L", "H", 42)
    head = 16 if big else 8
    at = head + len(pixels)
    size = struct.calcsize("=" + word)
    values = at + struct.calcsize("=" + counter) + len(entries) * (4 + 2 * size) + size
    directory, data = struct.pack(order + counter, len(entries)), b""
    for tag, (kind, numbers) in sorted(entries.items()):
        packed = struct.pack(f"{order}{len(numbers)}{_FORMATS[kind]}", *map(int, numbers))
        directory += struct.pack(order + "HH" + word, tag, kind, len(numbers))
        if len(packed) <= size:
            directory += packed.ljust(size, b"\0")
        else:
            directory += struct.pack(order + word, values + len(data))
            data += packed
    start = struct.pack(order + "2sH", b"II" if order == "<" else b"MM", version)
    if big:
        start += struct.pack(order + "HH", 8, 0)
    return start + struct.pack(order + word, at) + pixels + directory + bytes(size) + data
