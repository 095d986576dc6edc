# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets as users have them, for the tests of `headrace.torch.DataLoader`."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torch.utils import data  # noqa: E402
from torch.utils.data import (  # noqa: E402
    TensorDataset,
)
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import CIFAR10, MNIST, SVHN, ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

SIZE, CROP, STD = 32, 24, 0.25
IMAGE = v1.Compose(
    [
        v1.Resize(SIZE),
        v1.CenterCrop(CROP),
        v1.ToTensor(),
        v1.Normalize([0.5] * 3, [STD] * 3),
    ]
)
BYTES = v2.Compose([v2.Resize(SIZE), v2.CenterCrop(CROP), v2.ToImage()])
GREY = v1.Compose([v1.Grayscale(), v1.Resize((CROP, CROP)), v1.ToTensor()])
SMALL = v1.Compose([v1.CenterCrop(8), v1.ToTensor()])
ARRAY = v1.Compose([v1.Resize(20), v1.ToTensor()])


def classes(folder: Path) -> str:
    """Three folders of five images each."""
    for label in range(3):
        (folder / f"c{label}").mkdir()
        for k in range(5):
            noise = np.random.default_rng([label, k]).integers(0, 256, (5, 6, 3), np.uint8)
            image = Image.fromarray(noise).resize((50 + k, 40 + label), Image.Resampling.BICUBIC)
            image.save(folder / f"c{label}" / f"{k}.png")
    return str(folder)


