# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""CenterCrop."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.torch._compile.state import call


class CenterCrop(Operator):
    """Takes a window in the middle. Smaller images are padded with 0.

    Args:
        size: (height, width), or an int for both.
        device: "cpu" or "gpu".

    Raises:
        TypeError, ValueError: `size` is not a positive integer or one or two of them.
    """

    def __init__(self, size: int | Sequence[int], device: str = "cpu") -> None:
        super().__init__(device)
        self.size = _checks.window_size(size)

    def _kernel(self, image: ImageNode) -> ImageNode:
        return image.made(call("crop", image.node, size=list(self.size)))
