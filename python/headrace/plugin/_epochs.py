# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The place of an iterator in its epochs. The engine computes where they end (`hr_epoch_at`).

A *position* is one step of a reader: one sample, a padded copy or a skipped bad file. Pipelines run
whole batches of positions. With `global_batch`, positions are those of the whole job: a batch of each
of its processes together takes `global_batch` of them.
"""

from __future__ import annotations

import enum
import sys
from typing import Any, NamedTuple

from headrace import _core


class LastBatchPolicy(enum.Enum):
    """What an iterator does with a last batch that has fewer samples than the others.

    FILL: complete the batch with the next samples of the reader (or with padded copies).
    DROP: leave the batch out.
    PARTIAL: return a shorter batch.
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


class Action(enum.Enum):
    """What the next call of an iterator does: take a batch, run one that is left out, or end."""

    TAKE = 0
    DROP = 1
    END = 2


class At(NamedTuple):
    """The epoch at a place, for one lane: the fields of `hr_epoch`."""

    length: int
    batches: int
    full: int
    left: int
    drop: bool
    shard: int
    size: int
    carried: int
    keep: int
    real: int
    own: int
    last: int


class Epochs:
    """Counts what the pipelines of an iterator have taken, and asks the engine what it means.

    Epochs are those of a reader, or have a length that the user gives. Every *lane* of a reader (a
    rank of the whole job, not only of this process) starts at its own shard and moves to the next one
    with each epoch. All lanes run the same number of batches per epoch.

    Attributes:
        policy: what happens with the last batch.
        mine: the lane of each pipeline of this iterator: its first shard, or its number.
        sized: the user gave the length.
        step: what a batch of every pipeline adds to `taken`.
        number: number of this epoch since the first start; a rest has that of the epoch it is left of.
        begin: position of the readers at which it began.
        taken: positions run in this epoch; with a given length, over all pipelines.
        given: the length that the user gave; -1: none.
        missing: positions of `taken` that the last batch did not have, because its source had ended.
    """

    def __init__(
        self,
        core: _core.Epochs,
        batch: int,
        policy: LastBatchPolicy,
        mine: list[int],
        first: int = 0,
        shards: int = 0,
        resplit: bool = False,
    ) -> None:
        self._core = core
        self._batch = batch
        self.policy = policy
        self.mine = mine
        self.sized = shards == 0
        self._shards = shards
        self.step = batch * (len(mine) if self.sized else 1)
        self._resplit = resplit  # the checkpoint to restore was taken with another number of shards
        self._first = first
        self.number, self.begin, self.taken = first, 0, 0
        self.given, self.missing = -1, 0

    @classmethod
    def of_reader(
        cls,
        meta: dict[str, Any],
        mine: list[int],
        batch: int,
        policy: LastBatchPolicy,
        even: bool = False,
    ) -> Epochs:
        """Epochs of a reader.

        Args:
            meta: what the engine says about it.
            mine: the first shard of each pipeline of this process.
            batch: positions per batch.
            policy: what happens with the last batch.
            even: with PARTIAL: all lanes keep as many positions of the last batch as the lane with
                the largest shard.
        """
        first = meta["first_epoch"] - bool(meta["rest_size"])
        core = reader_epochs(meta, batch, policy, even=even)
        job = meta.get("global_batch", 0)
        shards = 1 if job else meta["number_of_shards"]  # a job has one order for all of its lanes
        return cls(core, job or batch, policy, mine, first, shards, meta["resplit"])

    @classmethod
    def of_size(
        cls, size: int, pipelines: int, batch: int, policy: LastBatchPolicy, padded: bool
    ) -> Epochs:
        """Epochs of a given length over all pipelines; -1: an epoch ends when the pipeline does."""
        core = _core.Epochs(
            batch, policy.value, size=size, pipelines=pipelines, pad_last_batch=padded
        )
        epochs = cls(core, batch, policy, list(range(pipelines)))
        epochs.given = size
        return epochs

    def at(self, lane: int | None = None, ahead: int = 0) -> At:
        """The epoch as a lane sees it. `ahead`: so many batches before the place of this iterator."""
        lane = self.mine[0] if lane is None else lane
        taken = max(self.taken - ahead * self.step, 0)
        return At(*self._core.at(self.number, self.begin, taken, lane))

    @property
    def positions(self) -> int:
        """Length of this epoch; -1: unknown."""
        return self.at().length

    @property
    def batches(self) -> int:
        """Number of batches in this epoch; 0: unknown."""
        return self.at().batches

    @property
    def shard_now(self) -> list[int]:
        """For each pipeline, the shard that it reads in this epoch."""
        return [self.at(lane).shard for lane in self.mine]

    @property
    def sizes(self) -> list[int]:
        """The size of each shard of the reader in a whole epoch."""
        found = (At(*self._core.at(self._whole, 0, 0, lane)) for lane in range(self._shards))
        return [at.size for at in sorted(found, key=lambda at: at.shard)]

    @property
    def _whole(self) -> int:
        """The number of a whole epoch."""
        return max(self.number, self._first) + 1

    @property
    def carry(self) -> list[int]:
        """For each shard of the reader, how many of its samples the last epoch has taken already."""
        return [self.at(lane).carried for lane in range(self._shards)]

    def is_rest(self, taken: list[int]) -> bool:
        """Whether a short batch has exactly what is left of an epoch whose length the user gave."""
        return self.given > 0 and taken == [self.given - self.taken]

    def next_action(self) -> Action:
        at = self.at()
        if at.left > 0:
            return Action.TAKE
        return Action.DROP if at.drop else Action.END

    def plain(self) -> tuple[int, int]:
        """How many batches can be taken in a row with no decision between them, and how many
        positions to keep of the last one (one pipeline only)."""
        at = self.at()
        return min(at.own, sys.maxsize), at.last

    def advance(self) -> list[int]:
        """Counts one batch; returns the number of positions to keep per pipeline."""
        keeps = [self.at(lane).keep for lane in self.mine]
        self.count(1)
        return keeps

    def count(self, batches: int) -> None:
        """Counts batches of every pipeline."""
        self.taken += batches * self.step

    def real(self, ahead: int) -> list[int]:
        """For each pipeline, how many samples of a batch are of this epoch and not copies.

        `ahead`: how many batches that batch is behind the last one.
        """
        return [self.at(lane, 1 + ahead).real for lane in self.mine]

    def roll(self) -> None:
        """Starts the next epoch."""
        taken = self.taken - self.missing
        self.number, self.begin, self.taken = self._core.next(self.number, self.begin, taken)
        self.missing = 0

    def move(self, number: int, batches: int) -> None:
        """Goes to a place in an epoch of a reader, with whole epochs before it."""
        self.number, self.begin, self.taken = self._core.start(number)
        self.count(batches)

    def following(self) -> At:
        """The epoch after this one, at its beginning."""
        place = self._core.next(self.number, self.begin, self.taken)
        return At(*self._core.at(*place, self.mine[0]))

    def state(self) -> dict[str, Any]:
        """The place as JSON values."""
        if self.sized:
            more = {"missing": self.missing, "epoch": self.number}
            return {"taken": self.taken, **{name: n for name, n in more.items() if n}}
        return {
            "epoch": self.number - self._first,
            "taken": self.taken,
            "carry": self.carry,
            "positions": self.positions,
        }

    def restore(self, state: dict[str, Any], ended: bool) -> None:
        """Continues with what `state` returned. `ended`: at the end of that epoch.

        Raises:
            ValueError: the state is not one of these epochs.
            KeyError, TypeError: it is not a state.
        """
        taken = _natural(state["taken"])
        if self.sized:
            self.taken = taken
            self.missing = min(_natural(state.get("missing", 0)), taken)
            self.number = _natural(state.get("epoch", 0))
            return
        if self._resplit:
            # At the end of an epoch, an empty one comes first: its end is still to be reported.
            self.number = self._first - (ended or taken >= _natural(state["positions"]))
            return
        if len(state["carry"]) != self._shards:
            raise ValueError(
                f"The checkpoint was taken with {len(state['carry'])} shards, but the reader has "
                f"{self._shards}."
            )
        number = self._first + _natural(state["epoch"], -1)
        begin = At(*self._core.at(number, 0, 0, 0)).carried
        place = (number, _natural(state["carry"][0]) - begin, taken)
        self._core.at(*place)  # refuses what makes no sense
        self.number, self.begin, self.taken = place


def reader_epochs(
    meta: dict[str, Any], batch: int, policy: LastBatchPolicy, **rule: bool
) -> _core.Epochs:
    """The epochs of the reader with this metadata. `rule`: ``even`` or ``alone``."""
    names = "epoch_size number_of_shards shard_id pad_last_batch stick_to_shard rest_size first_epoch"
    facts = {"global_batch": meta.get("global_batch", 0), **{k: meta[k] for k in names.split()}}
    return _core.Epochs(batch, policy.value, **facts, **rule)


def _natural(value: Any, least: int = 0) -> int:
    """A number of a checkpoint."""
    if type(value) is not int or not least <= value < 2**60:
        raise ValueError(f"The checkpoint is damaged: its position in the epoch is {value!r}.")
    return value
