# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Columns of bytes that a Parquet file stores as they are: views of the bytes that were read, without a copy.

Images and sounds are stored like this, because compressing them again gains nothing. pyarrow would copy each value.
What is not as expected raises ValueError, `struct.error` or IndexError; nothing is read beyond the column.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from headrace._tables.arrow import pyarrow as pa

_DATA_PAGE, _DATA_PAGE_V2 = 0, 3
_BYTE_ARRAY, _UNCOMPRESSED, _PLAIN, _RLE = 6, 0, 0, 3
_LARGE = 4096  # bytes of a value, from which finding it here is faster than copying it
_LARGEST_FOOTER = 1 << 22  # that is searched here
_INLINE = 12  # bytes that fit into a view
_LARGEST = 2**31 - 1
_U32 = struct.Struct("<I")
_VIEW = struct.Struct("<i4sii")
_SHORT = struct.Struct("<i12s")


def find(file: Any) -> list[dict[str, tuple[int, int]]]:
    """Offset and size of the column chunks that `views` can read, by leaf, for each row group.

    pyarrow knows them, too, but it ends the process if a footer is damaged in certain ways.
    """
    end = file.size()
    file.seek(max(end - 8, 0))
    tail = file.read(8)
    size = _U32.unpack_from(tail, 0)[0]
    if tail[4:] != b"PAR1" or size > min(end - 8, _LARGEST_FOOTER):
        return []
    file.seek(end - 8 - size)
    footer, _ = _struct(memoryview(file.read(size)), 0)
    return [dict(_plain_chunks(group)) for group in footer.get(4, ())]


