# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators of one's own on `plugin.base_iterator`, as frameworks have them that were written for DALI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import fn, pipeline_def
from headrace.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator


class Lists(_DaliBaseIterator[Any]):
    """Batches as lists of numbers, in the way of DALI's own iterators."""

    def __init__(self, pipelines: Any, **options: Any) -> None:
        super().__init__(pipelines, **options)
        self._ready = None
        if self._prepare_first_batch:
            try:
                self._ready = self.__next__()
            except StopIteration:
                self._report_no_data_in_pipeline()

    def __next__(self) -> Any:
        if self._ready is not None:
            ready, self._ready = self._ready, None
            return ready
        batches = [[np.array(s).item() for s in batch] for (batch,) in self._get_outputs()]
        self._schedule_runs()
        self._advance_and_check_drop_last()
        dropped, left = self._remove_padded()
        if np.any(dropped):
            batches = [batch[:n] for batch, n in zip(batches, left)]
        return batches


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{i:02}" for i in range(10)]
    for path in paths:
        path.write_bytes(b"x")
    return [str(path) for path in paths]


@pipeline_def(batch_size=3, num_threads=1, device_id=None)
def labels(files: list[str], shard: int = 0, shards: int = 1) -> Any:
    return fn.readers.file(files=files, name="reader", shard_id=shard, num_shards=shards)[1]


# Three epochs each, as DALI 2.4 gives them.
EPOCHS = {
    "FILL": "012 345 678 901 / 234 567 890 / 123 456 789",
    "DROP": "012 345 678 / 234 567 890 / 456 789 012",
    "PARTIAL": "012 345 678 9 / 234 567 890 1 / 456 789 012 3",
}


def written(epochs: list[list[list[list[int]]]]) -> str:
    return " / ".join(" ".join("".join(map(str, b[0])) for b in epoch) for epoch in epochs)


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_the_epochs_of_a_reader(files: list[str], policy: LastBatchPolicy, prepare: bool) -> None:
    iterator = Lists(
        labels(files),
        reader_name="reader",
        auto_reset=True,
        last_batch_policy=policy,
        prepare_first_batch=prepare,
    )
    assert written([list(iterator) for _ in range(3)]) == EPOCHS[policy.name]


def test_epochs_of_a_given_size(files: list[str]) -> None:
    with pytest.warns(UserWarning, match="reader_name"):
        iterator = Lists(labels(files), size=8, auto_reset=True)
    assert written([list(iterator) for _ in range(3)]) == "012 345 678 / 901 234 567 / 890 123"


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pairs(count: int) -> Any:
    """`count` batches per epoch, of numbers that tell them apart."""
    batches = [[np.array(2 * k), np.array(2 * k + 1)] for k in range(count)]
    return fn.external_source(source=batches, cycle="raise")


@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("size", [5, 7, 30])
def test_a_size_that_the_source_does_not_reach(size: int, auto_reset: bool) -> None:
    """The source has 4 samples: each epoch ends with them, and the next one begins again."""
    with pytest.warns(UserWarning, match="reader_name"):
        iterator = Lists(pairs(2), size=size, auto_reset=auto_reset)
    epochs = []
    for _ in range(3):
        epochs.append(list(iterator))
        if not auto_reset:
            iterator.reset()
    assert written(epochs) == "01 23 / 01 23 / 01 23"


def test_padding_is_removed_from_each_pipeline(files: list[str]) -> None:
    pipelines = [labels(files[:7], shard, 2) for shard in range(2)]  # 3 and 4 samples
    iterator = Lists(pipelines, reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL)
    assert list(iterator) == [[[0, 1, 2], [3, 4, 5]], [[], [6]]]
    with pytest.raises(StopIteration):
        next(iterator)
    iterator.reset()
    assert [len(batch[0]) for batch in iterator] == [3, 1]


def test_no_data(files: list[str]) -> None:
    with pytest.raises(RuntimeError, match="no data in the pipeline.*greater than the shard size"):
        Lists(labels(files[:2]), reader_name="reader", last_batch_policy=LastBatchPolicy.DROP)
    with pytest.raises(AssertionError, match="No pipelines given"):
        Lists(None)


# `_shards_id` and `_counter_per_gpu` in the first three epochs, as DALI 2.4 has them.
SHARDS = [[[0, 1], [0, 0]], [[1, 0], [3, 2]], [[0, 1], [2, 2]]]


class Consuming(Lists):
    """The same, with the mark that DALI's iterators set."""

    def __init__(self, pipelines: Any, **options: Any) -> None:
        super().__init__(pipelines, **options)
        self._ever_consumed = False

    def __next__(self) -> Any:
        self._ever_consumed = True
        return super().__next__()


def test_a_batch_that_was_run_ahead_is_not_consumed(files: list[str]) -> None:
    """It is not the end of the epoch for `iter`, and checkpoints are from before it."""
    iterator = Consuming(labels(files[:3]), reader_name="reader", auto_reset=True)
    assert [list(iterator) for _ in range(2)] == [[[[0, 1, 2]]]] * 2

    def made(**options: Any) -> Consuming:
        return Consuming(
            labels(files, enable_checkpointing=True, **options), reader_name="reader"
        )

    iterator = made()
    assert not iterator._ever_consumed and iterator._enable_checkpointing
    (before,) = iterator.checkpoints()
    assert next(iterator) == [[0, 1, 2]] and iterator._ever_consumed
    (after,) = iterator.checkpoints()
    assert next(made(checkpoint=before)) == [[0, 1, 2]]
    assert next(made(checkpoint=after)) == [[3, 4, 5]]


def test_names_of_shards(files: list[str]) -> None:
    """What DALI's iterators for `clu` compute padding from; the numbers are those of DALI 2.4."""
    pipelines = [labels(files[:7], shard, 2) for shard in range(2)]  # 3 and 4 samples
    iterator = Lists(pipelines, reader_name="reader", auto_reset=True, prepare_first_batch=False)
    assert not iterator._ever_consumed
    state = iterator._save_state()
    seen = []
    for _ in range(3):
        seen.append([iterator._shards_id.tolist(), iterator._counter_per_gpu.tolist()])
        assert iterator._shard_sizes_per_gpu_initial.tolist() == [3, 4]
        list(iterator)
    assert seen == SHARDS
    assert iterator._ever_consumed and iterator._save_state() != state
    with pytest.warns(UserWarning, match="reader_name"):
        sized = Lists(labels(files), size=8)
    assert not hasattr(sized, "_shards_id") and not hasattr(sized, "_counter_per_gpu")
