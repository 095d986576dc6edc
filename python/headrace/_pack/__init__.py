# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Class folders of images as tar shards: `pack`, which is `headrace.pack`."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import NamedTuple

from headrace._pack import shards
from headrace._pack.images import Recoding, find, split

__all__ = ["Packed", "pack"]


class Packed(NamedTuple):
    """What `pack` did."""

    files: int
    """Images in the folders."""
    samples: int
    """Written by this call. Shards that existed were kept."""
    written: int
    """Bytes of their images."""
    bad: list[str]
    """Files that were left out, in this call and those before it, and why."""
    shards: list[str]
    """Paths of all shards, in the order of their numbers."""
    extensions: list[str]
    """Of the images in them."""


def pack(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    resize: int | None = None,
    quality: int = 90,
    shard_size: int = 1 << 30,
    seed: int = 0,
    shuffle: bool = True,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Packed:
    """Writes the images of class folders as tar shards, each with an index, for `fn.readers.webdataset`.

    A sample has the image (``jpg``, ...), its label as text (``cls``) and as INT32 (``i32``). Labels are those of
    `fn.readers.file`. Every shard is read back and compared before it gets its name, and shards that exist are kept, so
    an interrupted call can be repeated. Files that cannot be read or decoded are left out and listed in
    ``bad-files.txt``; the names of the classes are in ``pack.json``.

    Args:
        folder: has one subfolder per class.
        out: folder for the shards; it is made if necessary.
        resize: the shorter side of the images, which are decoded, made smaller if they are larger, and encoded as JPEG.
            None: the files are packed as they are.
        quality: of these JPEG files, from 1 to 100.
        shard_size: about how many bytes of images a shard has.
        seed: of the order of the images.
        shuffle: False: keep the order of `fn.readers.file`, class after class, which makes it harder to shuffle later.
        threads: that read and encode; by default, one per CPU that this process may use.
        progress: is called with the number of images that are done and that of all images.

    Raises:
        ValueError: the folder has no images, an argument is out of range, or `out` has shards of other files or
            options.
        OSError: a folder cannot be read, or `out` cannot be written.
    """
    root, target = os.fspath(folder), os.fspath(out)
    recoding = None if resize is None else Recoding(resize, quality)
    if shard_size < 1:
        raise ValueError(f"shard_size is {shard_size}; it must be at least 1")
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    if threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1")
    classes, images = find(root)
    if shuffle:
        random.Random(seed).shuffle(images)
    parts = split(images, shard_size, recoding)
    os.makedirs(target, exist_ok=True)
    shards.agree(target, shards.plan_of(images, classes, shard_size, recoding))
    packer = shards.Packer(target, threads, recoding)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(images))

    for number, part in enumerate(parts):
        packer.write(shards.name_of(number), part, advance)
    paths = [os.path.join(target, f"{shards.name_of(i)}.tar") for i in range(len(parts))]
    extensions = {recoding.extension if recoding else image.extension for image in images}
    return Packed(
        len(images),
        packer.samples,
        packer.written,
        packer.bad.lines,
        paths,
        sorted(extensions),
    )
