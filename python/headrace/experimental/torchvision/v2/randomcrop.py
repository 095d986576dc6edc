# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""RandomCrop and RandomResizedCrop."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from headrace import fn, math, types
from headrace.experimental.torchvision.v2 import _checks, _enums
from headrace.experimental.torchvision.v2._enums import InterpolationMode
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.experimental.torchvision.v2.pad import MODES, repeated, sides
from headrace.torch._compile.state import call


class RandomCrop(Operator):
    """Takes a window anywhere in the image.

    Args:
        size: (height, width), or an int for both.
        padding: added first: as for `Pad`, or a sequence of one.
        pad_if_needed: pads images that are smaller than the window.
        fill, padding_mode: as for `Pad`.
        device: "cpu" or "gpu".

    Raises:
        TypeError, ValueError: an argument is not one of these.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] | None = 0,
        padding_mode: str = "constant",
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = _checks.window_size(size)
        if not isinstance(pad_if_needed, bool):
            raise TypeError(f"`pad_if_needed` must be a bool, not {pad_if_needed!r}")
        self._padding = _padding(padding)
        if pad_if_needed or padding is not None:
            _checks.padding_mode(padding_mode, list(MODES))
        self._fill = _checks.fill(fill)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _kernel(self, image: ImageNode) -> ImageNode:
        args: dict[str, Any] = {"size": list(self.size), "random": True}
        if self.padding_mode != "constant" and (self.pad_if_needed or any(self._padding)):
            image = repeated(image, self._padding, self.padding_mode, self._missing(image))
        else:
            args |= {
                "padding": self._padding,
                "pad_if_needed": self.pad_if_needed,
                "fill": self._fill,
            }
        return image.made(call("crop", image.node, **args))

    def _missing(self, image: ImageNode) -> Any:
        """Height and width that padded images still lack."""
        if not self.pad_if_needed:
            return 0
        left, top, right, bottom = self._padding
        wanted = types.Constant([self.size[0] - top - bottom, self.size[1] - left - right])
        return math.max(wanted - image.extents(), 0)


def _padding(padding: Any) -> list[int]:
    if padding is None:
        return [0, 0, 0, 0]
    if not isinstance(padding, (int, list, tuple)):
        raise TypeError(f"`padding` must be an int or a sequence of them, not {padding!r}")
    if not isinstance(padding, int):
        if len(padding) not in (1, 2, 4):
            raise ValueError(f"`padding` must have 1, 2 or 4 elements, not {len(padding)}")
        if not all(isinstance(v, int) for v in padding):
            raise ValueError(f"`padding` must consist of integers, not {padding!r}")
    _checks.non_negative(padding, "padding")
    return sides(padding, (1, 2, 4))


class RandomResizedCrop(Operator):
    """Takes a window of random area and aspect ratio, and resizes it.

    Args:
        size: (height, width) of the result, or an int for both.
        scale: (min, max) of the window's area as a fraction of the image's.
        ratio: (min, max) of the window's width divided by its height.
        interpolation, antialias: as for `Resize`.
        device: "cpu" or "gpu".

    Raises:
        TypeError, ValueError: an argument is not one of these.
        NotImplementedError: interpolation NEAREST_EXACT, BOX or HAMMING.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self.interpolation = _enums.find(interpolation)
        self.size = _checks.window_size(size)
        self.scale = _range(scale, "scale")
        self.ratio = _range(ratio, "ratio")
        self.antialias = antialias

    def _kernel(self, image: ImageNode) -> ImageNode:
        made = fn.random_resized_crop(
            image.node,
            size=list(self.size),
            random_area=list(self.scale),
            random_aspect_ratio=list(self.ratio),
            interp_type=_enums.filter_of(self.interpolation),
            antialias=self.antialias,
        )
        return image.made(made)


def _range(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(f"`{name}` must be a pair (min, max), not {value!r}")
    if not all(isinstance(v, numbers.Real) for v in value):
        raise TypeError(f"`{name}` must consist of numbers, not {value!r}")
    _checks.positive(value, name)
    return _checks.interval(value, name)
