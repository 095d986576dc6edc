# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`global_batch`: the batches of a job are the same for any number of processes.

The reference is a plain pipeline, without `global_batch`, whose batch size is that of the job.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import jobs
import numpy as np
import pytest
from headrace import Pipeline, fn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jobs import CONTAINERS, ITEMS, READERS, close, make, run, world
from waiting import HANG_S

BATCH = 70
WORLDS = (1, 2, 3, 7, 8, 64)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jobs.fill(tmp_path_factory.mktemp("order"))


@pytest.fixture(scope="module")
def expected(root: Path) -> Any:
    """The hashes of the first batches of one process that knows nothing of a job."""
    known: dict[tuple[str, str, int, int], list[str]] = {}

    def found(reader: str, steps: int, on_error: str = "skip", batch: int = BATCH) -> list[str]:
        key = (reader, on_error, batch, steps)
        if key not in known:
            pipe = make(root, reader, batch, on_error=on_error)
            known[key] = run([pipe], steps)
            pipe.close()
        return known[key]

    return found


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_worlds(reader: str, on_error: str, root: Path, expected: Any) -> None:
    reference = expected(reader, 8, on_error)
    assert len(set(reference)) == 8
    for ranks in WORLDS:
        pipes = world(root, reader, ranks, BATCH, on_error=on_error)
        assert run(pipes, 8) == reference, ranks
        sizes = [pipe.max_batch_size for pipe in pipes]
        assert sum(sizes) == BATCH and max(sizes) - min(sizes) <= 1
        close(pipes)


@pytest.mark.parametrize("reader", CONTAINERS)
def test_the_number_changes(reader: str, root: Path, expected: Any) -> None:
    """A thousand batches, while the number of processes changes at random."""
    steps = 1000
    reference = expected(reader, steps)
    assert len(set(reference)) == steps
    draw = random.Random(reader)
    found: list[str] = []
    state = None
    while len(found) < steps:
        pipes = world(root, reader, draw.choice(WORLDS), BATCH, state)
        found += run(pipes, min(draw.randint(1, 90), steps - len(found)))
        states = {pipe.checkpoint() for pipe in pipes}
        assert len(states) == 1  # so any of them will do
        state = states.pop()
        close(pipes)
    assert found == reference


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(
    reader=st.sampled_from(sorted(READERS)),
    batch=st.integers(1, 120),
    changes=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 5)), min_size=1, max_size=4),
    on_error=st.sampled_from(["skip", "replace"]),
)
def test_any_changes(
    reader: str, batch: int, changes: list[tuple[int, int]], on_error: str, root: Path
) -> None:
    found: list[str] = []
    state = None
    for ranks, steps in changes:
        pipes = world(root, reader, min(ranks, batch), batch, state, on_error=on_error)
        found += run(pipes, steps)
        state = pipes[0].checkpoint()
        close(pipes)
    pipes = world(root, reader, 1, batch, on_error=on_error)
    assert run(pipes, len(found)) == found
    close(pipes)


def test_each_sample_once(root: Path) -> None:
    """Over an epoch of batches that divide it, each good sample comes exactly once."""
    pipes = world(root, "archives", 5, ITEMS)
    samples = jobs.joined([pipe.run() for pipe in pipes])
    assert len(samples) == ITEMS - len(jobs.BAD)
    assert [errors["action"] for pipe in pipes for errors in pipe.errors()].count("skipped") >= len(
        jobs.BAD
    )
    close(pipes)


def test_a_process_may_have_none(root: Path) -> None:
    """A bad sample that is alone in its process leaves an empty batch, and nobody gets out of step."""
    pipes = world(root, "files in order", 8, 8)
    taken = [[pipe.run() for pipe in pipes] for _ in range(3)]
    assert [len(parts[5][0]) for parts in taken] == [0, 1, 1]  # item 5 is bad
    assert [parts[5].positions for parts in taken] == [1, 1, 1]
    assert len(taken[2][2][0]) == 0  # item 18
    close(pipes)


