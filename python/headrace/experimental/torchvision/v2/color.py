# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""ColorJitter, Grayscale and RandomGrayscale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from headrace import fn, types
from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator

Range: TypeAlias = float | Sequence[float]


class ColorJitter(Operator):
    """Changes colours at random.

    Args:
        brightness, contrast, saturation: (min, max) of the factor; a number x stands for
            (max(0, 1 - x), 1 + x).
        hue: (min, max) in turns, from -0.5 to 0.5; a number x stands for (-x, x). Colours are
            rotated in YIQ, as in DALI; torchvision rotates in HSV.
        device: "cpu" or "gpu".

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        brightness: Range = 0.0,
        contrast: Range = 0.0,
        saturation: Range = 0.0,
        hue: Range = 0.0,
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _turns(hue)

    def _kernel(self, image: ImageNode) -> ImageNode:
        light = {"brightness": _draw(self.brightness), "contrast": _draw(self.contrast)}
        if image.channels == 1:  # grey: there is nothing else to change
            return image.made(fn.brightness_contrast(image.node, **light))
        hue = _draw((self.hue[0] * 360, self.hue[1] * 360))
        saturation = _draw(self.saturation)
        args = {"saturation": saturation, "hue": hue, "dtype": image.dtype, **light}
        return image.in_hwc(lambda node: fn.color_twist(node, **args))


def _factors(value: Any, name: str) -> tuple[float, float]:
    if value is None:
        raise ValueError(f"`{name}` must be a number or a pair (min, max), not None")
    _checks.non_negative(value, name)
    if isinstance(value, (int, float)):
        return max(0.0, 1.0 - value), 1.0 + value
    return _checks.interval(value, name)


def _turns(hue: Any) -> tuple[float, float]:
    if isinstance(hue, (int, float)):
        low, high = -float(hue), float(hue)
    else:
        low, high = _checks.interval(hue, "hue")
    if not -0.5 <= low <= high <= 0.5:
        raise ValueError(f"`hue` must be from 0 to 0.5, or a pair within -0.5 and 0.5, not {hue!r}")
    return low, high


def _draw(values: tuple[float, float]) -> Any:
    """A random number of the interval."""
    return values[0] if values[0] == values[1] else fn.random.uniform(range=list(values))


class Grayscale(Operator):
    """Removes the colours.

    Args:
        num_output_channels: 1 or 3.
        device: "cpu" or "gpu".

    Raises:
        ValueError: another number of channels.
    """

    def __init__(self, num_output_channels: int = 1, device: str = "cpu") -> None:
        super().__init__(device)
        if num_output_channels not in (1, 3):
            raise ValueError(f"`num_output_channels` must be 1 or 3, not {num_output_channels!r}")
        self.num_output_channels = num_output_channels

    def _kernel(self, image: ImageNode) -> ImageNode:
        return grey(image, self.num_output_channels)


def grey(image: ImageNode, channels: int) -> ImageNode:
    """The image in grey, with one or three channels.

    Raises:
        ValueError: the image does not have one or three channels.
    """
    if image.channels not in (1, 3):
        count = image.channels or "a varying number of"
        raise ValueError(f"the image has {count} channels; 1 or 3 can be converted to grey")
    if image.channels == 1:
        node = image.node
        if channels == 3:
            node = fn.cat(node, node, node, axis_name="C")
        return image.made(node, channels=channels)
    if channels == 1 and image.dtype == types.UINT8:
        return image.in_hwc(_luma, channels=1)
    made = image.in_hwc(lambda node: fn.hsv(node, saturation=0, dtype=image.dtype))
    if channels == 3:
        return made
    return made.made(fn.slice(made.node, start=[0], shape=[1], axis_names="C"), channels=1)


def _luma(node: Any) -> Any:
    return fn.color_space_conversion(node, image_type=types.RGB, output_type=types.GRAY)


class RandomGrayscale(Operator):
    """Removes the colours with probability `p`. The number of channels does not change.

    Args:
        p: from 0 to 1.
        device: "cpu" or "gpu".

    Raises:
        ValueError: `p` is not a probability.
    """

    def __init__(self, p: float = 0.1, device: str = "cpu") -> None:
        super().__init__(device)
        self.p = _checks.probability(p)

    def _kernel(self, image: ImageNode) -> ImageNode:
        if image.channels == 1:
            return image
        node = image.node
        if fn.random.coin_flip(probability=self.p, dtype=types.BOOL):
            node = grey(image, 3).node
        return image.made(node)
