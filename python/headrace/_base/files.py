# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writing files."""

from __future__ import annotations

import os


def write_whole(filename: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file. If that fails, for example on a full disk, an older file of this name remains as it was."""
    from pathlib import Path

    path = Path(filename)
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_bytes(content)
        return
    path = path.resolve()  # a link stays a link
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(path)) from None
