# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets of PyTorch and torchvision whose items are found without their Python code.

The items are files, or arrays in memory. Subclasses count if they have the methods of their base.
"""

from __future__ import annotations

import bisect
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset

from headrace.torch._compile.datasets import OwnCode, check_code
from headrace.torch._loading.items import Pending
from headrace.torch._loading.joint import FILE, Kind

Item = tuple[NDArray[np.uint8], Any]  # what the pipeline gets, and the target
Read = Callable[[Any, Any], Item]


class Unknown(Exception):
    """The items of a data set are not known; the text is the reason."""


def _of_folder(dataset: Any, index: Any) -> Item:
    path, target = dataset.samples[index]
    return np.frombuffer(os.fsencode(path), np.uint8), target


def _of_coco(dataset: Any, index: Any) -> Item:
    if not isinstance(index, int):
        raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
    number = dataset.ids[index]
    path = os.path.join(dataset.root, dataset.coco.loadImgs(number)[0]["file_name"])
    return np.frombuffer(os.fsencode(path), np.uint8), dataset._load_target(number)


def _of_cifar(dataset: Any, index: Any) -> Item:
    return dataset.data[index], dataset.targets[index]


def _of_mnist(dataset: Any, index: Any) -> Item:
    return dataset.data[index].numpy()[..., np.newaxis], int(dataset.targets[index])


def _of_svhn(dataset: Any, index: Any) -> Item:
    return np.transpose(dataset.data[index], (1, 2, 0)), int(dataset.labels[index])


def _table() -> list[tuple[type, Kind, Read]]:
    datasets = sys.modules.get("torchvision.datasets")
    if datasets is None:  # so nobody has one of its data sets
        return []
    return [
        (datasets.DatasetFolder, FILE, _of_folder),
        (datasets.CocoDetection, FILE, _of_coco),
        (datasets.CIFAR10, Kind("PIL", 3), _of_cifar),
        (datasets.MNIST, Kind("PIL", 1), _of_mnist),
        (datasets.SVHN, Kind("PIL", 3), _of_svhn),
    ]


def rule(dataset: Any) -> tuple[Kind, Read]:
    """What the items of a data set are, and how they are found.

    Raises:
        Unknown: this is not known.
    """
    name = type(dataset).__name__
    for base, kind, read in _table():
        if not isinstance(dataset, base):
            continue
        try:
            check_code(dataset, base, "_load_image" if read is _of_coco else None)
        except OwnCode as own:
            raise Unknown(own.reason) from None
        if read is _of_folder:
            from torchvision.datasets.folder import default_loader

            if dataset.loader is not default_loader:
                raise Unknown(f"{name} opens its files with {dataset.loader!r}")
        elif kind != FILE and getattr(dataset.data, "dtype", None) not in (
            np.dtype(np.uint8),
            torch.uint8,
        ):
            raise Unknown(f"{name}.data has no elements of type uint8")
        return kind, read
    raise Unknown(f"{name} has code of its own")


def _transforms(dataset: Any, read: Read) -> tuple[Any, Any]:
    """The transforms of images and of targets that its `__getitem__` calls."""
    owner = dataset
    if read is _of_coco:
        from torchvision.datasets.vision import StandardTransform

        owner = dataset.transforms
        if owner is None:
            return None, None
        if type(owner) is not StandardTransform:
            raise Unknown("its transform gets images and targets")
    return owner.transform, owner.target_transform


def leaves(dataset: Any) -> Iterator[Any]:
    """The data sets that a Subset or ConcatDataset consists of.

    Raises:
        Unknown: a subclass of them has code of its own.
    """
    for base, inner in ((Subset, "dataset"), (ConcatDataset, "datasets")):
        if isinstance(dataset, base):
            try:
                check_code(dataset, base)
            except OwnCode as own:
                raise Unknown(own.reason) from None
            parts = getattr(dataset, inner)
            for part in [parts] if base is Subset else parts:
                yield from leaves(part)
            return
    yield dataset


def located(dataset: Any, index: Any) -> tuple[Any, Any]:
    """The leaf that a sample comes from, and its index there."""
    while True:
        if isinstance(dataset, Subset):
            dataset, index = dataset.dataset, dataset.indices[index]
        elif isinstance(dataset, ConcatDataset):
            if index < 0:
                if -index > len(dataset):
                    raise ValueError("absolute value of index should not exceed dataset length")
                index += len(dataset)
            part = bisect.bisect_right(dataset.cumulative_sizes, index)
            index -= dataset.cumulative_sizes[part - 1] if part else 0
            dataset = dataset.datasets[part]
        else:
            return dataset, index


class Known(Dataset[Any]):
    """A view of a data set: its samples with the images untransformed.

    Attributes:
        kind: what the items are.
        transform: the transform of all samples.
    """

    def __init__(self, dataset: Any) -> None:
        parts = list(leaves(dataset))
        rules = [rule(part) for part in parts]
        if len({kind for kind, _ in rules}) != 1:
            raise Unknown("its parts differ in what they read")
        pairs = [_transforms(part, read) for part, (_, read) in zip(parts, rules)]
        self.kind, self.transform = rules[0][0], pairs[0][0]
        if any(transform is not self.transform for transform, _ in pairs):
            raise Unknown("its parts have different transforms")
        self.dataset = dataset
        self._read = {
            id(part): (read, then) for part, (_, read), (_, then) in zip(parts, rules, pairs)
        }

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        leaf, at = located(self.dataset, index)
        read, then = self._read[id(leaf)]
        array, target = read(leaf, at)
        if then is not None:
            target = then(target)
        return Pending(0, np.ascontiguousarray(array)), target


class Rows(Dataset[Any]):
    """A view of a TensorDataset, or a subset of one, whose batches are rows of the tensors."""

    def __init__(self, dataset: Any) -> None:
        inner = dataset
        while isinstance(inner, Subset):
            check_code(inner, Subset)
            inner = inner.dataset
        if not isinstance(inner, TensorDataset):
            raise Unknown("it is not a TensorDataset")
        check_code(inner, TensorDataset)
        if any(type(t) is not torch.Tensor or t.layout != torch.strided for t in inner.tensors):
            raise Unknown("a tensor is of a special kind")
        self.dataset, self._tensors = dataset, inner.tensors

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, indices: Any) -> list[torch.Tensor]:
        at = [located(self.dataset, index)[1] for index in indices]
        rows = torch.tensor(list(map(int, at)), device=None)
        return [tensor[rows.to(tensor.device)] for tensor in self._tensors]
