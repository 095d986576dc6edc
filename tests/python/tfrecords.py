# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes TFRecord files of tf.train.Example records, without TensorFlow and without protobuf."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes or of a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def feature(value: bytes | Sequence[Any], packed: bool = True) -> bytes:
    """A Feature: bytes, or a list of bytes, floats or integers. An empty list is one of integers."""
    values = [value] if isinstance(value, bytes) else list(value)
    if values and isinstance(values[0], bytes):
        return field(1, b"".join(field(1, x) for x in values))
    if values and isinstance(values[0], float):
        parts = [struct.pack("<f", x) for x in values]
        return field(2, field(1, b"".join(parts)) if packed else b"".join(b"\x0d" + x for x in parts))
    parts = [varint(x) for x in values]
    return field(3, field(1, b"".join(parts)) if packed else b"".join(b"\x08" + x for x in parts))


def entry(name: str, value: Any) -> bytes:
    """A map entry. Bytes that are wrapped in a tuple are a Feature that is already serialised."""
    made = value[0] if isinstance(value, tuple) else feature(value)
    return field(1, name.encode()) + field(2, made)


def example(features: dict[str, Any] | Iterable[tuple[str, Any]]) -> bytes:
    pairs = features.items() if isinstance(features, dict) else features
    return field(1, b"".join(field(1, entry(*pair)) for pair in pairs))


@functools.cache
def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


def masked_crc(data: bytes) -> int:
    crc, table = 0xFFFFFFFF, _table()
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(payload: bytes, crc: bool = True) -> bytes:
    """A record; without `crc` its checksums are zero."""
    length = struct.pack("<Q", len(payload))
    sums = [masked_crc(length), masked_crc(payload)] if crc else [0, 0]
    return length + struct.pack("<I", sums[0]) + payload + struct.pack("<I", sums[1])


def write(
    folder: Path, payloads: Sequence[bytes], files: int = 1, crc: bool = True
) -> dict[str, list[str]]:
    """A data set in `files` files with indices. Returns the arguments `path` and `index_path`."""
    paths, indices = [], []
    for i in range(files):
        records = [record(p, crc) for p in payloads[len(payloads) * i // files : len(payloads) * (i + 1) // files]]
        path, at, lines = folder / f"{i}.tfrecord", 0, []
        path.write_bytes(b"".join(records))
        for data in records:
            lines.append(f"{at} {len(data)}\n")
            at += len(data)
        (folder / f"{i}.idx").write_text("".join(lines))
        paths.append(str(path))
        indices.append(str(folder / f"{i}.idx"))
    return {"path": paths, "index_path": indices}
