# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`rec2idx FILE [INDEX]`: makes an index file for `fn.readers.mxnet(index_path=...)`, without MXNet."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from headrace.cli import _index_file

DESCRIPTION = "Lists the records of a RecordIO file in an index file for fn.readers.mxnet."
MAGIC = 0xCED7230A
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)  # what part of a record is behind a header


def lines(path: str) -> Iterator[str]:
    """The lines of an index, one per record: its number and its offset.

    Raises:
        ValueError: the file is not a RecordIO file, or was cut off.
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        end, at, number, inside = os.fstat(file.fileno()).st_size, 0, 0, False
        while at < end:
            head = os.pread(file.fileno(), 8, at)
            magic, word = struct.unpack("<II", head) if len(head) == 8 else (0, 0)
            part, size = word >> 29, word & (1 << 29) - 1
            if magic != MAGIC or part > _LAST or inside != (part in (_MIDDLE, _LAST)):
                raise ValueError(f"{path}: no RecordIO record begins at offset {at}")
            if size > end - at - 8:
                raise ValueError(
                    f"{path}: the record at offset {at} does not end within the file: it was cut off"
                )
            if not inside:
                yield f"{number}\t{at}"
                number += 1
            inside = part in (_FIRST, _MIDDLE)
            at += 8 + (size + 3 & ~3)
        if inside:
            raise ValueError(f"{path}: the last record is incomplete: it was cut off")


_COMMAND = _index_file.Command("rec2idx", "file", DESCRIPTION, lines)
write_index = _COMMAND.write_index
main = _COMMAND.main
