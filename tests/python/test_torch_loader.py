# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.Loader` against what `DataLoader` with a `DistributedSampler` promises."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, pipeline_def
from pictures import make_folders

torch = pytest.importorskip("torch")
from headrace.torch import Loader  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folders(tmp_path_factory.mktemp("loader") / "set")


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
def numbered(count: int = 21, shard: int = 0, shards: int = 1, pad: bool = True) -> Any:
    """Files whose bytes are their numbers, so that a test sees which sample is where."""
    folder = numbered.folder  # type: ignore[attr-defined]
    files = [str(folder / f"{i}.bin") for i in range(count)]
    data, labels = fn.readers.file(
        files=files,
        labels=list(range(count)),
        random_shuffle=True,
        shard_id=shard,
        num_shards=shards,
        pad_last_batch=pad,
        name="Reader",
    )
    return data, labels, fn.random.uniform(range=[0, 1])


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = numbered.folder = tmp_path_factory.mktemp("numbered")  # type: ignore[attr-defined]
    for i in range(40):
        (folder / f"{i}.bin").write_bytes(bytes([i, 0, 0]))


def rows(loader: Any) -> list[tuple[int, float]]:
    """The label and the random number of every sample of an epoch."""
    return [
        (int(n), float(x)) for _, labels, draws in loader for n, x in zip(labels, draws.flatten())
    ]


def numbers(loader: Any) -> list[int]:
    return [n for n, _ in rows(loader)]


