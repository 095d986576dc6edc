# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace pack`: writes class folders of images as tar shards, for `fn.readers.webdataset`."""

from __future__ import annotations

import argparse
import os
import re

from headrace import _pack
from headrace.cli._common import UserError, add_no_progress, add_threads, need, one_line

HELP = "write class folders of images as tar shards, for `fn.readers.webdataset`"
DESCRIPTION = (
    "Writes DIR/class/image as tar shards in the WebDataset layout, each with an index. A sample\n"
    "has the components jpeg (png, ...): the file; cls: the label as text; i32: the label as INT32.\n"
    "Labels are those of fn.readers.file. With --resize, images are decoded, made smaller, and\n"
    "encoded as JPEG. Files that cannot be used are left out and listed. Every shard is read back and compared before it gets its\n"
    "name, and shards that exist are kept, so that the command can be interrupted and repeated."
)
_SHOWN = 20  # largest number of unreadable files that are listed
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _bytes(text: str) -> int:
    """A size like 512M.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 512M or 1G")
    return int(match[1]) * _UNITS[match[2]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="folder with one subfolder of images per class"
    )
    parser.add_argument("out", metavar="OUT", help="folder for the shards; it is made if necessary")
    parser.add_argument(
        "--shard-size",
        type=_bytes,
        default="1G",
        metavar="SIZE",
        help="bytes of images in a shard",
    )
    parser.add_argument(
        "--resize",
        type=int,
        metavar="PIXELS",
        help="make images smaller whose shorter side is longer than this, and write JPEG files",
    )
    parser.add_argument(
        "--quality", type=int, default=90, help="of the JPEG files, with --resize: from 1 to 100"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the order in which images are written"
    )
    parser.add_argument(
        "--sorted",
        action="store_true",
        help="write class after class, which makes shuffling less effective",
    )
    add_threads(parser)
    add_no_progress(parser)


def _run(args: argparse.Namespace) -> _pack.Packed:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=args.no_progress,
    ) as progress:
        task = progress.add_task("pack", total=None)
        return _pack.pack(
            args.folder,
            args.out,
            resize=args.resize,
            quality=args.quality,
            shard_size=args.shard_size,
            seed=args.seed,
            shuffle=not args.sorted,
            threads=args.threads,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


def run(args: argparse.Namespace) -> int:
    need("rich")
    try:
        done = _run(args)
    except ValueError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        what = "write" if os.path.isdir(args.folder) else "read"
        where = error.filename or (args.out if what == "write" else args.folder)
        raise UserError(f"cannot {what} {where}: {error.strerror}") from None
    for text in done.bad[:_SHOWN]:
        print(one_line(text))
    if len(done.bad) > _SHOWN:
        path = os.path.join(args.out, "bad-files.txt")
        print(f"... and {len(done.bad) - _SHOWN:,} more files: see {path}")
    last = len(done.shards) - 1
    paths = os.path.join(
        args.out, f"shard-{{{0:06}..{last:06}}}.tar" if last else "shard-000000.tar"
    )
    print(
        f"files: {done.files:,}; unreadable: {len(done.bad):,}; samples written: "
        f"{done.samples:,}, {done.written / 1e9:,.2f} GB; shards: {len(done.shards):,}. To read them:\n"
        f'fn.readers.webdataset(paths="{paths}", ext=["{";".join(done.extensions)}", "i32"], '
        "dtypes=[types.UINT8, types.INT32])"
    )
    return 1 if done.bad else 0
