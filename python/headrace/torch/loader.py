# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Loader`: a pipeline with the interface of a `torch.utils.data.DataLoader`."""

from __future__ import annotations

import warnings
from typing import Any, Never

import numpy as np
import torch
from numpy.typing import NDArray

from headrace._pipeline.pipeline import Pipeline
from headrace.plugin._loader import LoaderBase, LoopIterator
from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.pytorch import DALIGenericIterator
from headrace.torch._arguments import refuse_others

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Loader(LoaderBase[tuple[torch.Tensor, ...]]):
    """Yields the batches of a pipeline as tuples of tensors, for example ``(images, labels)``.

    Each ``for`` loop is an epoch. An output with one integer per sample, such as the labels of
    `fn.readers.file`, becomes a one-dimensional int64 tensor, as loss functions expect. Every other
    output has the shape (batch, *sample shape) and shares its memory with the pipeline's batch.

    A loop that was left early is not continued: the next loop is the next epoch. Only
    `load_state_dict` continues in the middle of an epoch. The pipeline is built when its length or
    its first batch is needed.

    Under `DistributedDataParallel`, give every process its own shard (``shard_id=rank,
    num_shards=world_size``) and the same `seed`. All processes get the same number of batches. With
    one shard and several processes, there is a warning.

    Args:
        pipeline: a pipeline whose reader has ``pad_last_batch=True`` and determines the epochs, or
            any pipeline with `size`.
        reader_name: name of that reader; None: the only reader of the pipeline.
        size: number of samples in an epoch, for a pipeline without such a reader: its data come
            from external sources. The last batch may be short if it has exactly the rest.
        drop_last: leave out a last batch that is smaller than the others.
        even: the last batches of all shards have the same size: a shard with fewer samples repeats
            its last one, as `torch.utils.data.DistributedSampler` does. False: each sample
            comes exactly once, and the last batch of a shard may be smaller or empty.
        device: a GPU, such as "cuda" or ``torch.device("cuda", 1)``: the pipeline copies its outputs
            there, ahead of their use; None: they stay where the pipeline makes them.
        pin_memory: copy outputs on the CPU to pinned memory (needs a GPU).

    Raises:
        TypeError: `pipeline` is not a pipeline, or there is no such argument. The message for an
            argument of a DataLoader says what to do instead.
        ValueError: `device` is not a GPU.
        RuntimeError: `device` is given, and the pipeline is built already.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        reader_name: str | None = None,
        drop_last: bool = False,
        even: bool = True,
        device: str | int | torch.device | None = None,
        pin_memory: bool = False,
        size: int | None = None,
        **others: Never,
    ) -> None:
        refuse_others("Loader", others)
        if not isinstance(pipeline, Pipeline) and hasattr(pipeline, "__getitem__"):
            raise TypeError(
                f"Loader takes a pipeline, not {type(pipeline).__name__}. headrace.torch.DataLoader takes a "
                "data set."
            )
        super().__init__(pipeline, reader_name, drop_last, size)
        self._even = even
        self._pin_memory = pin_memory
        if device is not None:
            self._inner.move_outputs(_gpu(device))

    def _make(self, outputs: list[str], reader: str | None) -> LoopIterator:
        return _Epochs(
            self.pipeline, outputs, reader, self._size or -1, self._even, self._pin_memory
        )

    def _shown(self, batch: Any) -> tuple[torch.Tensor, ...]:
        return tuple(map(_flat, batch.values()))


class _Epochs(LoopIterator, DALIGenericIterator):
    """The iterator below a loader."""

    def __init__(
        self,
        pipeline: Pipeline,
        names: list[str],
        reader: str | None,
        size: int,
        even: bool,
        pin_memory: bool,
    ) -> None:
        self._even = even
        self.reader = reader
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Please set `reader_name` instead")
            super().__init__(
                pipeline,
                names,
                size=size,
                reader_name=reader,
                last_batch_policy=LastBatchPolicy.PARTIAL,
                prepare_first_batch=False,
                pin_memory=pin_memory,
            )


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """One integer per sample as a one-dimensional int64 tensor; everything else as it is."""
    if tensor.dtype in _INTEGERS and tensor.dim() <= 2 and tensor.numel() == len(tensor):
        flat = tensor.reshape(-1).long()
        return flat.pin_memory() if tensor.is_pinned() and not flat.is_pinned() else flat
    return tensor


def copied(array: NDArray[Any]) -> torch.Tensor:
    """A tensor with memory of its own."""
    empty = torch.from_numpy(np.empty(array.shape, array.dtype))
    empty.numpy()[...] = array
    return empty


def _gpu(device: str | int | torch.device) -> int:
    """The number of a GPU."""
    found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if found.type != "cuda":
        raise ValueError(f"`device` must be a GPU, such as 'cuda:0', or None; got {str(device)!r}.")
    if found.index is not None:
        return int(found.index)
    return torch.cuda.current_device() if torch.cuda.is_available() else 0
