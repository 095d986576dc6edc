# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes LMDB databases of Caffe and Caffe2, without protobuf."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfrecords import field, number_field, varint

FLOAT, INT32, BYTE, STRING, INT64 = 1, 2, 3, 4, 10  # data types of Caffe2


def write(folder: Path, items: Sequence[tuple[bytes, bytes]], **options: Any) -> str:
    """A database with these keys and values. Returns its path."""
    import lmdb

    with lmdb.open(str(folder), map_size=1 << 28, sync=False, **options) as database:
        with database.begin(write=True) as transaction:
            for key, value in items:
                transaction.put(key, value)
    return str(folder)


def datum(
    data: bytes | None, label: int | None = None, encoded: int | None = None, size: Sequence[int] = ()
) -> bytes:
    """A Datum of Caffe. `size`: channels, height, width."""
    numbers = list(enumerate(size, 1)) + [(5, label), (7, encoded)]
    made = b"" if data is None else field(4, data)
    return made + b"".join(number_field(number, x) for number, x in numbers if x is not None)


def tensor(kind: int | None, values: Any, dims: Sequence[int] = (), packed: bool = True) -> bytes:
    """A TensorProto of Caffe2."""
    out = b"".join(number_field(1, extent) for extent in dims)
    if kind is not None:
        out += number_field(2, kind)
    if kind == STRING:
        return out + b"".join(field(6, text) for text in values)
    if kind == BYTE:
        return out + field(5, values)
    if kind in (INT32, INT64):
        number = 4 if kind == INT32 else 10
        if packed:
            return out + field(number, b"".join(varint(x) for x in values))
        return out + b"".join(number_field(number, x) for x in values)
    parts = [struct.pack("<f", x) for x in values]
    return out + (field(3, b"".join(parts)) if packed else b"".join(b"\x1d" + x for x in parts))


def tensors(*protos: bytes) -> bytes:
    return b"".join(field(1, proto) for proto in protos)
