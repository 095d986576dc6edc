# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tables in memory, which a reader finds by a name that stands in place of its paths."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

_SCHEME = "memory://"
_numbers = itertools.count()
_tables: dict[str, Any] = {}
_lock = threading.Lock()


def add(table: Any) -> str:
    """Gives a `pyarrow.Table` a name, under which it is kept until `remove`."""
    name = f"{_SCHEME}{next(_numbers)}"
    with _lock:
        _tables[name] = table
    return name


def remove(name: str) -> None:
    with _lock:
        _tables.pop(name, None)


def find(paths: Sequence[str]) -> Any:
    """The table that the paths name, or None if they are those of files.

    Raises:
        ValueError: this process has no such table.
    """
    if not any(path.startswith(_SCHEME) for path in paths):
        return None
    with _lock:
        found = _tables.get(paths[0]) if len(paths) == 1 else None
    if found is None:
        raise ValueError(f"the table '{paths[0]}' is not in the memory of this process")
    return found