# ---- batch sizes and facts -----------------------------------------------------------------------


def test_facts(root: Path) -> None:
    pipe = make(root, "files", global_batch=10, num_shards=3, shard_id=2)
    assert pipe.max_batch_size is None
    pipe.run()
    assert pipe.max_batch_size == 3  # of 4, 3, 3
    meta = pipe.reader_meta("R")
    assert (meta["global_batch"], meta["number_of_shards"], meta["shard_id"]) == (10, 3, 2)
    assert meta["epoch_size"] == ITEMS
    assert "global_batch" not in make(root, "files", 4).reader_meta("R")
    state = json.loads(pipe.checkpoint())["engine"]
    assert (state["positions"], state["shards"], state["batch_size"]) == ([10], [1], 10)
    larger = make(root, "files", 9, global_batch=10, num_shards=3, shard_id=2)
    assert len(larger.run()[0]) <= 3 and larger.max_batch_size == 3


def test_serialized(root: Path) -> None:
    pipe = make(root, "files", global_batch=10, num_shards=3, shard_id=1)
    expected = run([pipe], 3)
    again = Pipeline.deserialize(pipe.serialize())
    assert again.max_batch_size == 3
    assert run([again], 3) == expected


def refused(match: str, pipe: Pipeline, error: type[Exception] = RuntimeError) -> None:
    with pytest.raises(error, match=match):
        pipe.build()


def test_refused(root: Path) -> None:
    part = {"global_batch": 10, "num_shards": 3, "shard_id": 1}
    refused("even: num_shards=3 does not divide", make(root, "files", even=True, **part))
    make(root, "files", even=True, global_batch=9, num_shards=3, shard_id=1).build()
    refused("even: this argument needs global_batch", make(root, "files", 4, even=True))
    refused(
        "must be at least num_shards, which is 12",
        make(root, "files", **{**part, "num_shards": 12}),
    )
    refused("shard_id is 3; with num_shards=3", make(root, "files", **{**part, "shard_id": 3}))
    refused("stick_to_shard exclude", make(root, "files", stick_to_shard=True, **part))
    refused("need at least 4", make(root, "files", 3, **{**part, "shard_id": 0}), ValueError)
    refused("batch_size", make(root, "files"), ValueError)
    with pytest.raises((ValueError, RuntimeError), match="global_batch"):
        make(root, "files", global_batch=0)


def of(root: Path, more: Any, seed: int | None = 1) -> Pipeline:
    pipe = Pipeline(8, 1, None, seed=seed)
    with pipe:
        data = jobs.files(root, global_batch=8)
        pipe.set_outputs(data, more(data))
    return pipe


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (lambda data: fn.external_source(lambda: [np.zeros(1)] * 8), "external_source.*no place"),
        (lambda data: fn.permute_batch(data, indices=[0] * 8), "permute_batch.*depends on the other"),
        (lambda data: fn.pad(data), "pad.*depends on the other samples"),
        (lambda data: fn.batch_permutation(), "batch_permutation.*depends on the other"),
        (
            lambda data: fn.readers.file(files=["/x"], labels=[0], name="S")[0],
            "must be the same for all readers",
        ),
    ],
)
def test_what_depends_on_the_batch_is_refused(root: Path, more: Any, match: str) -> None:
    refused(match, of(root, more))


def test_a_seed_is_needed(root: Path) -> None:
    refused("global_batch needs a seed", of(root, lambda data: data, seed=None))


def test_a_type_that_differs(tmp_path: Path) -> None:
    """Which of two samples does not fit the other depends on the batch, so neither may be skipped."""
    np.save(tmp_path / "0.npy", np.zeros(3, np.uint8))
    np.save(tmp_path / "1.npy", np.zeros(3, np.int16))
    pipe = Pipeline(None, 1, None, seed=1, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.readers.numpy(file_root=str(tmp_path), global_batch=2))
    with pytest.raises(RuntimeError, match="Inconsistent data"):
        pipe.run()


