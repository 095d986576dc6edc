# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Generated photographs, and pipelines over them."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from headrace import Pipeline, fn, types
from PIL import Image


def photo(seed: int, size: tuple[int, int] = (120, 90), mode: str = "RGB") -> Image.Image:
    """A picture with waves, an edge and a little noise; size is (width, height)."""
    width, height = size
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [
        127 + 90 * np.sin(x / rng.uniform(4, 30) + c) + 60 * np.cos(y / rng.uniform(4, 30) - c)
        for c in range(3)
    ]
    pixels = np.stack(planes, axis=2) + rng.normal(0, 6, (height, width, 3))
    pixels[height // 3 : height // 2, width // 4 : width // 2] = rng.integers(0, 255, 3)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).convert(mode)


def encoded(
    seed: int, kind: str = "JPEG", size: tuple[int, int] = (120, 90), mode: str = "RGB", **save: Any
) -> bytes:
    """The bytes of a picture file."""
    file = io.BytesIO()
    photo(seed, size, mode).save(file, kind, **save)
    return file.getvalue()


def fill(root: Path, classes: int = 3, each: int = 8) -> Path:
    """Class folders of JPEGs of several sizes, qualities, samplings and kinds; returns `root`."""
    for label in range(classes):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for i in range(each):
            seed = 100 * label + i
            data = encoded(
                seed,
                size=(64 + 17 * (seed % 7), 56 + 23 * (seed % 5)),
                mode="L" if i % 7 == 5 else "RGB",
                quality=(50, 75, 90, 97)[i % 4],
                subsampling=i % 3,
                progressive=i % 6 == 4,
            )
            (folder / f"{i:02}.jpg").write_bytes(data)
    return root


_READER = (
    "file_root files labels file_list random_shuffle shard_id num_shards pad_last_batch".split()
)
_READER += "stick_to_shard shuffle_after_epoch shuffle_after_epoch_seed".split()


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    reader = {name: options.pop(name) for name in _READER if name in options}
    return {"batch_size": 4, "num_threads": 2, "device_id": None, "seed": 7, **options}, reader


def resized(root: os.PathLike[str] | str, size: int = 32, **options: Any) -> Pipeline:
    """A pipeline of reader "Reader", decoder and resize to squares, with arguments of the reader and of the pipeline.
    """
    options, reader = _split(options)
    pipeline = Pipeline(**options)
    with pipeline:
        files, labels = fn.readers.file(file_root=root, name="Reader", **reader)
        images = fn.decoders.image(files)  # LINE: decoder
        pipeline.set_outputs(fn.resize(images, size=[size, size]), labels)
    return pipeline


def training(root: os.PathLike[str] | str, size: int = 48, **options: Any) -> Pipeline:
    """The training pipeline with every random operator. Outputs: images, labels, numbers, raw crops."""
    options, reader = _split(options)
    pipeline = Pipeline(**options)
    with pipeline:
        files, labels = fn.readers.file(file_root=root, name="Reader", **reader)
        images = fn.decoders.image_random_crop(files, random_area=[0.1, 1.0], num_attempts=20)
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_TRIANGULAR)
        turned = fn.rotate(images, angle=fn.random.uniform(range=[-20, 20]), keep_size=True)
        out = fn.crop_mirror_normalize(
            images,
            mirror=fn.random.coin_flip(),
            mean=[123.7, 116.3, 103.5],
            std=[58.4, 57.1, 57.4],
        )
        again = fn.random_resized_crop(fn.decoders.image(files), size=[24, 20])
        pipeline.set_outputs(out, labels, fn.random.uniform(shape=[3]), turned, again)
    return pipeline


def sources(batch: Any) -> list[str]:
    """The files that the samples of a batch came from."""
    return [sample.source_info() for sample in batch]


def samples(outputs: Any) -> list[tuple[bytes, ...]]:
    """The bytes of every sample of a run: a tuple of the outputs' bytes."""
    columns = [[np.asarray(sample).tobytes() for sample in batch] for batch in outputs]
    return list(zip(*columns, strict=True))


def take(pipeline: Pipeline, count: int) -> list[tuple[bytes, ...]]:
    """The next `count` samples (a multiple of the batch size)."""
    taken: list[tuple[bytes, ...]] = []
    while len(taken) < count:
        taken += samples(pipeline.run())
    assert len(taken) == count
    return taken
