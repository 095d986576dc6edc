# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A checkpoint taken with some number of shards goes on with another one: each sample once per epoch."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import Pipeline, fn

ITEMS = 23


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and an archive with a number each."""
    root = tmp_path_factory.mktemp("elastic")
    (root / "files" / "all").mkdir(parents=True)
    with tarfile.open(root / "all.tar", "w") as tar:
        for i in range(ITEMS):
            (root / "files" / "all" / f"{i:02}.jpg").write_bytes(bytes([i]))
            member = tarfile.TarInfo(f"{i:02}.jpg")
            member.size = 1
            tar.addfile(member, io.BytesIO(bytes([i])))
    numbers = pa.array([bytes([i]) for i in range(ITEMS)], pa.binary())
    pq.write_table(pa.table({"x": numbers}), root / "all.parquet", row_group_size=4)
    return root


def files(root: Path, **split: Any) -> Any:
    return fn.readers.file(file_root=str(root / "files"), name="R", **split)[0]


def archive(root: Path, **split: Any) -> Any:
    return fn.readers.webdataset(paths=str(root / "all.tar"), ext=["jpg"], name="R", **split)


def rows(root: Path, **split: Any) -> Any:
    return fn.readers.parquet(paths=str(root / "all.parquet"), columns="x", name="R", **split)


SHUFFLED = {"random_shuffle": True}
READERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "files": (files, {}),
    "shuffled files": (files, SHUFFLED),
    "shuffled lists": (files, {"shuffle_after_epoch": True}),
    "shards that stay": (files, {"stick_to_shard": True, **SHUFFLED}),
    "archive": (archive, {"initial_fill": 5, **SHUFFLED}),
    "row groups": (rows, {"initial_fill": 5, **SHUFFLED}),
    "row groups among shards": (rows, {"shuffle_after_epoch": True}),
    "order": (files, {"sampler": {"order": [*range(ITEMS - 1, 0, -1), 5]}, **SHUFFLED}),
}


def make(
    root: Path,
    reader: str,
    shard: int,
    shards: int,
    batch: int,
    state: bytes | None = None,
    **more: Any,
) -> Pipeline:
    read, arguments = READERS[reader]
    pipe = Pipeline(batch, 2, None, seed=5, enable_checkpointing=True, checkpoint=state)
    with pipe:
        data = read(root, shard_id=shard, num_shards=shards, **arguments, **more)
        pipe.set_outputs(data, fn.random.uniform(range=(0.0, 1.0)))
    return pipe


def job(
    root: Path,
    reader: str,
    shards: int,
    batch: int,
    state: bytes | None,
    policy: str = "PARTIAL",
    pad: bool = True,
) -> list[Any]:
    """One iterator per rank."""
    pytorch = pytest.importorskip("headrace.plugin.pytorch")
    return [
        pytorch.DALIGenericIterator(
            make(root, reader, rank, shards, batch, state, pad_last_batch=pad),
            ["x", "u"],
            reader_name="R",
            last_batch_policy=pytorch.LastBatchPolicy[policy],
            auto_reset=True,
        )
        for rank in range(shards)
    ]


Pairs = list[tuple[int, float]]


def pairs(batch: Any) -> Pairs:
    return list(
        zip(batch[0]["x"].flatten().tolist(), batch[0]["u"].flatten().tolist(), strict=True)
    )


def epoch(ranks: list[Any]) -> Pairs:
    """What all ranks read until the epoch ends, with the same number of batches."""
    taken = [[pairs(batch) for batch in rank] for rank in ranks]
    assert len({len(batches) for batches in taken}) == 1
    return [pair for batches in taken for batch in batches for pair in batch]


def some(ranks: list[Any], batches: int) -> tuple[Pairs, bytes]:
    """What all ranks read in some batches, and a checkpoint of one of them."""
    taken = [pair for rank in ranks for _ in range(batches) for pair in pairs(next(rank))]
    return taken, ranks[-1].checkpoints()[0]


@pytest.mark.parametrize("reader", READERS)
def test_each_sample_once(reader: str, folder: Path) -> None:
    whole = job(folder, reader, 1, 4, None)
    epochs = [sorted(epoch(whole)) for _ in range(3)]
    for shards, others, stop in ((3, 2, 1), (2, 3, 3), (2, 5, 2), (1, 4, 6), (4, 1, 2)):
        ranks = job(folder, reader, shards, 2, None)
        assert sorted(epoch(ranks)) == epochs[0]
        taken, state = some(ranks, stop)
        ranks = job(folder, reader, others, 3, state)
        left = ITEMS - len(taken)
        meta = ranks[0]._pipes[0].reader_meta("R")
        assert meta["rest_size"] == left and meta["epoch_size"] == ITEMS
        batches = -(-left // others) // 3 + (-(-left // others) % 3 > 0)
        assert len(ranks[0]) == batches
        assert sorted(taken + epoch(ranks)) == epochs[1]  # the same augmentation, too
        assert sorted(epoch(ranks)) == epochs[2]
        assert len(ranks[0]) == -(-ITEMS // others) // 3 + (-(-ITEMS // others) % 3 > 0)


@pytest.mark.parametrize("reader", ["shuffled files", "archive"])
def test_numbers_change_again(reader: str, folder: Path) -> None:
    whole = job(folder, reader, 1, 4, None)
    epochs = [sorted(epoch(whole)) for _ in range(3)]
    for rests in ([1, 1, 1], [2, 0, 1], [2, 2, 0], [0, 3, 1]):
        taken, state = [], None
        for shards, batches in zip((3, 2, 5), rests, strict=True):
            more, state = some(job(folder, reader, shards, 2, state), batches)
            taken += more
        # The last checkpoint goes on with the same number.
        ranks = job(folder, reader, 5, 2, state)
        assert sorted(taken + epoch(ranks)) == epochs[0]
        assert [sorted(epoch(ranks)) for _ in range(2)] == epochs[1:]


@pytest.mark.parametrize("policy", ["FILL", "DROP", "PARTIAL"])
@pytest.mark.parametrize("pad", [True, False])
def test_ends_of_epochs(policy: str, pad: bool, folder: Path) -> None:
    """All ranks have the same number of batches in every epoch, wherever the number changes."""
    for shards, others, batch in ((3, 2, 4), (2, 3, 5), (1, 5, 3), (4, 3, 1)):
        for stop in range(9):
            ranks = job(folder, "files", shards, batch, None, policy, pad)
            taken: Pairs = []
            done = 0
            while done < stop:
                for batches in zip(*ranks, strict=True):
                    taken += [pair for one in batches for pair in pairs(one)]
                    done += 1
                    if done == stop:
                        break
            ranks = job(folder, "files", others, 2, ranks[0].checkpoints()[0], policy, pad)
            for _ in range(3):
                taken += epoch(ranks)
            if policy == "FILL" and not pad:  # nothing is lost or repeated
                counts = Counter(x for x, _ in taken)
                assert max(counts.values()) - min(counts.values()) <= 1
            if policy == "PARTIAL" and pad:
                assert set(Counter(taken).values()) == {1}


@pytest.mark.parametrize("auto", [True, False])
def test_at_the_end_of_an_epoch(auto: bool, folder: Path) -> None:
    pytorch = pytest.importorskip("headrace.plugin.pytorch")

    def loader(shards: int, state: bytes | None) -> Any:
        pipe = make(folder, "files", 0, shards, 4, state, pad_last_batch=True)
        return pytorch.DALIGenericIterator(pipe, ["x", "u"], reader_name="R", auto_reset=auto)

    first = loader(2, None)
    for _ in range(3):
        next(first)
    before = first.checkpoints()[0]  # the last batch was taken, but not the end
    with pytest.raises(StopIteration):
        next(first)
    after = first.checkpoints()[0]
    for state in (before, after):
        second = loader(3, state)
        assert [len(list(second)) for _ in range(2)] == [2, 2]


def test_any_checkpoint_fits_any_shard(folder: Path) -> None:
    def numbers(pipe: Pipeline) -> list[int]:
        return [int(np.asarray(x)[0]) for _ in range(9) for x in pipe.run()[0]]

    pipes = [make(folder, "shuffled files", rank, 3, 2) for rank in range(3)]
    for pipe in pipes:
        pipe.run()
    states = [pipe.checkpoint() for pipe in pipes]
    assert len(set(states)) == 1
    assert numbers(make(folder, "shuffled files", 2, 3, 2, states[0])) == numbers(pipes[2])


def test_other_batch_sizes(folder: Path) -> None:
    """With padding, a new batch size splits the epoch again, too."""
    taken, state = some(job(folder, "files", 2, 4, None), 2)
    ranks = job(folder, "files", 2, 3, state)
    assert sorted(x for x, _ in taken + epoch(ranks)) == list(range(ITEMS))
    assert len(epoch(ranks)) == ITEMS


# ---- the form of checkpoints ----

# Of version 2, after two batches of shard 0 of 2 and three of shard 1 of 3; each level put a header before the others.
VERSION_2 = (
    b'HRIT\x01\x18\x00\x00\x00{"epoch_idx":0,"iter":5}{"headrace_checkpoint": 2, "version": "0.2.0", '
    b'"graph": 7925586859293927453, "seed": 5, "batch_size": 4, "items": [23], "iteration": 5, "sample": 20, '
    b'"positions": [12], "shards": [3], "past": [[[2, 4, 8]]]}'
)


def test_old_checkpoints(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    first = make(Path(), "shuffled files", 0, 2, 4)
    for _ in range(2):
        first.run()
    new = make(Path(), "shuffled files", 1, 3, 4, first.checkpoint())
    for _ in range(3):
        new.run()
    assert new.checkpoint().startswith(b'{"headrace_checkpoint":3,')
    old = make(Path(), "shuffled files", 1, 3, 4, VERSION_2)
    taken = []
    for _ in range(4):
        both = [[np.asarray(x).tolist() for x in batch] for pipe in (old, new) for batch in pipe.run()]
        assert both[:2] == both[2:]
        taken += sum(both[0], [])
    assert taken == [4, 2, 0, 6, 5, 7, 12, 13, 10, 11, 8, 14, 9, 21, 16, 20]  # as version 0.2.0 went on
    assert old.checkpoint() == new.checkpoint()


def test_hostile_checkpoints(folder: Path) -> None:
    pipe = make(folder, "files", 0, 2, 4)
    pipe.run()
    good = json.loads(pipe.checkpoint())
    hostile: list[dict[str, Any]] = [
        {"shards": v} for v in ([], [0], [-1], [24], [2**31], ["2"], 2, None, [1, 2])
    ]
    hostile += [{"past": v} for v in ([], [1], [[1]], [[[]]], [[[2, 4]]], None, {}, [[], []])]
    hostile += [{"past": [[[2, 4, v]]]} for v in (-1, 0.5, 2**63 - 1, 2**62, "1")]
    hostile += [{"past": [[[v, 4, 3]]]} for v in (0, -1, 2**31, 2**20 + 1)]
    hostile += [{"past": [[[2, v, 3]]]} for v in (0, -1, 2**31)]
    hostile += [
        {"past": [[[2, 4, 1]] * 1025]},
        {"past": [[[2, 4, 2**61]] * 99], "positions": [2**61]},
    ]
    hostile += [{"batch_size": v} for v in (0, 2**40)]
    for changes in hostile:
        state = json.dumps({**good, "engine": {**good["engine"], **changes}}).encode()
        with pytest.raises((RuntimeError, ValueError)):
            make(folder, "files", 0, 3, 4, state).build()
    with pytest.raises(RuntimeError, match="input samples: 23, needs to be at least .* shards: 24"):
        make(folder, "files", 0, 24, 4, pipe.checkpoint()).build()


# ---- processes ----

RANK = """
import sys
from pathlib import Path
import numpy as np
from headrace import Pipeline, fn

