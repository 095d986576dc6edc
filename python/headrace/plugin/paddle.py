# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators that return batches as Paddle's `DenseTensor`.

A tensor shares the memory of its batch: nothing is copied. ``paddle.Tensor(tensor)`` makes a tensor
of dynamic graphs of it, also without a copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle

from headrace import types
from headrace.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator, passed
from headrace.tensors import TensorGPU, TensorListGPU

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "LastBatchPolicy",
    "feed_ndarray",
    "to_paddle_type",
]

_core = paddle.framework.core

#: Element type -> Paddle's type. Paddle has no unsigned integers of more than 8 bits.
dtype_map = {
    getattr(types.DALIDataType, name): getattr(_core.VarDesc.VarType, paddle_name)
    for name, paddle_name in {
        "BOOL": "BOOL",
        "FLOAT": "FP32",
        "FLOAT64": "FP64",
        "FLOAT16": "FP16",
        "UINT8": "UINT8",
        "INT8": "INT8",
        "INT16": "INT16",
        "INT32": "INT32",
        "INT64": "INT64",
    }.items()
}


def to_paddle_type(tensor: Any) -> Any:
    """Returns Paddle's type for the elements of a tensor or a batch.

    Raises:
        TypeError: Paddle has no such type.
    """
    if tensor.dtype not in dtype_map:
        raise TypeError(
            f"Paddle has no element type for {tensor.dtype}: add fn.cast to the pipeline."
        )
    return dtype_map[tensor.dtype]


def feed_ndarray(dali_tensor: Any, ptr: int, cuda_stream: Any = None) -> int:
    """Copies a tensor or a batch to an address, for example of a tensor of Paddle.

    Args:
        dali_tensor: the source, on the CPU or on a GPU.
        ptr: the address, with room for all elements.
        cuda_stream: for sources on a GPU: the stream on which the copy is queued without waiting
            for it; None: copy on the default stream and wait.

    Returns:
        `ptr`.
    """
    target = ctypes.c_void_p(ptr)
    if isinstance(dali_tensor, (TensorGPU, TensorListGPU)):
        dali_tensor.copy_to_external(target, cuda_stream, cuda_stream is not None)
    else:
        dali_tensor.copy_to_external(target)
    return ptr


class DALIGenericIterator(_DaliBaseIterator["list[dict[str, Any]]"]):
    """Yields a list with one dictionary (name -> Paddle's `DenseTensor`) per pipeline.

    Args:
        pipelines: one pipeline, or a list of pipelines with the same batch size.
        output_map: one name per output of a pipeline, or a tuple (name, level). With a level of 1
            or more, the samples may differ in the first extents: they are joined along the first
            axis, and the tensor has their lengths as its level of detail (LoD).
        size: number of samples in an epoch, over all pipelines; -1: the epoch ends when the
            pipeline raises StopIteration. Prefer `reader_name`.
        reader_name: name of the reader whose size, shards and padding define the epoch.
        auto_reset: "yes" or True: start the next epoch when one ends; "no", False or None: wait
            for `reset()` or `iter()`.
        fill_last_batch: deprecated, use `last_batch_policy`.
        dynamic_shape: has no effect: shapes may change from batch to batch in any case.
        last_batch_padded: with `size`: the source fills the last batch by repeating its last
            sample instead of continuing with the next epoch.
        last_batch_policy: see `LastBatchPolicy`.
        prepare_first_batch: run the first batch in the constructor, so that errors are raised there.

    Raises:
        AssertionError: arguments exclude each other, `output_map` repeats a name, or samples
            differ in shape and the level is 0.
        KeyError: `output_map` does not have one name per output.
        TypeError: Paddle does not have the element type of an output.
        ValueError: an argument has a value that is not allowed.
        RuntimeError: the reader is unknown, or there is no data.
    """

    def __init__(
        self,
        pipelines: Any,
        output_map: Sequence[str | tuple[str, int]],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        entries = [(e, 0) if isinstance(e, str) else (e[0], e[1]) for e in output_map]
        self.normalized_map = dict(entries)
        self.output_map = [name for name, _ in entries]
        super().__init__(**passed(locals(), "output_map", "dynamic_shape", "entries"))

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> dict[str, Any]:
        return {
            name: _joined(batch, level, keep) if level else _dense(name, batch, keep)
            for (name, level), batch in zip(self.normalized_map.items(), outputs)
        }


def _dense(name: str, batch: Any, keep: int | None) -> Any:
    """The batch, or its first `keep` samples, as one tensor that shares its memory."""
    to_paddle_type(batch)
    shapes = set(batch.shape())
    if len(shapes) > 1:
        raise AssertionError(
            f"The samples of output {name!r} differ in shape ({sorted(shapes)[:3]}): give them one "
            f"shape in the pipeline, or pass ({name!r}, 1) in output_map."
        )
    whole = batch.as_tensor() if batch.is_dense_tensor() else batch.as_array()
    tensor = _core.from_dlpack(whole.__dlpack__())
    return tensor if keep is None else tensor._slice(0, keep)


def _joined(batch: Any, level: int, keep: int | None) -> Any:
    """The samples one after the other, with the lengths of their first `level` axes."""
    to_paddle_type(batch)
    host = batch.as_cpu() if isinstance(batch, TensorListGPU) else batch
    samples = [np.asarray(sample) for sample in host][:keep]
    lengths = [
        [extent for sample in samples for extent in _repeated(sample.shape, axis)]
        for axis in range(level)
    ]
    rest = samples[0].shape[level:]
    rows = np.concatenate([sample.reshape(-1, *rest) for sample in samples])
    tensor = _core.DenseTensor()
    place = paddle.CUDAPlace(batch.device_id()) if host is not batch else paddle.CPUPlace()
    tensor.set(rows, place)
    tensor.set_recursive_sequence_lengths(lengths)
    return tensor


def _repeated(shape: Sequence[int], axis: int) -> list[int]:
    """The extent of `axis`, once per element of the axes before it."""
    return [shape[axis]] * int(np.prod(shape[:axis], dtype=np.int64))


class DALIClassificationIterator(DALIGenericIterator):
    """`DALIGenericIterator` for pipelines with two outputs, named "data" and "label"."""

    def __init__(
        self,
        pipelines: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(output_map=["data", "label"], **passed(locals()))
