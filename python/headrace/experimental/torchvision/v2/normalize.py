# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Normalize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace import fn, types
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class Normalize(Operator):
    """Subtracts a mean per channel and divides by a standard deviation.

    Args:
        mean, std: one number per channel.
        inplace: not supported.
        device: "cpu" or "gpu".

    Raises:
        TypeError: `mean` or `std` is not a sequence.
        ValueError: they do not consist of numbers, or `std` contains 0.
        NotImplementedError: `inplace` is true.
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        inplace: bool = False,
        device: str = "cpu",
    ) -> None:
        super().__init__(device)
        self._std = _per_channel(std, "std")
        self._mean = _per_channel(mean, "mean")
        if not self._std.all():
            raise ValueError(f"`std` contains 0: {std!r}")
        if inplace:
            raise NotImplementedError("`inplace` is not supported")
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def _kernel(self, image: ImageNode) -> ImageNode:
        shape = (1, 1, -1) if image.layout == "HWC" else (-1, 1, 1)
        made = fn.normalize(
            image.node, mean=self._mean.reshape(shape), stddev=self._std.reshape(shape)
        )
        return image.made(made, dtype=types.FLOAT)


def _per_channel(values: Any, name: str) -> Any:
    if isinstance(values, str) or not isinstance(values, (Sequence, torch.Tensor, np.ndarray)):
        raise TypeError(f"`{name}` must be a sequence of numbers, not {type(values).__name__}")
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must consist of numbers, not {values!r}") from None