root, rank, ranks, batches, state = sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5])
pipe = Pipeline(2, 1, None, seed=5, enable_checkpointing=True,
                checkpoint=state.read_bytes() if state.exists() else None)
with pipe:
    data, _ = fn.readers.file(file_root=root, random_shuffle=True, num_shards=ranks, shard_id=rank, name="R")
    pipe.set_outputs(data)
print(*[int(np.asarray(x)[0]) for _ in range(batches) for x in pipe.run()[0]])
if rank == 0:
    pipe.checkpoint(filename=f"{state}.new")
"""


def test_processes(folder: Path, tmp_path: Path) -> None:
    def run(ranks: int, batches: int) -> list[list[int]]:
        command = [sys.executable, "-c", RANK, str(folder / "files")]
        started = [
            subprocess.Popen(
                [*command, str(rank), str(ranks), str(batches), str(state)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        texts = [process.communicate()[0] for process in started]
        assert all(process.returncode == 0 for process in started)
        return [[int(x) for x in text.split()] for text in texts]

    state = tmp_path / "state"
    taken = run(2, 2)
    (tmp_path / "state.new").rename(state)
    rest = run(3, 3)  # 15 of 23 are left: 5 for each, and then one of the next epoch
    numbers = [x for rank in taken for x in rank] + [x for rank in rest for x in rank[:5]]
    assert sorted(numbers) == list(range(ITEMS))
