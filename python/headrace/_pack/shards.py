# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Shards: tar archives that are read back before they get their names, so that what has a name is whole."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import struct
import tarfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from headrace._pack import tar_index
from headrace._pack.images import Image, Recoding


def name_of(number: int) -> str:
    """The name of a shard, without its extension."""
    return f"shard-{number:06}"


def plan_of(
    images: list[Image], classes: list[str], shard_size: int, recoding: Recoding | None
) -> dict[str, Any]:
    """What the shards contain, for the file that is beside them."""
    listing = hashlib.sha256()
    for image in images:
        line = f"{image.key}.{image.extension} {image.size} {image.label}\n"
        listing.update(os.fsencode(line))
    plan: dict[str, Any] = {
        "files": len(images),
        "shard_size": shard_size,
        "listing": listing.hexdigest(),
        "classes": [os.fsencode(name).decode(errors="backslashreplace") for name in classes],
    }
    if recoding:
        plan |= {"resize": recoding.resize, "quality": recoding.quality}
    return plan


def agree(out: str, plan: dict[str, Any]) -> None:
    """Records what the shards contain, or compares with what was recorded.

    Raises:
        ValueError: the folder has shards of something else.
    """
    path = os.path.join(out, "pack.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            try:
                known = json.load(file)
            except ValueError:
                known = None
        if isinstance(known, dict):  # version 0.2 did not record them
            known.setdefault("classes", plan["classes"])
        if known != plan:
            raise ValueError(
                f"{out} has shards of other files, or was written with other options (see {path}); "
                "choose another folder"
            )
        return
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(plan, file, indent=1)
    os.replace(path + ".part", path)


def components(image: Image, extension: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The members that a sample has in a shard: the name and the bytes of each."""
    yield f"{image.key}.{extension}", data
    yield f"{image.key}.cls", str(image.label).encode()
    yield f"{image.key}.i32", struct.pack("<i", image.label)


def check(path: str, expected: list[tuple[str, int]]) -> None:
    """Reads a shard back.

    Raises:
        ValueError: it does not contain what was written.
    """
    with tarfile.open(path, "r:") as tar:
        found = []
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            found.append((member.name, zlib.crc32(content.read())))
    if found != expected:
        raise ValueError(f"{path} does not contain what was written to it: is the disk damaged?")


class BadFiles:
    """Files that were left out, as lines of a file beside the shards. Repeated calls add what is new."""

    def __init__(self, out: str) -> None:
        self._path = os.path.join(out, "bad-files.txt")
        self.lines: list[str] = []
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
                self.lines = file.read().splitlines()

    def add(self, found: list[str]) -> None:
        """Adds the files of a shard, before it gets its name."""
        new = [line for line in found if line not in self.lines]
        if new:
            with open(self._path, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(line + "\n" for line in new)
            self.lines += new


class Packer:
    """Writes shards, and counts."""

    def __init__(self, out: str, threads: int, recoding: Recoding | None) -> None:
        self.out = out
        self.threads = threads
        self.bad = BadFiles(out)
        self.samples = self.written = 0
        self._recoding = recoding

    def _read(self, image: Image) -> bytes:
        if image.size < 0:
            raise OSError(errno.ENOENT, "is not a regular file")
        with open(image.path, "rb") as file:
            data = file.read()
        return self._recoding(data) if self._recoding else data

    def _contents(
        self, images: list[Image], bad: list[str]
    ) -> Iterator[tuple[Image, bytes | None]]:
        """The images and their bytes, made by several threads. Those of files that are `bad` are None."""
        waiting: deque[tuple[Image, Future[bytes]]] = deque()
        ahead = iter(images)
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                while len(waiting) < 4 * self.threads and (next_one := next(ahead, None)):
                    waiting.append((next_one, pool.submit(self._read, next_one)))
                if not waiting:
                    return
                image, future = waiting.popleft()
                data = None
                try:
                    data = future.result()
                except (OSError, RuntimeError) as error:
                    why = getattr(error, "strerror", None) or str(error)
                    bad.append(" ".join(f"{image.path}: {why}".splitlines()))
                yield image, data

    def _fill(
        self, file: Any, images: list[Image], bad: list[str], done: Callable[[int], None]
    ) -> list[tuple[str, int]]:
        sums = []
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for image, data in self._contents(images, bad):
                done(1)
                if data is None:
                    continue
                extension = self._recoding.extension if self._recoding else image.extension
                for name, content in components(image, extension, data):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
                    sums.append((name, zlib.crc32(content)))
                self.samples += 1
                self.written += len(data)
        return sums

    def write(self, name: str, images: list[Image], done: Callable[[int], None]) -> None:
        """Writes a shard, unless it exists. `done` is called with numbers of images."""
        path = os.path.join(self.out, name)
        if os.path.exists(path + ".tar"):
            done(len(images))
            return
        part = f"{path}.{os.getpid()}.part"
        bad: list[str] = []
        try:
            with open(part, "wb") as file:
                sums = self._fill(file, images, bad, done)
                file.flush()
                os.fsync(file.fileno())
            check(part, sums)
            self.bad.add(bad)
            if sums:
                tar_index.write(part, path + ".idx")
                os.replace(part, path + ".tar")
        finally:
            if os.path.exists(part):
                os.unlink(part)
