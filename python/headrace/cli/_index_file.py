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
    """Writes the lines of the index of the file at `path`, all or nothing, and returns the path of the index.

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


def main(
    name: str,
    kind: str,
    description: str,
    write_index: Callable[[str, str | None], str],
    argv: list[str] | None,
    errors: tuple[type[Exception], ...] = (OSError, ValueError),
) -> int:
    """A command `NAME FILE [INDEX]` for files of this kind. Returns its exit status."""
    parser = argparse.ArgumentParser(
        prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar=kind.upper(), help=f"path of the {kind}")
    parser.add_argument(
        "index", metavar="INDEX", nargs="?", help=f"path of the index (default: that of the {kind}, with .idx)"
    )
    args = parser.parse_args(argv)
    try:
        print(write_index(args.file, args.index))
    except errors as error:
        text = str(error) if args.file in str(error) else f"{args.file}: {error}"
        print(f"{name}: {one_line(text)}", file=sys.stderr)
        return 1
    return 0
