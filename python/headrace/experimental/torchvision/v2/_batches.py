# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""From PIL images and tensors to batches of a pipeline and back."""

from __future__ import annotations

import math
import multiprocessing
from typing import Any

import numpy as np
import torch
from PIL import Image

from headrace import fn
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.pipeline import Pipeline
from headrace.plugin.pytorch._tensors import dense, to_torch_type

SOURCE = "input_data"
MODES = ("L", "RGB", "RGBA")
TYPES = {torch_type: dtype for dtype, torch_type in to_torch_type.items()}
THREADS = max(multiprocessing.cpu_count() // 2, 1)


def take(data: Any) -> tuple[torch.Tensor, str]:
    """Returns images as one tensor with four dimensions, and the layout of each.

    Raises:
        TypeError: the input is not an image.
        ValueError: no image is given, or a PIL image of a mode other than L, RGB and RGBA.
    """
    if isinstance(data, Image.Image):
        if data.mode not in MODES:
            raise ValueError(
                f"the image has the mode {data.mode}; it must be one of {', '.join(MODES)}: "
                "use convert"
            )
        pixels = np.array(data)
        return torch.from_numpy(pixels.reshape(1, *pixels.shape[:2], -1)), "HWC"
    if not isinstance(data, torch.Tensor):
        raise TypeError(f"images are PIL images or tensors, not {type(data).__name__}")
    if data.ndim < 3:
        raise TypeError(f"a tensor has the dimensions CHW, perhaps after others, not {data.ndim}")
    if data.dtype not in TYPES:
        raise TypeError(f"tensors with elements of type {data.dtype} are not supported")
    count = math.prod(data.shape[:-3])
    if count == 0:
        raise ValueError(f"a tensor of shape {tuple(data.shape)} contains no images")
    return data.reshape(count, *data.shape[-3:]).contiguous(), "CHW"


def source(batch: torch.Tensor, layout: str, device: str) -> ImageNode:
    """The source of a pipeline that is being defined, for batches like this one. It copies them to
    "gpu"; what is on a GPU stays there."""
    device = "gpu" if batch.is_cuda else device
    node = fn.external_source(name=SOURCE, layout=layout, device=device)
    channels = batch.shape[1 + layout.index("C")]
    return ImageNode(node, layout, channels, TYPES[batch.dtype])


def options(batch: torch.Tensor, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the pipeline: on the GPU where the batch is."""
    own = {"device_id": batch.device.index} if batch.is_cuda else {}
    return {"prefetch_queue_depth": 1, **own, **given}


def run(pipe: Pipeline, batch: torch.Tensor) -> torch.Tensor:
    (made,) = pipe.run(**{SOURCE: batch})
    return dense(made)


def like(made: torch.Tensor, data: Any) -> Any:
    """The result in the form of the input: a PIL image or a tensor."""
    if isinstance(data, Image.Image):
        return image(made[0])
    return made.reshape(*data.shape[:-3], *made.shape[1:])


def image(pixels: torch.Tensor, mode: str | None = None) -> Image.Image:
    """The PIL image of a tensor HWC. Floating-point numbers are from 0 to 1.

    Raises:
        ValueError: the mode is not given, and the number of channels is not 1, 3 or 4.
    """
    array = pixels.cpu().numpy()
    if mode is None:
        modes = {1: "L", 3: "RGB", 4: "RGBA"}
        if array.shape[-1] not in modes:
            raise ValueError(f"an image of {array.shape[-1]} channels needs a `mode`")
        mode = modes[array.shape[-1]]
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).clip(0, 255).astype(np.uint8)
    return Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array, mode=mode)