# ---- iterators -----------------------------------------------------------------------------------


Pairs = list[tuple[bytes, float]]


def iterators(root: Path, ranks: int, policy: str, pad: bool, states: Any = None) -> list[Any]:
    pytorch = pytest.importorskip("headrace.plugin.pytorch")
    pipes = []
    for rank in range(ranks):
        state = states[0] if states else None
        pipe = Pipeline(None, 1, None, seed=SEED, enable_checkpointing=True, checkpoint=state)
        with pipe:
            split = {"num_shards": ranks, "shard_id": rank, "global_batch": 10}
            data = jobs.files(root, random_shuffle=True, pad_last_batch=pad, **split)
            pipe.set_outputs(fn.slice(data, [0], [4], axes=[0]), fn.random.uniform(range=(0.0, 1.0)))
        pipes.append(pipe)
    return [
        pytorch.DALIGenericIterator(
            pipe,
            ["x", "u"],
            reader_name="R",
            last_batch_policy=pytorch.LastBatchPolicy[policy],
            auto_reset=True,
        )
        for pipe in pipes
    ]


SEED = 11


def merged(parts: list[Any]) -> list[float]:
    """The draws of a batch of the job, in order. They are those of the samples."""
    lists = [part[0]["u"].flatten().tolist() for part in parts]
    longest = max(map(len, lists))
    assert longest - min(map(len, lists)) <= 1
    return [one[i] for i in range(longest) for one in lists if i < len(one)]


def epochs(ranks: list[Any], count: int) -> list[list[list[float]]]:
    return [[merged(list(parts)) for parts in zip(*ranks, strict=True)] for _ in range(count)]


@pytest.mark.parametrize("policy", ["FILL", "DROP", "PARTIAL"])
@pytest.mark.parametrize("pad", [True, False])
def test_last_batches(policy: str, pad: bool, root: Path) -> None:
    expected = epochs(iterators(root, 1, policy, pad), 4)
    sizes = [len(batch) for batch in expected[0]]
    last = {"FILL": [10], "DROP": [], "PARTIAL": [7]}[policy]
    assert sizes == [10] * 9 + last
    if policy == "PARTIAL" and pad:
        assert len({draw for batch in expected[0] for draw in batch}) == ITEMS
    for ranks in (2, 3, 8, 10):
        assert epochs(iterators(root, ranks, policy, pad), 4) == expected, ranks


@pytest.mark.parametrize("policy", ["FILL", "DROP", "PARTIAL"])
@pytest.mark.parametrize("pad", [True, False])
def test_iterators_resume(policy: str, pad: bool, root: Path) -> None:
    expected = sum(epochs(iterators(root, 1, policy, pad), 5), [])
    for seed in range(4):
        draw = random.Random(seed)
        found: list[list[float]] = []
        states = None
        while len(found) < len(expected):
            ranks = iterators(root, draw.choice((1, 2, 3, 7)), policy, pad, states)
            stop = min(len(found) + draw.randint(1, 14), len(expected))
            while len(found) < stop:
                for parts in zip(*ranks, strict=True):
                    found.append(merged(list(parts)))
                    if len(found) == stop:
                        break
            states = [rank.checkpoints()[0] for rank in ranks]
            assert len(set(states)) == 1
        assert found == expected


def test_several_pipelines(root: Path) -> None:
    """One iterator of several processes' pipelines: their parts must have the same size."""
    pytorch = pytest.importorskip("headrace.plugin.pytorch")

    def made(ranks: int) -> Any:
        pipes = [one._pipes[0] for one in iterators(root, ranks, "PARTIAL", True)]
        policy = pytorch.LastBatchPolicy.PARTIAL
        return pytorch.DALIGenericIterator(
            pipes, ["x", "u"], reader_name="R", last_batch_policy=policy, prepare_first_batch=False
        )

    one = next(iter(iterators(root, 1, "PARTIAL", True)[0]))
    made(5)
    with pytest.raises(AssertionError, match="same batch size"):
        made(3)
    assert len(merged([one])) == 10


