# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipelines that the commands run. They work with both Headrace and DALI."""

from __future__ import annotations

import os
from typing import Any

from headrace.cli._common import UserError

MEAN = [123.675, 116.28, 103.53]
STD = [58.395, 57.12, 57.375]
# The images among the default `file_filters` of `readers.file`.
EXTENSIONS = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def find_images(folder: str) -> tuple[dict[str, Any], list[str]]:
    """Finds the images of a folder.

    Returns:
        Arguments for `readers.file`, and the names of the classes (empty if there are no class folders).

    Raises:
        UserError: the folder does not exist or contains no images.
    """
    if not os.path.isdir(folder):
        raise UserError(f"no such folder: {folder}")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        classes = [entry.name for entry in entries if entry.is_dir()]
        if any(_has_images(os.path.join(folder, name)) for name in classes):
            return {"file_root": folder}, classes
        files = [entry.path for entry in entries if _is_image(entry.name)]
    except OSError as error:
        raise UserError(f"cannot read {error.filename or folder}: {error.strerror}") from None
    if not files:
        raise UserError(f"no images in {folder} or in the folders directly under it")
    return {"files": files}, []


def _is_image(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS)


def _has_images(folder: str) -> bool:
    with os.scandir(folder) as entries:
        return any(_is_image(entry.name) for entry in entries)


def training(dali: Any, source: dict[str, Any], **kwargs: Any) -> Any:
    """The training pipeline of `dali` (`headrace` or `nvidia.dali`): float CHW, 224 x 224."""
    fn, types = dali.fn, dali.types
    pipe = dali.Pipeline(device_id=None, **kwargs)
    with pipe:
        jpegs, labels = fn.readers.file(
            **source, random_shuffle=True, pad_last_batch=True, name="Reader"
        )
        images = fn.decoders.image_random_crop(
            jpegs, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
        )
        images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
        images = fn.crop_mirror_normalize(
            images,
            mirror=fn.random.coin_flip(),
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=MEAN,
            std=STD,
        )
        pipe.set_outputs(images, labels)
    return pipe


def evaluation(dali: Any, source: dict[str, Any], **kwargs: Any) -> Any:
    """The evaluation pipeline: shorter edge to 256, centre crop 224 x 224, float CHW."""
    fn, types = dali.fn, dali.types
    pipe = dali.Pipeline(device_id=None, **kwargs)
    with pipe:
        jpegs, labels = fn.readers.file(**source, pad_last_batch=True, name="Reader")
        images = fn.decoders.image(jpegs)
        images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_TRIANGULAR)
        images = fn.crop_mirror_normalize(
            images, crop=(224, 224), dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
        )
        pipe.set_outputs(images, labels)
    return pipe


def samples(dali: Any, source: dict[str, Any], size: int, **kwargs: Any) -> Any:
    """Samples augmented as for training: UINT8, HWC, `size` x `size` pixels."""
    fn, types = dali.fn, dali.types
    pipe = dali.Pipeline(device_id=None, **kwargs)
    with pipe:
        jpegs, labels = fn.readers.file(**source, random_shuffle=True, name="Reader")
        images = fn.decoders.image_random_crop(
            jpegs, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
        )
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_TRIANGULAR)
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        pipe.set_outputs(images, labels)
    return pipe
