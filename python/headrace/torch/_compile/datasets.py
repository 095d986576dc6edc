# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The files and targets of a data set, as a DataLoader over it would open and return them.

Only data sets whose code is known are looked into: `DatasetFolder` of torchvision with its default
loader, `Subset` and `ConcatDataset` of them, folders, and lists of pairs. Code of the user that a
DataLoader would run is an `OwnCode`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils.data import ConcatDataset, IterableDataset, Subset, default_collate

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

_LARGEST = 2**31 - 1  # labels of fn.readers.file are INT32
_WAY = (
    "Python runs it, as in a DataLoader, if the data set applies the transform itself: if its "
    "attribute `transform` is the transform that is passed. If the images and targets are as in its "
    "list `samples`, pass that list: headrace.torch.compile(transform, dataset.samples). Otherwise "
    "use headrace.torch.DataLoader, or a pipeline with fn.external_source and headrace.torch.Loader"
)


class OwnCode(TypeError):
    """A DataLoader would run code of the data set that a pipeline does not.

    Attributes:
        reason: whose code, and which.
    """

    def __init__(self, reason: str, then: str) -> None:
        super().__init__(f"{reason}{then}. {_WAY}")
        self.reason = reason


class Sample(NamedTuple):
    """A file, its target, and what the data set makes of the target."""

    path: Any
    target: Any
    transform: Callable[[Any], Any] | None = None

    @property
    def plain(self) -> bool:
        """Whether the target is an integer that needs no Python code."""
        return (
            self.transform is None
            and type(self.target) is int
            and -_LARGEST <= self.target <= _LARGEST
        )


class Files:
    """What `compile` reads.

    Attributes:
        paths: the files.
        labels: an integer per file: its target, or its number if targets are not integers.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self.paths = [os.fspath(sample.path) for sample in samples]
        plain = all(sample.plain for sample in samples)
        self.labels = [s.target for s in samples] if plain else list(range(len(samples)))
        self._samples = None if plain else samples

    @property
    def numbered(self) -> bool:
        """Whether labels are numbers of samples, to be replaced by `targets`."""
        return self._samples is not None

    def targets(self, numbers: torch.Tensor) -> Any:
        """The targets of these samples, as a DataLoader collates them."""
        assert self._samples is not None
        found = [self._samples[number] for number in numbers.tolist()]
        if not found:
            return numbers
        return default_collate([s.transform(s.target) if s.transform else s.target for s in found])


def files_of(dataset: Any) -> Files:
    """The files and targets of a data set like ImageFolder, of a subset of one, of a folder, or of a
    list of pairs.

    Raises:
        OwnCode: the data set runs code that would be left out.
        TypeError: it is not a data set of files, or not one with indices.
        FileNotFoundError: there are no images.
    """
    if isinstance(dataset, (str, os.PathLike)):
        found = folder(os.fspath(dataset))
    elif isinstance(dataset, (list, tuple)):
        found = listed(dataset)
    elif isinstance(dataset, IterableDataset) or not hasattr(type(dataset), "__getitem__"):
        raise TypeError(
            f"{type(dataset).__name__} is not an ImageFolder or another data set with indices. Pass such "
            "a data set, the path of a folder with one folder per class, or a list of pairs (path, target)"
        )
    else:
        found = samples(dataset)
    if not found:
        raise FileNotFoundError(f"there are no images in {dataset!r}")
    return Files(found)


def folder(root: str) -> list[Sample]:
    """As ImageFolder: a folder per class, in the order of their names; files at any depth."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"{root} has no folders: it must have one per class")
    found = []
    for label, name in enumerate(classes):
        for path, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            found += [
                Sample(os.path.join(path, file), label)
                for file in sorted(files)
                if file.lower().endswith(EXTENSIONS)
            ]
    return found


def listed(pairs: Any) -> list[Sample]:
    """A list of pairs (path, target), such as `samples` of an ImageFolder."""
    for number, pair in enumerate(pairs):
        if isinstance(pair, (list, tuple)) and len(pair) == 2:
            if isinstance(pair[0], (str, bytes, os.PathLike)):
                continue
        raise TypeError(
            f"a list as data set must have pairs (path, target), but its element {number} is {pair!r}"
        )
    return [Sample(*pair) for pair in pairs]


def samples(dataset: Any) -> list[Sample]:
    if isinstance(dataset, Subset):
        check_code(dataset, Subset)
        inner = samples(dataset.dataset)
        return [inner[int(i)] for i in dataset.indices]
    if isinstance(dataset, ConcatDataset):
        check_code(dataset, ConcatDataset)
        parts = [samples(part) for part in dataset.datasets]
        if list(itertools.accumulate(map(len, parts))) != list(dataset.cumulative_sizes):
            raise TypeError("the parts of the ConcatDataset have changed in size since it was made")
        return [sample for part in parts for sample in part]
    from torchvision.datasets.folder import DatasetFolder, default_loader

    name = type(dataset).__name__
    if not isinstance(dataset, DatasetFolder):
        raise OwnCode(
            f"{name} has its own __getitem__",
            ": it is not an ImageFolder or another DatasetFolder of torchvision",
        )
    check_code(dataset, DatasetFolder)
    if dataset.loader is not default_loader:
        raise OwnCode(
            f"{name} opens its files with {dataset.loader!r}",
            ", which would be left out: only torchvision's default_loader can be replaced",
        )
    return [Sample(path, target, dataset.target_transform) for path, target in dataset.samples]


def check_code(dataset: Any, base: type, more: str | None = None) -> None:
    """Refuses a subclass of `base` that changes what a DataLoader gets. `more`: a method that it may call.

    Raises:
        OwnCode: it does.
    """
    kind = type(dataset)
    for name in ("__getitem__", "__getitems__", "__len__", "__getattribute__", *filter(None, [more])):
        if getattr(kind, name, None) is not getattr(base, name, None):
            raise OwnCode(
                f"{kind.__name__} has its own {name}",
                ", which a DataLoader would call and a compiled loader would not",
            )


def applies(dataset: Any, transform: Any) -> bool:
    """Whether the samples of a data set are made with this transform."""
    from torchvision.datasets.vision import StandardTransform

    own = getattr(dataset, "transform", None)
    if own is None:
        both = getattr(dataset, "transforms", None)  # of images and targets
        own = both.transform if isinstance(both, StandardTransform) else both
    if own is not None:
        return bool(own is transform or own == transform)  # bound methods are equal
    if isinstance(dataset, Subset):
        return applies(dataset.dataset, transform)
    parts = dataset.datasets if isinstance(dataset, ConcatDataset) else []
    return bool(parts) and all(applies(part, transform) for part in parts)