def loaders(root: Path, ranks: int, drop_last: bool) -> list[Any]:
    torch = pytest.importorskip("headrace.torch")
    pipes = []
    for rank in range(ranks):
        pipe = Pipeline(None, 1, None, seed=SEED)
        with pipe:
            split = {"num_shards": ranks, "shard_id": rank, "global_batch": 10}
            data = jobs.files(root, random_shuffle=True, pad_last_batch=True, **split)
            pipe.set_outputs(fn.slice(data, [0], [4], axes=[0]), fn.random.uniform(range=(0.0, 1.0)))
        pipes.append(pipe)
    return [torch.Loader(pipe, drop_last=drop_last, even=False) for pipe in pipes]


def drawn(parts: Any) -> list[float]:
    return merged([[{"u": part[1]}] for part in parts])


@pytest.mark.parametrize("drop_last", [True, False])
def test_loaders(drop_last: bool, root: Path) -> None:
    def epoch(ranks: list[Any]) -> list[list[float]]:
        assert len({len(rank) for rank in ranks}) == 1 and len(ranks[0]) == 9 + (not drop_last)
        return [drawn(parts) for parts in zip(*ranks, strict=True)]

    one = loaders(root, 1, drop_last)
    expected = [epoch(one) for _ in range(3)]
    for count in (3, 7):
        ranks = loaders(root, count, drop_last)
        assert [epoch(ranks) for _ in range(2)] == expected[:2]
        for rank in ranks:
            rank.set_epoch(2)
        assert epoch(ranks) == expected[2]
    parts = zip(*ranks, strict=True)  # a new epoch, of which four batches are taken
    fourth = epoch(one)
    assert [drawn(next(parts)) for _ in range(4)] == fourth[:4]
    state = ranks[3].state_dict()
    others = loaders(root, 2, drop_last)
    for rank in others:
        rank.load_state_dict(state)
    assert [drawn(parts) for parts in zip(*others, strict=True)] == fourth[4:]


PROGRAM = """
import os, sys
from headrace import Pipeline, fn

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
begin = sys.argv[3] + ".0"
state = open(begin, "rb").read() if os.path.exists(begin) else None
pipe = Pipeline(None, 1, None, seed=4, enable_checkpointing=True, checkpoint=state)
with pipe:
    data, _ = fn.readers.file(
        file_root=sys.argv[1], random_shuffle=True, name="R",
        global_batch=12, num_shards=world, shard_id=rank)
    pipe.set_outputs(fn.random.uniform(range=(0.0, 1.0)), data)
for step in range(int(sys.argv[4])):
    draws, _ = pipe.run()
    print(*(f"{step} {i * world + rank} {float(draws.at(i))}\\n" for i in range(len(draws))), end="")
with open(f"{sys.argv[2]}.{rank}", "wb") as file:
    file.write(pipe.checkpoint())
"""


def test_torchrun(root: Path, tmp_path: Path) -> None:
    """Real processes, whose number changes."""
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def go(processes: int, state: Path, begin: Path, steps: int) -> list[str]:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", str(processes), str(program), str(root / "files")]
        done = subprocess.run(
            [*command, str(state), str(begin), str(steps)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        assert done.returncode == 0, done.stderr
        assert len({Path(f"{state}.{rank}").read_bytes() for rank in range(processes)}) == 1
        lines = sorted(line.split() for line in done.stdout.splitlines() if line.strip())
        return [draw for _, _, draw in sorted(lines, key=lambda line: (int(line[0]), int(line[1])))]

    expected = go(1, tmp_path / "whole", tmp_path / "none", 8)
    assert len(set(expected)) == 96
    assert go(3, tmp_path / "half", tmp_path / "none", 5) == expected[:60]
    assert go(2, tmp_path / "end", tmp_path / "half", 3) == expected[60:]
    assert (tmp_path / "end.0").read_bytes() == (tmp_path / "whole.0").read_bytes()
