# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tables as the engine reads them: files with their row groups, or batches in memory."""

from __future__ import annotations

import functools
import itertools
import os
import struct
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headrace._tables import ipc, memory, plain
from headrace._tables.arrow import pyarrow as pa
from headrace._tables.columns import Column, batch_of, find_all
from headrace._tables.paths import File, expand

_THREADS = 16  # that open files
_IN_MEMORY = 2**63 - 1


class ParquetFile:
    """The row groups of a Parquet file. Its footer is kept, so that it is read once.

    Attributes:
        rows: of each row group.
        bytes: of all row groups.
    """

    def __init__(self, file: Any) -> None:
        self._footer = pa.parquet.read_metadata(file)
        self._plain: list[dict[str, tuple[int, int]]] | None = None  # found when it is needed
        groups = [self._footer.row_group(i) for i in range(self._footer.num_row_groups)]
        self.rows = [group.num_rows for group in groups]
        self.bytes = sum(max(group.total_byte_size, 0) for group in groups)
        if any(rows < 0 for rows in self.rows):
            raise ValueError("a row group has a negative number of rows")

    @property
    def schema(self) -> Any:
        return self._footer.schema.to_arrow_schema()

    def like(self, other: Any) -> bool:
        """Whether the schema is that of another Parquet file."""
        return isinstance(other, ParquetFile) and self._footer.schema.equals(other._footer.schema)

    def read(self, file: Any, group: int, columns: Sequence[Column]) -> Any:
        """A record batch of the columns."""
        leaves = [leaf for column in columns for leaf in column.leaves]
        known = {}
        for leaf in leaves:
            values = self._views(file, group, leaf)
            if values is not None:
                known[leaf] = values
        decoded = [leaf for leaf in leaves if leaf not in known]
        table = None
        if decoded:
            parquet = pa.parquet.ParquetFile(file, metadata=self._footer, pre_buffer=False)
            table = parquet.read_row_group(group, columns=decoded, use_threads=False)
        return batch_of(columns, table, known)

    def _views(self, file: Any, group: int, leaf: str) -> Any:
        """The values of large bytes that are stored as they are; None: pyarrow has to decode the column."""
        try:
            if self._plain is None:
                self._plain = plain.find(file)
            place = self._plain[group].get(leaf)
            if place is None or self._levels[leaf] is None:
                return None
            return plain.views(file, place, self.rows[group], self._levels[leaf])
        except (ValueError, IndexError, KeyError, struct.error):
            return None  # pyarrow says what is wrong, if it is

    @functools.cached_property
    def _levels(self) -> dict[str, int | None]:
        """By leaf, the definition level of values that are not null; None: they are in lists."""
        schema = self._footer.schema
        columns = [schema.column(i) for i in range(len(schema))]
        return {
            column.path: None if column.max_repetition_level else column.max_definition_level
            for column in columns
        }


class _Part:
    """An open file with its columns."""

    def __init__(self, file: File, content: Any) -> None:
        self.file = file
        self.content = content
        self.columns: list[Column] = []

    def read(self, group: int) -> Any:
        try:
            with self.file.open() as source:
                return self.content.read(source, group, self.columns)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RuntimeError(f"{self._culprit(group)}{error}") from None

    def _culprit(self, group: int) -> str:
        """Names the column that cannot be read, if the others can."""
        if isinstance(self.content, ipc.IpcFile):
            return ""
        for column in self.columns:
            try:
                with self.file.open() as source:
                    self.content.read(source, group, [column])
            except (pa.ArrowException, ValueError):
                return f"column '{column.name}': "
            except (OSError, RuntimeError):
                return ""
        return ""


class FileTable:
    """The row groups of several files, one after the other."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._starts = array("q", _starts(len(part.content.rows) for part in parts))
        self._of = array("i", (k for k, part in enumerate(parts) for _ in part.content.rows))

    def read(self, group: int, schema: int, rows: int) -> None:
        """Exports a group to a struct ArrowSchema and a struct ArrowArray at these addresses."""
        number = self._of[group]
        batch = self._parts[number].read(group - self._starts[number])
        batch._export_to_c(rows, schema)


class MemoryTable:
    """The batches of a table in memory, or in files that Arrow has mapped."""

    def __init__(self, batches: Sequence[Any], columns: Sequence[Column]) -> None:
        self._batches = batches
        self._columns = columns

    def read(self, group: int, schema: int, rows: int) -> None:
        batch_of(self._columns, self._batches[group], {})._export_to_c(rows, schema)


def open_table(paths: list[str], names: list[str]) -> tuple[Any, ...]:
    """Opens files, or a table in memory, as `_core.set_tables` describes it.

    Raises:
        OSError, RuntimeError, TypeError, ValueError: a file or a column cannot be read. The text names it.
    """
    found = memory.find(paths)
    if found is not None:
        columns = find_all(names, found.schema)
        batches = found.to_batches()
        firsts = _starts(batch.num_rows for batch in batches)
        return (
            MemoryTable(batches, columns),
            ["the table"],
            [0, len(batches)],
            list(firsts),
            _IN_MEMORY,
        )
    parts = _open_all(expand(paths))
    _find_columns(parts, names)
    counts = [rows for part in parts for rows in part.content.rows]
    return (
        FileTable(parts),
        [part.file.name for part in parts],
        list(_starts(len(part.content.rows) for part in parts)),
        list(_starts(counts)),
        min(sum(part.content.bytes for part in parts), _IN_MEMORY - 1),
    )


def _starts(sizes: Any) -> Any:
    return itertools.accumulate(sizes, initial=0)


def _open_all(files: Sequence[File]) -> list[_Part]:
    """Opens the files, several at once. An error is that of the first file that has one."""
    threads = min(_THREADS if files and files[0].remote else os.cpu_count() or 1, len(files))
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        return list(pool.map(_open_file, files))


def _open_file(file: File) -> _Part:
    try:
        with file.open() as source:
            start = source.read(8)
            source.seek(0)
            if start[:4] == b"PAR1":
                return _Part(file, ParquetFile(source))
            if start[:6] == ipc.MAGIC or start[:4] == b"\xff\xff\xff\xff":
                return _Part(file, ipc.IpcFile(source))
        raise ValueError("it is neither a Parquet file nor an Arrow file")
    except (pa.ArrowException, OSError, ValueError, RuntimeError) as error:
        raise RuntimeError(f"'{file.shown}': {error}") from None


def _find_columns(parts: Sequence[_Part], names: Sequence[str]) -> None:
    """Finds the columns in all files, which must agree about what they are."""
    first = parts[0]
    for part in parts:
        if part is not first and _like(part.content, first.content):
            part.columns = first.columns
            continue
        try:
            part.columns = find_all(names, part.content.schema)
        except (ValueError, TypeError) as error:
            raise type(error)(f"'{part.file.shown}': {error}") from None
        for column, expected in zip(part.columns, first.columns, strict=True):
            if column.kind != expected.kind:
                raise TypeError(
                    f"'{part.file.shown}': the column '{column.name}' has values of the kind "
                    f"{column.kind}, but {expected.kind} in '{first.file.shown}'"
                )


def _like(content: Any, first: Any) -> bool:
    return isinstance(content, ParquetFile) and content.like(first)
