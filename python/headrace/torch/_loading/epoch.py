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

from headrace.torch._loading.engine import Engine
from headrace.torch._loading.items import Batch, Results
from headrace.torch._loading.plan import Plan
from headrace.torch._loading.streams import Arriving

LARGEST_SEED = 2**62 - 1
_APART = 0x1E3779B97F4A7C15  # between the seeds of the pipelines of a loop


def threads(workers: int) -> int:
    """How many threads a pipeline has in place of so many workers."""
    return workers or min(4, len(os.sched_getaffinity(0)))


class Transformed:
    """Runs batches through pipelines, which work ahead.

    Args:
        below: yields `Batch`.
        size: how many images a batch probably has.
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
        # And what pipelines returned.
        self._waiting: deque[tuple[Batch, dict[int, list[Results]]]] = deque()
        self._end: Exception | None = None
        self._engines: dict[int, Engine] = {}
        if restored is not None:
            self._seed = restored["seed"]
            for job, (count, checkpoint) in restored["engines"].items():
                self._start(job, count, checkpoint)

    def state(self) -> dict[str, Any]:
        """From what the transforms of the next batches follow."""
        engines = {job: (one.size, one.checkpoint()) for job, one in self._engines.items()}
        return {"seed": self._seed, "engines": engines}

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
        for job in batch.blocks:
            if job not in made:
                made[job] = self._engines[job].take()
        return self._then(batch.filled(made))

    def _feed(self, batch: Batch) -> None:
        for job, blocks in batch.blocks.items():
            arrays = {slot: block.arrays() for slot, block in blocks.items()}
            if job not in self._engines or len(arrays[0]) > self._engines[job].size:
                self._grow(job, len(arrays[0]))
            self._engines[job].feed(arrays)
        self._waiting.append((batch, {}))

    def _grow(self, job: int, count: int) -> None:
        """Makes a pipeline for batches of this size."""
        if job in self._engines:
            for batch, made in self._waiting:
                if job in batch.blocks and job not in made:
                    made[job] = self._engines[job].take()
            self._seed = (self._seed + 1) & LARGEST_SEED
        self._start(job, max(count, self._size), None)

    def _start(self, job: int, size: int, checkpoint: bytes | None) -> None:
        seed = (self._seed + job * _APART) & LARGEST_SEED
        given = (self._plan.jobs[job], size, self._threads, seed, checkpoint)
        self._engines[job] = Engine(*given)
        depths = [engine.depth for engine in self._engines.values()]
        self._depth = min(depths) if self._ahead else 1


class Epoch:
    """What a loop iterates over. Counts the batches that were taken.

    Attributes:
        number: of the epoch.
        begun: the states of the random numbers that the order follows from.
        taken: how many batches were taken.
        over: all were.
        arriving: where the batches come from, if they have places.
    """

    def __init__(
        self,
        batches: Iterator[Any],
        number: int,
        begun: list[torch.Tensor],
        taken: int,
        sampler: Any,
        arriving: Arriving | None = None,
    ) -> None:
        self.arriving = arriving
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
        if self.arriving is not None:
            self.arriving.took()
        return batch


def pinned(batch: Any) -> Any:
    """The batch in pinned memory, if there is a device."""
    return pin_memory(batch) if torch.cuda.is_available() else batch
