# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` gives what PyTorch's DataLoader gives, for data sets as users have them."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import pickle
import random
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from headrace.torch import DataLoader, Loader  # noqa: E402
from torch.utils import data  # noqa: E402
from torch.utils.data import (  # noqa: E402
    ConcatDataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torch_sets import (  # noqa: E402
    ARRAY,
    BYTES,
    CROP,
    Cached,
    FromTensor,
    GREY,
    IMAGE,
    Joint,
    Keys,
    Later,
    Lenient,
    Mask,
    Mixed,
    Named,
    Numbers,
    Own,
    Pair,
    SIZE,
    SMALL,
    Sometimes,
    SubFolder,
    Twice,
    WithPath,
    Wrapped,
    boxes,
    cifar,
    classes,
    exactly,
    folder,
    mnist,
    near,
    own,
    ragged,
    seeded_generator,
    set_factor,
    split_numbers,
    svhn,
    table,
    triple,
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return classes(tmp_path_factory.mktemp("classes"))


@dataclasses.dataclass
class Case:
    """A script: its data set and the arguments of its loader, and which way that must be."""

    name: str
    way: str
    dataset: Callable[[str], Any]
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    lazy: Callable[[Any], dict[str, Any]] = lambda dataset: {}

    def arguments(self, dataset: Any) -> dict[str, Any]:
        given = {**self.more, **self.lazy(dataset)}
        return given if "batch_sampler" in given else {"batch_size": 4, **given}


SHUFFLED = {"shuffle": True}
CASES = [
    Case("ImageFolder", "files", folder),
    Case("ImageFolder, shuffled", "files", folder, {"shuffle": True, "num_workers": 2}),
    Case("ImageFolder, a generator", "files", folder, {}, seeded_generator),
    Case("ImageFolder, drop_last", "files", folder, {"drop_last": True, "shuffle": True}),
    Case("ImageFolder, tensors of bytes", "files", lambda root: ImageFolder(root, BYTES)),
    Case("a subclass of ImageFolder", "files", lambda root: SubFolder(root, IMAGE)),
    Case("one with __getitem__", "workers", lambda root: WithPath(root, IMAGE), {"num_workers": 2}),
    Case("target_transform", "files", lambda r: ImageFolder(r, IMAGE, lambda y: [y, float(y)])),
    Case("no transform", "python", lambda root: ImageFolder(root), {"collate_fn": len}),
    Case("own, (image, int)", "workers", own, {"shuffle": True, "num_workers": 2}),
    Case("own, no workers", "workers", own, SHUFFLED),
    Case("own, persistent", "workers", own, {"num_workers": 1, "persistent_workers": True}),
    Case("own, a dict", "workers", lambda r: Own(r, IMAGE, lambda x, i: {"x": x, "id": str(i)})),
    Case("own, a named tuple", "workers", lambda root: Own(root, IMAGE, Pair)),
    Case("own, regression", "workers", lambda root: Own(root, IMAGE, lambda x, i: (x, i / 7))),
    Case(
        "own, one-hot",
        "workers",
        lambda root: Own(root, IMAGE, lambda x, i: (x, torch.eye(15)[i])),
        {"num_workers": 2},
    ),
    Case("own, the image alone", "workers", lambda root: Own(root, IMAGE, lambda x, i: x)),
    Case("own, worker_init_fn", "workers", own, {"num_workers": 2, "worker_init_fn": set_factor}),
    Case("own, collate_fn", "workers", own, {"num_workers": 2, "collate_fn": triple}),
    Case(
        "detection",
        "workers",
        lambda root: Own(root, v1.Compose([v1.Resize(SIZE), v1.ToTensor()]), boxes),
        {"collate_fn": ragged, "num_workers": 1, "shuffle": True},
    ),
    Case("images of several modes", "workers", lambda root: Mixed(root, GREY)),
    Case(
        "images as tensors",
        "workers",
        lambda r: FromTensor(
            r, v2.Compose([v2.Resize((CROP, CROP)), v2.ToDtype(torch.float32, True)])
        ),
    ),
    Case(
        "a function first",
        "workers",
        lambda r: Own(r, v1.Compose([v1.Lambda(lambda x: x.rotate(90)), v1.Resize(SIZE), IMAGE])),
        {"num_workers": 2},
    ),
    Case(
        "a function last",
        "python",
        lambda root: Own(root, v1.Compose([IMAGE, v1.Lambda(lambda x: x.abs())])),
        {"num_workers": 2},
    ),
    Case("large images", "workers", lambda root: Own(root, SMALL), {"num_workers": 1}),
    Case(
        "large images, ragged",
        "workers",
        lambda root: Own(root, SMALL, boxes),
        {"num_workers": 1, "collate_fn": ragged},
    ),
    Case(
        "a part with a transform",
        "workers",
        lambda r: Wrapped(Subset(ImageFolder(r), [3, 1, 8]), IMAGE),
    ),
    Case("some without", "workers", lambda root: Sometimes(root, IMAGE), {"num_workers": 2}),
    Case("two views", "workers", lambda root: Twice(root, IMAGE)),
    Case("an image and its mask", "python", Mask, {"num_workers": 1}),
    Case("work after the transform", "python", lambda root: Later(root, IMAGE)),
    Case("code that asks for tensors", "python", lambda root: Lenient(root, IMAGE)),
    Case("kept samples", "python", lambda root: Cached(root, IMAGE)),
    Case("a call with names", "workers", Named),
    Case("a transform of pairs", "workers", Joint),
    Case("tensors", "rows", lambda root: table(), {"shuffle": True, "num_workers": 2}),
    Case("a subset of tensors", "rows", lambda root: Subset(table(), [5, 1, 12, 0, 3]), SHUFFLED),
    Case("tensors, collate_fn", "python", lambda root: table(), {"collate_fn": ragged}),
    Case("a list", "python", lambda root: list(range(11)), SHUFFLED),
    Case("keys", "python", lambda root: Keys(), {"sampler": ["a", "ccc", "bb"]}),
    Case("Subset", "files", lambda root: Subset(folder(root), [7, 2, 2, 14, 0]), SHUFFLED),
    Case(
        "ConcatDataset",
        "files",
        lambda r: ConcatDataset([folder(r), SubFolder(r, IMAGE)]),
        SHUFFLED,
    ),
    Case(
        "of several transforms",
        "python",
        lambda r: ConcatDataset([folder(r), ImageFolder(r, v1.Compose([IMAGE]))]),
    ),
    Case(
        "of several kinds", "workers", lambda r: ConcatDataset([folder(r), Own(r, IMAGE)]), SHUFFLED
    ),
    Case("random_split", "files", lambda root: random_split(folder(root), [9, 6])[0], SHUFFLED),
    Case("CIFAR10", "arrays", lambda root: cifar(ARRAY), {"shuffle": True, "num_workers": 2}),
    Case("MNIST", "arrays", lambda root: mnist(), SHUFFLED),
    Case("SVHN", "arrays", lambda root: svhn(), SHUFFLED),
    Case("a part of CIFAR10", "arrays", lambda root: random_split(cifar(ARRAY), [10, 3])[1]),
    Case("a sampler", "files", folder, {"sampler": [3, 14, 3, 0, 9]}),
    Case("batch_size=None", "files", folder, {"batch_size": None, "sampler": [3, 14, 0]}),
    Case("own, batch_size=None", "workers", own, {"batch_size": None, "shuffle": True}),
    Case("batch_sampler", "files", folder, {"batch_sampler": [[3], [14, 3, 0, 9, 9], [1, 2]]}),
    Case(
        "WeightedRandomSampler",
        "files",
        folder,
        {},
        lambda dataset: {"sampler": WeightedRandomSampler([1, 5, 1] * 5, 20)},
    ),
    Case(
        "SubsetRandomSampler",
        "workers",
        own,
        {"num_workers": 1},
        lambda dataset: {"sampler": SubsetRandomSampler([1, 4, 5, 6, 13])},
    ),
    Case(
        "RandomSampler with replacement",
        "files",
        folder,
        {},
        lambda dataset: {"sampler": RandomSampler(dataset, True, 9, torch.Generator())},
    ),
    Case(
        "DistributedSampler",
        "files",
        folder,
        {"drop_last": True},
        lambda dataset: {"sampler": DistributedSampler(dataset, 2, 1)},
    ),
    Case("IterableDataset", "python", lambda root: Numbers(10), {"drop_last": True}),
    Case(
        "IterableDataset, worker_init_fn",
        "python",
        lambda root: Numbers(10),
        {"num_workers": 2, "worker_init_fn": split_numbers},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_batches_are_those_of_pytorch(case: Case, root: str) -> None:
    """Two epochs each. Without the way that is expected, a case would compare PyTorch with itself."""
    batches = {}
    for kind in (data.DataLoader, DataLoader):
        torch.manual_seed(11)
        dataset = case.dataset(root)
        loader = kind(dataset, **case.arguments(dataset))
        batches[kind] = [list(loader) for _ in range(2)], len(loader)
        if kind is DataLoader:
            assert loader.explain().way == case.way, str(loader.explain())
    got, expected = batches[DataLoader], batches[data.DataLoader]
    assert expected[0][0]
    assert near(got, expected)


# ---- what is not a batch ----------------------------------------------------------------------------


def test_signature_and_attributes_are_those_of_pytorch(root: str) -> None:
    theirs = inspect.signature(data.DataLoader.__init__).parameters
    ours = inspect.signature(DataLoader.__init__).parameters
    shown = [(p.name, p.kind, p.default) for p in ours.values()]
    assert [(p.name, p.kind, p.default) for p in theirs.values() if p.name in ours] == shown
    given = {
        "batch_size": 4,
        "num_workers": 2,
        "drop_last": True,
        "timeout": 9,
        "prefetch_factor": 3,
    }
    given |= {"persistent_workers": True, "multiprocessing_context": "fork", "collate_fn": triple}
    given |= {"generator": torch.Generator(), "worker_init_fn": set_factor, "in_order": False}
    expected = data.DataLoader(folder(root), shuffle=True, **given)
    got = DataLoader(folder(root), shuffle=True, **given)
    assert isinstance(got, data.DataLoader)
    for name in (*given, "pin_memory", "pin_memory_device"):
        assert getattr(got, name) == getattr(expected, name), name
    assert type(got.sampler) is RandomSampler and type(got.batch_sampler) is data.BatchSampler
    assert len(got) == len(expected) == 3 and len(iter(got)) == 3
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader"):
        got.batch_size = 5


WRONG: list[dict[str, Any]] = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"num_workers": 1, "prefetch_factor": -2},
    {"persistent_workers": True},
    {"multiprocessing_context": "fork"},
    {"num_workers": 1, "multiprocessing_context": "none"},
    {"num_workers": 1, "multiprocessing_context": 3},
    {"sampler": [1], "shuffle": True},
    {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 2, "sizes": 1},
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_mistakes_get_the_messages_of_pytorch(given: dict[str, Any], root: str) -> None:
    refused = []
    for kind in (data.DataLoader, DataLoader):
        with pytest.raises(Exception) as error:
            kind(folder(root), **given)
        refused.append((error.type, str(error.value)))
    assert refused[0] == refused[1]


@pytest.mark.parametrize(
    "given", [{"sampler": [1]}, {"batch_sampler": [[1]]}, {"shuffle": True}], ids=str
)
def test_mistakes_with_iterable_data_sets(given: dict[str, Any]) -> None:
    for kind in (data.DataLoader, DataLoader):
        with pytest.raises(
            ValueError, match="DataLoader with IterableDataset: expected unspecified"
        ):
            kind(Numbers(3), **given)


def random_images(root: str) -> Any:
    return ImageFolder(
        root, v1.Compose([v1.RandomResizedCrop(CROP), v1.ColorJitter(0.5), v1.ToTensor()])
    )


RESUMED: dict[str, tuple[Callable[[str], Any], dict[str, Any]]] = {
    "files": (random_images, {"shuffle": True}),
    "files, a generator": (random_images, {"shuffle": True, "generator": True}),
    "workers": (
        lambda root: Own(root, random_images(root).transform),
        {"shuffle": True, "num_workers": 2},
    ),
    "python": (lambda root: list(range(15)), {"shuffle": True, "num_workers": 1}),
    "rows": (lambda root: table(), {"sampler": "weights"}),
    "iterable": (lambda root: Numbers(15), {"num_workers": 1}),
}


@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("taken", [0, 2])
def test_a_state_continues_the_epoch(name: str, taken: int, root: str) -> None:
    """Exactly, with its random transforms, in a process with other random numbers; and then the next epoch."""
    make, given = RESUMED[name]

    def loader() -> DataLoader:
        more = dict(given)
        dataset = make(root)
        if more.get("generator"):
            more["generator"] = torch.Generator().manual_seed(int(torch.randint(1000, ())))
        if more.get("sampler"):
            more["sampler"] = WeightedRandomSampler([1.0, 2.0] * 6 + [1.0], 12)
        return DataLoader(dataset, 3, **more)

    torch.manual_seed(21)
    first = loader()
    list(first)
    running = iter(first)
    for _ in range(taken):
        next(running)
    state = pickle.loads(pickle.dumps(first.state_dict()))
    rest = list(running)
    assert len(rest) == len(first) - taken
    torch.manual_seed(22)
    second = loader()
    second.load_state_dict(state)
    assert pickle.dumps(second.state_dict()) == pickle.dumps(state)
    before = torch.get_rng_state()
    resumed = iter(second)
    assert torch.equal(torch.get_rng_state(), before)
    assert exactly(next(resumed), rest[0])
    third = loader()
    third.load_state_dict(second.state_dict())
    assert exactly(list(third), rest[1:]) and exactly(list(resumed), rest[1:])
    if "generator" in given:
        assert exactly([labels for _, labels in second], [labels for _, labels in first])


def test_a_state_after_an_epoch_is_the_next_epoch(root: str) -> None:
    loader = DataLoader(folder(root), 4, shuffle=True, generator=torch.Generator().manual_seed(1))
    list(loader)
    state = loader.state_dict()
    expected = [labels for _, labels in loader]
    again = DataLoader(folder(root), 4, shuffle=True, generator=torch.Generator())
    again.load_state_dict(state)
    assert exactly([labels for _, labels in again], expected)
    with pytest.raises(ValueError, match="This is not a state of a headrace.torch.DataLoader"):
        again.load_state_dict({"_num_yielded": 3})
    with pytest.raises(ValueError, match="another number of generators"):
        DataLoader(folder(root), 4).load_state_dict(state)


@pytest.mark.parametrize("more", [{}, {"num_workers": 2, "persistent_workers": True}], ids=str)
@pytest.mark.parametrize("kind", [ImageFolder, WithPath])
def test_random_transforms_follow_the_seed(kind: Any, more: dict[str, Any], root: str) -> None:
    """They repeat with PyTorch's seed, and differ between epochs."""
    transform = v1.Compose([v1.RandomResizedCrop(CROP), v1.ToTensor()])

    def epochs() -> list[Any]:
        torch.manual_seed(4)
        loader = DataLoader(kind(root, transform), 5, **more)
        assert loader.explain().way in ("files", "workers")
        return [torch.cat([batch[0] for batch in loader]) for _ in range(2)]

    first, second = epochs(), epochs()
    assert all(map(torch.equal, first, second))
    assert not torch.equal(*first)


def test_another_transform_is_compiled_anew(root: str) -> None:
    """One that takes the place of the old one, and one that is altered."""
    dataset = folder(root)
    loader = DataLoader(dataset, 15)
    assert next(iter(loader))[0].shape == (15, 3, CROP, CROP)
    dataset.transform = v1.Compose([v1.CenterCrop(9), v1.ToTensor()])
    assert next(iter(loader))[0].shape == (15, 3, 9, 9)
    dataset.transform.transforms[0].size = (7, 5)
    assert next(iter(loader))[0].shape == (15, 3, 7, 5)
    assert near(next(iter(loader)), next(iter(data.DataLoader(dataset, 15))))


class FlipsLater(Own):
    """Python flips some images after the transform, which goes wrong with anything but a tensor."""

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        if index and random.random() < 0.3:
            image, label = image.flip(-1), label + 100
        return image, label


def test_what_differs_from_the_first_sample_runs_as_it_is(root: str) -> None:
    """With the random numbers that it would have had."""
    batches = []
    for kind in (data.DataLoader, DataLoader):
        random.seed(6)
        loader = kind(FlipsLater(root, IMAGE), 2)
        batches.append(list(loader))
        if kind is DataLoader:
            assert loader.explain().way == "workers"
    assert near(*batches)
    assert any(label > 99 for _, labels in batches[0] for label in labels)


def test_a_data_set_keeps_its_transform(root: str) -> None:
    dataset = WithPath(root, IMAGE)
    running = iter(DataLoader(dataset, 4))
    next(running)
    assert dataset.transform is IMAGE and dataset.transforms.transform is IMAGE
    assert isinstance(dataset[0][0], torch.Tensor)


class Broken(Own):
    def __getitem__(self, index: int) -> Any:
        if index == 9:
            raise KeyError("sample 9")
        return super().__getitem__(index)


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_of_a_data_set_come_in_order(workers: int, root: str) -> None:
    taken = 0
    with pytest.raises(KeyError, match="sample 9"):
        for _ in DataLoader(Broken(root, IMAGE), 2, num_workers=workers):
            taken += 1
    assert taken == 4


def test_a_file_that_is_missing_is_named(root: str) -> None:
    dataset = folder(root)
    dataset.samples[5] = (dataset.samples[5][0] + ".gone", 1)
    running = iter(DataLoader(dataset, 3))
    next(running)
    with pytest.raises(RuntimeError, match=r"0\.png\.gone"):
        next(running)


def test_loops_that_end_early_and_loops_at_once(root: str) -> None:
    loader = DataLoader(folder(root), 4)
    whole = list(loader)
    for _ in loader:
        break
    pairs = list(zip(loader, loader))
    assert all(near(list(pair), [batch, batch]) for pair, batch in zip(pairs, whole))
    assert len(pairs) == len(whole) == 4


def test_explain_names_the_way_and_the_reasons(root: str) -> None:
    text = str(
        DataLoader(folder(root), num_workers=2, worker_init_fn=print, collate_fn=len).explain()
    )
    assert "way       files: the engine reads the files of ImageFolder" in text
    assert "compiled  CenterCrop" in text
    assert "num_workers=2 is a number of threads" in text and "worker_init_fn is not called" in text
    assert "collate_fn runs in this process" in text
    text = str(DataLoader(Subset(Mask(root), [1])).explain())
    assert text.startswith(
        "way       python: a DataLoader of PyTorch makes the batches of Subset of Mask"
    )
    assert "because   Mask.__getitem__ sets the seeds or states of random numbers" in text
    torch.set_default_dtype(torch.float64)
    try:
        assert next(iter(DataLoader(folder(root))))[0].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    lambdas = v1.Compose([v1.Lambda(lambda x: x), IMAGE])
    text = str(DataLoader(ImageFolder(root, lambdas)).explain())
    assert text.startswith("way       workers: ") and "Python    Lambda" in text


def test_processes_read_shards(root: str, tmp_path: Path) -> None:
    """Without a sampler; with one, as the sampler says."""
    dist = torch.distributed
    dist.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dist, "get_world_size", lambda group=None: 3)
            patch.setattr(dist, "get_rank", lambda group=None: 1)
            with pytest.warns(UserWarning, match="shard 1 of 3 is read"):
                loader = DataLoader(own(root), 2, shuffle=True)
            sampler = DistributedSampler(own(root), 3, 1, shuffle=True)
            for epoch in range(2):
                sampler.set_epoch(epoch)
                expected = list(sampler)
                assert [label for _, labels in loader for label in labels.tolist()] == expected
            assert len(loader) == 3 and "shard 1 of 3 is read" in str(loader.explain())
            every = DataLoader(own(root), 2, sampler=SequentialSampler(own(root)))
            assert len(every) == 8 and "shard" not in str(every.explain())
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("case", ["files", "workers"])
def test_a_loader_goes_without_the_garbage_collector(case: str, root: str) -> None:
    """Otherwise PyTorch waits seconds for each worker, whose queues may have gone first."""
    gc.disable()
    try:
        dataset = folder(root) if case == "files" else own(root)
        loader = DataLoader(dataset, 4, num_workers=1, persistent_workers=True)
        for _ in range(2):
            list(loader)
        next(iter(loader))
        below = weakref.ref(loader._below)
        del loader
        assert below() is None
    finally:
        gc.enable()


class Drawing(Own):
    """Has random numbers of its own."""

    def __init__(self, root: str, transform: Any) -> None:
        super().__init__(root, transform)
        self.rng = np.random.default_rng(7)

    def __getitem__(self, index: int) -> Any:
        image, _ = super().__getitem__(index)
        return image, int(self.rng.integers(1000))


class Feedback(data.Sampler):
    """What comes next depends on what training found."""

    def __init__(self) -> None:
        self.hardest = 0

    def __iter__(self) -> Iterator[int]:
        for _ in range(6):
            yield self.hardest

    def __len__(self) -> int:
        return 6


@pytest.mark.parametrize(
    "make", [folder, lambda root: Drawing(root, IMAGE)], ids=["files", "workers"]
)
def test_code_in_this_process_runs_when_pytorch_would_run_it(make: Any, root: str) -> None:
    found = []
    for kind in (data.DataLoader, DataLoader):
        sampler = Feedback()
        loader = kind(make(root), 1, sampler=sampler)
        found.append([])
        for batch in loader:
            found[-1].append(batch)
            sampler.hardest += 2
        if kind is DataLoader:
            assert loader.explain().way in ("files", "workers")
    assert near(found[1], found[0])
    assert not near(found[0][:1], found[0][1:2])


def test_a_data_set_in_the_place_of_a_pipeline(root: str) -> None:
    with pytest.raises(
        TypeError, match="not SubFolder. headrace.torch.DataLoader takes a data set"
    ):
        Loader(SubFolder(root, IMAGE))


def test_what_workers_get_can_be_sent(root: str) -> None:
    """To processes that are not forked."""
    loader = DataLoader(WithPath(root, IMAGE), 4, num_workers=1, worker_init_fn=np.random.seed)
    next(iter(loader))
    below = loader._below
    assert below is not None
    view, collate, init = pickle.loads(
        pickle.dumps((below.dataset, below.collate_fn, below.worker_init_fn))
    )
    batch = collate(view.__getitems__([2, 5]))
    ((block,),) = (slots.values() for slots in batch.blocks.values())
    files = [Path(view.dataset.samples[i][0]).read_bytes() for i in (2, 5)]
    assert [array.tobytes() for array in block.arrays()] == files
    assert batch.rest[1].tolist() == [0, 1] and callable(init)


def test_workers_send_no_images_much_larger_than_their_results(root: str) -> None:
    loader = DataLoader(WithPath(root, SMALL), 4, num_workers=1)
    next(iter(loader))
    below = loader._below
    assert below is not None
    batch = below.collate_fn(below.dataset.__getitems__([2, 5]))  # type: ignore[attr-defined]
    assert not batch.blocks and len(pickle.dumps(batch)) < 6000


class Anything(data.Dataset):
    """Has all attributes, without end."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Anything()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index * 3


def test_a_data_set_that_cannot_be_looked_into() -> None:
    loader = DataLoader(Anything(), 4)
    assert [batch.tolist() for batch in loader] == [[0, 3, 6, 9]]
    assert loader.explain().way == "python"
