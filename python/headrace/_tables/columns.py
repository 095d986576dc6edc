# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The columns that a reader asks for: finding them in a schema, and taking them out of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace._base import foreign
from headrace._tables.arrow import pyarrow as pa

_READABLE = "bytes, text, numbers, lists of numbers, and structs of `bytes` and `path`"
_FILE = ("bytes", "path")  # the fields of what Hugging Face stores of an image or a sound


class Column:
    """A column of a schema.

    Attributes:
        name: as the user wrote it.
        path: the names from the column at the top down to the field.
        leaves: the columns of a Parquet file that are needed.
        kind: what its values are; files whose columns have the same kinds can be read together.
    """

    def __init__(self, name: str, schema: Any) -> None:
        self.name = name
        self.path, field_type = _find(name, schema)
        self._is_file = _is_file(field_type)
        self.kind = "file" if self._is_file else _kind(name, field_type)
        whole = ".".join(self.path)
        self.leaves = [f"{whole}.{field}" for field in _FILE] if self._is_file else [whole]

    def of(self, batch: Any, known: Mapping[str, Any]) -> Any:
        """The values as one array of a type that the engine knows.

        Args:
            batch: a table or a record batch.
            known: arrays of leaves that `batch` lacks.
        """
        paths = [[*self.path, name] for name in _FILE] if self._is_file else [self.path]
        arrays = [
            known[leaf] if leaf in known else _values(batch, path)
            for leaf, path in zip(self.leaves, paths, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, _FILE) if self._is_file else arrays[0]


def find_all(names: Iterable[str], schema: Any) -> list[Column]:
    """The columns of these names.

    Raises:
        ValueError: no column has this name, or several have it.
        TypeError: the type of a column cannot be read.
    """
    return [Column(name, schema) for name in names]


def batch_of(
    columns: Sequence[Column], batch: Any, known: Mapping[str, Any], check: bool = False
) -> Any:
    """A record batch of these columns. `check`: their buffers come from a file without having been decoded."""
    arrays = []
    for column in columns:
        try:
            array = column.of(batch, known)
            if check:
                array.validate(full=True)
        except (pa.ArrowException, OverflowError) as error:
            raise RuntimeError(f"column '{column.name}': {error}") from None
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])


def _find(name: str, schema: Any) -> tuple[list[str], Any]:
    """The path of a column and its type. A name with dots is that of a column, if there is one, or of a field."""
    known = schema.names
    parts = [name] if name in known else name.split(".")
    if known.count(parts[0]) != 1:
        if parts[0] in known:
            raise ValueError(f"several columns have the name '{parts[0]}'")
        shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        raise ValueError(
            f"no column '{name}' (columns: {shown}).{foreign.suggestion(name, known)}"
        )
    found = schema.field(parts[0]).type
    for i, part in enumerate(parts[1:], 1):
        fields = [found.field(k).name for k in range(found.num_fields)]
        if not pa.types.is_struct(found) or fields.count(part) != 1:
            raise ValueError(
                f"the column '{'.'.join(parts[:i])}', of type {found}, has no field '{part}'"
            )
        found = found.field(part).type
    return parts, found


def _is_file(kind: Any) -> bool:
    if not pa.types.is_struct(kind):
        return False
    fields = [kind.field(k).name for k in range(kind.num_fields)]
    if any(fields.count(name) != 1 for name in _FILE):
        return False
    return _is_bytes(kind.field("bytes").type) and _is_text(kind.field("path").type)


def _is_bytes(kind: Any) -> bool:
    is_view = getattr(pa.types, "is_binary_view", lambda _: False)
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or is_view(kind)
    ) and not pa.types.is_decimal(kind)


def _is_text(kind: Any) -> bool:
    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    )


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _kind(name: str, kind: Any) -> str:
    """What the values of a type are.

    Raises:
        TypeError: the type cannot be read.
    """
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    if _is_bytes(value):
        return "bytes"
    if _is_text(value):
        return "text"
    if _is_number(value):
        return str(value)
    if _is_list(kind) and _is_number(kind.value_type):
        size = f" of {kind.list_size}" if pa.types.is_fixed_size_list(kind) else ""
        return f"list of {kind.value_type}{size}"
    hint = ""
    if pa.types.is_struct(kind) and kind.num_fields:
        hint = f"; a field has a name such as '{name}.{kind.field(0).name}'"
    raise TypeError(
        f"the column '{name}' has the type {kind}, which cannot be read: {_READABLE} can{hint}"
    )


def _values(batch: Any, path: Sequence[str]) -> Any:
    values = batch.column(path[0])
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    kind = values.type
    for name in path[1:]:
        chunks = [_field(chunk, name) for chunk in chunks]
        kind = kind.field(name).type
    return _joined(chunks, kind)


def _field(struct: Any, name: str) -> Any:
    """A field of an array of structs; null where the struct is."""
    return struct.flatten()[struct.type.get_field_index(name)]


def _plain(array: Any) -> Any:
    """The array with a type of the engine's."""
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    return array


def _joined(chunks: Sequence[Any], kind: Any) -> Any:
    """One array of the chunks. Several of bytes may have more than the 2 GiB that 32-bit offsets allow."""
    plain = [_plain(chunk) for chunk in chunks]
    if len(plain) == 1:
        return plain[0]
    if not plain:
        return _plain(pa.array([], kind))
    if pa.types.is_binary(plain[0].type):
        plain = [chunk.cast(pa.large_binary()) for chunk in plain]
    elif pa.types.is_string(plain[0].type):
        plain = [chunk.cast(pa.large_string()) for chunk in plain]
    return pa.concat_arrays(plain)
