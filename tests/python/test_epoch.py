# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The rules of epochs, without an engine: what is scheduled, what is taken, when StopIteration is raised."""

from __future__ import annotations

import pytest
from headrace._pipeline.epoch import Epoch


class Engine:
    taken = 0


def new_epoch(index: int = 0, iteration: int = 0) -> Epoch:
    epoch = Epoch(index, iteration)
    epoch.engine = Engine()
    return epoch


class Source:
    """Ends after `length` iterations; raises `error` once, at iteration `bad`."""

    def __init__(
        self, epoch: Epoch, length: int, bad: int = -1, error: Exception | None = None
    ) -> None:
        self.epoch = epoch
        self.length, self.bad, self.error = length, bad, error
        self.asked = 0

    def __call__(self) -> None:
        if self.asked == self.length:
            self.asked = 0
            raise StopIteration
        if self.asked == self.bad and self.error is not None:
            error, self.error = self.error, None
            raise error
        self.asked += 1
        self.epoch.requested += 1


def take(epoch: Epoch) -> None:
    if epoch.scheduled == 0:
        raise StopIteration
    epoch.engine.taken += 1
    epoch.taken += 1
    epoch.iteration += 1


def batches_until_the_end(epoch: Epoch, source: Source, depth: int, fill: bool = True) -> int:
    for count in range(100):
        (epoch.fill if fill else epoch.schedule)(depth, source)
        try:
            take(epoch)
        except StopIteration:
            return count
    raise AssertionError("no end")


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 3, 7])
def test_each_epoch_has_all_batches(depth: int, length: int, fill: bool) -> None:
    epoch = new_epoch()
    source = Source(epoch, length)
    for number in range(3):
        assert epoch.index == number
        assert batches_until_the_end(epoch, source, depth, fill) == length
        assert batches_until_the_end(epoch, source, depth, fill) == 0  # until reset
        assert epoch.at_end(source) and epoch.reset()
    assert epoch.taken == 3 * length
    assert epoch.taken_index == (3 if length else 0)


@pytest.mark.parametrize("depth", [1, 3])
def test_looking_ahead_moves_no_batch(depth: int) -> None:
    epoch = new_epoch()
    source = Source(epoch, 4)
    ends = []
    for _ in range(4):
        epoch.fill(depth, source)
        take(epoch)
        ends.append(epoch.at_end(source))
        assert ends[-1] == epoch.at_end(source)  # asking twice asks the source once
        assert not epoch.at_end(None) or ends[-1]
    assert ends == [False, False, False, True]
    with pytest.raises(StopIteration):
        epoch.fill(depth, source)
        take(epoch)


def test_an_error_found_ahead_is_raised_once_by_the_next_schedule() -> None:
    epoch = new_epoch()
    source = Source(epoch, 3, bad=1, error=ValueError("bad"))
    epoch.fill(1, source)
    take(epoch)
    assert not epoch.at_end(source)
    with pytest.raises(ValueError, match="bad"):
        epoch.fill(1, source)
    assert batches_until_the_end(epoch, source, 1) == 2


@pytest.mark.parametrize("bad", range(5))
def test_a_call_that_was_interrupted_is_completed_by_the_next_one(bad: int) -> None:
    epoch = new_epoch()
    source = Source(epoch, 100, bad, KeyboardInterrupt())  # type: ignore[arg-type]
    calls = 0
    while calls < 3:
        try:
            epoch.schedule(3, source)
            calls += 1
        except KeyboardInterrupt:
            pass
    assert epoch.scheduled == source.asked == 5  # the first call fills the queue


def test_resuming() -> None:
    epoch = new_epoch(index=2, iteration=5)
    source = Source(epoch, 8)
    source.asked = 5
    assert not epoch.at_end(source)
    assert batches_until_the_end(epoch, source, 2) == 3
    assert (epoch.taken, epoch.iteration, epoch.index) == (3, 8, 2)
    assert epoch.reset() and (epoch.index, epoch.taken_index) == (3, 3)
