# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""RandomHorizontalFlip and RandomVerticalFlip."""

from __future__ import annotations

from headrace import fn
from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class _RandomFlip(Operator):
    def __init__(self, p: float = 0.5, device: str = "cpu") -> None:
        super().__init__(device)
        self.p = _checks.probability(p)


class RandomHorizontalFlip(_RandomFlip):
    """Swaps left and right with probability `p`.

    Args:
        p: from 0 to 1.
        device: "cpu" or "gpu".

    Raises:
        ValueError: `p` is not a probability.
    """

    def _kernel(self, image: ImageNode) -> ImageNode:
        coin = fn.random.coin_flip(probability=self.p)
        return image.made(fn.flip(image.node, horizontal=coin, vertical=0))


class RandomVerticalFlip(_RandomFlip):
    """Swaps top and bottom with probability `p`.

    Args:
        p: from 0 to 1.
        device: "cpu" or "gpu".

    Raises:
        ValueError: `p` is not a probability.
    """

    def _kernel(self, image: ImageNode) -> ImageNode:
        coin = fn.random.coin_flip(probability=self.p)
        return image.made(fn.flip(image.node, horizontal=0, vertical=coin))
