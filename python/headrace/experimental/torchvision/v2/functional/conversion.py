# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Conversions between PIL images and tensors, without a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from headrace.experimental.torchvision.v2 import _batches

_TYPES = {"I": np.int32, "I;16": np.int16, "F": np.float32}  # by mode; the others have bytes
_STORED = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.float32)


def pil_to_tensor(inpt: Image.Image) -> torch.Tensor:
    """A tensor CHW with the numbers of a PIL image.

    Raises:
        TypeError: it is not a PIL image.
    """
    if not isinstance(inpt, Image.Image):
        raise TypeError(f"`inpt` must be a PIL image, not {type(inpt).__name__}")
    pixels = np.array(inpt, dtype=_TYPES.get(inpt.mode, np.uint8))
    return _planes(pixels * np.uint8(255) if inpt.mode == "1" else pixels)


def to_tensor(inpt: Any) -> torch.Tensor:
    """A tensor CHW of a PIL image or an array HW or HWC. Bytes become float32 from 0 to 1.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(inpt, (Image.Image, np.ndarray)):
        raise TypeError(f"`inpt` must be a PIL image or an array, not {type(inpt).__name__}")
    made = _planes(inpt) if isinstance(inpt, np.ndarray) else pil_to_tensor(inpt)
    return made.to(torch.float32) / 255 if made.dtype == torch.uint8 else made


def _planes(pixels: Any) -> torch.Tensor:
    array = pixels[..., None] if pixels.ndim == 2 else pixels
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def to_pil_image(
    inpt: torch.Tensor, mode: str | None = None, input_layout: str = "CHW"
) -> Image.Image:
    """The PIL image of a tensor. Floating-point numbers are from 0 to 1.

    Args:
        inpt: a tensor with three dimensions.
        mode: of the image; None: L, RGB or RGBA, by the number of channels.
        input_layout: "CHW" or "HWC".

    Raises:
        TypeError: it is not a tensor, or of a type that images do not have.
        ValueError: another number of dimensions or channels.
    """
    if not isinstance(inpt, torch.Tensor):
        raise TypeError(f"`inpt` must be a tensor, not {type(inpt).__name__}")
    if inpt.ndim != 3:
        raise ValueError(f"`inpt` has the shape {tuple(inpt.shape)}; it must have 3 dimensions")
    if inpt.dtype not in _STORED:
        raise TypeError(f"`inpt` has elements of type {inpt.dtype}, which images do not have")
    return _batches.image(inpt if input_layout == "HWC" else inpt.permute(1, 2, 0), mode)
