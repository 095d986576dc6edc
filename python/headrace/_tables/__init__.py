# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tables for `fn.readers.parquet`: Parquet and Arrow files, and tables in memory. pyarrow is imported when one is opened.

The engine calls `read` of a table from its own threads, several at once.
"""

from __future__ import annotations

from typing import Any

from headrace import _core


def _open(paths: list[str], columns: list[str]) -> tuple[Any, ...]:
    from headrace._tables.table import open_table

    return open_table(paths, columns)


def register() -> None:
    """Lets the engine open tables."""
    _core.set_tables(_open)