def near(got: Any, expected: Any) -> bool:
    """Whether two batches have the same structure, types and values; pixels may differ by 1."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor) or got.dtype != expected.dtype:
            return False
        if got.shape != expected.shape or expected.dim() < 3:
            return torch.equal(got, expected)
        level = 1 if got.dtype == torch.uint8 else 1 / 255 / STD + 1e-5
        return bool((got.double() - expected.double()).abs().max() <= level)
    if type(got) is not type(expected):
        return False
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(near(got[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(near, got, expected))
    return bool(got == expected)


def exactly(got: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return torch.equal(got, expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(exactly, got, expected))
    return bool(got == expected)


# ---- data sets, as users have them ------------------------------------------------------------------


class SubFolder(ImageFolder):
    """Other classes, but no other samples."""

    def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
        names, _ = super().find_classes(directory)
        return names, {name: 10 - i for i, name in enumerate(names)}


class WithPath(ImageFolder):
    def __getitem__(self, index: Any) -> Any:
        return *super().__getitem__(index), self.samples[index][0]


class Own(data.Dataset):
    """The usual: a list of files, an image opened by Pillow, a target; `shape` makes the sample."""

    def __init__(
        self, root: str, transform: Any, shape: Callable[[Any, int], Any] = lambda x, i: (x, i)
    ) -> None:
        self.files = sorted(map(str, Path(root).glob("*/*.png")))
        self.transform, self.shape = transform, shape

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        with Image.open(self.files[index]) as opened:
            image = opened.convert("RGB")
        if self.transform:
            image = self.transform(image)
        return self.shape(image, int(index))


class Mixed(Own):
    """Some images are grey, and one has a palette."""

    def __getitem__(self, index: int) -> Any:
        with Image.open(self.files[index]) as opened:
            image = opened.convert(("RGB", "RGB", "L", "P")[index % 4])
        return self.transform(image), index


class FromTensor(Own):
    def __getitem__(self, index: int) -> Any:
        pixels = np.asarray(Image.open(self.files[index]))
        return self.transform(torch.from_numpy(pixels.copy()).permute(2, 0, 1)), index


class Twice(Own):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), self.transform(image), index


class Mask(Own):
    """The random numbers of the image and of its mask are the same."""

    def __init__(self, root: str) -> None:
        super().__init__(root, v1.Compose([v1.RandomHorizontalFlip(), IMAGE]))

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        torch.manual_seed(index)
        first = self.transform(image)
        torch.manual_seed(index)
        return first, IMAGE(v1.RandomHorizontalFlip()(image)), index


class Later(Own):
    """Goes on with the image after the transform."""

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image * 2, label


class Lenient(Own):
    """Would go another way if the image were no tensor."""

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image, label if isinstance(image, torch.Tensor) else -1.0


class Cached(Own):
    def __init__(self, root: str, transform: Any) -> None:
        super().__init__(root, transform)
        self.kept: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.kept:
            self.kept[index] = super().__getitem__(index)
        return self.kept[index]


class Named(Own):
    """As albumentations is called."""

    def __init__(self, root: str) -> None:
        super().__init__(root, lambda image: {"image": IMAGE(image)})

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image=image)["image"], index


class Joint(Own):
    """A transform of images and targets."""

    def __init__(self, root: str) -> None:
        super().__init__(root, None)
        self.transforms = v2.Compose([v2.Resize((CROP, CROP)), v2.ToImage()])

    def __getitem__(self, index: int) -> Any:
        return self.transforms(Image.open(self.files[index]).convert("RGB"), index)


class Sometimes(Own):
    """Some samples are made without the transform."""

    def __getitem__(self, index: int) -> Any:
        if index % 5 == 3:
            return torch.zeros(3, CROP, CROP), index
        return super().__getitem__(index)


class Wrapped(data.Dataset):
    """A transform for a part of another data set."""

    def __init__(self, dataset: Any, transform: Any) -> None:
        self.dataset, self.transform = dataset, transform

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        image, label = self.dataset[index]
        return self.transform(image), label


class Keys(data.Dataset):
    """Indices are not numbers."""

    def __getitem__(self, key: str) -> Any:
        return torch.tensor(len(key)), key

    def __len__(self) -> int:
        return 3


class Numbers(data.IterableDataset):
    def __init__(self, end: int) -> None:
        self.begin, self.end, self.step = 0, end, 1

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.begin, self.end, self.step):
            yield torch.tensor([number, number * 2]), number

    def __len__(self) -> int:
        return self.end


def split_numbers(worker: int) -> None:
    info = data.get_worker_info()
    assert info is not None
    info.dataset.begin, info.dataset.step = worker, info.num_workers  # type: ignore[attr-defined]


def set_factor(worker: int) -> None:
    info = data.get_worker_info()
    assert info is not None and isinstance(info.dataset, Own)
    info.dataset.shape = lambda x, i: (x, i * 100)  # type: ignore[method-assign]


def in_memory(base: Any, transform: Any, **members: Any) -> Any:
    """A data set of torchvision without its files."""
    made = base.__new__(base)
    made.transform, made.target_transform = transform, None
    for name, value in members.items():
        setattr(made, name, value)
    return made


def cifar(transform: Any, base: Any = CIFAR10) -> Any:
    pixels = np.random.default_rng(5).integers(0, 256, (13, 32, 32, 3), np.uint8)
    return in_memory(base, transform, data=pixels, targets=[i % 10 for i in range(13)])


def mnist() -> Any:
    pixels = torch.randint(0, 256, (11, 28, 28), dtype=torch.uint8)
    return in_memory(MNIST, ARRAY, data=pixels, targets=torch.arange(11))


def svhn() -> Any:
    pixels = np.random.default_rng(6).integers(0, 256, (9, 3, 32, 32), np.uint8)
    return in_memory(SVHN, ARRAY, data=pixels, labels=np.arange(9))


def table() -> Any:
    return TensorDataset(torch.arange(26.0).reshape(13, 2), torch.arange(13))


def triple(samples: Any) -> Any:
    images, labels = zip(*samples)
    return {"images": torch.stack(images), "triple": torch.tensor(labels) * 3}


def ragged(samples: Any) -> Any:
    return tuple(zip(*samples))


def boxes(image: Any, i: int) -> Any:
    return image, {"boxes": torch.arange(4.0 * (i % 3)).reshape(-1, 4), "id": i}


Pair = collections.namedtuple("Pair", "image label")


def folder(root: str) -> Any:
    return ImageFolder(root, IMAGE)


def own(root: str) -> Any:
    return Own(root, IMAGE)


def seeded_generator(dataset: Any) -> dict[str, Any]:
    return {"shuffle": True, "generator": torch.Generator().manual_seed(8)}
