# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DatasetLoader`: for data sets with code of their own, which Python runs as in a DataLoader."""

from __future__ import annotations

import itertools
import operator
import random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from headrace._pipeline.config import integer
from headrace.plugin._epochs import Epochs, LastBatchPolicy
from headrace.plugin._loader import MOST_EPOCHS, Loops
from headrace.torch._compile.report import Report
from torch.utils.data import DataLoader

ORDER, SAMPLE = range(2)  # what random numbers are for
Batch = tuple[tuple[int, int], list[int]]  # seed and epoch; numbers of samples


class Items:
    """The batches of an epoch, made by a DataLoader, which asks this object for numbers of samples.

    As in readers, each shard is shuffled by itself, so all samples are read even if ranks have
    different seeds; and shards with one sample fewer than the largest one repeat their last one.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
        seed: int | None,
        shard: tuple[int, int],
        **arguments: Any,
    ) -> None:
        self._dataset, self.drop_last, self.drawn = dataset, drop_last, seed is None
        self.batch_size = integer("batch_size", batch_size, 1, 2**31 - 1)
        seed = secrets.randbits(62) if seed is None else integer("seed", seed, 0, 2**63 - 1)
        self.made = {"samples": len(dataset), "shuffle": bool(shuffle), "seed": seed}
        self.made |= {"batch_size": self.batch_size, "num_shards": shard[1]}
        if len(dataset) < shard[1]:
            raise ValueError(f"There are {len(dataset)} samples, but {shard[1]} shards.")
        meta = dict.fromkeys(("stick_to_shard", "rest_size", "first_epoch", "resplit"), 0)
        meta |= {"epoch_size": len(dataset), "pad_last_batch": 1}
        meta |= {"shard_id": shard[0], "number_of_shards": shard[1]}
        rule = (meta, [shard[0]], self.batch_size, LastBatchPolicy.PARTIAL)
        self._epochs = Epochs.of_reader(*rule, even=True)
        ends = [0, *itertools.accumulate(Epochs.of_reader(*rule).sizes)]
        self._shards = list(itertools.starmap(range, itertools.pairwise(ends)))
        arguments |= {"batch_sampler": self, "generator": torch.Generator()}
        self._loader: Any = DataLoader(Seeded(dataset), **arguments)  # type: ignore[arg-type]
        self._running: Iterator[Any] | None = None
        self.move(0, 0)

    def __iter__(self) -> Iterator[Batch]:
        """For the DataLoader, which runs ahead: what is left of the epoch."""
        if len(self._dataset) != self.made["samples"]:
            raise RuntimeError("The data set has changed in size: make a new loader of it.")
        at, key = self._epochs.at(), (self.made["seed"], self._epochs.number)
        numbers = list(self._shards[at.shard])
        if self.made["shuffle"]:
            numbers = np.random.default_rng((ORDER, *key, at.shard)).permutation(numbers).tolist()
        numbers = (numbers + numbers[-1:])[: at.length]
        size, done = self.batch_size, at.batches - at.left
        parts = range(done * size, (done + self.left()) * size, size)
        return ((key, numbers[begin : begin + size]) for begin in parts)

    def take(self) -> list[Any]:
        if self.over():
            raise StopIteration
        if self._running is None:
            self._loader.generator.manual_seed(self.made["seed"] + self._epochs.number)
            self._running = iter(self._loader)
        try:
            batch = next(self._running)
        except StopIteration as error:
            raise RuntimeError("The data set raised StopIteration for a sample.") from error
        self._epochs.count(1)
        return [batch]

    def left(self) -> int:
        """How many batches of the epoch were not taken yet."""
        at = self._epochs.at()
        return at.left - (at.batches - at.full if self.drop_last else 0)

    def stop(self) -> None:
        """Ends the worker processes, unless they are persistent. `take` starts them again."""
        self._running = None

    def move(self, epoch: int, batch: int) -> None:
        self.stop()
        self._epochs.move(epoch, batch)
        self._begun = self._epochs.taken

    def settled(self) -> Epochs:
        return self._epochs

    def over(self) -> bool:
        return self.left() <= 0

    def untouched(self) -> bool:
        return self._epochs.taken == self._begun


class Seeded:
    """What the DataLoader has as its data set."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitems__(self, batch: Batch) -> Any:
        key, numbers = batch
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return seeded((*key, numbers[0]), many, numbers)
        return [
            seeded((*key, number), operator.getitem, self.dataset, number) for number in numbers
        ]


def seeded(key: tuple[int, ...], function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function with seeded generators. Others in this process may use them: they come back."""
    seeds = np.random.SeedSequence((SAMPLE, *key)).generate_state(3).tolist()
    ours, numpys = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            torch.default_generator.manual_seed(seeds[0])  # not those of GPUs
            random.seed(seeds[1])
            np.random.seed(seeds[2])
            return function(*arguments)
        finally:
            random.setstate(ours)
            np.random.set_state(numpys)


class DatasetLoader(Loops[Any]):
    """What `compile` returns for a data set whose own code makes the samples.

    Python runs this code, in worker processes or in this one. Batches are those of a DataLoader over
    the data set; loops, epochs and shards are those of a `Loader`. The random numbers of torch, random
    and numpy depend on the seed, the epoch and the sample; if the data set has ``__getitems__``, on
    the first sample of the batch.

    Attributes:
        batch_size: maximum number of samples in a batch.
        report: the code that Python runs.
    """

    def __init__(self, items: Items, report: Report) -> None:
        super().__init__(items.drop_last)
        self._items, self.batch_size, self.report = items, items.batch_size, report

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of this loader, after the last batch that was taken."""
        if self._wanted is not None:
            self._go_to(self._wanted)
        at, number = self._epochs().at(), self._epochs().number
        return {"dataset": {**self._items.made, "epoch": number, "batch": at.batches - at.left}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where `state_dict` was called, on any rank of a loader with the same arguments.

        Raises:
            ValueError: `state` does not come from `state_dict` of such a loader.
        """
        items, found = self._items, state.get("dataset") if isinstance(state, dict) else None
        if not isinstance(found, dict) or {*found} != {*items.made, "epoch", "batch"}:
            raise ValueError("This is not a state of a DatasetLoader.")
        for name, here in items.made.items():
            if found[name] != here and not (name == "seed" and items.drawn):
                raise ValueError(f"The state has {name}={found[name]!r}, but this loader {here!r}.")
        epoch = integer("epoch", found["epoch"], 0, MOST_EPOCHS)
        batch = integer("batch", found["batch"], 0, self._epochs().batches)
        items.made["seed"] = integer("seed", found["seed"], 0, 2**63 - 1)
        items.move(epoch, batch)
        self._wanted = self._loop = None

    def _iterator(self) -> Items:
        return self._items

    def _go_to(self, epoch: int) -> None:
        items = self._items
        if items.over() or not items.untouched() or epoch != items.settled().number:
            items.move(epoch, 0)
            self._loop = None

    def _batches(self, loop: object) -> Iterator[Any]:
        try:
            yield from super()._batches(loop)
        finally:
            if self._loop is None:
                self._items.stop()
