# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace index`: makes the indices of JPEG files, for `Pipeline(index_cache=...)`, or of a container, for its reader."""

from __future__ import annotations

import argparse
import os
import random
import struct
import sys
import tarfile
from typing import Any

import headrace
from headrace import fn
from headrace.cli import rec2idx, tfrecord2idx, wds2idx
from headrace.cli._common import UserError, add_no_progress, add_threads, need, one_line

HELP = "make the indices of JPEG files, for `Pipeline(index_cache=...)`, or of a container"
DESCRIPTION = (
    "Makes the indices of all JPEG files under a folder, so that the first epoch is as\n"
    "fast as later ones. Existing indices are skipped, so the command can be interrupted\n"
    "and started again. Several can run at the same time.\n"
    "\n"
    "With --transcode, progressive files are also stored in FOLDER as baseline files with the same\n"
    "pixels. These can have indices and can be decoded on a GPU.\n"
    "\n"
    "If PATH is a file, it is a TFRecord file, a RecordIO file or a tar archive; INDEX is the\n"
    "index file that is made for its reader (default: PATH with the extension .idx)."
)

_BATCH = 64
_SHOWN = 20  # largest number of bad files that are listed


def find_files(folder: str) -> list[str]:
    """The paths of the JPEG files under a folder, at any depth, sorted.

    Raises:
        UserError: the folder does not exist, cannot be read, or contains no JPEG files.
    """

    def fail(error: OSError) -> None:
        raise UserError(f"cannot read {error.filename or folder}: {error.strerror}")

    files = []
    for path, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        jpegs = sorted(name for name in names if name.lower().endswith((".jpg", ".jpeg", ".jpe")))
        files += [os.path.join(path, name) for name in jpegs]
    if not files:
        raise UserError(f"no JPEG files under {folder}")
    return files


def _pipeline(files: list[str], args: argparse.Namespace) -> Any:
    """Decodes the last pixel of every file, which makes an index of everything before it."""
    pipe = headrace.Pipeline(
        batch_size=_BATCH,
        num_threads=args.threads,
        device_id=None,
        seed=0,
        on_error="skip",
        index_cache=args.cache,
        quarantine=args.bad,
    )
    pipe._config.options["index_transcode"] = args.transcode  # not an argument of Pipeline
    with pipe:
        jpegs, _ = fn.readers.file(files=files, pad_last_batch=True, name="Reader")
        pixel = fn.decoders.image_crop(
            jpegs, crop=(1, 1), crop_pos_x=1.0, crop_pos_y=1.0, adjust_orientation=False
        )
        pipe.set_outputs(pixel)
    return pipe


def _run(pipe: Any, count: int, args: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[made]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=args.no_progress,
    ) as progress:
        task = progress.add_task("index", total=count, made=_summary(pipe.stats(), args.transcode))
        for done in range(_BATCH, count + _BATCH, _BATCH):
            pipe.run()
            if progress.disable:
                continue
            made = _summary(pipe.stats(), args.transcode)
            progress.update(task, completed=min(done, count), made=made)


def _stored(stats: dict[str, Any]) -> int:
    """How many indices were made and written."""
    return max(stats["index_made"] - stats["index_unwritten"], 0)


def _summary(stats: dict[str, Any], transcode: bool) -> str:
    transcoded = f", {stats['transcoded_made']:,} files transcoded" if transcode else ""
    return f"{_stored(stats):,} indices made{transcoded}"


def _report(pipe: Any, count: int, args: argparse.Namespace) -> int:
    stats = pipe.stats()
    bad = {error["source"]: error["message"] for error in pipe.errors()}
    for source, message in sorted(bad.items())[:_SHOWN]:
        text = message if source in message else f"{source}: {message}"
        print(one_line(text), file=sys.stderr)
    if len(bad) > _SHOWN:
        print(f"... and {len(bad) - _SHOWN:,} more bad files", file=sys.stderr)
    others = max(count - stats["index_made"] - len(bad), 0)
    print(
        f"{count:,} files: {_summary(stats, args.transcode)}, {others:,} files had an index or do not need one, "
        f"{len(bad):,} bad files"
    )
    if stats["index_refused"]:
        raise UserError(
            f"{args.cache} has no room for the indices of all files: its table in memory may take 2 % of the memory "
            "of this machine, and at most 4 GB"
        )
    if stats["index_unwritten"] or stats["transcoded_unwritten"]:
        what = "indices and transcoded files" if args.transcode else "indices"
        raise UserError(
            f"could not write all {what} to {args.cache}: is the disk full, or the folder read-only? "
            "Those that are missing are made when the command runs again"
        )
    return 0


def _index_container(args: argparse.Namespace) -> str:
    """Makes the index of a container, whose kind is told by its first bytes. Returns the path of the index."""
    try:
        with open(args.path, "rb") as file:
            start = file.read(4)
        if start == struct.pack("<I", rec2idx.MAGIC):
            return rec2idx.write_index(args.path, args.index)
        if tarfile.is_tarfile(args.path):
            return wds2idx.write_index(args.path, args.index)
        return tfrecord2idx.write_index(args.path, args.index)
    except (OSError, ValueError, tarfile.TarError) as error:
        raise UserError(
            str(error) if args.path in str(error) else f"{args.path}: {error}"
        ) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "path", metavar="PATH", help="folder with JPEG files, at any depth, or a container"
    )
    parser.add_argument("index", metavar="INDEX", nargs="?", help="index file of a container")
    parser.add_argument(
        "--cache", metavar="FOLDER", help="folder in which the indices of JPEG files are stored"
    )
    parser.add_argument(
        "--transcode",
        action="store_true",
        help="also store progressive JPEG files as baseline files in the folder of --cache",
    )
    parser.add_argument("--bad", metavar="FILE", help="append the names of bad files to FILE")
    add_threads(parser)
    add_no_progress(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if os.path.isfile(args.path):
        if args.transcode:
            raise UserError(f"--transcode is for folders of JPEG files; {args.path} is a file")
        print(_index_container(args))
        return 0
    if args.index or not args.cache:
        raise UserError(
            f"{args.path} is not a file. To index a folder, give --cache FOLDER and leave out INDEX."
        )
    need("rich")
    files = find_files(args.path)
    # several commands then do not make the same at the same time
    start = random.randrange(len(files))
    files = files[start:] + files[:start]
    try:
        pipe = _pipeline(files, args)
        pipe.build()
    except (RuntimeError, ValueError) as error:
        raise UserError(str(error).splitlines()[0]) from None
    try:
        _run(pipe, len(files), args)
    except KeyboardInterrupt:
        print(
            f"stopped; {_summary(pipe.stats(), args.transcode)}; all of this is stored",
            file=sys.stderr,
        )
        raise
    except RuntimeError as error:
        if len({bad["source"] for bad in pipe.errors()}) < len(files):
            raise UserError(str(error).splitlines()[0]) from None
    return _report(pipe, len(files), args)
