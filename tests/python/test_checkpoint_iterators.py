# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checkpoints of iterators: a new pipeline and iterator continue with the next batch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import headrace  # noqa: E402
from headrace.plugin.pytorch import DALIGenericIterator, LastBatchPolicy  # noqa: E402

COUNT = 11
DEPTH = 2


@pytest.fixture(params=[2, 1], ids=lambda depth: f"depth{depth}", autouse=True)
def depth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """`prefetch_queue_depth` of the pipelines of each test."""
    monkeypatch.setattr(sys.modules[__name__], "DEPTH", request.param)
    return int(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers")
    for i in range(COUNT):
        (path / f"{i:02}").write_bytes(bytes([i]))
    return path


def pipeline(
    folder: Path, shard: int, shards: int, pad: bool, checkpoint: bytes | None, **kwargs: Any
) -> Any:
    kwargs.setdefault("prefetch_queue_depth", DEPTH)
    pipe = headrace.Pipeline(
        2, 2, None, seed=5, enable_checkpointing=True, checkpoint=checkpoint, **kwargs
    )
    with pipe:
        data, _ = headrace.fn.readers.file(
            files=[str(folder / f"{i:02}") for i in range(COUNT)],
            random_shuffle=True,
            pad_last_batch=pad,
            shard_id=shard,
            num_shards=shards,
            name="R",
        )
        pipe.set_outputs(data, headrace.fn.random.uniform(range=(0.0, 1.0)))
    return pipe


def loader(
    folder: Path, shards: int, pad: bool, policy: str, auto: bool, states: list[bytes] | None
) -> DALIGenericIterator:
    pipes = [pipeline(folder, s, shards, pad, states[s] if states else None) for s in range(shards)]
    return DALIGenericIterator(
        pipes,
        ["x", "u"],
        reader_name="R",
        last_batch_policy=LastBatchPolicy[policy],
        auto_reset=auto,
    )


def batches(iterator: Any, epochs: int) -> list[Any]:
    """All batches of some epochs, with a marker at the end of each."""
    found: list[Any] = []
    for _ in range(epochs):
        for batch in iterator:
            found.append([(b["x"].flatten().tolist(), b["u"].tolist()) for b in batch])
        found.append("end")
    return found


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("policy", ["FILL", "DROP", "PARTIAL"])
@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("shards", [1, 2])
def test_resume_anywhere(folder: Path, shards: int, pad: bool, policy: str, auto: bool) -> None:
    whole = batches(loader(folder, shards, pad, policy, auto, None), 3)
    for stop in (0, 1, 2, 4, 5, 7, 9):
        first = loader(folder, shards, pad, policy, auto, None)
        done: list[Any] = []
        while len([b for b in done if b != "end"]) < stop:
            for batch in first:
                done.append([(b["x"].flatten().tolist(), b["u"].tolist()) for b in batch])
                if len([b for b in done if b != "end"]) == stop:
                    break
            else:
                done.append("end")
        states = first.checkpoints()
        assert len(states) == shards and all(isinstance(s, bytes) for s in states)
        second = loader(folder, shards, pad, policy, auto, states)
        rest = batches(second, 3 - done.count("end"))
        plain = [b for b in done + rest if b != "end"]
        assert plain[: len([b for b in whole if b != "end"])] == [b for b in whole if b != "end"]


def test_before_the_first_batch_is_taken(folder: Path) -> None:
    """The constructor has already run a batch, which the checkpoint must not count."""
    first = loader(folder, 1, True, "PARTIAL", True, None)
    states = first.checkpoints()
    assert batches(loader(folder, 1, True, "PARTIAL", True, states), 1) == batches(first, 1)


def test_checkpoint_of_a_pipeline_still_works(folder: Path) -> None:
    pipe = pipeline(folder, 0, 1, True, None)
    pipe.run()
    state = pipe.checkpoint()
    expected = pipe.run()[0].as_array().tolist()
    again = pipeline(folder, 0, 1, True, state)
    assert again.run()[0].as_array().tolist() == expected
    assert again.is_restored_from_checkpoint


def test_of_other_pipelines(folder: Path) -> None:
    one = loader(folder, 2, True, "FILL", True, None)
    state = one.checkpoints()[0]
    next(one)
    later = one.checkpoints()[0]
    next(one)
    latest = one.checkpoints()[1]
    pipes = [pipeline(folder, 0, 2, True, later), pipeline(folder, 1, 2, True, latest)]
    with pytest.raises(ValueError, match="together"):
        DALIGenericIterator(pipes, ["x", "u"], reader_name="R")
    assert state != later


# Of version 2, by an iterator that had taken two batches of shard 1 of 3.
VERSION_2 = (
    b'HRIT\x01L\x00\x00\x00{"ended":false,"epochs":{"carry":[0,0,0],"epoch":0,"positions":8,"taken":8}}'
    b'HRIT\x01\x18\x00\x00\x00{"epoch_idx":0,"iter":2}{"headrace_checkpoint": 2, "version": "0.2.0", '
    b'"graph": 7925586859293927453, "seed": 5, "batch_size": 4, "items": [23], "iteration": 2, "sample": 8, '
    b'"positions": [8], "shards": [3], "past": [[]]}'
)


def shuffled(checkpoint: bytes | None) -> Any:
    """An iterator over files with their numbers in the present folder."""
    pipe = headrace.Pipeline(
        4, 2, None, seed=5, enable_checkpointing=True, checkpoint=checkpoint
    )
    with pipe:
        x, _ = headrace.fn.readers.file(
            file_root="files", name="R", shard_id=1, num_shards=3, random_shuffle=True
        )
        pipe.set_outputs(x, headrace.fn.random.uniform(range=(0.0, 1.0)))
    return DALIGenericIterator([pipe], ["x", "u"], reader_name="R")


def test_old_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files" / "all").mkdir(parents=True)
    for i in range(23):
        (tmp_path / "files" / "all" / f"{i:02}.jpg").write_bytes(bytes([i]))
    new = shuffled(None)
    for _ in range(2):
        next(new)
    state = new.checkpoints()[0]
    assert [*json.loads(state)] == ["headrace_checkpoint", "engine", "pipeline", "iterator"]
    old = shuffled(VERSION_2)
    taken = [[item["x"].flatten().tolist() for (item,) in iterator] for iterator in (old, new)]
    assert taken == [[[22, 17, 15, 16], [18, 19, 20, 21]]] * 2  # as version 0.2.0 went on
    for cut in range(1, len(VERSION_2), 5):
        with pytest.raises((RuntimeError, ValueError)):
            shuffled(VERSION_2[:cut])
