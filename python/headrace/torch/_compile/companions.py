# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Masks, boxes, and labels of boxes that are transformed together with an image, as in torchvision's v2.

An operator that moves pixels is called for each of them, with the same seed, so they draw the same
random numbers. Masks have layout HWC and one channel; boxes are as `src/ops/torchvision/rows.h` says.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace import _graph, fn
from headrace._graph import schema
from headrace.data_node import DataNode

# What takes the place of an operator for images.
_MASKS = {"resize": "resize_mask", "augment": "augment_mask"}


def call(name: str, *inputs: Any, **kwargs: Any) -> Any:
    """Calls a hidden operator of the family `_torchvision`."""
    op = schema.operators()[f"_torchvision.{name}"]
    return _graph.call(op, op.class_name, inputs, kwargs)


@dataclasses.dataclass(frozen=True)
class Companion:
    """
    Attributes:
        what: "mask", "boxes" or "labels".
        dtype: of the values of a mask, in the end.
        format: of boxes, in the end: a name of torchvision's BoundingBoxFormat.
        pure: it has become a tensor that torchvision does not change.
    """

    node: DataNode
    what: str
    dtype: Any = None
    format: str = ""
    pure: bool = False

    def moved(self, name: str, arguments: dict[str, Any], mask: dict[str, Any]) -> Companion:
        """After an operator of the family `_torchvision`. `mask`: arguments that masks have instead."""
        if self.what == "labels" or self.pure:
            return self
        if self.what == "mask":
            node = call(_MASKS.get(name, name), self.node, **{**arguments, **mask})
        else:
            node = call(f"{name}_boxes", self.node, **arguments)
        return dataclasses.replace(self, node=node)

    def flipped(self, horizontal: Any, vertical: Any) -> Companion:
        if self.what == "labels" or self.pure:
            return self
        flip = fn.flip if self.what == "mask" else _flip_boxes
        node = flip(self.node, horizontal=horizontal, vertical=vertical)
        return dataclasses.replace(self, node=node)


def _flip_boxes(node: DataNode, **arguments: Any) -> Any:
    return call("flip_boxes", node, **arguments)
