# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A checkpoint taken after any batch continues with the next sample; wrong checkpoints are errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from photos import encoded, fill, resized, samples, take, training  # noqa: E402

from headrace import Pipeline, fn  # noqa: E402

READERS = [
    {},
    {"random_shuffle": True},
    {"random_shuffle": True, "num_shards": 4, "shard_id": 1},
    {"pad_last_batch": True, "num_shards": 5, "shard_id": 2},
    {"shuffle_after_epoch": True, "num_shards": 2, "shard_id": 1},
    {"random_shuffle": True, "stick_to_shard": True, "num_shards": 5, "shard_id": 4},
]


@pytest.mark.parametrize("reader", READERS, ids=lambda r: " ".join(r) or "plain")
def test_readers_go_on_at_any_batch(reader: dict[str, Any], photos_root: Path) -> None:
    def make(**options: Any) -> Pipeline:
        return training(photos_root, 24, enable_checkpointing=True, **reader, **options)

    whole = take(make(), 4 * 16)
    for after in (0, 1, 5, 6, 11):
        first = make(num_threads=1)
        take(first, 4 * after)
        state = first.checkpoint()
        second = make(checkpoint=state, num_threads=3, prefetch_queue_depth=4, fuse=False)
        assert second.checkpoint() == state
        assert take(second, 8) == whole[4 * after : 4 * after + 8]
        third = make(checkpoint=second.checkpoint())  # a checkpoint of a resumed pipeline
        assert take(third, 8) == whole[4 * after + 8 : 4 * after + 16]


@pytest.mark.parametrize("policy", ["raise", "replace", "skip"])
def test_after_errors(policy: str, tmp_path: Path) -> None:
    fill(tmp_path, classes=2, each=7)
    for name in ("class0/01.jpg", "class0/05.jpg", "class1/02.jpg"):
        (tmp_path / name).write_bytes(b"junk")

    def make(**options: Any) -> Pipeline:
        options.setdefault("num_threads", 2)
        return resized(
            tmp_path,
            batch_size=3,
            on_error=policy,
            enable_checkpointing=True,
            random_shuffle=True,
            **options,
        )

    def step(pipe: Pipeline) -> Any:
        try:
            return samples(pipe.run())
        except RuntimeError as error:
            return str(error)

    pipe = make()
    whole, states = [], [pipe.checkpoint()]
    for _ in range(12):
        whole.append(step(pipe))
        states.append(pipe.checkpoint())
    assert any(isinstance(result, str) for result in whole) == (policy == "raise")
    for after in range(0, 10):
        resumed = make(checkpoint=states[after], num_threads=1 + after % 3)
        assert [step(resumed), step(resumed)] == whole[after : after + 2]


@pytest.mark.parametrize("batch", [True, False])
def test_sources_go_on(batch: bool) -> None:
    def source(at: Any) -> Any:
        if batch:
            if at == 7:
                raise StopIteration
            return np.full((3, 2), at, np.int64)
        if at.iteration == 7:
            raise StopIteration
        return np.array([at.idx_in_epoch, at.iteration, at.epoch_idx], np.int64)

    def make(checkpoint: bytes | None = None, depth: int = 2) -> Pipeline:
        pipe = Pipeline(
            batch_size=3,
            num_threads=2,
            device_id=None,
            seed=3,
            enable_checkpointing=True,
            checkpoint=checkpoint,
            prefetch_queue_depth=depth,
        )
        with pipe:
            data = fn.external_source(source, batch=batch)
            pipe.set_outputs(data, fn.random.uniform(shape=[2]))
        return pipe

    def step(pipe: Pipeline) -> Any:
        try:
            return samples(pipe.run())
        except StopIteration:
            pipe.reset()
            return "end"

    pipe = make()
    whole, states = [], [pipe.checkpoint()]
    for _ in range(20):
        whole.append(step(pipe))
        states.append(pipe.checkpoint())
    assert whole.count("end") == 2
    for after in range(17):
        resumed = make(states[after], depth=1 + after % 3)
        assert [step(resumed) for _ in range(3)] == whole[after : after + 3], after


def test_edited_programs_go_on() -> None:
    """Moved lines change nothing; changed computations do."""

    def make(text: str, checkpoint: bytes | None = None) -> Pipeline:
        names: dict[str, Any] = {"fn": fn}
        exec(compile(text, "program.py", "exec"), names)
        options: dict[str, Any] = {"enable_checkpointing": True, "checkpoint": checkpoint}
        pipe = Pipeline(4, 1, None, seed=5, **options)
        with pipe:
            pipe.set_outputs(names["outputs"]())
        return pipe

    text = "def outputs():\n    return fn.random.uniform(range=[0, 1])\n"
    first = make(text)
    first.run()
    state = first.checkpoint()
    second = make("import math\n\n" + text, state)
    np.testing.assert_array_equal(second.run()[0].as_array(), first.run()[0].as_array())
    with pytest.raises(RuntimeError, match="different pipeline"):
        make(text.replace("1]", "2]"), state).build()


