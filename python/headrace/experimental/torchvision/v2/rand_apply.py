# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""RandomApply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn, types
from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class RandomApply(Operator):
    """Applies all of some transforms with probability `p`, otherwise none.

    Args:
        op_list: the transforms.
        p: from 0 to 1.
        device: "cpu" or "gpu".

    Raises:
        ValueError: `p` is not a probability.
    """

    def __init__(self, op_list: Sequence[Any], p: float = 0.5, device: str = "cpu") -> None:
        super().__init__(device)
        self.p = _checks.probability(p)
        self.op_list = list(op_list)

    @property
    def transforms(self) -> list[Any]:
        """The transforms, under torchvision's name."""
        return self.op_list

    def _kernel(self, image: ImageNode) -> ImageNode:
        node, ends = image.node, [image]
        if fn.random.coin_flip(probability=self.p, dtype=types.BOOL):
            changed = image
            for op in self.op_list:
                changed = op._invoke(changed)
            node = changed.on(image.node.device).node
            ends.append(changed)
        same = ends[0].channels == ends[-1].channels
        return ends[-1].made(node, channels=ends[0].channels if same else 0)
