# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tensors and batches as PyTorch tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from headrace import types
from headrace.tensors import TensorCPU, TensorGPU, TensorListGPU

_TORCH_NAMES = {
    "FLOAT": "float32",
    "FLOAT64": "float64",
    "FLOAT16": "float16",
    "UINT8": "uint8",
    "INT8": "int8",
    "BOOL": "bool",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
}

#: Element type -> PyTorch type (UINT16 to UINT64 only if this PyTorch has them).
to_torch_type: dict[types.DALIDataType, torch.dtype] = {
    getattr(types.DALIDataType, name): getattr(torch, torch_name)
    for name, torch_name in _TORCH_NAMES.items()
    if hasattr(torch, torch_name)
}

# What torch's from_dlpack calls for a capsule.
from_capsule = getattr(torch._C, "_from_dlpack", from_dlpack)


def current_stream(device: int) -> int:
    stream: int = torch.cuda.current_stream(device).cuda_stream
    return stream


def dense(batch: Any, keep: int | None = None) -> torch.Tensor:
    """Returns the batch, or its first `keep` samples, as one tensor that shares its memory.

    Samples of one shape that are not contiguous (for example the bytes of files) are copied.

    Raises:
        RuntimeError: the samples differ in shape, or there are none, so that their shape is unknown.
    """
    try:
        whole = batch.as_tensor()
    except RuntimeError:
        if len(batch) == 0:
            raise RuntimeError(
                "The batch has no samples, so it has no element type and no shape: either it was fed "
                'empty, or `on_error="skip"` left out all of its samples.'
            ) from None
        shapes = set(batch.shape())
        if len(shapes) != 1:
            raise RuntimeError(
                f"The samples of a batch differ in shape ({_some(shapes)}), so they cannot form "
                "one tensor. Give them one shape in the pipeline (resize, crop, pad), or use "
                "DALIRaggedIterator."
            ) from None
        return torch.stack([from_dlpack(sample) for sample in batch])[:keep]
    tensor: torch.Tensor = from_dlpack(whole)
    return tensor if keep is None else tensor[:keep]


def _shape(batch: Any) -> list[int]:
    """Shape of the whole batch.

    Raises:
        RuntimeError: the samples differ in shape.
    """
    shapes = set(batch.shape())
    if len(shapes) != 1:
        raise RuntimeError(f"The samples of the batch differ in shape ({_some(shapes)}).")
    return [len(batch), *shapes.pop()]


def _some(shapes: set[tuple[int, ...]]) -> str:
    shown = sorted(shapes)[:3]
    return ", ".join(map(str, shown)) + (", ..." if len(shapes) > len(shown) else "")


def feed_ndarray(dali_tensor: Any, arr: torch.Tensor, cuda_stream: Any = None) -> torch.Tensor:
    """Copies a tensor, or a batch whose samples have one shape, into an existing tensor.

    Args:
        dali_tensor: the source: a tensor or batch on the CPU or on a GPU.
        arr: the target, with the same shape and element type; any strides.
        cuda_stream: for sources on a GPU: the stream (a PyTorch stream or its address) on which
            the copy is queued without waiting for it; None: copy on the default stream and wait.

    Returns:
        `arr`.

    Raises:
        AssertionError: the shapes or element types differ.
        RuntimeError: the samples of the batch differ in shape.
    """
    whole = isinstance(dali_tensor, (TensorCPU, TensorGPU))
    shape = dali_tensor.shape() if whole else _shape(dali_tensor)
    dtype = to_torch_type[dali_tensor.dtype]
    if dtype != arr.dtype:
        raise AssertionError(
            "The element type of DALI Tensor/TensorList doesn't match the element type of the "
            f"target PyTorch Tensor: {dtype} vs {arr.dtype}"
        )
    if shape != list(arr.shape):
        raise AssertionError(
            f"Shapes do not match: DALI tensor has size {shape}, but PyTorch Tensor "
            f"has size {list(arr.shape)}"
        )
    if isinstance(dali_tensor, (TensorGPU, TensorListGPU)) and arr.is_contiguous():
        dali_tensor.copy_to_external(arr.data_ptr(), cuda_stream, cuda_stream is not None)
        return arr
    return arr.copy_(from_dlpack(dali_tensor) if whole else dense(dali_tensor))
