# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A loop over a loader: the batches of the DataLoader below, with their images transformed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from headrace.torch._loading.engine import Engine, each, whole
from headrace.torch._loading.items import Batch
from headrace.torch._loading.plan import Plan

LARGEST_SEED = 2**62 - 1


def threads(workers: int) -> int:
    """How many threads a pipeline has in place of so many workers."""
    return workers or min(4, len(os.sched_getaffinity(0)))


class Transformed:
    """Runs batches through a pipeline, which works ahead.

    Args:
        below: yields `Batch`.
        ahead: whether `below` may be asked before its batch is needed.
        then: makes what the user gets: the collate function if the samples are still a list.
        restored: what `state` returned.
    """

    def __init__(
        self,
        below: Iterator[Batch],
        plan: Plan,
        size: int,
        threads: int,
        seed: int,
        ahead: bool,
        then: Callable[[Any], Any],
        restored: dict[str, Any] | None,
    ) -> None:
        self._below, self._plan, self._threads, self._then = below, plan, threads, then
        self._seed, self._size, self._ahead, self._depth = seed, size, ahead, 1
        self._waiting: deque[list[Any]] = deque()  # a batch; None, or what the pipeline returned
        self._end: Exception | None = None
        self._engine: Engine | None = None
        if restored is not None:
            self._seed, self._size = restored["seed"], restored["size"]
            if restored["checkpoint"] is not None:
                self._start(self._size, restored["checkpoint"])

    def state(self) -> dict[str, Any]:
        """From what the transforms of the next batches follow."""
        checkpoint = None if self._engine is None else self._engine.checkpoint()
        return {"seed": self._seed, "size": self._size, "checkpoint": checkpoint}

    def __iter__(self) -> Transformed:
        return self

    def __next__(self) -> Any:
        while self._end is None and len(self._waiting) < self._depth:
            try:
                self._feed(next(self._below))
            except Exception as error:  # without this frame, which would be a circle
                self._end = error.with_traceback(error.__traceback__.tb_next)  # type: ignore[union-attr]
        if not self._waiting:
            end, self._end = self._end, None
            try:
                raise end or StopIteration
            finally:
                del end
        batch, made = self._waiting.popleft()
        if made is None and batch.arrays():
            assert self._engine is not None
            made = self._engine.take()
        return self._then(batch.filled(lambda: whole(made), lambda: each(made)))

    def _feed(self, batch: Batch) -> None:
        arrays = batch.arrays()
        if arrays:
            if self._engine is None or len(arrays) > self._engine.size:
                self._grow(len(arrays))
            assert self._engine is not None
            self._engine.feed(arrays)
        self._waiting.append([batch, None])

    def _grow(self, count: int) -> None:
        """Makes a pipeline for batches of this size."""
        if self._engine is not None:
            for entry in self._waiting:
                if entry[1] is None and entry[0].arrays():
                    entry[1] = self._engine.take()
            self._seed = (self._seed + 1) & LARGEST_SEED
        self._size = max(count, self._size)
        self._start(self._size, None)

    def _start(self, size: int, checkpoint: bytes | None) -> None:
        kind = self._plan.kind
        assert kind is not None
        given = (self._plan.transform, kind, size, self._threads, self._seed, checkpoint)
        self._engine = Engine(*given)
        self._depth = self._engine.depth if self._ahead else 1


class Epoch:
    """What a loop iterates over. Counts the batches that were taken.

    Attributes:
        number: of the epoch.
        begun: the states of the random numbers that the order follows from.
        taken: how many batches were taken.
        over: all were.
    """

    def __init__(
        self,
        batches: Iterator[Any],
        number: int,
        begun: list[torch.Tensor],
        taken: int,
        sampler: Any,
    ) -> None:
        self.batches, self.number, self.begun, self.taken = batches, number, begun, taken
        self.over = False
        self._sampler = sampler

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def __next__(self) -> Any:
        try:
            batch = next(self.batches)
        except StopIteration:
            self.over, self.batches = True, iter(())  # lets go of the pipeline
            raise
        self.taken += 1
        return batch


def pinned(batch: Any) -> Any:
    """The batch in pinned memory, if there is a device."""
    return pin_memory(batch) if torch.cuda.is_available() else batch
