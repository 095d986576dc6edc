# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Indices of JPEG files do not change the pixels: in memory, in a folder, in part, on any number of threads, resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from photos import encoded, samples, take, training  # noqa: E402

from headrace import Pipeline, fn  # noqa: E402
from waiting import HANG_S  # noqa: E402

COUNT = 12  # photographs
EPOCHS = 4
# misses of the progressive file, which two decoders look up, including decoding ahead
PROGRESSIVE = 4 * (EPOCHS + 2)


@pytest.fixture(scope="module")
def large_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files large enough for dozens of entries: all samplings, grey, restart markers, one that libjpeg-turbo decodes.
    """
    root = tmp_path_factory.mktemp("large")
    for i in range(COUNT):
        folder = root / f"class{i % 2}"
        folder.mkdir(exist_ok=True)
        data = encoded(
            i,
            size=(300 + 31 * i, 420 - 17 * i),
            mode="L" if i == 5 else "RGB",
            quality=97,
            subsampling=i % 3,
            progressive=i == 7,
            restart_marker_blocks=11 * (i % 4 == 3),
        )
        (folder / f"{i:02}.jpg").write_bytes(data)
    return root


@pytest.fixture(scope="module")
def without(large_root: Path) -> list[tuple[bytes, ...]]:
    return take(make(large_root, index_memory_limit=0), EPOCHS * COUNT)


def make(root: Path, **options: Any) -> Pipeline:
    return training(root, random_shuffle=True, **options)


VARIANTS: list[dict[str, Any]] = [
    {"num_threads": 1},
    {"num_threads": 2},
    {"num_threads": 8, "prefetch_queue_depth": 4},
    {"num_threads": 4, "fuse": False},
    {"index_memory_limit": 12_000},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_same_bytes(
    options: dict[str, Any], large_root: Path, without: list[tuple[bytes, ...]]
) -> None:
    pipe = make(large_root, **options)
    assert take(pipe, EPOCHS * COUNT) == without
    stats = pipe.stats()
    assert stats["index_bytes"] <= options.get("index_memory_limit", 1 << 30)
    if "index_memory_limit" in options:
        assert 0 < stats["index_files"] < COUNT - 1 and stats["index_refused"] > 0
    else:
        assert stats["index_files"] == COUNT - 1 and stats["index_refused"] == 0
        assert stats["index_hits"] > EPOCHS * COUNT


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_same_bytes_through_a_folder(
    options: dict[str, Any], large_root: Path, without: list[tuple[bytes, ...]], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    options = {**options, "index_memory_limit": 1 << 20}
    first = make(large_root, index_cache=cache, **options)
    assert take(first, EPOCHS * COUNT) == without
    second = make(large_root, index_cache=str(cache), **options)  # at the same time as the first one
    assert take(second, EPOCHS * COUNT) == without
    assert second.stats()["index_files"] == COUNT - 1
    assert second.stats()["index_unwritten"] == 0
    del first, second
    third = make(large_root, index_cache=cache, **options)
    assert take(third, EPOCHS * COUNT) == without
    assert third.stats()["index_misses"] <= PROGRESSIVE


def test_the_folder_of_the_environment(
    large_root: Path,
    without: list[tuple[bytes, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered, named = tmp_path / "offered", tmp_path / "named"
    monkeypatch.setenv("HEADRACE_INDEX_CACHE", str(offered))
    assert take(make(large_root), EPOCHS * COUNT) == without
    again = make(large_root)
    assert take(again, EPOCHS * COUNT) == without
    assert again.stats()["index_misses"] <= PROGRESSIVE
    before = sorted(file.name for file in offered.iterdir())
    take(make(large_root, index_cache=named), COUNT)  # an argument has precedence
    take(make(large_root, index_memory_limit=0), COUNT)
    assert any(named.iterdir()) and sorted(file.name for file in offered.iterdir()) == before


@pytest.mark.parametrize("name", ["file", "file/below", "no/such/folder", "world", "link", ""])
def test_a_folder_of_the_environment_that_cannot_be_used(
    name: str,
    large_root: Path,
    without: list[tuple[bytes, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "world").mkdir()
    (tmp_path / "world").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    monkeypatch.setenv("HEADRACE_INDEX_CACHE", str(tmp_path / name) if name else "")
    pipe = make(large_root)
    assert take(pipe, EPOCHS * COUNT) == without
    assert pipe.stats()["index_files"] == COUNT - 1


def test_no_index_when_there_is_no_room(large_root: Path, tmp_path: Path) -> None:
    pipe = make(large_root, index_memory_limit=0, index_cache=tmp_path / "cache")
    take(pipe, 2 * COUNT)
    stats = pipe.stats()
    assert [stats["index_" + key] for key in ("files", "bytes", "hits", "misses")] == [0, 0, 0, 0]


def test_resumed(large_root: Path, without: list[tuple[bytes, ...]], tmp_path: Path) -> None:
    for cache in (None, tmp_path / "cache"):
        first = make(large_root, enable_checkpointing=True, index_cache=cache)
        take(first, COUNT + 4)
        state = first.checkpoint()
        second = make(large_root, checkpoint=state, index_cache=cache, num_threads=3)
        assert take(second, 2 * COUNT) == without[COUNT + 4 : 3 * COUNT + 4]


def test_a_file_that_changes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "class0").mkdir(parents=True)
    path = root / "class0" / "a.jpg"
    for cache in (None, tmp_path / "cache"):
        pipes = []
        for limit in (None, 0):
            path.write_bytes(encoded(1, size=(400, 300), quality=95))
            cached = cache if limit is None else None
            pipe = make(root, batch_size=1, index_memory_limit=limit, index_cache=cached)
            before = take(pipe, 5)
            time_before = path.stat()
            path.write_bytes(encoded(2, size=(400, 300), quality=94))
            np.testing.assert_equal(path.stat().st_ino, time_before.st_ino)
            after = take(pipe, 12)
            pipes.append((before, after[4:]))  # some were decoded ahead
        assert pipes[0] == pipes[1]
        assert pipes[0][0][0] != pipes[0][1][0]


def test_damage_is_what_it_is_without_an_index(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "class0").mkdir(parents=True)
    data = bytearray(encoded(3, size=(500, 400), quality=95))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff\xd9" * 20
    (root / "class0" / "a.jpg").write_bytes(data)
    (root / "class0" / "b.jpg").write_bytes(data[: len(data) // 3])
    results = []
    for limit in (None, 0):
        pipe = make(root, batch_size=2, num_threads=1, index_memory_limit=limit, seed=5)
        taken = take(pipe, 40)
        count = pipe.stats()["samples"]
        errors = [
            (e["iteration"], e["index"], e["message"], e["action"])
            for e in pipe.errors()
            if e["iteration"] < count // 2
        ]
        results.append((taken, errors))
    assert results[0] == results[1]
    assert len(results[0][1]) > 5


def test_bytes_that_are_no_file() -> None:
    data = np.frombuffer(encoded(4, size=(400, 300), quality=95), np.uint8)

    def pictures(limit: int | None) -> tuple[list[Any], dict[str, Any]]:
        pipe = Pipeline(batch_size=2, num_threads=1, device_id=None, index_memory_limit=limit)
        with pipe:
            files = fn.external_source(lambda: [data, data])
            pipe.set_outputs(
                fn.decoders.image_crop(files, crop=(100, 90), crop_pos_x=0.7, crop_pos_y=0.9)
            )
        out = [samples(pipe.run()) for _ in range(4)]
        return out, pipe.stats()

    with_index, stats = pictures(None)
    assert with_index == pictures(0)[0]
    assert stats["index_files"] == 1 and stats["index_hits"] >= 6


def test_processes_share_a_folder(
    start: Callable[..., Any], large_root: Path, without: list[tuple[bytes, ...]], tmp_path: Path
) -> None:
    """Three processes at once, each with threads; their indices serve all of them."""
    cache = tmp_path / "cache"
    program = """
        import hashlib, sys
        from pathlib import Path
        from photos import take, training

        pipe = training(Path(sys.argv[1]), random_shuffle=True, index_cache=sys.argv[2],
                        num_threads=3)
        print(hashlib.sha256(repr(take(pipe, int(sys.argv[3]))).encode()).hexdigest())
    """
    running = [start(program, large_root, cache, EPOCHS * COUNT) for _ in range(3)]
    texts = {process.communicate(timeout=HANG_S)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0], texts
    assert len(texts) == 1
    pipe = make(large_root, index_cache=cache)
    assert take(pipe, EPOCHS * COUNT) == without
    assert pipe.stats()["index_misses"] <= PROGRESSIVE


def test_photographs(photographs: Path, tmp_path: Path) -> None:
    files = sum(1 for path in photographs.glob("*/*"))
    count = -(-min(2 * files, 500) // 50) * 50
    plain = take(make(photographs, batch_size=50, index_memory_limit=0), count)
    pipe = make(photographs, batch_size=50)
    assert take(pipe, count) == plain
    assert pipe.stats()["index_files"] > 0.8 * min(files, count)
    for _ in range(2):
        pipe = make(photographs, batch_size=50, index_cache=tmp_path / "cache")
        assert take(pipe, count) == plain
