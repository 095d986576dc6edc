# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What runs on another machine: one pipeline, and what it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace._pipeline.pipeline import Pipeline
from headrace.plugin._loader import LoaderBase, LoopIterator
from headrace.plugin.base_iterator import LastBatchPolicy

Arrays = list[NDArray[Any]]
Make = Callable[..., Pipeline]


@dataclass(frozen=True)
class Split:
    """The part of an epoch that a pipeline reads."""

    shard: int
    shards: int


@dataclass(frozen=True)
class Options:
    """How the epochs of a pipeline are read; see `Loader`."""

    reader_name: str | None
    drop_last: bool
    even: bool
    actors: int  # of a trainer


@dataclass(frozen=True)
class Epoch:
    """An epoch that begins or goes on: its number, and its batches in this shard."""

    number: int
    batches: int
    batch_size: int


@dataclass(frozen=True)
class Item:
    """One batch, or the end of an epoch.

    `state` is the position behind it. `arrays` is None if there is nothing to show: at the end of an
    epoch, and where this shard has a sample less than others. `next`: the epoch that begins now.
    """

    state: bytes
    arrays: Arrays | None
    next: Epoch | None


class _Arrays(LoopIterator):
    """Batches as NumPy arrays."""

    def __init__(self, pipeline: Pipeline, reader: str | None, even: bool) -> None:
        self._even = even
        self.reader = reader
        super().__init__(
            pipeline,
            reader_name=reader,
            last_batch_policy=LastBatchPolicy.PARTIAL,
            prepare_first_batch=False,
        )

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> Arrays:
        return [array_of(batch)[:keep] for batch in outputs]


class _Loader(LoaderBase[Arrays]):
    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        super().__init__(pipeline, options.reader_name, options.drop_last)
        self._even = options.even

    def _make(self, outputs: list[str], reader: str | None) -> LoopIterator:
        return _Arrays(self.pipeline, reader, self._even)

    def _shown(self, batch: Arrays) -> Arrays:
        return [_flat(array) for array in batch]

    def coming(self) -> Epoch:
        """The epoch of the next loop."""
        return Epoch(self.epoch, len(self), self.batch_size)


class Worker:
    """The actor. Its pipeline is made by `open`, so that errors there have their own type."""

    def __init__(self, make: Make, options: Options) -> None:
        self._make = make
        self._options = options
        self._loader: _Loader | None = None
        self._batches: Iterator[Arrays] | None = None
        self._ended = False  # the end of an epoch is still to be reported

    def ping(self) -> None:
        """Returns when the actor runs."""

    def open(
        self, split: Split, state: bytes | None, epoch: int | None, start: int | None
    ) -> tuple[bytes, Epoch]:
        """Begins, or continues at a position.

        Args:
            split: which samples.
            state: the position; None: the beginning.
            epoch: the caller waits for the end of this epoch, even if no batch of it is left.
            start: go to the beginning of this epoch.
        """
        self._loader = loader = self._opened(split, state)
        if start is not None:
            loader.set_epoch(start)
        self._batches = None
        self._ended = epoch is not None and loader.epoch > epoch
        return _state(loader), loader.coming()

    def take(self) -> Item:
        """The next batch, or the end of the epoch."""
        loader = self._loader
        assert loader is not None
        if not self._ended:
            if self._batches is None:
                self._batches = iter(loader)
            arrays = next(self._batches, None)
            if arrays is not None:
                return Item(_state(loader), arrays if len(arrays[0]) else None, None)
        loader.set_epoch(loader.epoch)
        self._ended, self._batches = False, None
        return Item(_state(loader), None, loader.coming())

    def once(self, split: Split, state: bytes) -> Item:
        """One batch at a position that is left of another split."""
        loader = self._opened(split, state)
        arrays = next(iter(loader), None)
        return Item(state, arrays if arrays and len(arrays[0]) else None, None)

    def _opened(self, split: Split, state: bytes | None) -> _Loader:
        pipeline = self._make(shard_id=split.shard, num_shards=split.shards)
        if self._options.actors > 1 and pipeline._complete_graph().in_job:
            raise RuntimeError(
                "A reader has a global_batch: each batch of the loader must then come from the same actor. Use "
                "actors=1 with more CPUs, or leave out global_batch."
            )
        loader = _Loader(pipeline, self._options)
        if state is not None:
            loader.load_state_dict({"pipeline": state})
        return loader


def _state(loader: _Loader) -> bytes:
    state: bytes = loader.state_dict()["pipeline"]
    return state


def array_of(batch: Any) -> NDArray[Any]:
    """A batch as one array, which may share its memory.

    Raises:
        RuntimeError: the samples differ in shape.
    """
    if hasattr(batch, "as_cpu"):
        batch = batch.as_cpu()
    array: NDArray[Any] = batch.as_array()
    return array


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """One integer per sample as a one-dimensional int64 array; everything else as it is."""
    if array.dtype.kind in "iu" and array.ndim <= 2 and array.size == len(array):
        return array.reshape(-1).astype(np.int64)
    return array
