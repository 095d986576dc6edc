# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""GaussianBlur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn
from headrace.experimental.torchvision.v2 import _checks
from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class GaussianBlur(Operator):
    """Blurs images.

    Args:
        kernel_size: (width, height) of the window, odd, or an int for both.
        sigma: standard deviation, or (min, max) of a random one.
        device: "cpu" or "gpu".
        seed: of the random numbers; -1: that of the pipeline.

    Raises:
        ValueError: an argument is not one of these.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] = (0.1, 2.0),
        device: str = "cpu",
        seed: int = -1,
    ) -> None:
        super().__init__(device)
        self._window = _window(kernel_size)
        _checks.positive(sigma, "sigma")
        pair = (sigma, sigma) if isinstance(sigma, (int, float)) else sigma
        self.sigma = _checks.interval(pair, "sigma")
        self.kernel_size = kernel_size
        self.seed = seed

    def _kernel(self, image: ImageNode) -> ImageNode:
        low, high = self.sigma
        sigma: Any = low
        if low < high:
            sigma = fn.random.uniform(range=[low, high], seed=self.seed)
        made = fn.gaussian_blur(image.node, window_size=self._window, sigma=sigma)
        return image.made(made)


def _window(kernel_size: Any) -> list[int]:
    """Height and width."""
    values = [kernel_size] if isinstance(kernel_size, int) else kernel_size
    if (
        not isinstance(values, Sequence)
        or len(values) not in (1, 2)
        or not all(isinstance(v, int) and v > 0 and v % 2 == 1 for v in values)
    ):
        raise ValueError(
            f"`kernel_size` must be an odd positive int, or two of them, not {kernel_size!r}"
        )
    return [values[-1], values[0]]
