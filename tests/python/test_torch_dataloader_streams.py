# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` with data sets whose samples come one after the other."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from headrace.torch import DataLoader  # noqa: E402
from headrace.torch._loading.late import Late  # noqa: E402
from torch_sets import CROP, IMAGE, Own, classes, exactly, near  # noqa: E402
from torch.utils import data  # noqa: E402
from torchvision import transforms as v1  # noqa: E402

RANDOM = v1.Compose([v1.RandomResizedCrop(CROP), v1.ColorJitter(0.4), v1.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return classes(tmp_path_factory.mktemp("classes"))


def shard() -> tuple[int, int]:
    info = data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class Files(data.IterableDataset):
    """The usual: files, of which each worker reads its part; `make` turns an image into a sample."""

    def __init__(
        self, root: str, transform: Any, make: Callable[[Any, Any, int], Any] | None = None
    ) -> None:
        self.files = Own(root, None).files
        self.transform, self.make = transform, make
        self.opened = 0

    def __iter__(self) -> Iterator[Any]:
        worker, workers = shard()
        for number in range(worker, len(self.files), workers):
            yield self.sample(number)

    def sample(self, number: int) -> Any:
        self.opened += 1
        image = Image.open(self.files[number]).convert("RGB")
        if self.make:
            return self.make(self, image, number)
        return self.transform(image), number


class Stateful(Files):
    """Says where it is, and continues there."""

    place: int | None = None
    begin: int | None = None

    def __iter__(self) -> Iterator[Any]:
        worker, workers = shard()
        begin, self.begin = worker if self.begin is None else self.begin, None
        for number in range(begin, len(self.files), workers):
            self.place = number + workers
            yield self.sample(number)

    def state_dict(self) -> dict[str, Any]:
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.begin = self.place = state["place"]


class Live(Stateful):
    """Gives the dictionary that it goes on changing."""

    def __iter__(self) -> Iterator[Any]:
        worker, workers = shard()
        begin, self.begin = worker if self.begin is None else self.begin, None
        self.state: dict[str, Any] = {}
        for number in range(begin, len(self.files), workers):
            self.state["place"] = number + workers
            yield self.sample(number)

    def state_dict(self) -> dict[str, Any]:
        return self.state


class Iterating:
    """An iterator with a state."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, (self.at, self.step) = dataset, shard()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.at >= len(self.dataset.files):
            raise StopIteration
        self.at += self.step
        return self.dataset.sample(self.at - self.step)

    def state_dict(self) -> Any:
        return self.at

    def load_state_dict(self, at: Any) -> None:
        self.at = at


class ByIterator(Files):
    def __iter__(self) -> Any:
        return Iterating(self)


class Shuffled(Files):
    """Its order and its labels are random."""

    def __iter__(self) -> Iterator[Any]:
        order = torch.randperm(len(self.files)).tolist()
        worker, workers = shard()
        for number in order[worker::workers]:
            image, _ = self.sample(number)
            yield image, number * 100 + int(torch.randint(100, ()))


class Uneven(Files):
    """A worker has one sample, the next ones more."""

    def __iter__(self) -> Iterator[Any]:
        worker, workers = shard()
        last = worker == workers - 1
        for number in range(len(self.files) if last else 1 + 3 * worker):
            yield self.sample(number)


def doubled(dataset: Files, image: Any, number: int) -> Any:
    return dataset.transform(image) * 2, number


def sometimes(dataset: Files, image: Any, number: int) -> Any:
    made = dataset.transform(image)
    if number % 4 == 1:
        made = made.flip(-1)
    if number % 4 == 2:
        made += 1
    if number % 4 == 3:
        made.mul_(0.5)
    return made, number


def other_place(dataset: Files, image: Any, number: int) -> Any:
    """The tensor that is used is not always at the same place."""
    views = [dataset.transform(image), dataset.transform(image)]
    views[number % 2] = views[number % 2].neg()
    return views, number


def looked_at(dataset: Files, image: Any, number: int) -> Any:
    made = dataset.transform(image)
    return {"x": made, "shape": list(made.shape), "mean": made.mean().item(), "n": len(made)}


def stacked(dataset: Files, image: Any, number: int) -> Any:
    return torch.stack([dataset.transform(image) for _ in range(2)]), np.asarray(number)


def without(dataset: Files, image: Any, number: int) -> Any:
    return (torch.ones(3, CROP, CROP) if number % 3 else dataset.transform(image)), number


def sent(dataset: Files, image: Any, number: int) -> Any:
    return pickle.loads(pickle.dumps(dataset.transform(image))), number


def array(dataset: Files, image: Any, number: int) -> Any:
    return np.asarray(dataset.transform(image)), number


def twice(dataset: Files, image: Any, number: int) -> Any:
    made = dataset.transform(image)
    return made, number, made


USES = [None, doubled, sometimes, other_place, looked_at, stacked, without, sent, array]
SETS = [Files, Stateful, Live, ByIterator, Shuffled, Uneven]


def both(make: Callable[[], Any], **given: Any) -> tuple[list[Any], list[Any], Any]:
    """Two epochs of PyTorch's loader, and of ours, which is returned, too."""
    found = []
    for kind in (data.DataLoader, DataLoader):
        torch.manual_seed(5)
        random.seed(5)
        loader = kind(make(), **given)
        found.append([list(loader) for _ in range(2)])
    return found[0], found[1], loader


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("use", USES, ids=lambda use: getattr(use, "__name__", "plain"))
def test_code_goes_on_with_what_the_transform_makes(use: Any, workers: int, root: str) -> None:
    given = {"batch_size": 4, "num_workers": workers}
    expected, got, loader = both(lambda: Files(root, IMAGE, use), **given)
    assert loader.explain().way == "workers" and len(got[0]) >= 4
    assert near(got, expected)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(
    "given",
    [
        {"batch_size": 4},
        {"batch_size": 2, "num_workers": 3, "drop_last": True},
        {"batch_size": 2, "num_workers": 2, "persistent_workers": True},
        {"batch_size": None, "num_workers": 2},
        {"batch_size": 3, "num_workers": 1, "collate_fn": list},
    ],
    ids=str,
)
def test_batches_are_those_of_pytorch(kind: Any, given: dict[str, Any], root: str) -> None:
    expected, got, loader = both(lambda: kind(root, IMAGE), **given)
    assert loader.explain().way == "workers" and loader.explain().dataset == kind.__name__
    assert near(got, expected)


def first_of(dataset: Files, image: Any, number: int) -> Any:
    """The engine makes the first batch alone."""
    return (
        (dataset.transform(image), number) if number < 2 else (torch.zeros(3, CROP, CROP), number)
    )


FUNCTIONS = v1.Compose([v1.Lambda(lambda image: image.rotate(90)), IMAGE])
LAST = v1.Compose([IMAGE, v1.Lambda(lambda x: x.abs())])


@pytest.mark.parametrize(
    ("transform", "way", "shown"),
    [
        (FUNCTIONS, "workers", "Python    Lambda"),
        (LAST, "python", "Python    Lambda"),
        (v1.ToTensor(), "workers", "compiled  ToTensor"),
        (
            v1.Compose([v1.Grayscale(), v1.CenterCrop(9), v1.ToTensor()]),
            "workers",
            "compiled  Gray",
        ),
        (v1.Compose([v1.PILToTensor(), v1.CenterCrop(9)]), "workers", "compiled  PILToTensor"),
        (None, "python", "no transform of torchvision found in Files"),
    ],
)
def test_what_is_compiled_is_shown(transform: Any, way: str, shown: str, root: str) -> None:
    make = None if transform else lambda dataset, image, number: np.asarray(image)[:5, :5]
    expected, got, loader = both(lambda: Files(root, transform, make), batch_size=1)
    assert loader.explain().way == way and shown in str(loader.explain())
    assert near(got, expected)


def test_large_images_stay_with_their_worker(root: str) -> None:
    small = v1.Compose([v1.Lambda(lambda image: image), v1.CenterCrop(4), v1.ToTensor()])
    given = {"batch_size": 5, "num_workers": 1}
    expected, got, loader = both(lambda: Files(root, small), **given)
    assert near(got, expected) and loader.explain().way == "workers"
    view = loader._below.dataset
    assert not loader._below.collate_fn([next(iter(view))]).batch.blocks
    loader = DataLoader(Files(root, small), batch_size=5)
    next(iter(loader))
    assert loader._below.collate_fn([next(iter(loader._below.dataset))]).batch.blocks


@pytest.mark.parametrize("workers", [0, 2])
def test_a_result_that_is_handed_on_twice_is_drawn_once(workers: int, root: str) -> None:
    loader = DataLoader(Files(root, RANDOM, twice), batch_size=2, num_workers=workers)
    assert loader.explain().way == "workers"
    for one, _, other in loader:
        assert torch.equal(one, other) and one.std() > 0


def test_a_result_of_an_earlier_sample(root: str) -> None:
    """Is refused if it would be drawn again, and is right otherwise."""

    def with_previous(dataset: Files, image: Any, number: int) -> Any:
        made = dataset.transform(image)
        before, dataset.before = getattr(dataset, "before", made), made
        return made, before

    def cloned(dataset: Files, image: Any, number: int) -> Any:
        made = dataset.transform(image).clone()
        before, dataset.before = getattr(dataset, "before", made), made
        return made, before

    with pytest.raises(RuntimeError, match="Call clone"):
        list(DataLoader(Files(root, RANDOM, with_previous), batch_size=2))
    fixed = v1.Compose([v1.Resize((CROP, CROP)), v1.ToTensor()])
    for transform, make in ((RANDOM, cloned), (fixed, with_previous)):
        made, before = zip(*DataLoader(Files(root, transform, make), batch_size=None))
        assert all(map(torch.equal, made, before[1:]))


# ---- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("transform", [RANDOM, None], ids=["engine", "python"])
@pytest.mark.parametrize("kind", SETS)
def test_a_state_continues_the_epoch(kind: Any, transform: Any, workers: int, root: str) -> None:
    """Exactly; and again from there; and then the next epoch begins at its beginning."""
    if kind is Shuffled and not workers:
        pytest.skip("what code draws in this process is not restored")
    given: dict[str, Any] = {"batch_size": 2, "num_workers": workers}
    make = (lambda d, image, n: np.asarray(image)[:3, :3].copy()) if transform is None else None

    def loader(seed: int) -> DataLoader:
        generator = torch.Generator().manual_seed(seed)
        if kind is Shuffled and transform is None:
            dataset = kind(root, lambda image: np.asarray(image)[:3, :3])
            return DataLoader(dataset, **given, generator=generator)
        return DataLoader(kind(root, transform, make), **given, generator=generator)

    whole = list(loader(1))
    assert len(whole) >= 8
    for taken in (0, 1, 4, len(whole) - 1, len(whole)):
        first = loader(1)
        running = iter(first)
        for _ in range(taken):
            next(running)
        state = pickle.loads(pickle.dumps(first.state_dict()))
        running.batches = iter(())
        second = loader(2)
        second.load_state_dict(state)
        resumed = iter(second)
        if taken < len(whole):
            assert exactly_any(next(resumed), whole[taken])
            third = loader(4)
            third.load_state_dict(second.state_dict())
            assert exactly_any(list(third), whole[taken + 1 :])
        assert exactly_any(list(resumed), whole[taken + 1 :])
        if kind is not Shuffled:
            assert len(list(second)) == len(whole)


def exactly_any(got: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(exactly_any, got, expected))
    return exactly(got, expected)


@pytest.mark.parametrize("kind", [Stateful, ByIterator])
def test_what_has_a_state_makes_no_sample_again(kind: Any, root: str) -> None:
    first = DataLoader(kind(root, IMAGE), 3)
    running = iter(first)
    for _ in range(4):
        next(running)
    dataset = kind(root, IMAGE)
    second = DataLoader(dataset, 3)
    second.load_state_dict(first.state_dict())
    assert [labels.tolist() for _, labels in second] == [[12, 13, 14]] and dataset.opened == 3


def test_a_state_of_another_number_of_workers_is_refused(root: str) -> None:
    loader = DataLoader(Files(root, IMAGE), 3, num_workers=2)
    running = iter(loader)
    next(running)
    other = DataLoader(Files(root, IMAGE), 3, num_workers=3)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(
        ValueError, match="a loader with 2 processes .* give it the same num_workers"
    ):
        iter(other)


def test_a_stream_that_cannot_begin_again_loses_nothing(root: str, tmp_path: Path) -> None:
    """Looking at the data set takes no sample from a file that it has open."""
    (tmp_path / "list").write_text("\n".join(Own(root, None).files) + "\n")

    class Lines(data.IterableDataset):
        def __init__(self) -> None:
            self.lines = (tmp_path / "list").open()
            self.transform = IMAGE

        def __iter__(self) -> Iterator[Any]:
            for line in self.lines:
                yield self.transform(Image.open(line.strip()).convert("RGB"))

    loader = DataLoader(Lines(), 4)
    assert loader.explain().way == "workers"
    assert [len(batch) for batch in loader] == [4, 4, 4, 3]
    loader.dataset.lines.close()


# ---- tensors that are made when they are used ---------------------------------------------------------


LATE: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: tuple(x.shape),
    "dtype": lambda x: x.dtype,
    "add": lambda x: x + 1,
    "radd": lambda x: 2 - x,
    "index": lambda x: x[1],
    "numpy": lambda x: x.numpy(),
    "array": np.asarray,
    "iterate": lambda x: [row.sum().item() for row in x],
    "len": len,
    "stack": lambda x: torch.stack([x, x]),
    "cat": lambda x: torch.cat((x, x), 1),
    "function": lambda x: torch.nn.functional.pad(x, (1, 1)),
    "compare": lambda x: bool((x == x).all()),
    "in place": lambda x: x.add_(3).sum(),
    "augmented": lambda x: augmented(x),
    "item": lambda x: x[0, 0].item(),
    "type": lambda x: isinstance(x, torch.Tensor),
    "deep copy": lambda x: __import__("copy").deepcopy(x),
    "sent": lambda x: pickle.loads(pickle.dumps(x)),
    "to": lambda x: x.to(torch.float64),
    "repr": repr,
    "nested": lambda x: data.default_collate([{"a": [x]}, {"a": [x]}])["a"][0],
    "out": lambda x: torch.add(x, x, out=torch.empty(2, 3)),
}


def augmented(x: Any) -> Any:
    x *= 4
    return x


@pytest.mark.parametrize("use", LATE)
def test_a_late_tensor_is_that_tensor(use: str) -> None:
    value = torch.arange(6.0).reshape(2, 3)
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return value.clone()

    late = Late.of("waiting", make, True)
    expected, got = LATE[use](value.clone()), LATE[use](late)
    assert type(got) is type(expected)
    assert bool(
        np.array_equal(got, expected) if isinstance(got, np.ndarray) else exactly(got, expected)
    )
    assert len(made) == (0 if use == "type" else 1) and late.used == (use != "type")
