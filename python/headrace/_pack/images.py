# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The images that are packed, and how they are made smaller."""

from __future__ import annotations

import array
import fnmatch
import os
import re
import threading
from collections import Counter
from typing import Any, NamedTuple

from headrace import _core
from headrace._graph import schema
from headrace.tensors import TensorListCPU

_PER_PIXEL = (
    0.3  # bytes of a JPEG file, roughly; shards need not have exactly the size that was asked for
)


class Image(NamedTuple):
    """A file in a class folder."""

    path: str
    size: int  # -1: not a regular file
    key: str  # in the archive
    extension: str
    label: int


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return sorted(found, key=lambda entry: os.fsencode(entry.name))


def _key(folder: str, stem: str, known: Counter[str]) -> str:
    """A name that WebDataset takes for one sample, different from all `known` ones."""
    key = "/".join(re.sub(r"\s", "_", part) for part in (folder, stem.replace(".", "_")))
    known[key] += 1
    return key if known[key] == 1 else _key(folder, f"{stem}-{known[key]}", known)


def find(root: str) -> tuple[list[str], list[Image]]:
    """The classes and images of `fn.readers.file(file_root=root)`, in its order.

    Raises:
        OSError: a folder cannot be read.
        ValueError: the folders contain no images.
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
            images.append(Image(entry.path, size, key, extension.lower(), label))
    if not images:
        raise ValueError(f"no images in class folders under {root}")
    return [entry.name for entry in classes], images


class Recoding:
    """Decodes images, makes them smaller, and encodes them as JPEG files. Any number of threads may call it.

    Args:
        resize: the shorter side.
        quality: of the JPEG files.

    Raises:
        ValueError: an argument is out of its range.
    """

    extension = "jpg"

    def __init__(self, resize: int, quality: int) -> None:
        if not 1 <= resize <= 65500:
            raise ValueError(f"resize is {resize}; it must be from 1 to 65500")
        if not 1 <= quality <= 100:
            raise ValueError(f"quality is {quality}; it must be from 1 to 100")
        self.resize, self.quality = resize, quality
        self._local = threading.local()

    def _engines(self) -> tuple[Any, Any]:
        """Pipelines that run on the thread that calls them. They give the shape in the header of a file, and the new
        file for a file and its new shorter side."""
        options = {
            "run_here": True,
            "prefetch_queue_depth": 1,
            "index_memory_limit": 0,
            "strict": True,
        }
        header, whole = _core.Graph(), _core.Graph()
        header.add_node("external_source", None, "cpu", None, [], {}, {})
        header.add_node("peek_image_shape", None, "cpu", None, [(0, 0)], {}, {})
        header.set_outputs([(1, 0)])
        for _ in range(2):
            whole.add_node("external_source", None, "cpu", None, [], {}, {})
        whole.add_node("decoders.image", None, "cpu", None, [(0, 0)], {}, {})
        whole.add_node("resize", None, "cpu", None, [(2, 0)], {}, {"resize_shorter": (1, 0)})
        whole.add_node("encoders.jpeg", None, "cpu", None, [(3, 0)], {"quality": self.quality}, {})
        whole.set_outputs([(4, 0)])
        return _core.Pipeline(header, 1, 1, **options), _core.Pipeline(whole, 1, 1, **options)

    def __call__(self, data: bytes) -> bytes:
        """The new file.

        Raises:
            RuntimeError: `data` is not a whole image.
        """
        engines = getattr(self._local, "engines", None)
        if engines is None:
            engines = self._local.engines = self._engines()
        header, whole = engines
        file = (0, (TensorListCPU([data]),))
        height, width, *_ = memoryview(header.call((file,), -1, -1)[0][0]).tolist()
        shorter = array.array("f", [min(height, width, self.resize)])
        (results,) = whole.call((file, (1, (TensorListCPU([shorter]),))), -1, -1)
        return bytes(memoryview(results[0]))


def split(images: list[Image], size: int, recoding: Recoding | None) -> list[list[Image]]:
    """The images of each shard, which has about `size` bytes. They depend only on what is known before images are read."""
    most = 4 / 3 * _PER_PIXEL * recoding.resize**2 if recoding else float("inf")
    shards: list[list[Image]] = []
    room = 0.0
    for image in images:
        expected = min(image.size, most)
        if not shards or room < expected:
            shards.append([])
            room = size
        shards[-1].append(image)
        room -= expected
    return shards
