# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators: the tables of last batches, comparison with live DALI, tensors without a copy."""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import headrace  # noqa: E402
from headrace.plugin.pytorch import (  # noqa: E402
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
    feed_ndarray,
    to_torch_type,
)

POLICIES = ("FILL", "DROP", "PARTIAL")
DEPTH = 2


@pytest.fixture(params=[2, 1], ids=lambda depth: f"depth{depth}", autouse=True)
def depth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """`prefetch_queue_depth` of the pipelines of each test."""
    monkeypatch.setattr(sys.modules[__name__], "DEPTH", request.param)
    return int(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files 01 .. 15 with one byte each: their number."""
    path = tmp_path_factory.mktemp("numbers")
    for i in range(1, 16):
        (path / f"{i:02}").write_bytes(bytes([i]))
    return path


def reader(dali: Any, folder: Path, count: int, batch: int, **kwargs: Any) -> Any:
    """A pipeline whose samples are the numbers 1 .. count."""
    options = {k: kwargs.pop(k) for k in list(kwargs) if k in ("on_error", "seed")}
    options["prefetch_queue_depth"] = DEPTH
    pipe = dali.Pipeline(batch_size=batch, num_threads=1, device_id=None, **options)
    with pipe:
        files = [str(folder / f"{i:02}") for i in range(1, count + 1)]
        data, _ = dali.fn.readers.file(files=files, name="R", **kwargs)
        pipe.set_outputs(data)
    return pipe


def numbers(batch: list[dict[str, Any]]) -> list[list[int]]:
    return [entry["x"].flatten().tolist() for entry in batch]


def run_epochs(iterator: Any, epochs: int, auto: bool = True) -> tuple[list[int], list[Any]]:
    lengths, result = [], []
    for _ in range(epochs):
        lengths.append(len(iterator))
        result.append([numbers(batch) for batch in itertools.islice(iterator, 50)])
        if not auto:
            iterator.reset()
    return lengths, result


def compact(epoch: list[list[list[int]]]) -> str:
    """Batches in the notation of the tables: "12/45 3/67"."""
    return " ".join("/".join("".join(map(str, part)) for part in batch) for batch in epoch)


ONE_SHARD = [
    ("FILL", True, 4, "12 34 56 77", "12 34 56 77"),
    ("FILL", False, 4, "12 34 56 71", "23 45 67"),
    ("PARTIAL", True, 4, "12 34 56 7", "12 34 56 7"),
    ("PARTIAL", False, 4, "12 34 56 7", "23 45 67 1"),
    ("DROP", True, 3, "12 34 56", "12 34 56"),
    ("DROP", False, 3, "12 34 56", "23 45 67"),
]

TWO_SHARDS = [
    ("FILL", True, "12/45 33/67", "45/12 67/33", "12/45 33/67"),
    ("FILL", False, "12/45 34/67", "56/12 71/34", "23/56 45/71"),
    ("PARTIAL", True, "12/45 3/67", "45/12 67/3", "12/45 3/67"),
    ("PARTIAL", False, "12/45 3/67", "56/12 71/3", "23/56 4/71"),
    ("DROP", True, "12/45", "45/12", "12/45"),
    ("DROP", False, "12/45", "56/12", "23/56"),
]


@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("policy, padded, length, first, second", ONE_SHARD)
def test_one_shard(
    folder: Path, policy: str, padded: bool, length: int, first: str, second: str, auto: bool
) -> None:
    pipe = reader(headrace, folder, 7, 2, pad_last_batch=padded)
    iterator = DALIGenericIterator(
        pipe,
        ["x"],
        reader_name="R",
        last_batch_policy=LastBatchPolicy[policy],
        auto_reset=auto,
    )
    lengths, epochs = run_epochs(iterator, 2, auto)
    assert lengths[0] == length
    assert [compact(epoch) for epoch in epochs] == [first, second]


@pytest.mark.parametrize("policy, padded, first, second, third", TWO_SHARDS)
def test_two_shards(
    folder: Path, policy: str, padded: bool, first: str, second: str, third: str
) -> None:
    pipes = [
        reader(headrace, folder, 7, 2, pad_last_batch=padded, shard_id=s, num_shards=2)
        for s in range(2)
    ]
    iterator = DALIGenericIterator(
        pipes, ["x"], reader_name="R", last_batch_policy=LastBatchPolicy[policy], auto_reset="yes"
    )
    _, epochs = run_epochs(iterator, 3)
    assert [compact(epoch) for epoch in epochs] == [first, second, third]


def test_stick_to_shard(folder: Path) -> None:
    pipe = reader(headrace, folder, 7, 2, shard_id=0, num_shards=2, stick_to_shard=True)
    iterator = DALIGenericIterator(
        pipe, ["x"], reader_name="R", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
    )
    _, epochs = run_epochs(iterator, 2)
    assert [compact(epoch) for epoch in epochs] == ["12 3", "23 1"]


@pytest.mark.live_dali
def test_like_dali(folder: Path) -> None:
    """A sample of a grid of options, over four epochs each, against DALI's iterator over DALI."""
    import nvidia.dali as dali
    import nvidia.dali.plugin.pytorch as theirs

    grid = list(
        itertools.product(
            (3, 5, 7, 9, 10), (1, 2, 3), (1, 2, 3, 4), POLICIES, (False, True), (False, True)
        )
    )
    for count, shards, batch, policy, pad, stick in random.Random(3).sample(grid, 60):
        results = []
        for module, plugin in ((dali, theirs), (headrace, headrace.plugin.pytorch)):
            pipes = [
                reader(module, folder, count, batch, pad_last_batch=pad, stick_to_shard=stick,
                       shard_id=s, num_shards=shards)
                for s in range(shards)
            ]  # fmt: skip
            try:
                iterator = plugin.DALIGenericIterator(
                    pipes,
                    ["x"],
                    reader_name="R",
                    last_batch_policy=plugin.LastBatchPolicy[policy],
                    auto_reset=True,
                )
                results.append(run_epochs(iterator, 4))
            except RuntimeError:  # no data: DROP, with shards smaller than a batch
                results.append("RuntimeError")
        assert results[0] == results[1], (count, shards, batch, policy, pad, stick)


def counting(stop: int | None = None, batch: int = 2, vary: bool = False, **kwargs: Any) -> Any:
    """An external source: batch i contains 2 i and 2 i + 1."""

    def source(i: int) -> np.ndarray:
        if stop is not None and i >= stop:
            raise StopIteration
        size = 1 + i % 2 if vary else 2
        return np.arange(2 * i, 2 * i + size, dtype=np.int32).reshape(-1, 1)

    kwargs.setdefault("prefetch_queue_depth", DEPTH)
    pipe = headrace.Pipeline(batch_size=batch, num_threads=1, device_id=None, **kwargs)
    with pipe:
        pipe.set_outputs(headrace.fn.external_source(source))
    return pipe


SIZED = [  # pipelines, size, policy, padded, length, epochs: as in DALI 2.4
    (1, 3, "FILL", False, 2, ["01 23", "45", "67 89"]),
    (1, 3, "FILL", True, 2, ["01 23", "45 67", "89 1011"]),
    (1, 3, "DROP", False, 1, ["01", "45", "89"]),
    (1, 3, "PARTIAL", False, 2, ["01 2", "45 6", "89 10"]),
    (1, 4, "PARTIAL", True, 2, ["01 23", "45 67", "89 1011"]),
    (2, 5, "FILL", False, 2, ["01/01 23/23", "45/45", "67/67"]),
    (2, 5, "DROP", False, 1, ["01/01", "45/45", "89/89"]),
    (2, 5, "PARTIAL", False, 2, ["01/01 2", "45/45 6", "89/89 10"]),
    (2, 7, "PARTIAL", False, 2, ["01/01 23/2", "45/45 67/6", "89/89 1011/10"]),
]


@pytest.mark.filterwarnings("ignore:Please set")
@pytest.mark.parametrize("pipes, size, policy, padded, length, expected", SIZED)
def test_size(
    pipes: int, size: int, policy: str, padded: bool, length: int, expected: list[str]
) -> None:
    iterator = DALIGenericIterator(
        [counting() for _ in range(pipes)],
        ["x"],
        size=size,
        last_batch_policy=LastBatchPolicy[policy],
        last_batch_padded=padded,
        auto_reset=True,
    )
    assert len(iterator) == length
    _, epochs = run_epochs(iterator, 3)
    assert [compact(epoch) for epoch in epochs] == expected


@pytest.mark.parametrize("auto", [True, False])
def test_until_stop_iteration(auto: bool) -> None:
    iterator = DALIGenericIterator(counting(3), ["x"], auto_reset=auto)
    assert len(iterator) == 0
    for _ in range(3):
        assert compact([numbers(batch) for batch in iterator]) == "01 23 45"
        if not auto:
            with pytest.raises(StopIteration):
                next(iterator)
            iterator.reset()


class Endless:
    """Raises StopIteration once per epoch of 12, as the iterators of many scripts do."""

    def __iter__(self) -> Endless:
        self.at = 0
        return self

    def __next__(self) -> list[np.ndarray]:
        if self.at >= 12:
            self.at = 0
            raise StopIteration
        self.at += 4
        return [np.array([i], np.int32) for i in range(self.at - 4, self.at)]


@pytest.mark.filterwarnings("ignore:Please set")
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("cycle", [None, False, "raise", "quiet"])
@pytest.mark.parametrize(
    "package", ["headrace", pytest.param("nvidia.dali", marks=pytest.mark.live_dali)]
)
def test_sources_that_end_with_the_epoch(package: str, cycle: Any, auto: bool) -> None:
    """No epoch is empty, whether it ends by its size or by the source."""
    dali = pytest.importorskip(package)
    plugin = pytest.importorskip(f"{package}.plugin.pytorch")
    pipe = dali.Pipeline(4, 1, None, prefetch_queue_depth=DEPTH)
    with pipe:
        source = Endless().__iter__().__next__ if cycle is None else Endless()
        pipe.set_outputs(dali.fn.external_source(source, cycle=cycle))
    iterator = plugin.DALIGenericIterator(pipe, ["x"], size=12, auto_reset=auto)
    for _ in range(5):
        assert [b[0]["x"].flatten().tolist() for b in iterator] == [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
            [8, 9, 10, 11],
        ]
        if not auto:
            iterator.reset()


@pytest.mark.filterwarnings("ignore:Please set")
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("size", [6, -1])
def test_a_break_on_the_last_batch(size: int, auto: bool) -> None:
    """The next loop is the next epoch, in the same process or resumed from a checkpoint."""

    def make(checkpoint: bytes | None = None) -> Any:
        pipe = counting(3, enable_checkpointing=True, checkpoint=checkpoint)
        return DALIGenericIterator(pipe, ["x"], size=size, auto_reset=auto)

    for stop, rest in ((1, "23 45"), (2, "45"), (3, "01 23 45")):
        iterator = make()
        first = []
        for batch in iterator:
            first.append(numbers(batch))
            if len(first) == stop:
                break
        resumed = make(iterator.checkpoints()[0])
        for other in (iterator, resumed):
            assert compact([numbers(batch) for batch in other]) == rest
            assert compact([numbers(batch) for batch in other]) == "01 23 45"


@pytest.mark.filterwarnings("ignore:Please set")
def test_leaving_an_epoch_early_warns(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    sized = DALIGenericIterator(counting(), ["x"], size=6)
    read = DALIGenericIterator(reader(headrace, folder, 6, 2), ["x"], reader_name="R")
    for iterator in (sized, read):
        for _ in range(2):  # whole epochs, carried samples or not
            assert len(list(iterator)) == 3
        iterator = iter(iterator)
        assert caplog.text == ""
        next(iterator)
        assert len(list(iterator)) == 2
        assert "stopped after 2 of 6 samples" in caplog.text
        caplog.clear()


def test_variable_batches() -> None:
    iterator = DALIGenericIterator(counting(3, vary=True), ["x"])
    assert compact([numbers(batch) for batch in iterator]) == "0 23 4"
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="Variable batch size"):
        list(DALIGenericIterator(counting(9, vary=True), ["x"], size=6))


def test_reset_in_mid_epoch_is_ignored(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    iterator = DALIGenericIterator(reader(headrace, folder, 6, 2), ["x"], reader_name="R")
    first = next(iterator)
    iterator.reset()
    assert "ignored" in caplog.text
    assert compact([numbers(first), *map(numbers, iterator)]) == "12 34 56"


def test_errors(folder: Path) -> None:
    def make(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return DALIGenericIterator(*args, **kwargs)

    pipe = counting()
    with pytest.raises(AssertionError, match="Size cannot be 0"):
        make(pipe, ["x"], size=0)
    with pytest.raises(AssertionError, match="distinct"):
        make(pipe, ["x", "x"], size=4)
    with pytest.raises(KeyError):
        make(pipe, ["x", "y"], size=4)
    with pytest.raises(AssertionError, match="same batch size"):
        make([counting(), counting(batch=3)], ["x"], size=4)
    with pytest.raises(AssertionError, match="single pipeline"):
        make([counting(), counting()], ["x"])
    with pytest.raises(ValueError, match="last_batch_policy"):
        make(pipe, ["x"], size=4, last_batch_policy="FILL")
    with pytest.raises(ValueError, match="auto_reset"):
        make(pipe, ["x"], size=4, auto_reset="maybe")
    with pytest.raises(RuntimeError, match="Q"):
        make(reader(headrace, folder, 6, 2), ["x"], reader_name="Q")
    with pytest.raises(AssertionError, match="size should not be set"):
        make(reader(headrace, folder, 6, 2), ["x"], reader_name="R", size=4)
    with pytest.raises(AssertionError, match="last_batch_padded"):
        make(reader(headrace, folder, 6, 2), ["x"], reader_name="R", last_batch_padded=True)
    with pytest.raises(ValueError, match="enable_checkpointing"):
        make([counting(), counting(enable_checkpointing=True)], ["x"], size=4)
    with pytest.raises(ValueError, match="checkpointing disabled"):
        make(counting(), ["x"], size=4).checkpoints()
    with pytest.raises(RuntimeError, match="no data"):
        make(counting(0), ["x"])
    assert list(make(counting(0), ["x"], prepare_first_batch=False)) == []


# ---- tensors -------------------------------------------------------------------------------------


def constant_source(make: Any, batch: int = 3, **kwargs: Any) -> Any:
    pipe = headrace.Pipeline(batch_size=batch, num_threads=1, device_id=None, **kwargs)
    with pipe:
        pipe.set_outputs(*headrace.fn.external_source(make, num_outputs=2))
    return pipe


def noise(folder: Path, batch: int = 2) -> Any:
    pipe = headrace.Pipeline(batch_size=batch, num_threads=1, device_id=None, seed=3)
    with pipe:
        data, _ = headrace.fn.readers.file(files=[str(folder / "01")] * 6, name="R")
        pipe.set_outputs(headrace.fn.random.uniform(range=(0.0, 1.0), shape=[5]), data)
    return pipe


def test_no_copy(folder: Path) -> None:
    pipe = noise(folder)
    seen = []
    run = pipe.run
    pipe.run = lambda: seen.append(run()) or seen[-1]
    iterator = DALIGenericIterator(pipe, ["x", "data"], reader_name="R")
    for batch, outputs in zip(iterator, seen):
        assert batch[0]["x"].data_ptr() == outputs[0].as_tensor().data_ptr()
    assert len(seen) == 3


def test_tensors_outlive_the_pipeline(folder: Path) -> None:
    iterator = DALIGenericIterator(noise(folder), ["x", "data"], reader_name="R")
    tensors = [batch[0]["x"] for batch in iterator]
    copies = [tensor.clone() for tensor in tensors]
    del iterator
    gc.collect()
    DALIGenericIterator(noise(folder), ["x", "data"], reader_name="R")  # reuses free memory
    assert len({tensor.data_ptr() for tensor in tensors}) == 3
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(tensors, copies))
    assert len(torch.cat(tensors).unique()) == 30


def test_types() -> None:
    for dali_type, torch_type in to_torch_type.items():
        data = np.ones((2, 3), headrace.types.to_numpy_type(dali_type))

        pipe = constant_source(itertools.repeat((data, data)), 2)
        iterator = DALIGenericIterator(pipe, ["a", "b"])
        tensor = next(iterator)[0]["a"]
        assert tensor.dtype == torch_type and tensor.shape == (2, 3)
        assert tensor.numpy().sum() == 6


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sized", [False, True])
def test_batches_without_decisions_are_the_same(folder: Path, policy: str, sized: bool) -> None:
    """Most batches are returned without checking for the end of the epoch; the result must be the same."""
    found = []
    for plain in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            iterator = DALIGenericIterator(
                reader(headrace, folder, 15, 4, random_shuffle=True, seed=3),
                ["x"],
                last_batch_policy=LastBatchPolicy[policy],
                auto_reset=True,
                **({"size": 11} if sized else {"reader_name": "R"}),
            )
        if not plain:
            iterator._make_taker = lambda left, last: None
        found.append(run_epochs(iterator, 3))
        numbers(next(iterator))
        assert (iterator._taker is not None) is plain
        iterator._settle()
        found.append([iterator._pipes[0]._epoch.taken, iterator._epochs.taken])
    assert found[:2] == found[2:]


def test_outputs_that_are_no_tensor_yet(folder: Path) -> None:
    """A reader returns the memory of its files: its samples are not adjacent, and are copied into one tensor."""
    iterator = DALIGenericIterator(reader(headrace, folder, 6, 2), ["x"], size=-1)
    assert list(map(numbers, itertools.islice(iterator, 4))) == [
        [[1, 2]], [[3, 4]], [[5, 6]], [[1, 2]]
    ]  # fmt: skip
    assert iterator._taker.left > 9


def ragged(_: int) -> tuple[list[np.ndarray], np.ndarray]:
    return (
        [np.arange(1, 1 + k, dtype=np.int32) for k in (1, 3, 2)],
        np.arange(6, dtype=np.float32).reshape(3, 2),
    )


def test_ragged_batches() -> None:
    with pytest.raises(RuntimeError, match="shape"):
        next(DALIGenericIterator(constant_source(ragged), ["a", "b"]))
    tags = [DALIRaggedIterator.SPARSE_LIST_TAG, DALIRaggedIterator.DENSE_TAG]
    (out,) = next(DALIRaggedIterator(constant_source(ragged), ["a", "b"], output_types=tags))
    assert [t.tolist() for t in out["a"]] == [[1], [1, 2, 3], [1, 2]]
    assert out["b"].tolist() == [[0, 1], [2, 3], [4, 5]]
    tags = [DALIRaggedIterator.SPARSE_COO_TAG, DALIRaggedIterator.DENSE_TAG]
    (out,) = next(DALIRaggedIterator(constant_source(ragged), ["a", "b"], output_types=tags))
    assert out["a"].to_dense().tolist() == [[1, 0, 0], [1, 2, 3], [1, 2, 0]]
    with pytest.raises(AssertionError, match="TAG"):
        DALIRaggedIterator(constant_source(ragged), ["a", "b"], output_types=["dense", "foo"])


def test_feed_ndarray() -> None:
    _, dense = constant_source(ragged).run()
    target = torch.zeros(3, 2)
    assert feed_ndarray(dense, target) is target
    assert target.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert feed_ndarray(dense[1], torch.zeros(2)).tolist() == [2, 3]
    with pytest.raises(AssertionError, match="Shapes"):
        feed_ndarray(dense, torch.zeros(2, 2))
    with pytest.raises(AssertionError, match="element type"):
        feed_ndarray(dense, torch.zeros(3, 2, dtype=torch.int32))


def test_classification_names() -> None:
    (out,) = next(DALIClassificationIterator(constant_source(ragged_pair)))
    assert sorted(out) == ["data", "label"]


def ragged_pair(_: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((3, 2), np.uint8), np.zeros((3, 1), np.int32)


@pytest.mark.timing
def test_python_time_of_a_batch(folder: Path) -> None:
    """The best of several rounds, because other processes must not affect the measurement."""
    pipe = noise(folder)
    iterator = DALIGenericIterator(pipe, ["x", "file"], reader_name="R", auto_reset=True)
    best = float("inf")
    for _ in range(100):
        time.sleep(0.01)  # the queue fills
        for _ in range(2):  # the second call does not include waking up the processor
            start = time.thread_time()
            next(iterator, None)
            best = min(best, time.thread_time() - start)
    assert best < 100e-6


# ---- bad files and other processes ---------------------------------------------------------------


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """12 small pictures of one grey value each (10 i); numbers 3, 4, 5 and 11 are broken."""
    image = pytest.importorskip("PIL.Image")
    path = tmp_path_factory.mktemp("pictures")
    files = []
    for i in range(12):
        files.append(str(path / f"{i:02}.png"))
        if i in (3, 4, 5, 11):
            Path(files[-1]).write_bytes(b"no picture")
        else:
            image.new("RGB", (4, 4), (10 * i, 10 * i, 10 * i)).save(files[-1])
    return files


def decoded(
    files: list[str], batch: int, on_error: str, state: bytes | None = None, **kwargs: Any
) -> Any:
    pipe = headrace.Pipeline(
        batch, 2, None, seed=1, on_error=on_error, enable_checkpointing=True, checkpoint=state
    )
    with pipe:
        data, labels = headrace.fn.readers.file(files=files, name="R", **kwargs)
        pipe.set_outputs(headrace.fn.decoders.image(data), labels)
    return pipe


@pytest.mark.parametrize("batch", [2, 3, 4, 5, 12])
@pytest.mark.parametrize("padded", [False, True])
def test_skipped_files_do_not_move_the_epoch(pictures: list[str], batch: int, padded: bool) -> None:
    good = [i for i in range(12) if i not in (3, 4, 5, 11)]
    pipe = decoded(pictures, batch, "skip", pad_last_batch=padded)
    iterator = DALIClassificationIterator(
        pipe, reader_name="R", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
    )
    for _ in range(3):
        epoch = [label for (b,) in iterator for label in b["label"].flatten().tolist()]
        assert sorted(epoch) == good
        if padded or 12 % batch == 0:
            assert epoch == good


def test_skipped_files_with_data_in_step(pictures: list[str]) -> None:
    pipe = decoded(pictures, 4, "skip")
    for (batch,) in DALIClassificationIterator(pipe, reader_name="R"):
        assert batch["data"][:, 0, 0, 0].tolist() == (10 * batch["label"].flatten()).tolist()


def test_checkpoint_after_an_epoch_that_ended_in_skipped_batches(pictures: list[str]) -> None:
    """Of 0 .. 5 the last three are bad: with batches of 2, the last one is skipped as a whole."""

    def loader(state: bytes | None) -> DALIClassificationIterator:
        pipe = decoded(pictures[:6], 2, "skip", state)
        return DALIClassificationIterator(pipe, reader_name="R", auto_reset=True)

    def epoch(iterator: Any) -> list[list[int]]:
        return [batch["label"].flatten().tolist() for (batch,) in iterator]

    first = loader(None)
    assert epoch(first) == [[0, 1], [2]]
    (state,) = first.checkpoints()
    assert epoch(first) == [[0, 1], [2]]
    assert epoch(loader(state)) == [[0, 1], [2]]


def test_failed_batches_count(pictures: list[str]) -> None:
    """After an error the next call returns the next batch, and the epoch ends at the expected batch."""
    pipes = [decoded(pictures, 2, "raise", shard_id=s, num_shards=2) for s in range(2)]
    iterator = DALIClassificationIterator(pipes, reader_name="R", auto_reset=True)
    for _ in range(2):
        found: list[Any] = []
        while True:
            try:
                found.append([batch["label"].flatten().tolist() for batch in next(iterator)])
            except RuntimeError:
                found.append("error")
            except StopIteration:
                break
        # Shards 0 .. 5 and 6 .. 11; 3, 4, 5 and 11 are bad. The shards alternate from epoch to epoch.
        assert found in ([[[0, 1], [6, 7]], "error", "error"], [[[6, 7], [0, 1]], "error", "error"])
    with pytest.raises(StopIteration):
        for _ in range(9):
            with contextlib.suppress(RuntimeError):
                next(iterator)


class Squares(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> int:
        return i * i


def test_data_loader_workers_beside_a_pipeline(folder: Path) -> None:
    """Children are forked while the pipeline's threads run; both continue."""
    iterator = DALIGenericIterator(
        reader(headrace, folder, 15, 4), ["x"], reader_name="R", auto_reset=True
    )
    next(iterator)
    loader = torch.utils.data.DataLoader(
        Squares(), batch_size=4, num_workers=2, multiprocessing_context="fork"
    )
    for _ in range(2):
        squares = [int(v) for batch in loader for v in batch]
        assert squares == [i * i for i in range(16)]
        assert next(iterator)[0]["x"].shape == (4, 1)