def _plain_chunks(group: dict[int, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    rows = group.get(3, 0)
    for chunk in group.get(1, ()):
        about = chunk.get(3, {})
        size = about.get(7, 0)
        if (
            not {1, 8, 9} & chunk.keys()  # in another file, or encrypted
            and about.get(1) == _BYTE_ARRAY
            and about.get(4) == _UNCOMPRESSED
            and set(about.get(2, [-1])) <= {_PLAIN, _RLE}
            and 11 not in about  # a dictionary
            and about.get(5) == rows
            and _LARGE * rows < size <= _LARGEST
        ):
            path = b".".join(bytes(part) for part in about.get(3, ()))
            yield path.decode("utf-8", "replace"), (about.get(9, -1), size)


def views(file: Any, place: tuple[int, int], rows: int, highest: int) -> Any:
    """The values of a column chunk, as an array.

    Args:
        place: of `find`.
        rows: of the row group.
        highest: the definition level of values that are not null.
    """
    offset, size = place
    if not 0 <= offset <= file.size() - size:
        raise ValueError("the column is beyond the end of the file")
    file.seek(offset)
    data = file.read_buffer(size)
    bytes_of = memoryview(data).cast("B")
    out = bytearray()
    valid = bytearray()
    for count, at, end, levels in _pages(bytes_of, highest):
        present = _present(bytes_of, levels, count, highest)
        valid += present
        _add_views(out, bytes_of, at, end, present)
    if len(valid) != rows:
        raise ValueError(f"the column has {len(valid)} values for {rows} rows")
    mask = None
    if not all(valid):
        mask = pa.array(valid, pa.uint8()).cast(pa.bool_()).buffers()[1]
    buffers = [mask, pa.py_buffer(bytes(out)), data]
    return pa.Array.from_buffers(pa.binary_view(), rows, buffers)


def _add_views(out: bytearray, data: memoryview, at: int, end: int, present: bytearray) -> None:
    for there in present:
        if not there:
            out += bytes(16)
            continue
        (size,) = _U32.unpack_from(data, at)
        at += 4
        if size > end - at:
            raise ValueError("a value is longer than its page")
        if size > _INLINE:
            out += _VIEW.pack(size, bytes(data[at : at + 4]), 0, at)
        else:
            out += _SHORT.pack(size, bytes(data[at : at + size]))
        at += size
    if at != end:
        raise ValueError("a page has bytes behind its values")


def _pages(
    data: memoryview, highest: int
) -> Iterator[tuple[int, int, int, tuple[int, int] | None]]:
    """Of each page: the number of its values, where they begin and end, and where their definition levels are."""
    at = 0
    while at < len(data):
        header, at = _struct(data, at)
        size = header[3]
        end = at + size
        if size < 0 or end > len(data):
            raise ValueError("a page is cut off")
        levels = None
        if header[1] == _DATA_PAGE:
            page = header[5]
            count, encoding = page[1], page[2]
            if highest > 0:
                (length,) = _U32.unpack_from(data, at)
                levels = at + 4, at + 4 + length
                at += 4 + length
        elif header[1] == _DATA_PAGE_V2:
            page = header[8]
            count, encoding = page[1], page[4]
            if page[6] != 0 or page[5] < 0:
                raise ValueError("a page has levels that do not fit its column")
            if highest > 0:
                levels = at, at + page[5]
            at += page[5]
        else:
            raise ValueError("there is a page of an unknown kind")
        if encoding != _PLAIN or count < 0 or at > end:
            raise ValueError("a page is not as the footer says")
        yield count, at, end, levels
        at = end


def _present(
    data: memoryview, levels: tuple[int, int] | None, count: int, highest: int
) -> bytearray:
    """One byte per value: whether it is not null. Levels are runs, or groups of eight that are packed."""
    if levels is None:
        return bytearray(b"\1") * _at_most(count, len(data))
    at, end = levels
    width = highest.bit_length()
    out = bytearray()
    while len(out) < count:
        run, at = _varint(data, at, end)
        if run & 1:
            size = (run >> 1) * width
            if size > end - at:
                raise ValueError("levels are cut off")
            packed = int.from_bytes(data[at : at + size], "little")
            mask = (1 << width) - 1
            for k in range(min(8 * (run >> 1), count - len(out))):
                out.append((packed >> (k * width) & mask) == highest)
            at += size
        else:
            if at >= end:
                raise ValueError("levels are cut off")
            there = b"\1" if data[at] == highest else b"\0"
            out += there * min(run >> 1, _at_most(count, len(data) * 8) - len(out))
            at += 1
            if run == 0:
                raise ValueError("there is a run without levels")
    return out


def _at_most(count: int, most: int) -> int:
    """A number of values that bytes of this size can have; nulls take no room, but they are in runs."""
    if count > max(most, 1 << 20):
        raise ValueError(f"a page has {count} values, which cannot be")
    return count


# ---- Thrift's compact protocol ----


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise ValueError("a number is damaged")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _struct(data: memoryview, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number."""
    fields: dict[int, Any] = {}
    number = 0
    if depth > 8:
        raise ValueError("a header is damaged")
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _varint(data, at, len(data))
            number = number >> 1 ^ -(number & 1)
        if kind in (1, 2):
            fields[number] = kind == 1
        else:
            fields[number], at = _value(data, at, kind, depth)


def _value(data: memoryview, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A number, text, list or struct."""
    if kind in (1, 2, 3):  # an element of a list of booleans, or a byte
        return data[at], at + 1
    if kind in (4, 5, 6):
        value, at = _varint(data, at, len(data))
        return value >> 1 ^ -(value & 1), at
    if kind == 7:
        return None, at + 8
    if kind == 8:
        size, at = _varint(data, at, len(data))
        return data[at : at + size], at + size
    if kind == 12:
        return _struct(data, at, depth + 1)
    if kind not in (9, 10):
        raise ValueError("a header is damaged")
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(data, at, len(data))
    if size > len(data) - at:
        raise ValueError("a header is damaged")
    items = []
    for _ in range(size):
        item, at = _value(data, at, kind, depth)
        items.append(item)
    return items, at
