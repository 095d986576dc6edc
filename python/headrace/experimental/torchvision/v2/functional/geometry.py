# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions that change the size of images, or move pixels."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from PIL import Image

from headrace import fn
from headrace.experimental.torchvision.v2 import _calls, _checks
from headrace.experimental.torchvision.v2._enums import InterpolationMode
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.centercrop import CenterCrop
from headrace.experimental.torchvision.v2.flips import RandomHorizontalFlip, RandomVerticalFlip
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.experimental.torchvision.v2.pad import Pad
from headrace.experimental.torchvision.v2.resize import Resize


def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
    device: Any = "cpu",
) -> Any:
    """`Resize` as a function."""
    return _calls.apply(Resize, (size, interpolation, max_size, antialias), inpt, device)


def center_crop(inpt: Any, output_size: int | Sequence[int], device: Any = "cpu") -> Any:
    """`CenterCrop` as a function."""
    return _calls.apply(CenterCrop, (output_size,), inpt, device)


def pad(
    inpt: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = 0,
    padding_mode: str = "constant",
    device: Any = "cpu",
) -> Any:
    """`Pad` as a function."""
    return _calls.apply(Pad, (padding, fill, padding_mode), inpt, device)


def horizontal_flip(inpt: Any, device: Any = "cpu") -> Any:
    """Swaps left and right."""
    return _calls.apply(RandomHorizontalFlip, (1.0,), inpt, device)


def vertical_flip(inpt: Any, device: Any = "cpu") -> Any:
    """Swaps top and bottom."""
    return _calls.apply(RandomVerticalFlip, (1.0,), inpt, device)


def crop(
    inpt: Any, top: float, left: float, height: float, width: float, device: Any = "cpu"
) -> Any:
    """Takes a window, which is 0 outside the image. For PIL images it is rounded to whole pixels.

    Raises:
        TypeError: an argument is not a number, or for a tensor not an integer.
        ValueError: the window is empty.
    """
    return _calls.apply(_Crop, (_window(inpt, top, left, height, width),), inpt, device)


def resized_crop(
    inpt: Any,
    top: float,
    left: float,
    height: float,
    width: float,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
    device: Any = "cpu",
) -> Any:
    """`crop`, then `resize`."""
    window = _window(inpt, top, left, height, width)
    return _calls.apply(_ResizedCrop, (window, size, interpolation, antialias), inpt, device)


class _Crop(Operator):
    def __init__(self, window: list[int]) -> None:
        super().__init__()
        self.window = window

    def _kernel(self, image: ImageNode) -> ImageNode:
        made = fn.slice(
            image.node,
            start=self.window[:2],
            shape=self.window[2:],
            axis_names="HW",
            out_of_bounds_policy="pad",
        )
        return image.made(made)


class _ResizedCrop(_Crop):
    def __init__(
        self, window: list[int], size: Any, interpolation: Any, antialias: bool | None
    ) -> None:
        super().__init__(window)
        self.resize = Resize(size, interpolation, None, antialias)

    def _kernel(self, image: ImageNode) -> ImageNode:
        return self.resize._kernel(super()._kernel(image))


def _window(inpt: Any, top: Any, left: Any, height: Any, width: Any) -> list[int]:
    """Top, left, height and width as integers."""
    values = [top, left, height, width]
    try:
        if isinstance(inpt, Image.Image):
            y, x = round(top), round(left)
            values = [y, x, round(top + height) - y, round(left + width) - x]
        window = [operator.index(v) for v in values]
    except TypeError:
        kind = "numbers" if isinstance(inpt, Image.Image) else "integers"
        raise TypeError(
            f"`top`, `left`, `height` and `width` must be {kind}, not {values!r}"
        ) from None
    _checks.window_size(window[2:])
    return window
