# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`tfrecord2idx FILE [INDEX]`: makes an index file for `fn.readers.tfrecord(index_path=...)`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace.cli import _index_file

DESCRIPTION = (
    "Lists the records of a TFRecord file in an index file for fn.readers.tfrecord. Without one,\n"
    "the reader finds the records when the pipeline is built."
)
_HEAD, _FRAME = 12, 16  # bytes before the payload; before and behind it


def _crc_of_byte(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


_TABLE = [_crc_of_byte(value) for value in range(256)]


def _masked_crc(data: bytes) -> int:
    """The CRC-32C of a few bytes, as TFRecord files store it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def lines(path: str) -> Iterator[str]:
    """The lines of an index, one per record.

    Raises:
        ValueError: the file is not a TFRecord file, or was cut off.
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        end, at = os.fstat(file.fileno()).st_size, 0
        while at < end:
            head = os.pread(file.fileno(), _HEAD, at)
            size = int.from_bytes(head[:8], "little") + _FRAME
            if len(head) == _HEAD and int.from_bytes(head[8:], "little") != _masked_crc(head[:8]):
                raise ValueError(
                    f"{path}: at offset {at} the checksum of the record's length is wrong: the file is damaged, "
                    "compressed, or not a TFRecord file"
                )
            if len(head) < _HEAD or size > end - at:
                raise ValueError(
                    f"{path}: the record at offset {at} does not end within the file: it was cut off"
                )
            yield f"{at} {size}"
            at += size


_COMMAND = _index_file.Command("tfrecord2idx", "file", DESCRIPTION, lines)
write_index = _COMMAND.write_index
main = _COMMAND.main
