# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace pack`: writes class folders of images as tar shards, for `fn.readers.webdataset`."""

from __future__ import annotations

import argparse
import errno
import fnmatch
import hashlib
import io
import json
import os
import random
import re
import struct
import tarfile
import zlib
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from headrace._graph import schema
from headrace.cli._common import UserError, add_no_progress, add_threads, need, one_line
from headrace.cli.wds2idx import write_index

HELP = "write class folders of images as tar shards, for `fn.readers.webdataset`"
DESCRIPTION = (
    "Writes DIR/class/image as tar shards in the WebDataset layout, each with an index. A sample\n"
    "has the components jpeg (png, ...): the file; cls: the label as text; i32: the label as INT32.\n"
    "Labels are those of fn.readers.file. Every shard is read back and compared before it gets its\n"
    "name, and shards that exist are kept, so that the command can be interrupted and repeated."
)
_SHOWN = 20  # largest number of unreadable files that are listed
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class _Image(NamedTuple):
    path: str
    size: int  # -1: not a regular file
    key: str  # in the archive
    extension: str
    label: int


# ---- what to pack ----


def _bytes(text: str) -> int:
    """A size like 512M.

    Raises:
        argparse.ArgumentTypeError: it is something else.
    """
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 512M or 1G")
    return int(match[1]) * _UNITS[match[2]]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        raise UserError(f"cannot read {folder}: {error.strerror}") from None


def _key(folder: str, stem: str, known: Counter[str]) -> str:
    """A name that WebDataset takes for one sample, different from all `known` ones."""
    key = "/".join(re.sub(r"\s", "_", part) for part in (folder, stem.replace(".", "_")))
    known[key] += 1
    return key if known[key] == 1 else _key(folder, f"{stem}-{known[key]}", known)


def find_images(root: str) -> list[_Image]:
    """The images that `fn.readers.file(file_root=root)` reads, in its order.

    Raises:
        UserError: a folder cannot be read, or the folders contain no images.
    """
    patterns = schema.operators()["readers.file"].args["file_filters"].default
    images = []
    known: Counter[str] = Counter()
    classes = [entry for entry in _entries(root) if entry.is_dir()]
    for label, folder in enumerate(classes):
        for entry in _entries(folder.path):
            name = entry.name.lower()
            if entry.is_dir() or not any(fnmatch.fnmatchcase(name, p) for p in patterns):
                continue
            stem, _, extension = entry.name.rpartition(".")
            size = entry.stat().st_size if entry.is_file() else -1
            key = _key(folder.name, stem, known)
            images.append(_Image(entry.path, size, key, extension.lower(), label))
    if not images:
        raise UserError(f"no images in class folders under {root}")
    return images


def split(images: list[_Image], size: int) -> list[list[_Image]]:
    """The images of each shard, which has about `size` bytes."""
    shards: list[list[_Image]] = []
    room = 0
    for image in images:
        if not shards or room < image.size:
            shards.append([])
            room = size
        shards[-1].append(image)
        room -= image.size
    return shards


# ---- shards ----


def _components(image: _Image, data: bytes) -> Iterator[tuple[str, bytes]]:
    yield f"{image.key}.{image.extension}", data
    yield f"{image.key}.cls", str(image.label).encode()
    yield f"{image.key}.i32", struct.pack("<i", image.label)


def _check(path: str, expected: list[tuple[str, int]]) -> None:
    """Reads a shard back.

    Raises:
        UserError: it does not contain what was written.
    """
    with tarfile.open(path, "r:") as tar:
        found = []
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            found.append((member.name, zlib.crc32(content.read())))
    if found != expected:
        raise UserError(f"{path} does not contain what was written to it: is the disk damaged?")


