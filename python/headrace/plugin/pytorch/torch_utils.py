# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Conversion of tensors and batches to PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from headrace.plugin.pytorch._tensors import feed_ndarray, to_torch_type

__all__ = ["feed_ndarray", "to_torch_tensor", "to_torch_type"]


def to_torch_tensor(dali_tensor: Any, copy: bool) -> torch.Tensor:
    """Returns the data as a PyTorch tensor that shares its memory, or as a copy."""
    tensor: torch.Tensor = torch.from_dlpack(dali_tensor)
    return tensor.clone() if copy else tensor
