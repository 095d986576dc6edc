# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The rules of epochs, without an engine: what is scheduled, what is taken, when StopIteration is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from headrace._pipeline.epoch import Epoch


class Source:
    """Ends after `length` iterations; raises `error` once, at iteration `bad`."""

    def __init__(self, length: int, bad: int = -1, error: Exception | None = None) -> None:
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


def failing(error: BaseException) -> Callable[[], Any]:
    def run() -> Any:
        raise error

    return run


def batches_until_the_end(epoch: Epoch, source: Source, depth: int) -> int:
    for count in range(100):
        epoch.schedule(depth, source)
        try:
            epoch.take(lambda: "batch")
        except StopIteration:
            return count
    raise AssertionError("no end")


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 3, 7])
def test_each_epoch_has_all_batches(depth: int, length: int) -> None:
    epoch, source = Epoch(), Source(length)
    for number in range(3):
        assert epoch.index == number
        assert batches_until_the_end(epoch, source, depth) == length
        assert batches_until_the_end(epoch, source, depth) == 0  # until reset
        assert epoch.at_end(source) and epoch.reset()
    assert epoch.taken == 3 * length
    assert epoch.taken_index == (3 if length else 0)


@pytest.mark.parametrize("depth", [1, 3])
def test_looking_ahead_moves_no_batch(depth: int) -> None:
    epoch, source = Epoch(), Source(4)
    ends = []
    for _ in range(4):
        epoch.schedule(depth, source)
        epoch.take(lambda: None)
        ends.append(epoch.at_end(source))
        assert ends[-1] == epoch.at_end(source)  # asking twice asks the source once
        assert not epoch.at_end(None) or ends[-1]
    assert ends == [False, False, False, True]
    with pytest.raises(StopIteration):
        epoch.schedule(depth, source)
        epoch.take(lambda: None)


def test_an_error_found_ahead_is_raised_once_by_the_next_schedule() -> None:
    epoch, source = Epoch(), Source(3, bad=1, error=ValueError("bad"))
    epoch.schedule(1, source)
    epoch.take(lambda: None)
    assert not epoch.at_end(source)
    with pytest.raises(ValueError, match="bad"):
        epoch.schedule(1, source)
    assert batches_until_the_end(epoch, source, 1) == 2


def test_what_counts_as_taken() -> None:
    epoch, source = Epoch(), Source(100)
    epoch.schedule(5, source)
    for error, taken, scheduled in [
        (RuntimeError(), 1, 4),  # a bad sample: the batch is gone
        (IndexError(), 1, 3),  # not fed: there was none
        (KeyboardInterrupt(), 1, 3),  # it still comes
    ]:
        with pytest.raises(type(error)):
            epoch.take(failing(error))
        assert (epoch.taken, epoch.iteration, epoch.scheduled) == (taken, taken, scheduled)
    assert not epoch.reset() and epoch.index == 0  # the epoch has not ended
    with pytest.raises(StopIteration):
        epoch.take(failing(StopIteration()))
    assert epoch.ended and epoch.reset() and (epoch.index, epoch.iteration) == (1, 0)


def test_resuming() -> None:
    epoch = Epoch(index=2, iteration=5)
    source = Source(8)
    source.asked = 5
    assert not epoch.at_end(source)
    assert batches_until_the_end(epoch, source, 2) == 3
    assert (epoch.taken, epoch.iteration, epoch.index) == (3, 8, 2)
    assert epoch.reset() and (epoch.index, epoch.taken_index) == (3, 3)
