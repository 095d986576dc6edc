# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Which data sets `headrace.torch.compile` takes: it gives what a DataLoader does, or refuses by name."""

from __future__ import annotations

import json
import multiprocessing
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import headrace.torch  # noqa: E402
from headrace import fn, pipeline_def  # noqa: E402
from headrace.plugin.pytorch import DALIGenericIterator  # noqa: E402
from torch.utils.data import ConcatDataset, DataLoader, Subset  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import DatasetFolder, ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

IMAGE = v2.Compose([v2.ToImage()])
TENSOR = v1.ToTensor()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("classes")
    rng = np.random.default_rng(3)
    for label in range(3):
        (folder / f"c{label}").mkdir()
        for k in range(4):
            pixels = rng.integers(0, 256, (6, 5, 3), np.uint8)
            Image.fromarray(pixels).save(folder / f"c{label}" / f"{k}.png")
    return str(folder)


def same(got: Any, expected: Any) -> bool:
    """Whether two batches have the same structure, types and values."""
    if isinstance(expected, torch.Tensor):
        return (
            isinstance(got, torch.Tensor)
            and got.dtype == expected.dtype
            and torch.equal(torch.Tensor(got), torch.Tensor(expected))
        )
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(same(got[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(same, got, expected))
    return bool(got == expected)


def check(dataset: Any, seen: Any = None) -> None:
    """A compiled loader over `seen` gives what a DataLoader over `dataset` does."""
    expected = list(DataLoader(dataset, batch_size=5))
    loader = headrace.torch.compile(IMAGE, dataset if seen is None else seen, batch_size=5)
    assert len(loader) == len(expected)
    for _ in range(2):
        found = list(loader)
        assert len(found) == len(expected) and all(map(same, found, expected))


TARGETS: dict[str, Callable[[int], Any]] = {
    "int": lambda y: 7 - y,
    "float": lambda y: y + 0.75,
    "bool": lambda y: y == 1,
    "large": lambda y: 2**40 + y,
    "numpy": lambda y: np.float32(y / 2),
    "one-hot": lambda y: torch.eye(5)[y],
    "string": lambda y: f"class {y}",
    "tuple": lambda y: (y, y / 4),
    "dictionary": lambda y: {"label": y, "weight": y / 4},
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("where", ["target_transform", "samples"])
def test_targets_of_all_types(root: str, where: str, name: str) -> None:
    if where == "target_transform":
        check(ImageFolder(root, IMAGE, target_transform=TARGETS[name]))
        return
    dataset = ImageFolder(root, IMAGE)
    dataset.samples = [(path, TARGETS[name](label)) for path, label in dataset.samples]
    check(dataset)
    check(dataset, dataset.samples)


def test_a_target_transform_is_called_for_each_use(root: str) -> None:
    calls = []
    dataset = ImageFolder(root, IMAGE, target_transform=lambda y: calls.append(y) or len(calls))
    loader = headrace.torch.compile(IMAGE, dataset, batch_size=4)
    found = [y.tolist() for _ in range(2) for _, y in loader]
    assert found == [list(range(1 + 4 * k, 5 + 4 * k)) for k in range(6)]


def test_parts_of_data_sets(root: str) -> None:
    halves = ImageFolder(root, IMAGE, target_transform=lambda y: y / 2)
    whole = ImageFolder(root, IMAGE, is_valid_file=lambda path: path.endswith(("0.png", "2.png")))
    check(Subset(halves, [3, -1, 0, 3]))
    check(ConcatDataset([Subset(halves, range(3)), Subset(halves, [9])]))
    check(ConcatDataset([whole, Subset(whole, [1, 0])]))
    assert len(whole) == 6

    class Fewer(ImageFolder):
        def find_classes(self, directory: Any) -> Any:
            return ["c2", "c0"], {"c2": 0, "c0": 1}

    check(Fewer(root, IMAGE))


class WithPath(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return (*super().__getitem__(index), self.samples[index][0])


class Inverted(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        return self.transform(ImageOps.invert(Image.open(path))), target


class Shorter(ImageFolder):
    def __len__(self) -> int:
        return 8


class Many(ImageFolder):
    def __getitems__(self, indices: list[int]) -> Any:
        return [self[0] for _ in indices]


class Other(Subset):
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index)[::-1]

    def __getitems__(self, indices: list[int]) -> Any:
        return [self[index] for index in indices]


class Reversed(ConcatDataset):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(len(self) - 1 - index)


class OnlySamples(torch.utils.data.Dataset):
    def __init__(self, inner: ImageFolder) -> None:
        self.samples, self.inner = inner.samples, inner

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.inner[index]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda root: WithPath(root), "WithPath has its own __getitem__"),
        (lambda root: Inverted(root), "Inverted has its own __getitem__"),
        (lambda root: Shorter(root), "Shorter has its own __len__"),
        (lambda root: Many(root), "Many has its own __getitems__"),
        (lambda root: Subset(Inverted(root), [0]), "Inverted has its own __getitem__"),
        (lambda root: ConcatDataset([ImageFolder(root), Shorter(root)]), "Shorter has its own"),
        (lambda root: Other(ImageFolder(root), [0]), "Other has its own __getitem__"),
        (lambda root: Reversed([ImageFolder(root)]), "Reversed has its own __getitem__"),
        (lambda root: OnlySamples(ImageFolder(root)), "OnlySamples .* is not an ImageFolder"),
        (lambda root: Inverted(root, TENSOR), "Inverted has its own __getitem__"),
        (lambda root: Subset(Inverted(root, TENSOR), [0]), "Inverted has its own __getitem__"),
        (lambda root: ImageFolder(root, loader=Image.open), "opens its files with .* left out"),
        (
            lambda root: DatasetFolder(root, np.load, extensions=(".png",)),
            "opens its files with .* left out",
        ),
    ],
)
def test_code_that_would_be_left_out_is_refused(root: str, make: Any, words: str) -> None:
    """The message names a way, and it works."""
    with pytest.raises(TypeError, match=f"(?s){words}.*compile\\(transform, dataset.samples\\)"):
        headrace.torch.compile(IMAGE, make(root))
    check(ImageFolder(root, IMAGE), ImageFolder(root).samples)


def test_parts_that_have_changed_are_refused(root: str) -> None:
    inner = ImageFolder(root)
    both = ConcatDataset([inner, inner])
    inner.samples = inner.samples[:3]
    with pytest.raises(TypeError, match="have changed in size"):
        headrace.torch.compile(IMAGE, both)


# ---- code of the data set, run by Python ---------------------------------------------------------


def quiet(dataset: Any, **arguments: Any) -> Any:
    """A loader of the data set, which is made without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transform = arguments.pop("transform", IMAGE)
        loader = headrace.torch.compile(transform, dataset, **arguments)
    assert isinstance(loader, headrace.torch.DatasetLoader)
    return loader


class Mapped(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return {"image": image, "path": self.samples[index][0], "more": (label / 2, index)}


class Duck(torch.utils.data.Dataset):
    """Neither files nor `samples`; one `transforms` for image and target."""

    def __init__(self, transforms: Any) -> None:
        self.transforms = transforms

    def __len__(self) -> int:
        return 11

    def __getitem__(self, index: int) -> Any:
        return self.transforms(Image.new("RGB", (3, 2), (index, 7, 9))), index


class Named(Subset):
    """Applies a transform to the images of a data set that has none."""

    def __init__(self, inner: Any, indices: Any, transform: Any) -> None:
        super().__init__(inner, indices)
        self.transform = transform

    def __getitem__(self, index: Any) -> Any:
        image, label = self.dataset[self.indices[index]]
        return self.transform(image), label

    def __getitems__(self, indices: list[int]) -> Any:
        return [self[index] for index in indices]


def upside_down(path: str) -> Any:
    return Image.open(path).transpose(Image.Transpose.ROTATE_180)


# What makes a data set, and what the report says of it.
OWN: dict[str, tuple[Callable[[str], Any], str]] = {
    "path": (lambda root: WithPath(root, IMAGE), "WithPath has its own __getitem__"),
    "dictionary": (lambda root: Mapped(root, IMAGE), "Mapped has its own __getitem__"),
    "image": (lambda root: Inverted(root, IMAGE), "Inverted has its own __getitem__"),
    "length": (lambda root: Shorter(root, IMAGE), "Shorter has its own __len__"),
    "several": (lambda root: Many(root, IMAGE), "Many has its own __getitems__"),
    "loader": (lambda root: ImageFolder(root, IMAGE, loader=upside_down), "ImageFolder opens its"),
    "target": (lambda root: WithPath(root, IMAGE, target_transform=float), "WithPath has its own"),
    "subset": (lambda root: Subset(Inverted(root, IMAGE), [5, -1, 5, 0]), "Inverted has its own"),
    "subset of shorter": (lambda root: Subset(Shorter(root, IMAGE), [9, 0]), "Shorter has its own"),
    "own subset": (lambda root: Other(ImageFolder(root, IMAGE), [4, 2]), "Other has its own __get"),
    "named": (lambda root: Named(ImageFolder(root), range(3, 9), IMAGE), "Named has its own __get"),
    "reversed": (
        lambda root: Reversed([ImageFolder(root, IMAGE)]),
        "Reversed has its own __getitem__",
    ),
    "parts": (
        lambda root: ConcatDataset([ImageFolder(root, IMAGE), Shorter(root, IMAGE)]),
        "Shorter has its own __len__",
    ),
    "no folder": (lambda root: Duck(IMAGE), "Duck has its own __getitem__"),
}


@pytest.mark.parametrize(
    ("name", "workers"), [*((name, n) for name in OWN for n in (0, 2)), ("path", 1), ("several", 1)]
)
def test_code_of_the_data_set_is_run(root: str, name: str, workers: int) -> None:
    make, words = OWN[name]
    dataset = make(root)
    expected = list(DataLoader(dataset, batch_size=5))
    loader = quiet(dataset, batch_size=5, num_workers=workers)
    for _ in range(2):
        assert len(loader) == len(expected)
        found = list(loader)
        assert len(found) == len(expected) and all(map(same, found, expected))
    whole = quiet(dataset, batch_size=5, num_threads=workers or None, drop_last=True)
    dropped = list(DataLoader(dataset, batch_size=5, drop_last=True))
    found = list(whole)
    assert len(whole) == len(found) == len(dropped) and all(map(same, found, dropped))
    assert words in str(loader.report) and words in str(headrace.torch.explain(IMAGE, dataset))
    assert [step.compiled for step in loader.report.steps] == [False]


def test_explain_with_a_data_set_that_has_no_code(root: str) -> None:
    explain = headrace.torch.explain
    assert explain(IMAGE, ImageFolder(root, IMAGE)) == explain(IMAGE)
    with pytest.raises(TypeError, match="Inverted has its own __getitem__"):
        explain(IMAGE, Inverted(root))


def test_a_transform_that_was_replaced_is_not_the_data_sets_own(root: str) -> None:
    dataset = Inverted(root, TENSOR)
    dataset.transform = IMAGE  # its `transforms` still has TENSOR
    with pytest.raises(TypeError, match="Inverted has its own __getitem__"):
        headrace.torch.compile(TENSOR, dataset)
    assert same(list(quiet(dataset)), list(DataLoader(dataset)))


class Stream(torch.utils.data.IterableDataset):
    transform = IMAGE

    def __iter__(self) -> Any:
        return iter(())


def test_data_sets_without_indices_are_refused() -> None:
    with pytest.raises(TypeError, match="Stream is not .* data set with indices"):
        headrace.torch.compile(IMAGE, Stream())


class Numbers(torch.utils.data.Dataset):
    """Samples are their numbers, and what three generators draw for them."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def transform(self, number: int) -> Any:
        return random.getrandbits(30), np.random.randint(2**30), torch.randint(2**30, ())

    def __getitem__(self, index: int) -> Any:
        return index, *self.transform(index)


def numbers(count: int, **arguments: Any) -> Any:
    dataset = Numbers(count)
    return quiet(dataset, transform=dataset.transform, **arguments)


def epoch_of(loader: Any, epoch: int) -> list[list[int]]:
    """The numbers of the samples of each batch."""
    loader.set_epoch(epoch)
    return [batch[0].tolist() for batch in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_order_and_random_numbers_depend_on_seed_and_epoch(workers: int) -> None:
    def flat(seed: Any, epoch: int, **more: Any) -> dict[int, tuple[int, ...]]:
        loader = numbers(9, seed=seed, shuffle=True, **more)
        loader.set_epoch(epoch)
        return {row[0]: row[1:] for b in loader for row in zip(*map(torch.Tensor.tolist, b))}

    first = flat(3, 0, batch_size=4)
    assert sorted(first) == list(range(9)) != list(first)
    again = flat(3, 0, batch_size=2, num_workers=workers)
    assert again == first and list(again) == list(first)
    assert len({drawn for drawns in first.values() for drawn in drawns}) == 27
    for other in (flat(3, 1), flat(4, 0), flat(None, 0), flat(None, 0)):
        assert sorted(other) == sorted(first) and list(other) != list(first)
        assert all(other[n][k] != first[n][k] for n in first for k in range(3))
    loader = numbers(9, seed=3, shuffle=True, batch_size=4)
    epochs = [[batch[0].tolist() for batch in loader] for _ in range(3)]
    assert epochs == [epoch_of(numbers(9, seed=3, shuffle=True, batch_size=4), e) for e in range(3)]
    assert epoch_of(loader, 1) == epochs[1] and loader.epoch == 2


def test_the_generators_of_the_training_loop_are_left_alone() -> None:
    def state() -> Any:
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before, loader = state(), numbers(4, shuffle=True, batch_size=2)
    for _ in loader:
        assert state() == before
    assert state() == before


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", [12, 13, 14, 3])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shards_are_those_of_a_compiled_loader(
    root: str, count: int, shuffle: bool, drop_last: bool
) -> None:
    """All samples once, except that shards with one fewer repeat their last one."""
    picture = ImageFolder(root).samples[0][0]
    same_seed = {"batch_size": 2, "shuffle": shuffle, "drop_last": drop_last, "seed": 7}
    for epoch in range(4):
        seen = []
        for rank in range(3):
            given = {**same_seed, "shard_id": rank, "num_shards": 3}
            own = numbers(count, **given)
            pairs = [(picture, number) for number in range(count)]
            compiled = headrace.torch.compile(IMAGE, pairs, **given)
            compiled.set_epoch(epoch)
            expected = [labels.tolist() for _, labels in compiled]
            found = epoch_of(own, epoch)
            assert len(own) == len(compiled) == len(found)
            assert list(map(len, found)) == list(map(len, expected))
            if not shuffle:
                assert found == expected
            seen += sum(found, [])
        if not drop_last:
            assert {*seen} == {*range(count)} and len(seen) == 3 * -(-count // 3)


@pytest.mark.parametrize("how", ["initialised", "environment"])
def test_each_process_runs_the_code_for_its_shard(how: str) -> None:
    seen: list[int] = []
    for rank in range(3):
        with pytest.MonkeyPatch.context() as patch:
            job(patch, how, rank, 3)
            seen += sum(epoch_of(numbers(12, shuffle=True, batch_size=2), 0), [])
            with pytest.warns(UserWarning, match=f"3 processes.*shard_id={rank}, num_shards=3"):
                dataset = Numbers(3)
                headrace.torch.compile(dataset.transform, dataset, num_shards=1)
    assert sorted(seen) == list(range(12))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("seed", [5, None])
def test_resuming_at_every_batch(seed: Any, drop_last: bool, workers: int) -> None:
    def make(**more: Any) -> Any:
        shards = {"shard_id": 1, "num_shards": 2, "num_workers": workers, "drop_last": drop_last}
        return numbers(9, batch_size=2, shuffle=True, **{"seed": seed, **shards, **more})

    loader = make()
    batches, states = [], [loader.state_dict()]
    for _ in range(2):
        for batch in loader:
            batches.append(batch)
            states.append(json.loads(json.dumps(loader.state_dict())))
    each = 2 if drop_last else 3
    assert len(batches) == 2 * each == 2 * len(loader)
    for place, state in enumerate(states):
        other = make(num_workers=0)
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert other.epoch == place // each
        rest = [*other, *other]
        assert len(rest) == 2 * each - place % each
        assert all(map(same, rest, batches[place:]))
    again = make(num_workers=0)
    again.load_state_dict(states[1])
    again.load_state_dict(states[0])
    assert same(list(again), batches[:each])


def test_states_of_other_loaders_are_refused(root: str) -> None:
    made = {"batch_size": 2, "seed": 5, "shard_id": 0, "num_shards": 2}
    loader = numbers(9, **made)
    next(iter(loader))
    before = loader.state_dict()
    for changed in ("batch_size", "seed", "num_shards"):
        other = numbers(9, **{**made, changed: made[changed] + 1})
        with pytest.raises(ValueError, match=f"The state has {changed}="):
            loader.load_state_dict(other.state_dict())
    for other in (numbers(8, **made), numbers(9, shuffle=True, **made)):
        with pytest.raises(ValueError, match="The state has s"):
            loader.load_state_dict(other.state_dict())
    compiled = headrace.torch.compile(IMAGE, paths(root))
    for state in ({}, None, {"dataset": {}}, compiled.state_dict()):
        with pytest.raises(ValueError, match="not a state of a DatasetLoader"):
            loader.load_state_dict(state)
    with pytest.raises(ValueError, match="not a state of a Loader"):
        compiled.load_state_dict(before)
    for damaged in ({"batch": 4}, {"batch": -1}, {"epoch": -1}, {"epoch": 2**31}):
        with pytest.raises(ValueError, match="must be from 0 to"):
            loader.load_state_dict({"dataset": {**before["dataset"], **damaged}})
    assert loader.state_dict() == before


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loop_that_is_left_early(workers: int, keep: bool) -> None:
    """The next loop is the next epoch, and its batches are not those that workers had made ahead."""
    more = {"num_workers": workers, "persistent_workers": keep and workers > 0}
    loader = numbers(9, batch_size=2, shuffle=True, seed=2, **more)
    epochs = [epoch_of(numbers(9, batch_size=2, shuffle=True, seed=2), e) for e in range(4)]
    for batch in loader:
        assert batch[0].tolist() == epochs[0][0]
        break
    assert loader.epoch == 1 and len(loader) == 5
    old = iter(loader)
    assert next(old)[0].tolist() == epochs[1][0]
    assert [batch[0].tolist() for batch in loader] == epochs[2]
    with pytest.raises(RuntimeError, match="a newer one has begun"):
        next(old)
    assert [batch[0].tolist() for batch in loader] == epochs[3]


def test_worker_processes_end_with_their_loop() -> None:
    before = {child.pid for child in multiprocessing.active_children()}
    loader = numbers(9, batch_size=2, num_workers=2)
    for _ in loader:
        ours = {child.pid for child in multiprocessing.active_children()} - before
        assert len(ours) == 2
        break
    assert not ours & {child.pid for child in multiprocessing.active_children()}


class Odd(Exception):
    pass


class Failing(Numbers):
    error: type[BaseException] = Odd

    def __getitem__(self, index: int) -> Any:
        if index == self.count - 1:
            raise self.error("no such sample")
        return super().__getitem__(index)


@pytest.mark.parametrize(
    ("error", "workers"), [(Odd, 0), (KeyError, 0), (IndexError, 0), (Odd, 2), (IndexError, 2)]
)
def test_exceptions_of_the_data_set_have_their_type(error: Any, workers: int) -> None:
    dataset = Failing(6)
    dataset.error = error
    loader = quiet(dataset, transform=dataset.transform, batch_size=2, num_workers=workers)
    seen = []
    with pytest.raises(error, match="no such sample"):
        for batch in loader:
            seen.append(batch[0].tolist())
    assert seen == [[0, 1], [2, 3]]
    assert loader.state_dict()["dataset"]["batch"] == 2
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(error, match="no such sample"):
        next(iter(loader))


class Once(Numbers):
    """Its first sample can only be read the second time."""

    failed = False

    def __getitem__(self, index: int) -> Any:
        if not self.failed:
            self.failed = True
            raise Odd
        return super().__getitem__(index)


def test_after_an_exception_the_first_batch_is_not_left_out() -> None:
    dataset = Once(5)
    loader = quiet(dataset, transform=dataset.transform, batch_size=2, seed=4, shuffle=True)
    with pytest.raises(Odd):
        next(iter(loader))
    assert loader.epoch == 0
    expected = epoch_of(numbers(5, batch_size=2, seed=4, shuffle=True), 0)
    assert [batch[0].tolist() for batch in loader] == expected


def test_stop_iteration_does_not_end_the_epoch() -> None:
    dataset = Failing(6)
    dataset.error = StopIteration
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(quiet(dataset, transform=dataset.transform, batch_size=2))


def test_a_data_set_that_changes_in_size_is_refused() -> None:
    dataset = Numbers(6)
    loader = quiet(dataset, transform=dataset.transform)
    assert len(list(loader)) == 6
    dataset.count = 5
    with pytest.raises(RuntimeError, match="changed in size"):
        list(loader)


def collate(samples: list[Any]) -> list[int]:
    return [sample[0] for sample in samples]


def test_arguments_of_code_that_python_runs() -> None:
    assert list(numbers(3, batch_size=2, collate_fn=collate)) == [[0, 1], [2]]
    context = {"num_workers": 1, "multiprocessing_context": "fork", "prefetch_factor": 3}
    assert epoch_of(numbers(3, **context, in_order=True, sampler=None), 0) == [[0], [1], [2]]
    for name, value, error, words in (
        ("device", "cuda", ValueError, "`device` is 'cuda', but Numbers has its own __getitem__"),
        ("prefetch_queue_depth", 3, TypeError, "`prefetch_queue_depth`: Numbers .* no pipeline"),
        ("worker_init_fn", print, TypeError, "no argument `worker_init_fn`: `seed` determines"),
        ("sampler", [1], TypeError, "no argument `sampler`"),
        ("generator", torch.Generator(), TypeError, "give `seed`"),
        ("in_order", False, TypeError, "batches always come in order"),
        ("no_such", 1, TypeError, "unexpected keyword argument 'no_such'"),
        ("batch_size", 0, ValueError, "batch_size must be from 1"),
        ("batch_size", None, TypeError, "batch_size must be an integer"),
        ("num_workers", -1, ValueError, "num_workers must be from 0"),
        ("seed", -1, ValueError, "seed must be from 0"),
        ("persistent_workers", True, ValueError, "num_workers"),
    ):
        with pytest.raises(error, match=words):
            numbers(3, **{name: value})
    with pytest.raises(ValueError, match="There are 2 samples, but 3 shards"):
        numbers(2, shard_id=0, num_shards=3)


# ---- transforms ----------------------------------------------------------------------------------


class Twice(v2.Resize):
    def forward(self, *inputs: Any) -> Any:
        return super().forward(super().forward(*inputs))


class Turned(v1.Compose):
    def __call__(self, image: Any) -> Any:
        return super().__call__(image.transpose(Image.Transpose.ROTATE_180))


def hooked() -> Any:
    transform = v2.RandomVerticalFlip(p=0)
    transform.register_forward_hook(lambda module, inputs, output: 255 - output)
    return transform


def patched() -> Any:
    transform = v2.RandomVerticalFlip(p=0)
    transform.forward = lambda image: 255 - image
    return transform


@pytest.mark.parametrize(
    "transform",
    [
        v2.Compose([Twice((3, 4)), v2.ToImage()]),
        Turned([v1.ToTensor()]),
        v2.Compose([v2.ToImage(), hooked()]),
        v2.Compose([v2.ToImage(), patched()]),
        torch.nn.Sequential(v2.ToImage(), torch.nn.Sequential(patched())),
        v2.Compose([v2.ToImage(), v2.RandomApply([hooked()], p=1.0)]),
    ],
)
def test_python_calls_transforms_that_are_not_torchvisions_own(root: str, transform: Any) -> None:
    dataset = ImageFolder(root, transform)
    with pytest.warns(UserWarning, match="Python runs"):
        loader = headrace.torch.compile(transform, dataset, batch_size=5)
    for (got, _), (expected, _) in zip(loader, DataLoader(dataset, batch_size=5), strict=True):
        assert torch.equal(got, torch.Tensor(expected).to(got.dtype))


# ---- several processes ---------------------------------------------------------------------------


def job(monkeypatch: pytest.MonkeyPatch, how: str, rank: int, world: int) -> None:
    """As in process `rank` of `world`."""
    dist = torch.distributed
    if how == "initialised":
        monkeypatch.setattr(dist, "is_initialized", lambda: True)
        monkeypatch.setattr(dist, "get_rank", lambda: rank)
        monkeypatch.setattr(dist, "get_world_size", lambda: world)
    else:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world))


