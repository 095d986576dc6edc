# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators that return batches as PyTorch tensors.

A tensor shares the memory of its batch, on the CPU or on the GPU: nothing is copied, and the
batch lives as long as the tensor. `LastBatchPolicy.PARTIAL` returns a slice of the last batch.

PyTorch's caching allocator allocates GPU batches, so `torch.cuda.memory_allocated` counts them,
except for the first batches of a pipeline. A tensor is complete when it is returned and
can be used on the stream that is current at that time. Its memory is reused only after the work
queued on that stream before the last tensor was freed. Before you free a tensor that you used on
another stream, make the current stream wait for it (`torch.cuda.Stream.wait_stream`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch.utils.dlpack import from_dlpack

from headrace import _core
from headrace.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator
from headrace.plugin.pytorch import experimental, fn, torch_utils
from headrace.plugin.pytorch._function import TorchPythonFunction
from headrace.plugin.pytorch._ranks import warn_of_whole
from headrace.plugin.pytorch._tensors import (
    current_stream,
    dense,
    feed_ndarray,
    from_capsule,
    to_torch_type,
)

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "experimental",
    "feed_ndarray",
    "fn",
    "to_torch_type",
    "torch_utils",
]


Item = TypeVar("Item")


class _TorchIterator(_DaliBaseIterator[Item]):
    def __init__(
        self,
        pipelines: Any,
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        pin_memory: bool = False,
    ) -> None:
        del dynamic_shape  # shapes may change from batch to batch in any case
        self.output_map = list(output_map)
        self._pin_memory = pin_memory
        super().__init__(
            pipelines,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _check_pipelines(self) -> None:
        super()._check_pipelines()
        warn_of_whole((pipe.reader_meta(n) for pipe in self._inner for n in pipe.reader_names()), 5)
        for pipe in self._inner:
            if pipe.on_device and torch.cuda.is_available():
                torch.cuda.init()
                pipe.engine.use_torch_memory()

    def _tensor(self, batch: Any, keep: int | None) -> torch.Tensor:
        tensor = dense(batch, keep)
        return tensor.pin_memory() if self._pin_memory and not tensor.is_cuda else tensor

    def _named(self, outputs: Sequence[Any]) -> zip[tuple[str, Any]]:
        return zip(self.output_map, outputs)


class DALIGenericIterator(_TorchIterator["list[dict[str, torch.Tensor]]"]):
    """Yields a list with one dictionary (name -> `torch.Tensor`) per pipeline.

    Each tensor has the shape (batch, ...).

    Args:
        pipelines: one pipeline, or a list of pipelines with the same batch size.
        output_map: one name per output of a pipeline.
        size: number of samples in an epoch, over all pipelines; -1: the epoch ends when the
            pipeline raises StopIteration. Prefer `reader_name`.
        reader_name: name of the reader whose size, shards and padding define the epoch.
        auto_reset: "yes" or True: start the next epoch when one ends; "no", False or None:
            wait for `reset()` or `iter()`.
        fill_last_batch: deprecated, use `last_batch_policy`.
        dynamic_shape: has no effect.
        last_batch_padded: with `size`: the source fills the last batch by repeating its last
            sample instead of continuing with the next epoch.
        last_batch_policy: see `LastBatchPolicy`.
        prepare_first_batch: run the first batch in the constructor, so that errors are raised there.
        pin_memory: copy CPU tensors to pinned memory (needs a GPU). Otherwise nothing is copied.

    Raises:
        AssertionError: arguments exclude each other, or `output_map` repeats a name.
        KeyError: `output_map` does not have one name per output.
        ValueError: an argument has a value that is not allowed.
        RuntimeError: the reader is unknown, there is no data, or the samples of a batch differ in
            shape.
    """

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> dict[str, Any]:
        return {name: self._tensor(batch, keep) for name, batch in self._named(outputs)}

    def _make_taker(self, left: int, last: int) -> _core.Taker | None:
        pipe = self._inner[0]
        if self._pin_memory or not pipe.engine_only:
            return None
        return _core.Taker(
            pipe.engine,
            tuple(self.output_map),
            from_capsule,
            dense,
            current_stream,
            left,
            last,
        )


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
        pin_memory: bool = False,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            pin_memory,
        )


class DALIRaggedIterator(_TorchIterator["list[dict[str, Any]]"]):
    """A `DALIGenericIterator` for batches whose samples differ in shape.

    Args:
        output_types: one tag per output: `DENSE_TAG` (one tensor; all samples have one shape),
            `SPARSE_LIST_TAG` (a list with one tensor per sample) or `SPARSE_COO_TAG` (one sparse
            tensor of shape (batch, largest extents)). None: all outputs are dense.

    Raises:
        AssertionError: a tag is unknown, or `output_types` and `output_map` differ in length.
    """

    DENSE_TAG = "dense"
    SPARSE_LIST_TAG = "sparse_list"
    SPARSE_COO_TAG = "sparse_coo"

    def __init__(
        self,
        pipelines: Any,
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        pin_memory: bool = False,
    ) -> None:
        tags = [self.DENSE_TAG] * len(output_map) if output_types is None else list(output_types)
        if not set(tags) <= {self.DENSE_TAG, self.SPARSE_LIST_TAG, self.SPARSE_COO_TAG}:
            raise AssertionError("Only DENSE_TAG, SPARSE_LIST_TAG and SPARSE_COO_TAG are allowed")
        if len(tags) != len(output_map):
            raise AssertionError(
                f"output_types has {len(tags)} tags for the {len(output_map)} names of output_map"
            )
        self._tags = tags
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            pin_memory,
        )

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for (name, batch), tag in zip(self._named(outputs), self._tags):
            if tag == self.DENSE_TAG:
                result[name] = self._tensor(batch, keep)
                continue
            count = len(batch) if keep is None else keep
            samples = [from_dlpack(batch[i]) for i in range(count)]
            if self._pin_memory:
                samples = [s if s.is_cuda else s.pin_memory() for s in samples]
            result[name] = samples if tag == self.SPARSE_LIST_TAG else _sparse(samples)
        return result


def _sparse(samples: list[torch.Tensor]) -> torch.Tensor:
    """One sparse tensor of shape (samples, largest extents) with all elements of all samples."""
    indices = [
        torch.cat(
            [
                torch.full((sample.numel(), 1), i, device=sample.device),
                torch.ones(sample.shape, device=sample.device).nonzero(),
            ],
            dim=1,
        )
        for i, sample in enumerate(samples)
    ]
    values = torch.cat([sample.reshape(-1) for sample in samples])
    extents = [max(e) for e in zip(*(sample.shape for sample in samples))]
    size = (len(samples), *extents)
    return torch.sparse_coo_tensor(torch.cat(indices).t(), values, size, check_invariants=False)
