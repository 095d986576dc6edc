# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`cache_size` of readers: items stay in memory as they were read; the outputs stay the same."""

from __future__ import annotations

import io
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn

COUNT, SIZE = 12, 20_000
ROOM = 1 << 30


def content(number: int, version: int = 0) -> bytes:
    return np.random.default_rng([number, version]).bytes(SIZE + number)


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    (tmp_path / "files" / "all").mkdir(parents=True)
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        for i in range(COUNT):
            (tmp_path / "files" / "all" / f"{i:02}.jpg").write_bytes(content(i))
            for ext, data in (("jpg", content(i)), ("cls", b"%d" % i)):
                member = tarfile.TarInfo(f"{i:02}.{ext}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return tmp_path


def make(root: Path, reader: str = "files", threads: int = 2, **options: Any) -> Pipeline:
    names = ("on_error", "host_memory_limit", "enable_checkpointing", "checkpoint")
    own = {name: options.pop(name) for name in names if name in options}
    pipe = Pipeline(4, threads, None, seed=3, prefetch_queue_depth=2, **own)
    options.setdefault("random_shuffle", True)
    with pipe:
        if reader == "files":
            outputs = fn.readers.file(file_root=str(root / "files"), name="R", **options)
        else:
            outputs = fn.readers.webdataset(
                paths=str(root / "all.tar"), ext=["jpg", "cls"], name="R", **options
            )
        pipe.set_outputs(*outputs)
    return pipe


def epoch(pipe: Pipeline) -> list[tuple[bytes, ...]]:
    rows = []
    for _ in range(COUNT // 4):
        outputs = pipe.run()
        rows += [tuple(np.asarray(out[i]).tobytes() for out in outputs) for i in range(4)]
    return rows


def settle(pipe: Pipeline) -> None:
    """Takes what was asked for before: 128 items and two batches are read ahead."""
    for _ in range(136 // COUNT + 1):
        epoch(pipe)


@pytest.mark.parametrize("reader", ["files", "archive"])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("limit", [1, 5 * SIZE, ROOM])
def test_outputs_stay_the_same(reader: str, threads: int, limit: int, root: Path) -> None:
    plain, cached = make(root, reader), make(root, reader, threads, cache_size=limit)
    for _ in range(4):
        assert epoch(cached) == epoch(plain)
    stats = cached.stats()
    assert stats["cache_limit"] == limit
    assert stats["cache_bytes"] <= limit
    assert stats["cache_items"] == {1: 0, ROOM: COUNT}.get(limit, stats["cache_items"])
    if limit == 5 * SIZE:
        assert 3 <= stats["cache_items"] <= 4  # a block is somewhat larger than its item
        assert stats["cache_refused"] > 0
    # Each item that is in memory was read once, except for what was asked for before it was there.
    assert stats["cache_hits"] >= 2 * stats["cache_items"]
    assert plain.stats()["cache_limit"] == plain.stats()["cache_hits"] == 0


@pytest.mark.parametrize("reader", ["files", "archive"])
def test_later_epochs_read_nothing(reader: str, root: Path) -> None:
    pipe = make(root, reader, cache_size=ROOM)
    first = sorted(epoch(pipe))
    settle(pipe)
    before = pipe.stats()
    for path in (root / "files" / "all").glob("*.jpg"):
        path.unlink()
    (root / "all.tar").write_bytes(b"")
    for _ in range(3):
        assert sorted(epoch(pipe)) == first
    after = pipe.stats()
    assert after["files_read"] == before["files_read"]
    assert after["cache_hits"] > before["cache_hits"] + COUNT
    assert f"Items of readers in memory: {COUNT}," in pipe.explain()


def test_writing_into_outputs_changes_nothing_else(root: Path) -> None:
    pipe = make(root, random_shuffle=False, cache_size=ROOM)
    expected = [content(i) for i in range(COUNT)]
    for _ in range(3):
        for i in range(0, COUNT, 4):
            batch, _ = pipe.run()
            for k in range(4):
                array = np.from_dlpack(batch[k])
                assert array.tobytes() == expected[i + k]
                array[:] = 0


def test_functions_may_write_into_their_inputs(root: Path) -> None:
    seen: list[bytes] = []

    def wipe(data: np.ndarray) -> np.ndarray:
        seen.append(data.tobytes())
        data[...] = 0
        return data

    pipe = Pipeline(4, 1, None, exec_async=False, exec_pipelined=False)
    with pipe:
        data, _ = fn.readers.file(file_root=str(root / "files"), cache_size=ROOM)
        pipe.set_outputs(fn.python_function(data, function=wipe))
    for _ in range(3 * COUNT // 4):
        pipe.run()
    assert seen[: 3 * COUNT] == [content(i) for i in range(COUNT)] * 3


def test_files_that_change(root: Path) -> None:
    """What is in memory is not read again; what did not fit is."""
    files = sorted((root / "files" / "all").glob("*.jpg"))
    pipes = [make(root, random_shuffle=False, cache_size=size) for size in (ROOM, 1)]
    for pipe in pipes:
        settle(pipe)
    for i, path in enumerate(files):
        path.write_bytes(content(i, 1))
    for pipe in pipes:
        settle(pipe)
    kept, read = ([data for data, _ in epoch(pipe)] for pipe in pipes)
    assert kept == [content(i) for i in range(COUNT)]
    assert read == [content(i, 1) for i in range(COUNT)]


def test_bad_files(root: Path) -> None:
    """A file that cannot be read is not kept: it is found again when it comes back."""
    path = root / "files" / "all" / "05.jpg"
    path.unlink()
    path.symlink_to(root / "later")
    pipe = make(root, random_shuffle=False, on_error="replace", cache_size=ROOM)
    for _ in range(2):
        rows = epoch(pipe)
        assert rows[5][0] != content(5) and rows[4][0] == content(4)
    assert pipe.errors()
    path.write_bytes(content(5))
    settle(pipe)
    assert epoch(pipe)[5][0] == content(5)


@pytest.mark.parametrize("cache_size", [0, ROOM])
def test_a_slow_consumer_stays_within_the_memory_limit(tmp_path: Path, cache_size: int) -> None:
    """Files read ahead leave memory for batches, however long the pipeline waits for the user."""
    (tmp_path / "files" / "all").mkdir(parents=True)
    for i in range(100):
        (tmp_path / "files" / "all" / f"{i:03}.jpg").write_bytes(content(i)[: SIZE // 3])
    pipe = make(tmp_path, cache_size=cache_size, host_memory_limit=16 * SIZE)
    plain = make(tmp_path)
    for _ in range(32):
        time.sleep(0.02)  # no luck: the consumer is meant to be slow
        assert epoch(pipe) == epoch(plain)
    assert 0 < pipe.stats()["read_ahead_peak_bytes"] <= 8 * SIZE


def test_memory_limits(tmp_path: Path) -> None:
    """Half of host_memory_limit is left to outputs and files read ahead."""
    (tmp_path / "files" / "all").mkdir(parents=True)
    for i in range(100):
        (tmp_path / "files" / "all" / f"{i:03}.jpg").write_bytes(content(i)[: SIZE // 10])
    limit = 16 * SIZE
    pipe = make(tmp_path, cache_size=ROOM, host_memory_limit=limit)
    plain = make(tmp_path)
    for _ in range(3 * 100 // COUNT):
        assert epoch(pipe) == epoch(plain)
    stats = pipe.stats()
    assert stats["cache_limit"] == limit // 2 and stats["cache_hits"] > 0
    assert limit // 2 - SIZE < stats["cache_bytes"] <= limit // 2 and stats["cache_refused"] > 0
    with pytest.raises((RuntimeError, ValueError), match="cache_size"):
        make(tmp_path, cache_size=-1).build()


def test_drawn_items_and_checkpoints(root: Path) -> None:
    """An item that occurs several times in an epoch is kept once; checkpoints fit other sizes."""
    order = {"order": [3, 3, 5, 3, 7, 7, 5, 3, 3, 1, 5, 5]}
    plain = make(root, sampler=order)
    cached = make(root, sampler=order, cache_size=ROOM, enable_checkpointing=True)
    assert [epoch(cached) for _ in range(2)] == [epoch(plain) for _ in range(2)]
    assert cached.stats()["cache_items"] == 4
    again = make(root, sampler=order, checkpoint=cached.checkpoint(), cache_size=7)
    assert epoch(again) == epoch(cached)
