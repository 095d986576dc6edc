# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`LoaderEvaluator`: its two modes and what it measures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from headrace.plugin.pytorch.loader_evaluator import LoaderEvaluator  # noqa: E402
from headrace.plugin.pytorch.loader_evaluator import loader as module  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402


class Clock:
    """What the evaluator takes for the module `time`; `now` is moved by the tests."""

    now = 0.0

    @classmethod
    def time(cls) -> float:
        return cls.now

    perf_counter = time


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "time", Clock)


class Slow(Dataset):  # type: ignore[type-arg]
    """0, 1, 2 ..., for each of which a second passes; counts what is read."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.read = 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> int:
        Clock.now += 1
        self.read += 1
        return i


def loader(length: int = 14) -> Any:
    return DataLoader(Slow(length), batch_size=4)


def values(batches: Iterator[Any]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


EPOCH = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13]]


@pytest.mark.parametrize("mode", ["log", "another"])
def test_the_batches_of_the_loader_and_their_times(mode: str) -> None:
    given = loader()
    evaluator = LoaderEvaluator(given, mode=mode)
    assert evaluator.dataloader is given and len(evaluator) == 4
    assert evaluator.get_metrics() == {}
    for _ in range(2):
        found = []
        for batch in evaluator:
            found.append(batch.tolist())
            Clock.now += 10  # the training step
        assert found == EPOCH
        metrics = evaluator.get_metrics()
        assert metrics["mode"] == mode and metrics["total_batches"] == 4
        assert metrics["batch_times"] == [4, 4, 4, 2] and metrics["total_time"] == 54
        assert metrics["min_batch_time"] == 2 and metrics["max_batch_time"] == 4
        assert metrics["avg_batch_time"] == 3.5
        assert metrics["cached_batches"] == 0 and metrics["cache_ready"] is False


def test_replay_repeats_the_first_batches_from_memory() -> None:
    given = loader()
    evaluator = LoaderEvaluator(given, mode="replay", num_cached_batches=3)
    assert given.dataset.read == 12  # no more than is kept
    assert evaluator.cache_ready and len(evaluator.cached_batches) == 3
    for _ in range(2):
        assert values(iter(evaluator)) == [*EPOCH[:3], EPOCH[0]]
    assert given.dataset.read == 12
    metrics = evaluator.get_metrics()
    assert metrics["total_batches"] == 4 and metrics["cached_batches"] == 3
    assert metrics["batch_times"] == [0, 0, 0, 0]
    whole = LoaderEvaluator(loader(), mode="replay", num_cached_batches=9)
    assert values(iter(whole)) == EPOCH


def test_an_epoch_that_is_left_early() -> None:
    evaluator = LoaderEvaluator(loader())
    assert len(list(evaluator)) == 4
    for _, _ in zip(range(2), evaluator):
        pass
    metrics = evaluator.get_metrics()
    assert metrics["total_batches"] <= 3 and metrics["total_time"] == 0


def test_nothing_to_replay() -> None:
    for evaluator in (
        LoaderEvaluator(loader(0), mode="replay"),
        LoaderEvaluator(loader(), mode="replay", num_cached_batches=0),
    ):
        assert not evaluator.cache_ready
        with pytest.raises(RuntimeError, match="No batches were cached"):
            iter(evaluator)
    assert list(LoaderEvaluator(loader(0))) == []


def test_saved_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluator = LoaderEvaluator(loader(), metrics_file=str(tmp_path / "default.json"))
    list(evaluator)
    evaluator.save_metrics()
    evaluator.save_metrics(str(tmp_path / "given.json"))
    for name in ("default.json", "given.json"):
        assert json.loads((tmp_path / name).read_text()) == evaluator.get_metrics()
    LoaderEvaluator(loader()).save_metrics()
    assert "The metrics are not saved" in capsys.readouterr().out
    evaluator.print_summary()
    printed = capsys.readouterr().out
    for line in ("Mode: log", "Dataset size: 14", "Number of batches: 4", "Cache size: 0/20"):
        assert f"  {line}\n" in printed
    assert "Total batches processed: 4\n" in printed
