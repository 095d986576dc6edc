# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The image between two transforms, while a pipeline is defined."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Self

from headrace import fn
from headrace.data_node import DataNode
from headrace.types import DALIDataType


@dataclasses.dataclass(frozen=True)
class ImageNode:
    """A node, and what is known of its images.

    Attributes:
        node: images of one layout.
        layout: HWC or CHW.
        channels: their number; 0: it differs between samples.
        dtype: the type of the elements.
    """

    node: DataNode
    layout: str
    channels: int
    dtype: DALIDataType

    def made(self, node: Any, **changes: Any) -> Self:
        """The image that an operator made of this one."""
        return dataclasses.replace(self, node=node, **changes)

    def on(self, device: str) -> Self:
        """The image on "cpu" or "gpu"."""
        if self.node.device == device:
            return self
        return self.made(self.node.gpu() if device == "gpu" else self.node.cpu())

    def extents(self) -> DataNode:
        """Height and width, as one node."""
        first = self.layout.index("H")
        return self.node.shape()[first : first + 2]

    def in_hwc(self, function: Callable[[Any], Any], **changes: Any) -> Self:
        """The result of a function of nodes that takes HWC only."""
        if self.layout == "HWC":
            return self.made(function(self.node), **changes)
        moved = function(fn.transpose(self.node, perm=[1, 2, 0]))
        return self.made(fn.transpose(moved, perm=[2, 0, 1]), **changes)
