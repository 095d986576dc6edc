# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""pyarrow, or a message that says how to get it."""

from __future__ import annotations

try:
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet
    import pyarrow.types
except ImportError as error:
    raise ImportError(
        "fn.readers.parquet needs pyarrow, which is not installed: `pip install headrace[parquet]`, "
        "or `pip install pyarrow`"
    ) from error

__all__ = ["pyarrow"]
