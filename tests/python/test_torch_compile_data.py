# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Which data sets `headrace.torch.compile` takes: it gives what a DataLoader does, or refuses by name."""

from __future__ import annotations

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
        (lambda root: OnlySamples(ImageFolder(root)), "OnlySamples is not an ImageFolder .* own code"),
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
