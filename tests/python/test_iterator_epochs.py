# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Where epochs end, compared with a simulation that writes out what every shard reads, position by position."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from headrace import Pipeline, _core, fn
from headrace.plugin._epochs import Action, Epochs, LastBatchPolicy, reader_epochs

np = pytest.importorskip("numpy")

import headrace.experimental.dynamic as ndd  # noqa: E402

FILL, DROP, PARTIAL = LastBatchPolicy
EPOCHS = 4


class Setup(NamedTuple):
    """A reader, and an iterator over it."""

    count: int
    shards: int
    batch: int
    policy: LastBatchPolicy
    pad: bool
    stick: bool
    even: bool
    alone: bool
    rest: int
    first: int

    @property
    def start(self) -> int:
        """The number of the epoch that comes first."""
        return self.first - (self.rest > 0)

    def meta(self, shard: int) -> dict[str, Any]:
        return {
            "epoch_size": self.count,
            "number_of_shards": self.shards,
            "shard_id": shard,
            "pad_last_batch": self.pad,
            "stick_to_shard": self.stick,
            "rest_size": self.rest,
            "first_epoch": self.first,
            "resplit": False,
        }


def shard(count: int, shards: int, number: int) -> list[int]:
    """The samples of a shard."""
    return [
        i for i in range(count) if number * count // shards <= i < (number + 1) * count // shards
    ]


def shard_of(setup: Setup, lane: int, epoch: int) -> int:
    if epoch < setup.first or setup.stick:
        return lane
    return (lane + epoch) % setup.shards


def read_in(setup: Setup, lane: int, epoch: int) -> list[int]:
    """What a lane reads in an epoch, without padding."""
    count = setup.rest if epoch < setup.first else setup.count
    return shard(count, setup.shards, shard_of(setup, lane, epoch))


def stream(setup: Setup, lane: int) -> list[tuple[int, bool]]:
    """For each position of a lane: the epoch, and whether it is a sample and not a copy."""
    found = []
    for epoch in range(setup.start, setup.first + 40):
        own = [(epoch, True)] * len(read_in(setup, lane, epoch))
        if setup.pad:
            longest = max(len(read_in(setup, i, epoch)) for i in range(setup.shards))
            while len(own) < longest or len(own) % setup.batch:
                own.append((epoch, False))
        found += own
    return found


class Batch(NamedTuple):
    """What an iterator does next: the number of the epoch, and what each lane keeps."""

    epoch: int
    action: Action
    keep: list[int]
    real: list[int]


