# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the commands that make index files of containers share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable

from headrace.cli._common import one_line


def write(path: str, index: str, lines: Iterable[str]) -> str:
    """Writes the index of the file at `path`, all of it or nothing, and returns the index file's path.

    Raises:
        ValueError: the index would replace the file that it describes.
        OSError: it cannot be written.
    """
    if os.path.exists(index) and os.path.samefile(path, index):
        raise ValueError(f"{path}: the index cannot have the name of the file: give its name, too")
    part = f"{index}.{os.getpid()}"
    try:
        with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(line + "\n" for line in lines)
        os.replace(part, index)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    return index


def beside(path: str) -> str:
    """The path with the extension .idx in place of the last one."""
    return os.path.splitext(path)[0] + ".idx"


class Command:
    """A command `NAME FILE [INDEX]`, as a function for Python (`write_index`) and for the shell (`main`).

    Args:
        name: of the command.
        kind: what the file is, for the help.
        description: what the command does.
        lines: makes the lines of an index, given the path of the file to index.
        default: makes the path of the index, given that of the file, if the caller names none.
        errors: what `lines` raises if the file is wrong.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        description: str,
        lines: Callable[[str], Iterable[str]],
        default: Callable[[str], str] = beside,
        errors: tuple[type[Exception], ...] = (OSError, ValueError),
    ) -> None:
        self._name, self._kind, self._description, self._lines = name, kind, description, lines
        self._default, self._errors = default, errors

    def write_index(self, path: str, index: str | None = None) -> str:
        """Indexes a file and returns the path of the index.

        Args:
            path: path of the file, which must not be compressed.
            index: path of the index; the default is that of the file with the extension .idx.

        Raises:
            ValueError: the file is wrong, or would be replaced by its index.
            OSError: the file cannot be read, or the index cannot be written.
        """
        return write(path, index or self._default(path), self._lines(path))

    def main(self, argv: list[str] | None = None) -> int:
        """The command. Returns its exit status."""
        kind = self._kind
        parser = argparse.ArgumentParser(
            prog=self._name,
            description=self._description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("file", metavar=kind.upper(), help=f"path of the {kind}")
        parser.add_argument(
            "index",
            metavar="INDEX",
            nargs="?",
            help=f"path of the index (default: that of the {kind}, with .idx)",
        )
        args = parser.parse_args(argv)
        try:
            print(self.write_index(args.file, args.index))
        except self._errors as error:
            text = str(error) if args.file in str(error) else f"{args.file}: {error}"
            print(f"{self._name}: {one_line(text)}", file=sys.stderr)
            return 1
        return 0
