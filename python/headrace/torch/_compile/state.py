# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The image between two transforms, while they are compiled."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace import fn, types
from headrace.data_node import DataNode
from headrace.torch._compile.companions import Companion, call

_SEEDS = 2**62 - 1
_APART = 0x2545F4914F6CDD1D  # between the seeds of operators


class Unsupported(Exception):
    """A transform cannot be compiled; the text is the reason."""


@dataclasses.dataclass
class State:
    """An image on its way. Until `flush` it has bytes (HWC), whatever torchvision has at this point.

    Attributes:
        image: the node.
        tensor: whether torchvision has a tensor here, rather than a PIL image.
        dtype: the type of this tensor.
        scale: what its elements are, times the bytes of the node.
        mean, std: of a Normalize that is still to be done.
        flushed: the node is what torchvision has: CHW, of type `dtype`.
        channels: 3, or 1 after Grayscale; of a tensor from Python, what it has.
        mode: of the PIL image that Python returned, if this is neither "RGB" nor "L". The node then
            has its bands, which only Python can work on.
        needs_cpu: a rule used an operator that runs on the CPU only.
        others: what moves with the image.
        seed: that of the operator which moved them last.
        pure: it is a tensor that has ceased to be an image for torchvision.
        mask: the rules are asked for what masks get.
    """

    image: DataNode
    tensor: bool = False
    dtype: Any = types.UINT8
    scale: float = 1.0
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    flushed: bool = False
    channels: int = 3
    mode: str | None = None
    needs_cpu: bool = False
    others: tuple[Companion, ...] = ()
    seed: int = 0
    pure: bool = False
    mask: bool = False

    def has(self, what: str) -> bool:
        """Whether companions of a kind move with the image."""
        return any(other.what == what for other in self.others)

    def move(self, name: str, mask: dict[str, Any] | None = None, **arguments: Any) -> None:
        """Calls a random operator of the family `_torchvision` that moves pixels. `mask`: the arguments that
        masks have instead."""
        if self.others:
            self.seed = (self.seed + _APART) & _SEEDS
            arguments["seed"] = self.seed
        self.image = call(name, self.image, **arguments)
        self.follow(name, mask, **arguments)

    def follow(self, name: str, mask: dict[str, Any] | None = None, **arguments: Any) -> None:
        """Moves what belongs to the image, but not the image."""
        self.others = tuple(other.moved(name, arguments, mask or {}) for other in self.others)

    def flip(self, horizontal: Any = 0, vertical: Any = 0) -> None:
        self.image = fn.flip(self.image, horizontal=horizontal, vertical=vertical)
        self.others = tuple(other.flipped(horizontal, vertical) for other in self.others)

    def bytes(self) -> DataNode:
        """The node, for a transform that works on bytes.

        Raises:
            Unsupported: the image has been normalised.
        """
        if self.mean is not None or self.flushed:
            raise Unsupported("it comes after a transform whose result is not made of bytes")
        return self.image

    def on_cpu(self) -> DataNode:
        """`bytes`, for an operator that runs on the CPU only."""
        node = self.bytes()
        self.needs_cpu = True
        return node

    def flush(self) -> DataNode:
        """Makes the node what torchvision has: a tensor CHW."""
        if self.flushed:
            return self.image
        mean, std = self.mean or (0.0,), self.std or (1.0,)
        if self.dtype == types.UINT8:
            self.image = fn.transpose(self.image, perm=[2, 0, 1])
        else:
            self.image = fn.crop_mirror_normalize(
                self.image,
                dtype=self.dtype,
                output_layout="CHW",
                mean=[m / self.scale for m in mean],
                std=[s / self.scale for s in std],
            )
        self.flushed, self.scale, self.mean, self.std = True, 1.0, None, None
        return self.image

    def assign(self, other: State, **changes: Any) -> None:
        """Makes this state like another one, but for some attributes."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, changes.get(field.name, getattr(other, field.name)))

    def same_kind(self, other: State) -> bool:
        """Whether another branch ends with the same kind of image."""
        names = ("tensor", "dtype", "scale", "mean", "std", "flushed", "channels", "mode")
        return all(getattr(self, name) == getattr(other, name) for name in names)
