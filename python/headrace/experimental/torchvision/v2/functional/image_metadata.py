# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Sizes of images."""

from __future__ import annotations

from typing import Any

import torch
from PIL import Image


def get_dimensions(inpt: Any) -> list[int]:
    """Channels, height and width of a PIL image, or of a tensor [..., C, H, W] or [H, W].

    Raises:
        TypeError: it is neither.
    """
    if isinstance(inpt, Image.Image):
        return [len(inpt.getbands()), inpt.height, inpt.width]
    if not isinstance(inpt, torch.Tensor):
        raise TypeError(f"`inpt` must be a PIL image or a tensor, not {type(inpt).__name__}")
    if inpt.ndim < 2:
        raise TypeError(f"an image has at least 2 dimensions, not {inpt.ndim}")
    return [1, *inpt.shape] if inpt.ndim == 2 else list(inpt.shape[-3:])


def get_size(inpt: Any) -> list[int]:
    """Height and width."""
    return get_dimensions(inpt)[1:]


def get_image_size(inpt: Any) -> list[int]:
    """Width and height."""
    return get_dimensions(inpt)[:0:-1]