def test_iterators_go_on(photos_root: Path) -> None:
    torch = pytest.importorskip("torch")
    from headrace.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

    def make(checkpoint: bytes | None = None) -> Any:
        pipe = resized(
            photos_root,
            16,
            batch_size=5,
            random_shuffle=True,
            enable_checkpointing=True,
            checkpoint=checkpoint,
        )
        return DALIClassificationIterator(
            pipe, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
        )

    def epochs(loader: Any, count: int, states: list[Any] | None = None) -> list[Any]:
        taken = []
        for _ in range(count):
            for data in loader:
                taken.append((data[0]["data"].clone(), data[0]["label"].clone()))
                if states is not None:
                    states.append(loader.checkpoints())
        return taken

    states: list[Any] = []
    whole = epochs(make(), 3, states)
    assert [len(images) for images, _ in whole] == [5, 5, 5, 5, 4] * 3
    for after in (1, 3, 4, 5, 7, 10):
        taken = epochs(make(states[after - 1][0]), 2)
        for (images, labels), expected in zip(taken[:5], whole[after:], strict=False):
            assert torch.equal(images, expected[0]) and torch.equal(labels, expected[1])


def changed(checkpoint: bytes, section: str, **changes: Any) -> bytes:
    document = json.loads(checkpoint)
    return json.dumps({**document, section: {**document[section], **changes}}).encode()


def test_resuming_takes_the_same_time_anywhere(photos_root: Path) -> None:
    """A pipeline that counted up to its position would hang."""
    pipe = resized(photos_root, enable_checkpointing=True, random_shuffle=True)
    pipe.run()
    far = {"iteration": 10**12, "sample": 4 * 10**12, "positions": [4 * 10**12]}
    checkpoint = changed(pipe.checkpoint(), "engine", **far)
    later = resized(
        photos_root, enable_checkpointing=True, random_shuffle=True, checkpoint=checkpoint
    )
    later.run()
    assert later.checkpoint() != checkpoint


# ---- invalid checkpoints ----


def test_hostile_checkpoints(photos_root: Path) -> None:
    pipe = resized(photos_root, enable_checkpointing=True)
    pipe.run()
    good = pipe.checkpoint()

    def document(**changes: Any) -> bytes:
        return json.dumps({**json.loads(good), **changes}).encode()

    def inner(**changes: Any) -> bytes:
        return changed(good, "engine", **changes)

    def outer(**changes: Any) -> bytes:
        return changed(good, "pipeline", **changes)

    deep = b"[" * 100_000
    hostile: list[Any] = [b"", b"x", good[:3], good[:20], good + b"x", good + b"\0", "", "text"]
    hostile += [good[:cut] for cut in range(1, len(good), 7)]
    hostile += [inner(iteration=2**63 - 1), inner(sample=2**63 - 1), inner(iteration=-1)]
    hostile += [inner(positions=value) for value in ([], [1, 2], [1.5], [-1], [2**63 - 1], None)]
    hostile += [inner(graph=1), inner(seed=3), inner(iteration="1")]
    hostile += [document(headrace_checkpoint=value) for value in (1, 2, 4, 9, -3, "3", None)]
    hostile += [document(engine=value) for value in ([], None, "", 3, {})]
    hostile += [document(pipeline=value) for value in ([], None, "", 3, {}, {"iter": 0})]
    hostile += [document(iterator=value) for value in ([], "", 3)]
    hostile += [outer(iter=value) for value in (-5, "x", None, 10**30, 1.5, [], float("nan"))]
    hostile += [outer(epoch_idx=value) for value in (-1, "0", {}, True, 2**63)]
    framed = b"HRIT\x01" + len(deep).to_bytes(4, "little") + deep
    hostile += [b"HRIT\x01\xff\xff\xff\xff", b"HRIT\x01", b"HRIT\x01\2\0\0\0{}", framed, deep]
    hostile += ["\udcff", 5, object(), [], 1.5]
    for checkpoint in hostile:
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            resized(photos_root, enable_checkpointing=True, checkpoint=checkpoint).build()
    for checkpoint in (good, bytearray(good), memoryview(good)):
        resized(photos_root, enable_checkpointing=True, checkpoint=checkpoint).run()


def test_random_bytes(photos_root: Path) -> None:
    pipe = resized(photos_root, enable_checkpointing=True)
    pipe.run()
    good = pipe.checkpoint()
    rng = np.random.default_rng(1)
    accepted = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            resized(photos_root, enable_checkpointing=True, checkpoint=bytes(data)).run()
            accepted += 1  # another position, or another version's name
        except (ValueError, RuntimeError):
            pass
    assert accepted < 150


def test_checkpoints_of_other_pipelines(photos_root: Path, tmp_path: Path) -> None:
    state = resized(photos_root, enable_checkpointing=True).checkpoint()
    other = {"size": 48}, {"seed": 8}, {"random_shuffle": True}
    for change in other:
        with pytest.raises(RuntimeError, match="checkpoint"):
            resized(photos_root, enable_checkpointing=True, checkpoint=state, **change).build()
    resized(photos_root, checkpoint=state, num_threads=3, fuse=False).build()  # the same samples
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.jpg").write_bytes(encoded(1))
    with pytest.raises(RuntimeError, match="checkpoint"):
        resized(tmp_path, enable_checkpointing=True, checkpoint=state).build()
    with pytest.raises(RuntimeError, match="enable_checkpointing"):
        resized(photos_root).checkpoint()


def test_files_that_came_or_went(tmp_path: Path) -> None:
    """The order depends on the number of files, so the checkpoint of another list is refused."""
    fill(tmp_path, classes=1, each=8)
    pipe = resized(tmp_path, enable_checkpointing=True, random_shuffle=True)
    pipe.run()
    state = pipe.checkpoint()
    (tmp_path / "class0" / "07.jpg").unlink()
    with pytest.raises(RuntimeError, match=r"readers\.file .*checkpoint .*8 items.*7"):
        resized(tmp_path, enable_checkpointing=True, random_shuffle=True, checkpoint=state).build()
