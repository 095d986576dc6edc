# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Arrow files, as streams or with a footer. Their messages are found without reading the data between them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from headrace._tables.arrow import pyarrow as pa
from headrace._tables.columns import Column, batch_of

MAGIC = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_LARGEST = 1 << 28  # bytes of the description of a message


class _Flat:
    """A table of a flatbuffer. Offsets that lead out of it raise `struct.error` or IndexError."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise IndexError
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    def _place(self, number: int) -> int:
        slot = 4 + 2 * number
        offset = 0
        if slot + 2 <= self._size:
            offset = struct.unpack_from("<H", self._data, self._fields + slot)[0]
        return self._at + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        at = self._place(field)
        return int(struct.unpack_from(form, self._data, at)[0]) if at else 0

    def table(self, field: int) -> _Flat:
        at = self._place(field)
        return _Flat(self._data, at + struct.unpack_from("<I", self._data, at)[0])


def _message(data: bytes) -> tuple[int, int, int]:
    """The kind of a message, the bytes behind it, and its rows, if it is a batch."""
    try:
        message = _Flat(data, struct.unpack_from("<I", data, 0)[0])
        kind, size = message.number(1, "<B"), message.number(3, "<q")
        rows = message.table(2).number(0, "<q") if kind == _BATCH else 0
    except (struct.error, IndexError):
        raise ValueError("the description of a message is damaged") from None
    if size < 0 or rows < 0:
        raise ValueError("the description of a message is damaged")
    return kind, size, rows


def _messages(file: Any) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, size and rows of each message, whose size includes the bytes behind it."""
    end = file.size()
    at = 8 if _read(file, 0, min(8, end)).startswith(MAGIC) else 0
    while at < end:
        head = _read(file, at, min(8, end - at))
        if head in (_CONTINUES + bytes(4), bytes(4)) or head[:4] == bytes(4):
            return  # the end; what follows is a footer
        if head[:4] != _CONTINUES or len(head) < 8:
            raise ValueError(f"no message begins at byte {at}: the file is damaged or cut off")
        size = struct.unpack_from("<I", head, 4)[0]
        if size > min(end - at - 8, _LARGEST):
            raise ValueError(f"the message at byte {at} is cut off")
        kind, body, rows = _message(_read(file, at + 8, size))
        if body > end - at - 8 - size:
            raise ValueError(f"the message at byte {at} is cut off")
        yield kind, at, 8 + size + body, rows
        at += 8 + size + body


def _read(file: Any, at: int, size: int) -> bytes:
    file.seek(at)
    data: bytes = file.read(size)
    if len(data) != size:
        raise ValueError(f"it ends at byte {at + len(data)}")
    return data


class IpcFile:
    """The batches of an Arrow file.

    Attributes:
        rows: of each batch.
        bytes: of all batches.
    """

    def __init__(self, file: Any) -> None:
        self.schema: Any = None
        self.rows: list[int] = []
        self.bytes = 0
        self._places: list[tuple[int, int]] = []
        for kind, at, size, rows in _messages(file):
            if kind == _SCHEMA and self.schema is None:
                file.seek(at)
                self.schema = pa.ipc.read_schema(pa.py_buffer(file.read(size)))
            elif kind == _DICTIONARY:
                raise ValueError(
                    "it has columns with dictionaries, which are read from Parquet only"
                )
            elif kind == _BATCH and self.schema is not None:
                self._places.append((at, size))
                self.rows.append(rows)
                self.bytes += size
            else:
                raise ValueError(f"at byte {at} there is a message that does not belong there")
        if self.schema is None:
            raise ValueError("it has no schema")

    def read(self, file: Any, group: int, columns: Sequence[Column]) -> Any:
        at, size = self._places[group]
        file.seek(at)
        buffer = file.read_buffer(size)
        if buffer.size != size:
            raise ValueError(f"it ends at byte {at + buffer.size}")
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(buffer), self.schema)
        return batch_of(columns, batch, {}, check=True)