class _Packer:
    """Writes shards, and counts."""

    def __init__(self, out: str, threads: int) -> None:
        self.out = out
        self.threads = threads
        self.bad: list[str] = []
        self.samples = self.written = 0

    def _read(self, image: _Image) -> bytes:
        if image.size < 0:
            raise OSError(errno.ENOENT, "is not a regular file")
        with open(image.path, "rb") as file:
            return file.read()

    def _contents(self, images: list[_Image]) -> Iterator[tuple[_Image, bytes]]:
        """The images and their bytes, read by several threads. Those that cannot be read are left out."""
        waiting: deque[tuple[_Image, Future[bytes]]] = deque()
        ahead = iter(images)
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                while len(waiting) < 4 * self.threads and (next_one := next(ahead, None)):
                    waiting.append((next_one, pool.submit(self._read, next_one)))
                if not waiting:
                    return
                image, data = waiting.popleft()
                try:
                    yield image, data.result()
                except OSError as error:
                    self.bad.append(f"{image.path}: {error.strerror}")

    def _fill(self, file: Any, images: list[_Image], done: Any) -> list[tuple[str, int]]:
        sums = []
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for image, data in self._contents(images):
                for name, content in _components(image, data):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
                    sums.append((name, zlib.crc32(content)))
                self.samples += 1
                self.written += len(data)
                done(1)
        return sums

    def write(self, name: str, images: list[_Image], done: Any) -> None:
        """Writes a shard, unless it exists. `done` is called with numbers of images."""
        path = os.path.join(self.out, name)
        if os.path.exists(path + ".tar"):
            done(len(images))
            return
        part = f"{path}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                sums = self._fill(file, images, done)
                file.flush()
                os.fsync(file.fileno())
            _check(part, sums)
            if sums:
                write_index(part, path + ".idx")
                os.replace(part, path + ".tar")
        finally:
            if os.path.exists(part):
                os.unlink(part)


def _agree(out: str, plan: dict[str, Any]) -> None:
    """Records what the shards contain, or compares with what was recorded.

    Raises:
        UserError: the folder has shards of something else.
    """
    path = os.path.join(out, "pack.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            try:
                known = json.load(file)
            except ValueError:
                known = None
        if known != plan:
            raise UserError(
                f"{out} has shards of other files, or was written with other options (see {path}); "
                "choose another folder"
            )
        return
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(plan, file, indent=1)
    os.replace(path + ".part", path)


# ---- the command ----


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
        "--seed", type=int, default=0, help="of the order in which images are written"
    )
    parser.add_argument(
        "--sorted",
        action="store_true",
        help="write class after class, which makes shuffling less effective",
    )
    add_threads(parser)
    add_no_progress(parser)


def _pack(packer: _Packer, shards: list[list[_Image]], show_progress: bool) -> None:
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
        disable=not show_progress,
    ) as progress:
        task = progress.add_task("pack", total=sum(map(len, shards)))
        for number, images in enumerate(shards):
            packer.write(f"shard-{number:06}", images, lambda n: progress.advance(task, n))


def run(args: argparse.Namespace) -> int:
    need("rich")
    images = find_images(args.folder)
    if not args.sorted:
        random.Random(args.seed).shuffle(images)
    shards = split(images, args.shard_size)
    listing = hashlib.sha256()
    for image in images:
        line = f"{image.key}.{image.extension} {image.size} {image.label}\n"
        listing.update(os.fsencode(line))
    packer = _Packer(args.out, args.threads)
    try:
        os.makedirs(args.out, exist_ok=True)
        plan = {
            "files": len(images),
            "shard_size": args.shard_size,
            "listing": listing.hexdigest(),
        }
        _agree(args.out, plan)
        _pack(packer, shards, not args.no_progress)
    except OSError as error:
        raise UserError(f"cannot write {error.filename or args.out}: {error.strerror}") from None
    for text in packer.bad[:_SHOWN]:
        print(one_line(text))
    if len(packer.bad) > _SHOWN:
        print(f"... and {len(packer.bad) - _SHOWN:,} more files that cannot be read")
    last = len(shards) - 1
    paths = os.path.join(
        args.out, f"shard-{{{0:06}..{last:06}}}.tar" if last else "shard-000000.tar"
    )
    extensions = ";".join(sorted({image.extension for image in images}))
    print(
        f"files: {len(images):,}; unreadable: {len(packer.bad):,}; samples written: "
        f"{packer.samples:,}, {packer.written / 1e9:,.2f} GB; shards: {len(shards):,}. To read them:\n"
        f'fn.readers.webdataset(paths="{paths}", ext=["{extensions}", "i32"], dtypes=[types.UINT8, types.INT32])'
    )
    return 1 if packer.bad else 0