def test_trains_on_pictures(root: Path) -> None:
    """The labels fit `cross_entropy`, and the pixels are those of the files' classes."""

    @pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=1)
    def train() -> Any:
        jpegs, labels = fn.readers.file(file_root=str(root), pad_last_batch=True)
        images = fn.resize(fn.decoders.image(jpegs), size=[8, 8])
        return fn.crop_mirror_normalize(images, output_layout="CHW"), labels

    loader = Loader(train())
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 10))
    seen = []
    for images, labels in loader:
        assert images.shape == (len(labels), 3, 8, 8) and images.dtype == torch.float32
        assert labels.dtype == torch.int64 and labels.dim() == 1
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        seen += labels.tolist()
    folders = sorted(p for p in root.iterdir() if p.is_dir())
    expected = Counter({i: len(list(folder.iterdir())) for i, folder in enumerate(folders)})
    assert Counter(seen) == expected
    assert len(loader) == -(-len(seen) // 6)


def test_epochs_differ_and_are_whole() -> None:
    loader = Loader(numbered())
    assert (len(loader), loader.batch_size, loader.epoch) == (6, 4, 0)
    first, second = rows(loader), rows(loader)
    assert loader.epoch == 2
    for epoch in (first, second):
        assert sorted(n for n, _ in epoch) == list(range(21))
    assert [n for n, _ in first] != [n for n, _ in second]
    data, labels, draws = next(iter(loader))
    assert data[:, 0].tolist() == labels.tolist() and draws.shape[0] == 4


def test_set_epoch_is_a_function_of_the_number() -> None:
    straight = Loader(numbered())
    expected = [rows(straight) for _ in range(5)]
    loader = Loader(numbered())
    for epoch in (3, 3, 0, 1, 4):
        loader.set_epoch(epoch)
        assert loader.epoch == epoch
        assert rows(loader) == expected[epoch]
        assert loader.epoch == epoch + 1
    for wrong in (-1, 2**31, 2**63):
        with pytest.raises(ValueError, match="epoch must be from 0 to 2147483647, got"):
            loader.set_epoch(wrong)
    for wrong in (1.5, "3", None, True):
        with pytest.raises(TypeError, match="epoch must be an integer, not"):
            loader.set_epoch(wrong)  # type: ignore[arg-type]
    loader.set_epoch(np.int64(3))  # type: ignore[arg-type]
    assert rows(loader) == expected[3]


def test_a_loop_left_early_is_not_continued() -> None:
    straight = Loader(numbered())
    expected = [rows(straight) for _ in range(3)]
    loader = Loader(numbered())
    old = iter(loader)
    next(old), next(old)
    assert rows(loader) == expected[1]
    with pytest.raises(RuntimeError, match="newer one"):
        next(old)
    assert rows(loader) == expected[2]


@pytest.mark.parametrize("stop", [0, 1, 3, 5, 6])
def test_state_continues_exactly(stop: int) -> None:
    loader = Loader(numbered())
    rows(loader)
    loop = iter(loader)
    for _ in range(stop):
        next(loop)
    file = io.BytesIO()
    torch.save(loader.state_dict(), file)
    assert len(file.getvalue()) < 4096
    file.seek(0)
    rest = [tuple(t.tolist() for t in batch) for batch in loop]
    after = rows(loader)
    for other in (Loader(numbered()), loader):  # a new one, and one in the middle of something
        next(iter(other))
        file.seek(0)
        other.load_state_dict(torch.load(file, weights_only=True))
        if stop < 6:
            assert other.epoch == 1
            assert [tuple(t.tolist() for t in batch) for batch in other] == rest
        assert rows(other) == after


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("count", [21, 24, 25])
def test_shards_have_equal_batches(count: int, drop: bool) -> None:
    """As `DistributedSampler` with `DataLoader`: same number and sizes of batches on all ranks."""
    world = 3
    sampler = [
        torch.utils.data.DistributedSampler(range(count), world, rank) for rank in range(world)
    ]
    plain = [
        [len(b) for b in torch.utils.data.DataLoader(range(count), 4, sampler=s, drop_last=drop)]
        for s in sampler
    ]
    loaders = [Loader(numbered(count, rank, world), drop_last=drop) for rank in range(world)]
    for _ in range(3):
        batches = [[labels for _, labels, _ in loader] for loader in loaders]
        assert [[len(b) for b in shard] for shard in batches] == plain
        assert [len(loader) for loader in loaders] == [len(sizes) for sizes in plain]
        seen = Counter(int(n) for shard in batches for b in shard for n in b)
        if not drop:
            assert set(seen) == set(range(count)) and max(seen.values()) <= 2


def test_each_sample_exactly_once_if_asked() -> None:
    loaders = [Loader(numbered(25, rank, 3), even=False) for rank in range(3)]
    for _ in range(3):
        parts = [numbers(loader) for loader in loaders]
        assert sorted(n for part in parts for n in part) == list(range(25))
        assert [len(list(loader)) for loader in loaders] == [3, 3, 3]


def test_resumes_with_other_shards() -> None:
    loaders = [Loader(numbered(40, rank, 2), even=False) for rank in range(2)]
    before = []
    for loader in loaders:
        loop = iter(loader)
        before += [int(n) for _ in range(2) for n in next(loop)[1]]
        state = loader.state_dict()
    after = []
    for rank in range(3):
        loader = Loader(numbered(40, rank, 3), even=False)
        loader.load_state_dict(state)
        assert loader.epoch == 0
        after += numbers(loader)
        assert loader.epoch == 1
        loader.set_epoch(5)
        other = Loader(numbered(40, rank, 3), even=False)
        other.set_epoch(5)
        assert rows(loader) == rows(other)
    assert sorted(before + after) == list(range(40))


@pytest.mark.parametrize("stop", [0, 1, 2, 5])
@pytest.mark.parametrize("taken", [0, 1, 3, 5])
def test_after_other_shards_loops_may_end_early(taken: int, stop: int) -> None:
    """The next loop is the next epoch, and the one that follows the rest if that is not left early."""
    first = Loader(numbered(40, 0, 2))
    loop = iter(first)
    for _ in range(taken):
        next(loop)
    state = first.state_dict()

    def resumed() -> Loader:
        loader = Loader(numbered(40, 1, 3))
        loader.load_state_dict(state)
        return loader

    straight = resumed()
    whole = [rows(straight) for _ in range(4)]
    loader = resumed()
    for number, expected in enumerate(whole[:3], loader.epoch):
        assert loader.epoch == number
        found = []
        for batch, (_, labels, draws) in enumerate(loader):
            if batch == stop:
                break
            found += [(int(n), float(x)) for n, x in zip(labels, draws.flatten(), strict=True)]
        assert found == expected[: len(found)]
        if len(found) < len(expected):
            assert batch == stop
            saved = loader.state_dict()
            loader = Loader(numbered(40, 1, 3))
            loader.load_state_dict(saved)
            left = expected[len(found) + len(labels) :]  # the batch of the `break` was taken
            assert not left or rows(loader) == left
    assert rows(loader) == whole[3]


def test_a_loop_may_end_early_also_if_a_source_only_goes_forward() -> None:
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=5)
    def fed() -> Any:
        data, labels = fn.readers.file(
            files=[str(numbered.folder / f"{i}.bin") for i in range(12)],  # type: ignore[attr-defined]
            labels=list(range(12)),
            pad_last_batch=True,
        )
        given = fn.external_source(lambda info: np.int64([info.idx_in_epoch]), batch=False)
        return data, labels, given

    loader = Loader(fed())
    for _ in range(3):
        next(iter(loader))
    assert loader.epoch == 3
    found = [(int(n), int(x)) for _, labels, given in loader for n, x in zip(labels, given)]
    assert found == [(i, 36 + i) for i in range(12)]
    with pytest.raises(RuntimeError, match="cannot go back to epoch 1: its pipeline has an extern"):
        loader.set_epoch(1)
        iter(loader)
    assert loader.epoch == 4
    assert [int(n) for _, labels, _ in loader for n in labels] == list(range(12))
    loader.set_epoch(6)
    assert [int(x[0]) for _, _, x in loader] == [72, 76, 80]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_length_after_the_end_of_an_epoch(shards: int, complete: bool) -> None:
    """It is that of the next loop, also if the loop that ended had the rest of an epoch."""

    def restored(state: Any, count: int) -> Loader:
        loader = Loader(numbered(21, 0, count))
        loader.load_state_dict(state)
        return loader

    def lengths(loader: Loader, leave: bool = False) -> list[int]:
        """What `len` said before the loop and in it, and how many batches there were."""
        said, batches = [len(loader)], 0
        for _ in loader:
            said.append(len(loader))
            batches += 1
            if leave and batches == said[0]:
                break
        assert set(said) == {batches}
        return [batches, len(loader)]

    first = Loader(numbered(21))
    for number, _ in enumerate(first):
        if number == 5 and not complete:
            break
    whole = [6, 3, 2][shards - 1]
    assert lengths(restored(first.state_dict(), shards)) == [whole] * 2
    loop = iter(first)
    for _ in range(2):
        next(loop)
    if shards > 1:  # 13 samples are left
        rest = restored(first.state_dict(), shards)
        assert lengths(rest) == [2, whole]
        left = restored(first.state_dict(), shards)
        assert lengths(left, leave=True) == [2, whole]
        assert lengths(left) == [whole] * 2
        again = restored(rest.state_dict(), shards)
        assert lengths(again) == [whole] * 2


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="takes a pipeline, not list"):
        Loader([numbered()])  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="pad_last_batch=True"):
        len(Loader(numbered(pad=False)))
    with pytest.raises(RuntimeError, match="Other"):
        len(Loader(numbered(), reader_name="Other"))
    with pytest.raises(ValueError, match="must be a GPU"):
        Loader(numbered(), device="cpu")
    for state in ({}, {"pipeline": 3}, None):
        with pytest.raises(ValueError, match="not a state of a Loader"):
            Loader(numbered()).load_state_dict(state)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="truncated|damaged|not created"):
        Loader(numbered()).load_state_dict({"pipeline": b"abc"})
    other = Loader(numbered(20)).state_dict()
    with pytest.raises(RuntimeError, match="20 items|different"):
        mixed = Loader(numbered(21))
        mixed.load_state_dict(other)
        len(mixed)


