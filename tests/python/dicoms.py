# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of DICOM files."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

IMPLICIT = "1.2.840.10008.1.2"
EXPLICIT = "1.2.840.10008.1.2.1"
RLE = "1.2.840.10008.1.2.5"
JPEG = "1.2.840.10008.1.2.4.50"
JPEG_LOSSLESS = "1.2.840.10008.1.2.4.70"
JPEG2000 = "1.2.840.10008.1.2.4.90"
JPEG2000_LOSSY = "1.2.840.10008.1.2.4.91"

UNDEFINED = 0xFFFFFFFF


def padded(value: bytes, fill: bytes = b"\0") -> bytes:
    return value + fill * (len(value) % 2)


def element(tag: int, kind: str, value: bytes, implicit: bool = False, length: int | None = None) -> bytes:  # fmt: skip
    """`length` instead of that of the value: UNDEFINED."""
    head = struct.pack("<HH", tag >> 16, tag & 0xFFFF)
    size = len(value) if length is None else length
    if implicit or tag >> 16 == 0xFFFE:
        return head + struct.pack("<I", size) + value
    if kind in ("OB", "OW", "OF", "OD", "SQ", "UN", "UT"):
        return head + kind.encode() + struct.pack("<HI", 0, size) + value
    return head + kind.encode() + struct.pack("<H", size) + value


def short(tag: int, value: int, implicit: bool = False) -> bytes:
    return element(tag, "US", struct.pack("<H", value), implicit)


def text(tag: int, kind: str, value: str, implicit: bool = False) -> bytes:
    return element(tag, kind, padded(value.encode(), b"\0" if kind == "UI" else b" "), implicit)


def sequence(tag: int, items: list[bytes], implicit: bool = False, marked: bool = False) -> bytes:
    """`marked`: the ends of the sequence and its items are marked instead of counted."""
    if not marked:
        body = b"".join(element(0xFFFEE000, "", item) for item in items)
        return element(tag, "SQ", body, implicit)
    ends = element(0xFFFEE00D, "", b"")
    body = b"".join(element(0xFFFEE000, "", item + ends, length=UNDEFINED) for item in items)
    return element(tag, "SQ", body + element(0xFFFEE0DD, "", b""), implicit, UNDEFINED)


def fragments(frames: list[list[bytes]], offsets: bool) -> bytes:
    table, at, body = [], 0, b""
    for frame in frames:
        table.append(at)
        for part in frame:
            item = element(0xFFFEE000, "", padded(part))
            at += len(item)
            body += item
    first = struct.pack(f"<{len(table)}I", *table) if offsets else b""
    return element(0xFFFEE000, "", first) + body + element(0xFFFEE0DD, "", b"")


def pack_bits(data: bytes) -> bytes:
    out, i = b"", 0
    while i < len(data):
        n = 1
        while i + n < len(data) and data[i + n] == data[i] and n < 128:
            n += 1
        if n > 1:
            out += bytes([257 - n, data[i]])
        else:
            while i + n < len(data) and n < 128 and data[i + n] != data[i + n - 1]:
                n += 1
            out += bytes([n - 1]) + data[i : i + n]
        i += n
    return padded(out)


def rle(frame: np.ndarray) -> bytes:
    """A frame of (rows, columns) or (rows, columns, samples)."""
    planes = frame[None] if frame.ndim == 2 else np.moveaxis(frame, 2, 0)
    size = frame.itemsize
    parts = []
    for plane in planes:
        octets = plane.astype(plane.dtype.newbyteorder(">")).tobytes()
        parts += [pack_bits(octets[i::size]) for i in range(size)]
    starts = np.cumsum([64, *map(len, parts)])[:-1]
    head = struct.pack("<16I", len(parts), *starts, *[0] * (15 - len(parts)))
    return head + b"".join(parts)


def write(
    pixels: bytes,
    rows: int,
    columns: int,
    *,
    syntax: str = EXPLICIT,
    allocated: int = 16,
    stored: int | None = None,
    high: int | None = None,
    signed: bool = False,
    samples: int = 1,
    photometric: str = "MONOCHROME2",
    planar: int = 0,
    frames: int | None = None,
    slope: str | None = None,
    intercept: str | None = None,
    before: bytes = b"",
    tag: int = 0x7FE00010,
    encapsulated: bool = False,
) -> bytes:
    """`before`: elements in front of the pixels."""
    stored = allocated if stored is None else stored
    implicit = syntax == IMPLICIT

    def number(at: int, value: int) -> bytes:
        return short(at, value, implicit)

    data = number(0x00280002, samples) + text(0x00280004, "CS", photometric, implicit)
    if samples > 1:
        data += number(0x00280006, planar)
    if frames is not None:
        data += text(0x00280008, "IS", str(frames), implicit)
    data += number(0x00280010, rows) + number(0x00280011, columns)
    if tag == 0x7FE00010:
        data += number(0x00280100, allocated) + number(0x00280101, stored)
        data += number(0x00280102, stored - 1 if high is None else high)
        data += number(0x00280103, int(signed))
    if intercept is not None:
        data += text(0x00281052, "DS", intercept, implicit)
    if slope is not None:
        data += text(0x00281053, "DS", slope, implicit)
    kind = {0x7FE00008: "OF", 0x7FE00009: "OD"}.get(tag, "OB" if encapsulated else "OW")
    data += before
    data += element(tag, kind, pixels if encapsulated else padded(pixels), implicit, UNDEFINED if encapsulated else None)  # fmt: skip
    meta = element(0x00020001, "OB", b"\0\1") + text(0x00020002, "UI", "1.2.840.10008.5.1.4.1.1.7")
    meta += text(0x00020003, "UI", "1.2.3") + text(0x00020010, "UI", syntax)
    size = element(0x00020000, "UL", struct.pack("<I", len(meta)))
    return bytes(128) + b"DICM" + size + meta + data


def of(array: np.ndarray, **kwargs: Any) -> bytes:
    """A file of frames (frames, rows, columns[, samples]) that are not compressed."""
    kwargs = {"frames": len(array), "allocated": 8 * array.itemsize, "signed": array.dtype.kind == "i"} | kwargs  # fmt: skip
    if array.ndim == 4:
        kwargs = {"samples": array.shape[3], "photometric": "RGB"} | kwargs
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return write(data, *array.shape[1:3], **kwargs)
