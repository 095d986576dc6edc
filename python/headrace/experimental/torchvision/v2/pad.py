# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn, types
from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.torch._compile.state import call

#: `padding_mode` -> `out_of_bounds_policy` of `slice`.
MODES = {
    "constant": "pad",
    "edge": "clamp",
    "reflect": "reflect_101",
    "symmetric": "reflect_1001",
}


class Pad(Operator):
    """Adds pixels around images.

    Args:
        padding: an int for all sides; (left and right, top and bottom); or left, top, right and
            bottom.
        fill: for the mode "constant": a number, or one per channel.
        padding_mode: "constant"; "edge": the outermost pixels are repeated; "reflect" and
            "symmetric": the image is mirrored, without and with the outermost pixels.
        device: "cpu" or "gpu".

    Raises:
        TypeError, ValueError: an argument is not one of these.
    """

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: float | Sequence[float] | None = 0,
        padding_mode: str = "constant",
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self.padding_mode = _checks.padding_mode(padding_mode, list(MODES))
        _checks.non_negative(padding, "padding")
        self._padding = sides(padding, (2, 4))
        self._fill = _checks.fill(fill)
        self.padding = padding
        self.fill = fill

    def _kernel(self, image: ImageNode) -> ImageNode:
        if self.padding_mode == "constant":
            made = call("crop", image.node, padding=self._padding, fill=self._fill)
            return image.made(made)
        return repeated(image, self._padding, self.padding_mode)


def sides(padding: Any, lengths: Sequence[int]) -> list[int]:
    """Left, top, right and bottom.

    Raises:
        TypeError: it is not an int, or a sequence of these lengths.
    """
    values = [padding] if isinstance(padding, int) else padding
    if not isinstance(values, Sequence) or len(values) not in (1, *lengths):
        some = " or ".join(map(str, lengths))
        raise TypeError(f"`padding` must be an int or a sequence of {some}, not {padding!r}")
    if values is padding and len(values) not in lengths:
        raise TypeError(f"`padding` must have {' or '.join(map(str, lengths))} elements")
    return [int(v) for v in values] * (4 // len(values))


def repeated(image: ImageNode, padding: Sequence[int], mode: str, more: Any = 0) -> ImageNode:
    """Pads with repeated pixels. `more` is a node: height and width to add on both sides."""
    left, top, right, bottom = padding
    low, both = types.Constant([top, left]), types.Constant([top + bottom, left + right])
    made = fn.slice(
        image.node,
        start=fn.cast(-low - more, dtype=types.INT32),
        shape=fn.cast(image.extents() + both + 2 * more, dtype=types.INT32),
        axis_names="HW",
        out_of_bounds_policy=MODES[mode],
    )
    return image.made(made)
