# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn, math, types
from headrace.data_node import DataNode
from headrace.experimental.torchvision.v2 import _checks, _enums
from headrace.experimental.torchvision.v2._enums import InterpolationMode
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class Resize(Operator):
    """Resizes images.

    Args:
        size: (height, width); or an int: the length of the shorter side; or None: `max_size` is
            the length of the longer side.
        interpolation: NEAREST, BILINEAR, BICUBIC or LANCZOS, or their numbers in Pillow.
        max_size: limit of the longer side, if `size` is not a pair.
        antialias: whether filters are widened where images shrink.
        device: "cpu" or "gpu".

    Raises:
        ValueError: sizes that cannot be, or an unknown interpolation.
        NotImplementedError: interpolation NEAREST_EXACT, BOX or HAMMING.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self.interpolation = _enums.find(interpolation)
        self._size = _checked(size, max_size)
        self.size = size
        self.max_size = max_size
        self.antialias = antialias

    def _kernel(self, image: ImageNode) -> ImageNode:
        if len(self._size) == 2:
            size: Any = [float(v) for v in self._size]
        else:
            size = fn.cast(self._target(image.extents()), dtype=types.FLOAT)
        return image.made(resized(image.node, size, self.interpolation, self.antialias))

    def _target(self, extents: DataNode) -> DataNode:
        """Height and width, truncated as torchvision does."""
        if not self._size:
            longer = math.max(math.max(extents[0], extents[1]), 1)
            made = extents * self.max_size // longer
        else:
            shorter = math.max(math.min(extents[0], extents[1]), 1)
            made = extents * self._size[0] // shorter
            if self.max_size is not None:
                longer = math.max(made[0], made[1])
                made = made * math.min(longer, self.max_size) // longer
        return math.max(made, 1)


def resized(node: Any, size: Any, interpolation: InterpolationMode, antialias: Any) -> DataNode:
    made: DataNode = fn.resize(
        node, size=size, interp_type=_enums.filter_of(interpolation), antialias=antialias
    )
    return made


def _checked(size: Any, max_size: Any) -> list[int]:
    """Height and width, or the shorter side, or nothing."""
    if size is None and max_size is None:
        raise ValueError("one of `size` and `max_size` must be given")
    if size is not None and not isinstance(size, (int, list, tuple)):
        raise ValueError(f"`size` must be an int, a pair of them or None, not {size!r}")
    values = [] if size is None else [size] if isinstance(size, int) else list(size)
    if size is not None and len(values) not in (1, 2):
        raise ValueError(f"`size` must have one or two elements, not {len(values)}")
    if not all(isinstance(v, int) for v in values):
        raise ValueError(f"`size` must consist of integers, not {size!r}")
    _checks.positive(values, "size")
    if max_size is not None:
        _checks.positive(max_size, "max_size")
        if len(values) == 2:
            raise ValueError("`max_size` needs a `size` that is the shorter side, not a pair")
        if values and values[0] > max_size:
            raise ValueError(f"`max_size` is {max_size}, less than `size`, {values[0]}")
    return values
