# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Small tensors, such as labels, travel from a worker to the loader within the message of their batch.

PyTorch makes shared memory for each tensor and sends its file descriptor over a connection of its
own. For a tensor of a few bytes this takes about as long as everything else that the loader does
for a batch, and it fails if the worker ends meanwhile.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_tensor

_MOST = 1 << 14  # bytes of a small tensor


def pickle_small_tensors() -> None:
    """Changes how this process, a worker, sends tensors."""
    ForkingPickler.register(torch.Tensor, _reduce)


def _reduce(tensor: torch.Tensor) -> Any:
    if not _is_small(tensor):
        return reduce_tensor(tensor)
    flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return _rebuild, (data, tensor.dtype, tuple(tensor.shape))


def _is_small(tensor: torch.Tensor) -> bool:
    """Whether it is small, and nothing but elements in host memory that no other process shares."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and tensor.untyped_storage().nbytes() <= _MOST
        and not (tensor.requires_grad or tensor.is_quantized or tensor.is_shared())
        and tensor.numel() * tensor.element_size() <= _MOST  # unless expanded
    )


def _rebuild(data: bytes, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)
