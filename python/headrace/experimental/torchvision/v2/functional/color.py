# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions that change values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headrace.experimental.torchvision.v2 import _calls
from headrace.experimental.torchvision.v2.color import Grayscale
from headrace.experimental.torchvision.v2.gaussian_blur import GaussianBlur
from headrace.experimental.torchvision.v2.normalize import Normalize


def to_grayscale(inpt: Any, num_output_channels: int = 1, device: Any = "cpu") -> Any:
    """`Grayscale` as a function."""
    return _calls.apply(Grayscale, (num_output_channels,), inpt, device)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1, device: Any = "cpu") -> Any:
    """`Grayscale` as a function."""
    return to_grayscale(inpt, num_output_channels, device)


def gaussian_blur(
    inpt: Any,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float] = (0.1, 2.0),
    device: Any = "cpu",
) -> Any:
    """`GaussianBlur` as a function."""
    return _calls.apply(GaussianBlur, (kernel_size, sigma), inpt, device)


def normalize(
    input_data: torch.Tensor,
    mean: Sequence[float],
    std: Sequence[float],
    inplace: bool = False,
    device: Any = "cpu",
) -> Any:
    """`Normalize` as a function.

    Raises:
        TypeError: the input is not a tensor.
    """
    if not isinstance(input_data, torch.Tensor):
        raise TypeError(f"`input_data` must be a tensor, not {type(input_data).__name__}")
    return _calls.apply(Normalize, (mean, std, inplace), input_data, device)
