# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Where an epoch ends: arithmetic on positions, independent of pipelines and frameworks.

A *position* is one step of a reader: one sample, a padded copy or a skipped bad file. Pipelines run
whole batches of positions. The classes here compute how many batches an epoch has, and how many
positions of a batch belong to it. Both have the same members:

``positions``      length of the epoch in positions, as ``size`` of an iterator
``next_action()``  what the next call does: ``TAKE``, ``DROP`` (run and discard) or ``END``
``plain()``        how many batches can be taken in a row with no decision between them, and how
                   many positions to keep of the last one (one pipeline only)
``advance()``      counts one batch; returns the number of positions to keep per pipeline
``real()``         how many samples of a batch are of this epoch and not copies, per pipeline
``roll()``         starts the next epoch
"""

from __future__ import annotations

import copy
import enum
import sys
from typing import Any


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
    """What the next call of an iterator does."""

    TAKE = 0
    DROP = 1
    END = 2


def ceil_div(a: int, b: int) -> int:
    """Integer quotient, rounded up; `b` > 0."""
    return -(-a // b)


def _split(left: int, batch: int, policy: LastBatchPolicy) -> tuple[int, int]:
    """Number of batches in `left` positions, and the positions to keep of the last one."""
    if policy is LastBatchPolicy.DROP:
        return max(left, 0) // batch, batch
    if policy is LastBatchPolicy.PARTIAL and left % batch:
        return max(ceil_div(left, batch), 0), left % batch
    return max(ceil_div(left, batch), 0), batch


class ReaderEpochs:
    """Epochs of a sharded reader.

    Every lane (a rank of the whole job, not only of this process) starts at its own shard and moves
    to the next one with each epoch. All lanes run the same number of batches per epoch, so that
    distributed steps stay together; the largest shard determines that number.

    After a resume with another number of shards, the first epoch is what was left of an epoch.

    Args:
        samples: number of samples in the data set, over all shards.
        padded: with `pad`: the same, with all shards padded to equal length
            (``epoch_size_padded``).
        shards: number of shards.
        mine: the first shard of each pipeline of this process.
        batch: positions per batch.
        policy: see `LastBatchPolicy`.
        pad: the reader repeats its last sample to fill the last batch.
        stick: the reader stays on its shard.
        rest: number of samples, over all shards, that were left; 0: none.
        first: number of the first whole epoch.
        resplit: the checkpoint to restore was taken with another number of shards.
        even: with PARTIAL and `pad`: all lanes keep as many positions of the last batch as the
            lane with the largest shard.
    """

    def __init__(
        self,
        samples: int,
        padded: int,
        shards: int,
        mine: list[int],
        batch: int,
        policy: LastBatchPolicy,
        pad: bool,
        stick: bool,
        rest: int = 0,
        first: int = 0,
        resplit: bool = False,
        even: bool = False,
    ) -> None:
        self.batch = batch
        self.mine = mine
        self.policy = policy
        self.stick = stick
        self.sizes = _shards(samples, shards)  # of the shards
        self._rest = _shards(rest, shards) if rest else None
        self._turn = first - bool(rest)  # number of the epoch 0 below
        self._padded = padded if pad else 0
        self._resplit = resplit
        self._even = even
        # FILL without padding starts the next shard within the last batch of this epoch.
        self._carries = policy is LastBatchPolicy.FILL and not pad
        self.epoch = 0  # since the number of shards changed
        self.taken = 0  # positions run in this epoch
        self.carry = [0] * shards  # positions of its shard that a lane took in the last epoch
        self.positions, self._end = self._length()

    def _length(self) -> tuple[int, int]:
        """Length of this epoch, and how many positions are run until it is over."""
        if self.epoch < 0:  # see `restore`
            return 0, 0
        resting = self.epoch == 0 and self._rest is not None
        sizes = self._rest if resting and self._rest is not None else self.sizes
        samples, shards = sum(sizes), len(sizes)
        if self.policy is LastBatchPolicy.DROP:
            # A rest is read to its end, even if no batch of it is full.
            return samples // shards, max(sizes) if resting else samples // shards
        if self._padded:
            length = ceil_div(samples, shards) if resting else self._padded // shards
        else:
            length = ceil_div(max(sizes), self.batch) * self.batch
        return length, length

    def _size_of(self, lane: int) -> int:
        if self.epoch < 0:
            return 0
        if self._even:
            return max(self._rest if self._rest and self.epoch == 0 else self.sizes)
        if self._rest and self.epoch == 0:
            return self._rest[lane]
        turn = 0 if self.stick else self._turn + self.epoch
        return self.sizes[(lane + turn) % len(self.sizes)]

    @property
    def shard_now(self) -> list[int]:
        """For each pipeline, the shard that it reads in this epoch."""
        turn = 0 if self.stick else self._turn + self.epoch
        return [(lane + turn) % len(self.sizes) for lane in self.mine]

    @property
    def number(self) -> int:
        """Number of this epoch since the first start; a rest has that of the epoch it is left of."""
        return self._turn + self.epoch

    def next_action(self) -> Action:
        if self.taken >= self._end:
            return Action.END
        if self.policy is LastBatchPolicy.DROP and self.taken + self.batch > self.positions:
            return Action.DROP
        return Action.TAKE

    def plain(self) -> tuple[int, int]:
        left = self.positions - self.taken
        if self.policy is LastBatchPolicy.PARTIAL:
            left = min(left, self._size_of(self.mine[0]) - self.taken)
        return _split(left, self.batch, self.policy)

    def advance(self) -> list[int]:
        before = self.taken
        self.taken += self.batch
        if self.policy is not LastBatchPolicy.PARTIAL:
            return [self.batch] * len(self.mine)
        return [min(max(self._size_of(lane) - before, 0), self.batch) for lane in self.mine]

    def real(self, ahead: int) -> list[int]:
        """For each pipeline, how many samples of a batch are of this epoch and not copies.

        `ahead`: how many batches that batch is behind the last one.
        """
        before = self.taken - (1 + ahead) * self.batch
        return [self._size_of(lane) - before for lane in self.mine]

    def roll(self) -> None:
        if self._carries:
            self._roll_carry()
        else:
            self.epoch += 1
            self.positions, self._end = self._length()
        self.taken = 0

    def following(self) -> int:
        """Length of the epoch after this one, in positions."""
        other = copy.copy(self)
        other.roll()
        return other.positions

    def _roll_carry(self) -> None:
        taken = self.taken
        while True:
            self.carry = [c + taken - self._size_of(i) for i, c in enumerate(self.carry)]
            self.epoch += 1
            left = max(self._size_of(i) - c for i, c in enumerate(self.carry))
            if left > 0:
                break
            taken = 0  # this whole epoch has been read already: skip it
        self.positions = self._end = ceil_div(left, self.batch) * self.batch

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "taken": self.taken,
            "carry": self.carry,
            "positions": self.positions,
        }

    def restore(self, state: dict[str, Any], ended: bool) -> None:
        """Continues with what `state` returned. `ended`: at the end of that epoch."""
        if self._resplit:
            # At the end of an epoch, an empty one comes first: its end is still to be reported.
            over = ended or state["taken"] >= state["positions"]
            self.epoch = -1 if over else 0
            self.positions, self._end = self._length()
            return
        if len(state["carry"]) != len(self.sizes):
            raise ValueError(
                f"The checkpoint was taken with {len(state['carry'])} shards, but the reader has "
                f"{len(self.sizes)}."
            )
        self.epoch = state["epoch"]
        self.positions, self._end = self._length()
        self.taken = state["taken"]
        self.carry = list(state["carry"])
        self.positions = state["positions"]
        if self._carries:
            self._end = self.positions


def _shards(samples: int, shards: int) -> list[int]:
    """Sizes of the shards that `samples` are split into."""
    return [(i + 1) * samples // shards - i * samples // shards for i in range(shards)]


class SizedEpochs:
    """Epochs with a length given by the user and shared by all pipelines of the iterator.

    `positions` is that length; -1: the epoch ends when the pipeline does.
    """

    def __init__(
        self, positions: int, pipelines: int, batch: int, policy: LastBatchPolicy, pad: bool
    ) -> None:
        self.positions = positions
        self.batch = batch
        self.policy = policy
        self._pad = pad
        self._pipelines = pipelines
        self.taken = 0  # over all pipelines

    def next_action(self) -> Action:
        if self.positions < 0:
            return Action.TAKE
        if self.taken >= self.positions:
            return Action.END
        step = self.batch * self._pipelines
        if self.policy is LastBatchPolicy.DROP and self.taken + step > self.positions:
            return Action.DROP
        return Action.TAKE

    def plain(self) -> tuple[int, int]:
        if self.positions < 0:
            return sys.maxsize, self.batch
        return _split(self.positions - self.taken, self.batch, self.policy)

    def advance(self) -> list[int]:
        before = self.taken
        self.taken += self.batch * self._pipelines
        if self.policy is not LastBatchPolicy.PARTIAL or self.positions < 0:
            return [self.batch] * self._pipelines
        left = self.positions - before
        return [min(max(left - i * self.batch, 0), self.batch) for i in range(self._pipelines)]

    def real(self, ahead: int) -> list[int]:
        if self.positions < 0:
            return [self.batch] * self._pipelines
        left = self.positions - self.taken + (1 + ahead) * self.batch * self._pipelines
        return [left - i * self.batch for i in range(self._pipelines)]

    def roll(self) -> None:
        carries = self.policy is LastBatchPolicy.FILL and not self._pad
        self.taken = self.taken % self.positions if carries and self.positions > 0 else 0

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def restore(self, state: dict[str, Any], ended: bool) -> None:
        self.taken = state["taken"]
