# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Dynamic mode: states of readers and generators, checkpoints, and calls of readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfrecords import example, write

import headrace.experimental.dynamic as ndd
from headrace import tfrecord


@pytest.fixture(name="files")
def make_files(tmp_path: Path) -> Path:
    for i in range(5):
        folder = tmp_path / "data" / str(i)
        folder.mkdir(parents=True)
        (folder / "sample.jpg").write_bytes(bytes([i + 1]))
    return tmp_path / "data"


def reader(files: Path, **args: Any) -> Any:
    return ndd.readers.File(file_root=str(files), **args)


def labels(epoch: Any) -> list[int]:
    return [label.item() for _, label in epoch]


def test_calls_of_readers_go_on_from_epoch_to_epoch(files: Path) -> None:
    single = reader(files)
    assert [single()[1].item() for _ in range(7)] == [0, 1, 2, 3, 4, 0, 1]
    assert isinstance(single()[0], ndd.Tensor)
    _, batch = reader(files)(batch_size=3)
    assert isinstance(batch, ndd.Batch)
    assert [label.item() for label in batch.tensors] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="Cannot mix"):
        single.next_epoch()


def test_a_reader_with_one_output_gives_it_without_a_tuple(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    found = ndd.readers.Numpy(file_root=str(tmp_path), file_filter="*.npy")()
    np.testing.assert_array_equal(np.asarray(found), np.arange(3))
    ((found,),) = ndd.readers.Numpy(file_root=str(tmp_path), file_filter="*.npy").next_epoch()
    np.testing.assert_array_equal(np.asarray(found), np.arange(3))


def test_outputs_with_names_are_dictionaries(tmp_path: Path) -> None:
    data = write(tmp_path, [example({"label": [i]}) for i in range(3)])
    features = {"label": tfrecord.FixedLenFeature([1], tfrecord.int64, 0)}
    make = lambda: ndd.readers.TFRecord(**data, features=features)  # noqa: E731
    assert [item["label"].item() for item in make().next_epoch()] == [0, 1, 2]
    assert make()()["label"].item() == 0
    (batch,) = make().next_epoch(batch_size=3)
    assert [label.item() for label in batch["label"].tensors] == [0, 1, 2]


@pytest.mark.parametrize(
    "form", [lambda s: s, str, lambda s: str(s).encode()], ids=["state", "text", "bytes"]
)
def test_a_reader_continues_from_all_forms_of_its_state(files: Path, form: Any) -> None:
    first = reader(files, enable_checkpointing=True)
    epoch = first.next_epoch()
    next(epoch)
    state = first.get_state()
    second = reader(files)
    second.set_state(form(state))
    assert labels(second.next_epoch())[:4] == labels(epoch) == [1, 2, 3, 4]
    assert state == str(state) and hash(state) == hash(str(state))
    with pytest.raises(RuntimeError, match="after iteration has begun"):
        second.set_state(state)


def test_states_that_are_refused(files: Path) -> None:
    ours = reader(files)
    with pytest.raises(RuntimeError, match="before its first iteration"):
        ours.get_state()
    with pytest.raises(TypeError, match="ReaderState"):
        ours.set_state(42)
    for text in ("", "not base64", "e30=", "W10=", "MQ=="):
        with pytest.raises(ValueError, match="not the state"):
            ours.set_state(text)


def test_the_state_of_a_generator() -> None:
    rng = ndd.random.RNG(3)
    state = rng.state
    numbers = [rng() for _ in range(3)]
    rng.state = state
    assert [rng() for _ in range(3)] == numbers


def test_a_checkpoint_resumes_readers_and_generators(files: Path, tmp_path: Path) -> None:
    pattern = str(tmp_path / "[a-z]" / "state_{seq:03d}.json")

    def make() -> tuple[Any, Any, Any]:
        return reader(files), ndd.random.RNG(8), ndd.checkpoint.Checkpoint()

    ours, rng, checkpoint = make()
    assert checkpoint.register(rng) == "__op_0" == checkpoint.register(rng)
    assert checkpoint.register(ours, "data") == "data"
    assert checkpoint.names == ("__op_0", "data") and len(checkpoint) == 2 and "data" in checkpoint
    epoch = ours.next_epoch()
    next(epoch)
    checkpoint.collect()
    assert checkpoint.is_complete and not checkpoint.is_loaded
    names = [Path(checkpoint.save(pattern)).name for _ in range(2)]
    assert names == ["state_000.json", "state_001.json"]
    then = labels(epoch), rng()
    ours, rng, checkpoint = make()
    assert Path(checkpoint.load(pattern)).name == names[1]
    assert checkpoint.is_loaded and not checkpoint.is_complete
    checkpoint.register(rng)
    checkpoint.register(ours, "data")
    assert (labels(ours.next_epoch())[:4], rng()) == then
    checkpoint.collect()
    assert Path(checkpoint.save(pattern)).name == "state_002.json"


def test_restore_gives_states_to_what_was_registered_before() -> None:
    rng, state = ndd.random.RNG(8), ndd.random.RNG(9).state
    checkpoint = ndd.checkpoint.Checkpoint()
    checkpoint.register(rng, "rng")
    checkpoint.restore()
    assert checkpoint.get_state("rng") is None
    checkpoint.set_state("rng", state, op_type=ndd.random.RNG)
    assert rng.state != state
    checkpoint.restore()
    assert rng.state == state
    checkpoint.clear()
    assert len(checkpoint) == 0


def test_what_a_checkpoint_refuses(files: Path, tmp_path: Path) -> None:
    rng, ours, checkpoint = ndd.random.RNG(8), reader(files), ndd.checkpoint.Checkpoint()
    with pytest.raises(RuntimeError, match="empty"):
        checkpoint.serialize()
    with pytest.raises(FileNotFoundError):
        checkpoint.load(str(tmp_path / "{seq}"))
    for name in ("", "__op_3"):
        with pytest.raises(ValueError, match="A name must not"):
            checkpoint.register(rng, name)
    checkpoint.register(rng, "rng")
    with pytest.raises(RuntimeError, match="registered as 'rng'"):
        checkpoint.register(rng, "other")
    with pytest.raises(TypeError, match="'RNG' with one of type 'File'"):
        checkpoint.register(ours, "rng")
    with pytest.raises(TypeError, match="op_type"):
        checkpoint.set_state("x", "state", op_type=1)
    checkpoint.set_state("x", rng.state, op_type=ndd.random.RNG)
    with pytest.raises(TypeError, match="Type mismatch"):
        checkpoint.register(ours, "x")
    with pytest.raises(RuntimeError, match="incomplete"):
        checkpoint.restore()
    checkpoint = ndd.checkpoint.Checkpoint()
    checkpoint.register(rng)
    with pytest.raises(KeyError, match="no-such"):
        checkpoint.get_state("no-such")
    checkpoint.collect()
    with pytest.raises(ValueError, match="seq"):
        checkpoint.save(str(tmp_path / "state"))
    with pytest.raises(RuntimeError, match="completed"):
        checkpoint.register(ours)
    with pytest.raises(KeyError, match="no-such"):
        checkpoint.set_state("no-such", "state")
    loaded = ndd.checkpoint.Checkpoint()
    loaded.deserialize(checkpoint.serialize())
    loaded.register(ndd.random.RNG(1))
    with pytest.raises(KeyError, match="has no state"):
        loaded.register(ndd.random.RNG(2))
    for read, message in (
        ("no JSON", "not a checkpoint"),
        ({}, "not a checkpoint"),
        ({"version": 1, "states": {}}, "version"),
        ({"version": 2, "states": {"a": "text"}}, "Invalid checkpoint entry"),
        ({"version": 2, "states": {"a": {"state": "x", "type": 4}}}, "Invalid `type`"),
    ):
        with pytest.raises(ValueError, match=message):
            loaded.deserialize(read if isinstance(read, str) else json.dumps(read))


def test_a_state_that_fails_stays_to_be_given() -> None:
    class Refuses:
        def set_state(self, state: Any) -> None:
            raise OSError(state)

    checkpoint = ndd.checkpoint.Checkpoint()
    checkpoint.set_state("a", "text")
    for _ in range(2):
        with pytest.raises(OSError, match="text"):
            checkpoint.register(Refuses(), "a")


def test_the_checkpoint_of_the_context() -> None:
    with ndd.EvalContext() as context:
        assert ndd.checkpoint.current() is context.checkpoint
        assert isinstance(context.checkpoint, ndd.checkpoint.Checkpoint)
    assert ndd.checkpoint.current() is not context.checkpoint