def test_external_sources_need_a_reader() -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def fed() -> Any:
        return fn.external_source(lambda i: np.zeros(3), batch=False)

    with pytest.raises(RuntimeError, match="one reader.*none"):
        len(Loader(fed()))


def test_copies_of_arrays_have_memory_of_their_own() -> None:
    """As `headrace.ray.Loader` needs them: its arrays are shared and cannot be written to."""
    from headrace.torch.loader import copied

    for array in (np.arange(6, dtype=np.float16).reshape(2, 3), np.zeros((0, 3)), np.array(3)):
        array.flags.writeable = False
        tensor = copied(array)
        np.testing.assert_array_equal(tensor.numpy(), array)
        tensor += 1
    assert array == 3


class Batches:
    """A source of the numbers below `count`, in batches of 4."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[list[Any]]:
        numbers = [np.array([k], np.int64) for k in range(self.count)]
        return iter([numbers[i : i + 4] for i in range(0, self.count, 4)])


def fed(count: int, cycle: str | None = "raise") -> Pipeline:
    with Pipeline(4, 2, None) as pipe:
        pipe.set_outputs(fn.external_source(source=Batches(count), cycle=cycle))
    return pipe


@pytest.mark.filterwarnings("ignore:Checkpointing with external_source")
@pytest.mark.parametrize("cycle", ["raise", "quiet"])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [8, 10])
def test_a_pipeline_without_a_reader(count: int, drop_last: bool, cycle: str) -> None:
    loader = Loader(fed(count, cycle), size=count, drop_last=drop_last)
    expected = [list(range(i, min(i + 4, count))) for i in range(0, count, 4)]
    if drop_last:
        expected = [batch for batch in expected if len(batch) == 4]
    for epoch in range(3):
        assert loader.epoch == epoch and len(loader) == len(expected)
        assert [batch[0].tolist() for batch in loader] == expected


@pytest.mark.filterwarnings("ignore:Checkpointing with external_source")
@pytest.mark.parametrize(("count", "cycle", "loops"), [(6, "raise", 0), (8, "raise", 0), (10, None, 1)])
def test_a_source_that_ends_early(count: int, cycle: str | None, loops: int) -> None:
    """It is said, instead of shorter epochs or empty ones."""
    loader = Loader(fed(count, cycle), size=10 if loops else 12)
    for _ in range(loops):
        assert len(list(loader)) == 3
    with pytest.raises((RuntimeError, AssertionError), match="ended before the|Variable batch"):
        list(loader)


def drawn() -> Any:
    with Pipeline(4, 2, None, seed=3) as pipe:
        pipe.set_outputs(fn.random.uniform(range=[0, 1], shape=[2]))
    return Loader(pipe, size=10)


def test_the_state_of_a_loader_with_a_size() -> None:
    """The rest of the epoch, its number, and the epoch after it."""
    loader = drawn()
    epochs = [[batch[0].tolist() for batch in loader] for _ in range(3)]
    assert [[len(batch) for batch in epoch] for epoch in epochs] == [[4, 4, 2]] * 3
    other = drawn()
    list(other)
    taken = iter(other)
    assert next(taken)[0].tolist() == epochs[1][0]
    again = drawn()
    again.load_state_dict(other.state_dict())
    assert [batch[0].tolist() for batch in again] == epochs[1][1:]
    assert again.epoch == 2
    assert [batch[0].tolist() for batch in again] == epochs[2]


@pytest.mark.filterwarnings("ignore:Checkpointing with external_source")
def test_sizes_that_are_refused() -> None:
    for size, error in ((0, ValueError), (-1, ValueError), ("x", TypeError)):
        with pytest.raises(error, match="size"):
            Loader(fed(8), size=size)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        Loader(fed(8), size=8, reader_name="r")
    with pytest.raises(RuntimeError, match="how many samples an epoch has with `size`"):
        len(Loader(fed(8)))