def paths(root: str) -> list[tuple[str, int]]:
    return [(path, number) for number, (path, _) in enumerate(ImageFolder(root).samples)]


@pytest.mark.parametrize("how", ["initialised", "environment"])
def test_each_process_reads_its_shard(root: str, how: str) -> None:
    seen: list[int] = []
    for rank in range(3):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("error")
            job(patch, how, rank, 3)
            loader = headrace.torch.compile(IMAGE, paths(root), batch_size=2, shuffle=True)
            assert len(loader) == 2
            seen += [int(n) for _, labels in loader for n in labels]
    assert sorted(seen) == list(range(12))


@pytest.mark.parametrize("how", ["initialised", "environment"])
def test_a_process_that_reads_everything_is_warned(
    root: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def pipe(num_shards: int, shard_id: int = 0) -> Any:
        split = {"num_shards": num_shards, "shard_id": shard_id}
        return fn.readers.file(file_root=root, name="R", pad_last_batch=True, **split)[1]

    makes: list[Callable[..., Any]] = [
        lambda **shards: iter(headrace.torch.Loader(pipe(**shards))),
        lambda **shards: DALIGenericIterator(pipe(**shards), ["y"], reader_name="R"),
        lambda **shards: iter(headrace.torch.compile(IMAGE, paths(root), **shards)),
    ]
    job(monkeypatch, how, 1, 2)
    for make in makes:
        with pytest.warns(UserWarning, match="2 processes.*Give .*shard_id=1, num_shards=2"):
            make(num_shards=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(num_shards=2, shard_id=1)


def test_without_a_job_everything_is_read(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, world in (("0", "1"), ("x", "2"), ("2", "2"), ("-1", "2")):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", world)
        assert len(headrace.torch.compile(IMAGE, paths(root), batch_size=1)) == 12


# ---- arguments of a DataLoader -------------------------------------------------------------------


def test_arguments_of_a_data_loader(root: str) -> None:
    make = headrace.torch.compile
    loader = make(
        IMAGE,
        paths(root),
        batch_size=4,
        shuffle=False,
        drop_last=True,
        num_workers=3,
        prefetch_factor=4,
        persistent_workers=True,
        pin_memory=False,
        sampler=None,
        batch_sampler=None,
        collate_fn=None,
        timeout=0,  # no luck: an argument of a DataLoader
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        in_order=True,
    )
    assert loader.pipeline.num_threads == 3 and loader.pipeline.prefetch_queue_depth == 4
    assert [y.tolist() for _, y in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert make(IMAGE, paths(root), num_workers=0).pipeline.num_threads == 1
    with pytest.raises(ValueError, match="`num_workers` is another name of `num_threads`"):
        make(IMAGE, paths(root), num_workers=2, num_threads=2)
    for name, words in {
        "sampler": "`sampler` as a DataLoader has: `shuffle=True` shuffles",
        "batch_sampler": "give `batch_size`",
        "collate_fn": "batches are made in the pipeline",
        "generator": "give `seed`",
        "timeout": "no worker processes",
        "worker_init_fn": "no worker processes",
        "multiprocessing_context": "no worker processes",
        "pin_memory_device": "give `device`",
        "no_such": r"compile\(\) got an unexpected keyword argument 'no_such'",
    }.items():
        with pytest.raises(TypeError, match=words):
            make(IMAGE, paths(root), **{name: 5})
    for name, words in {
        "num_workers": r"Loader\(\) has no argument `num_workers` .*: give the pipeline `num_threads`",
        "shuffle": "`random_shuffle=True`",
        "batch_size": "give the pipeline `batch_size`",
        "sampler": "`sampler`",
        "no_such": "unexpected keyword argument 'no_such'",
    }.items():
        with pytest.raises(TypeError, match=words):
            headrace.torch.Loader(loader.pipeline, **{name: 5})


@pytest.mark.parametrize(
    ("shards", "error", "words"),
    [
        ({"num_shards": 3}, ValueError, "given together"),
        ({"shard_id": 0}, ValueError, "given together"),
        ({"shard_id": 3, "num_shards": 3}, ValueError, "shard_id must be from 0 to 2, got 3"),
        ({"shard_id": -1, "num_shards": 3}, ValueError, "shard_id must be from 0 to 2, got -1"),
        ({"shard_id": 0, "num_shards": 2**31}, ValueError, "num_shards must be from 1 to"),
        ({"shard_id": 0, "num_shards": 1.5}, TypeError, "num_shards must be an integer, not 1.5"),
        ({"shard_id": "0", "num_shards": 2}, TypeError, "shard_id must be an integer, not '0'"),
    ],
)
def test_shards_that_are_refused(root: str, shards: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        headrace.torch.compile(IMAGE, paths(root), **shards)


def test_a_folder_is_read_like_an_image_folder(root: str) -> None:
    check(ImageFolder(root, IMAGE), Path(root))