def simulated(setup: Setup, own: int) -> Iterator[list[Batch]]:
    """The epochs of an iterator, batch by batch."""
    streams = [stream(setup, lane) for lane in range(setup.shards)]
    at = 0
    number = setup.start
    while True:
        if setup.policy is FILL and not setup.pad:
            asked = [own] if setup.alone else range(setup.shards)
            while all(number not in dict(streams[lane][at:]) for lane in asked):
                number += 1
        batches: list[Batch] = []
        sizes = [len(read_in(setup, lane, number)) for lane in range(setup.shards)]
        while True:
            taken = setup.batch * len(batches)
            windows = [s[at : at + setup.batch] for s in streams]
            real = [w.count((number, True)) for w in windows]
            keep = [setup.batch] * setup.shards
            action = Action.TAKE
            if setup.policy is DROP:
                least = min(sum(sizes) // setup.shards, min(sizes) if sum(sizes) else 0)
                end = max(sizes) if number < setup.first else least
                if taken >= end:
                    break
                if taken + setup.batch > least:
                    action = Action.DROP
            elif setup.policy is FILL and not setup.pad:
                if all(number not in dict(streams[lane][at:]) for lane in asked):
                    break
            elif taken >= max(sizes):
                break
            if setup.policy is DROP or setup.policy is PARTIAL and not setup.pad:
                # These do not follow the reader: each epoch counts as if it began with its shard.
                real = [min(max(size - taken, 0), setup.batch) for size in sizes]
            if setup.policy is PARTIAL:
                whole = [max(sizes)] * setup.shards if setup.even else sizes
                keep = [min(max(size - taken, 0), setup.batch) for size in whole]
            batches.append(Batch(number, action, keep, real))
            at += setup.batch
            if action is Action.DROP:
                break
        yield batches
        number += 1


def setups() -> list[Setup]:
    rng = random.Random(5)
    found = []
    for policy, pad, stick in itertools.product(LastBatchPolicy, (False, True), (False, True)):
        for _ in range(90):
            count = rng.randint(1, 13)
            shards = rng.randint(1, min(count, 4))
            first = rng.choice([0, 0, 1, 3])
            rest = rng.choice([0, 1, shards, 7]) if first else 0
            even = policy is PARTIAL and pad and rng.random() < 0.5
            alone = policy is FILL and rng.random() < 0.4
            batch = rng.randint(1, 5)
            found.append(Setup(count, shards, batch, policy, pad, stick, even, alone, rest, first))
    return found


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("pad", [False, True], ids=["unpadded", "padded"])
def test_the_engine_ends_epochs_where_a_simulation_does(policy: LastBatchPolicy, pad: bool) -> None:
    tried = [s for s in setups() if (s.policy, s.pad) == (policy, pad)]
    assert len(tried) == 180
    for setup in tried:
        own = setup.count % setup.shards
        lanes = list(range(setup.shards))
        epochs = Epochs.of_reader(setup.meta(own), lanes, setup.batch, policy, setup.even)
        if setup.alone:
            epochs._core = reader_epochs(setup.meta(own), setup.batch, policy, alone=True)
            epochs.number = epochs._core.find(0)[0]
        position = 0
        for batches in itertools.islice(simulated(setup, own), EPOCHS):
            kept = [b for b in batches if b.action is Action.TAKE]
            assert epochs.batches == len(kept), setup
            assert not batches or epochs.number == batches[0].epoch, setup
            for i, batch in enumerate(batches):
                place = (epochs.number, epochs.begin, epochs.taken)
                if not (setup.policy is FILL and not setup.pad):
                    assert epochs._core.find(position) == place, (setup, position)
                else:  # it cannot know where the epoch began
                    number, begin, taken = epochs._core.find(position)
                    assert number == place[0] and begin + taken == position, (setup, position)
                assert epochs.next_action() is batch.action, (setup, i)
                assert epochs.at().left == len(kept) - i if i < len(kept) else True, (setup, i)
                resumed = Epochs.of_reader(setup.meta(own), lanes, setup.batch, policy, setup.even)
                resumed._core = epochs._core
                resumed.restore(json.loads(json.dumps(epochs.state())), False)
                assert resumed.at() == epochs.at() and resumed.number == epochs.number
                for lane in [own] if setup.alone else lanes:
                    at = epochs.at(lane)
                    assert at.shard == shard_of(setup, lane, batch.epoch), setup
                    assert at.keep == batch.keep[lane], (setup, i, lane)
                    if not setup.even:
                        assert at.real == batch.real[lane], (setup, i, lane)
                    rest = [b.keep[lane] for b in kept[i:] if b.keep[lane]]
                    if rest:
                        assert (at.own, at.last) == (len(rest), rest[-1]), (setup, i, lane)
                assert epochs.advance() == batch.keep, (setup, i)
                position += setup.batch
            assert epochs.next_action() is not Action.TAKE, setup
            number = epochs.number
            epochs.roll()
            if not (setup.policy is FILL and not setup.pad) or epochs.number == number + 1:
                assert epochs._core.start(epochs.number) == (epochs.number, position, 0), setup


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("padded", [False, True])
def test_epochs_of_a_given_size(policy: LastBatchPolicy, padded: bool) -> None:
    for size, pipelines, batch in itertools.product(range(1, 14), (1, 2, 3), (1, 2, 5)):
        epochs = Epochs.of_size(size, pipelines, batch, policy, padded)
        taken = 0  # samples of the next epoch that the last batch has taken
        for _ in range(3):
            left = size - taken
            while left > 0:
                short = left < batch * pipelines
                drops = short and policy is DROP
                assert epochs.next_action() is (Action.DROP if drops else Action.TAKE)
                each = [min(max(left - i * batch, 0), batch) for i in range(pipelines)]
                assert epochs.advance() == (each if policy is PARTIAL else [batch] * pipelines)
                assert epochs.real(0) == each
                left -= batch * pipelines
            assert epochs.next_action() is Action.END
            epochs.roll()
            taken = -left % size if policy is FILL and not padded else 0
            assert epochs.taken == taken


def test_numbers_that_make_no_sense_are_refused() -> None:
    setup = Setup(10, 2, 3, FILL, False, False, False, False, 0, 0)
    core = Epochs.of_reader(setup.meta(0), [0], 3, FILL)._core
    for number, begin, taken in itertools.product((-9, 0, 2**62), (-1, 0, 2**62), (-1, 0, 2**62)):
        if (number, begin, taken) == (0, 0, 0):
            continue
        for call in (core.at, core.next):
            with pytest.raises(ValueError, match="no such place"):
                call(number, begin, taken)
    with pytest.raises(ValueError, match="no shard 2"):
        core.at(0, 0, 0, 2)
    for wrong in (
        {"epoch_size": 1},
        {"number_of_shards": 0},
        {"shard_id": 2},
        {"rest_size": -1},
        {"first_epoch": -1},
        {"epoch_size": 2**62},
    ):
        meta = {**setup.meta(0), **wrong}
        meta.pop("resplit")
        with pytest.raises(ValueError, match="not the epochs of a reader"):
            _core.Epochs(3, 0, **meta).at(0, 0, 0)
    good = Epochs.of_reader(setup.meta(0), [0], 3, FILL)
    state = good.state()
    for name, value in itertools.product(("epoch", "taken"), (2**70, 1.5, "3", None, True, -5)):
        with pytest.raises((ValueError, TypeError)):
            good.restore({**state, name: value}, False)
    assert good.state() == state


# ---- readers of dynamic mode ---------------------------------------------------------------------


def labels(batch: Any) -> list[int]:
    return [label.item() for label in batch[1].tensors]


@pytest.mark.parametrize("pad", [False, True], ids=["unpadded", "padded"])
def test_a_reader_that_is_left_early_or_resumed_gives_the_rest(tmp_path: Path, pad: bool) -> None:
    """Each epoch is left after any number of batches, with a state or a `break`, and gone on with."""
    (tmp_path / "f").write_bytes(b"1")
    rng = random.Random(7)
    for _ in range(25):
        count = rng.randint(1, 9)
        shards = rng.randint(1, min(count, 3))
        own, batch, stick = rng.randrange(shards), rng.randint(1, 4), rng.random() < 0.3
        setup = Setup(count, shards, batch, FILL, pad, stick, False, True, 0, 0)
        numbers = {e: read_in(setup, own, e) for e in range(45)}
        read: list[int] = []  # the label at each position
        for epoch in range(40):
            part = stream(setup, own)
            size = sum(e == epoch for e, _ in part)
            read += numbers[epoch] + numbers[epoch][-1:] * (size - len(numbers[epoch]))

        def make() -> Any:
            return ndd.readers.File(
                files=[str(tmp_path / "f")] * count,  # noqa: B023
                labels=list(range(count)),  # noqa: B023
                num_shards=shards,  # noqa: B023
                shard_id=own,  # noqa: B023
                pad_last_batch=pad,
                stick_to_shard=stick,  # noqa: B023
                enable_checkpointing=True,
            )

        reader, at = make(), 0
        for batches in itertools.islice(simulated(setup, own), 3):
            done = 0
            while done < len(batches):
                stop = rng.randint(1, len(batches) - done)
                found = []
                for item in itertools.islice(reader.next_epoch(batch_size=batch), stop):
                    found.append(labels(item))
                expected = [read[at + k * batch : at + (k + 1) * batch] for k in range(stop)]
                assert found == expected, (setup, at)
                done, at = done + stop, at + stop * batch
                if rng.random() < 0.5:
                    state = str(reader.get_state())
                    reader = make()
                    reader.set_state(state)
        assert labels(next(reader.next_epoch(batch_size=batch))) == read[at : at + batch]


def test_epochs_of_a_reader_end_also_for_two_loops_at_once(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    reader = ndd.readers.File(files=[str(tmp_path / "f")] * 5, labels=list(range(5)))
    first, second = reader.next_epoch(), reader.next_epoch()
    found = [label.item() for pair in zip(first, second) for _, label in pair]
    assert found == [0, 1, 2, 3]
    assert [label.item() for _, label in second] == []
    assert [label.item() for _, label in reader.next_epoch()] == [0, 1, 2, 3, 4]
    assert "position" not in reader.get_metadata() and reader.get_metadata()["epoch_size"] == 5


class Batches:
    """An external source of batches with these numbers of samples; it starts again when it has ended."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        self.counts = counts

    def __iter__(self) -> Batches:
        self.left, self.next = list(self.counts), 0
        return self

    def __next__(self) -> list[Any]:
        if not self.left:
            raise StopIteration
        first, self.next = self.next, self.next + self.left.pop(0)
        return [np.array([k], np.int32) for k in range(first, self.next)]


def sized(counts: tuple[int, ...], policy: LastBatchPolicy, depth: int, **more: Any) -> Any:
    """An iterator over batches of 4 with the size of all samples."""
    torch = pytest.importorskip("headrace.plugin.pytorch")
    with Pipeline(4, 2, None, prefetch_queue_depth=depth, **more) as pipe:
        pipe.set_outputs(fn.external_source(source=Batches(counts), cycle="raise"))
    with pytest.warns(UserWarning, match="Please set"):
        return torch.DALIGenericIterator(pipe, ["x"], size=sum(counts), last_batch_policy=policy)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("policy", list(LastBatchPolicy))
@pytest.mark.parametrize("counts", [(4, 4, 4), (4, 4, 2), (4, 1), (4, 4, 4, 4, 3), (3,)])
def test_a_source_with_a_short_last_batch(
    counts: tuple[int, ...], policy: LastBatchPolicy, depth: int
) -> None:
    """It is taken as it is, or left out, in every epoch."""
    expected, first = [], 0
    for count in counts:
        if count == 4 or policy is not DROP:
            expected.append(list(range(first, first + count)))
        first += count
    if not expected:
        with pytest.raises(RuntimeError, match="no data"):
            sized(counts, policy, depth)
        return
    iterator = sized(counts, policy, depth)
    for _ in range(3):
        assert len(iterator) == len(expected)
        assert [batch[0]["x"].flatten().tolist() for batch in iterator] == expected
        iterator.reset()


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
@pytest.mark.parametrize("counts", [(4, 2, 4), (2, 4, 4), (4, 4, 1, 3), (4, 4, 4, 2, 4, 4)])
def test_a_source_with_short_batches_elsewhere(
    counts: tuple[int, ...], policy: LastBatchPolicy
) -> None:
    with pytest.raises(AssertionError, match="Variable batch size"):
        list(sized(counts, policy, 2))
