# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The files of a table: local ones, those of remote storage, and those of the Hugging Face Hub."""

from __future__ import annotations

import glob
import io
import os
import re
import urllib.parse
from collections.abc import Iterable
from typing import Any

from headrace import _core
from headrace._tables.arrow import pyarrow as pa

_SCHEME = re.compile(r"[a-z0-9+.-]+://")


class File:
    """A file that is opened for every group that is read, so that a change is noticed.

    Attributes:
        name: the path or URI.
        shown: the same for messages, without passwords.
        remote: reading a range takes a request.
    """

    remote = False

    def __init__(self, path: str) -> None:
        self.name = path
        self.shown = path
        self._was = self._state()

    def open(self) -> Any:
        """The file as pyarrow reads it.

        Raises:
            OSError: it does not exist, or cannot be read.
            RuntimeError: it is not the one that was opened first.
        """
        file = pa.OSFile(self.name)
        if self._state() != self._was:
            raise RuntimeError("the file has changed since the pipeline was built")
        return file

    def _state(self) -> tuple[Any, ...]:
        stat = os.stat(self.name)
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class RemoteFile(File):
    """An object of the storage that the engine reads. It notices by itself if the object changes."""

    remote = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.shown = _core.mask_secrets(path)
        self._object = _core.File(path)

    def open(self) -> Any:
        return pa.PythonFile(_Ranges(self._object), "r")

    def _state(self) -> tuple[Any, ...]:
        return ()


class HubFile(File):
    """A file of a repository of the Hugging Face Hub."""

    remote = True

    def __init__(self, path: str) -> None:
        self._hub = hub()
        super().__init__(path)

    def open(self) -> Any:
        if self._state() != self._was:
            raise RuntimeError("the file has changed since the pipeline was built")
        return pa.PythonFile(self._hub.open(self.name, "rb"), "r")

    def _state(self) -> tuple[Any, ...]:
        info = self._hub.info(self.name)
        return info.get("size"), info.get("blob_id")


class _Ranges(io.RawIOBase):
    """An object of the engine's as a Python file."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(self._source.size - self._at, 0)
        size = left if size is None or size < 0 else min(size, left)
        data: bytes = self._source.read(self._at, size)
        self._at += size
        return data


def hub() -> Any:
    """The file system of the Hugging Face Hub.

    Raises:
        ImportError: huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import HfFileSystem
    except ImportError:
        raise ImportError(
            "paths with hf:// need huggingface_hub, which is not installed: "
            "`pip install huggingface_hub`"
        ) from None
    return HfFileSystem()


def expand(paths: Iterable[str]) -> list[File]:
    """The files that paths and patterns stand for, those of a pattern in the order of their names.

    Raises:
        OSError: a file does not exist, or no file matches a pattern.
        ValueError: a pattern where names cannot be listed.
    """
    files: list[File] = []
    for path in paths:
        if path.startswith("hf://"):
            names = _matches(path, lambda pattern: [f"hf://{p}" for p in hub().glob(pattern[5:])])
            files += map(HubFile, names)
        elif _SCHEME.match(path) and not path.startswith("file://"):
            if glob.has_magic(path.partition("?")[0]):
                raise ValueError(
                    f"'{_core.mask_secrets(path)}': patterns are for local files and hf://; list the objects"
                )
            files.append(_opened(RemoteFile, path))
        else:
            path = urllib.parse.unquote(path[7:]) if path.startswith("file://") else path
            names = [path] if os.path.exists(path) else _matches(path, glob.glob)
            files += [_opened(File, name) for name in names]
    return files


def _opened(kind: type[File], path: str) -> File:
    if kind is File and os.path.isdir(path):
        raise IsADirectoryError(f"'{path}' is a folder; the files in it are '{path}/*.parquet'")
    try:
        return kind(path)
    except (OSError, RuntimeError) as error:
        raise OSError(f"'{_core.mask_secrets(path)}': {error}") from None


def _matches(pattern: str, find: Any) -> list[str]:
    if not glob.has_magic(pattern):
        return [pattern]
    names = sorted(find(pattern))
    if not names:
        raise FileNotFoundError(f"no file matches '{pattern}'")
    return names
