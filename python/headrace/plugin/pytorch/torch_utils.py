# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""From tensors and batches to PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from headrace.plugin.pytorch import feed_ndarray, to_torch_type

__all__ = ["feed_ndarray", "to_torch_tensor", "to_torch_type"]


def to_torch_tensor(dali_tensor: Any, copy: bool) -> torch.Tensor:
    """A PyTorch tensor of the same elements: over the same memory, or a copy."""
    tensor: torch.Tensor = torch.from_dlpack(dali_tensor)
    return tensor.clone() if copy else tensor
