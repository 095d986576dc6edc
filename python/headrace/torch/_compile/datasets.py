# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The files and labels of a data set."""

from __future__ import annotations

import os
from typing import Any

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def files_and_labels(dataset: Any) -> tuple[list[str], list[int]]:
    """The paths and labels of a data set like ImageFolder, of a subset of one, or of a folder.

    Raises:
        TypeError: the data set does not say where its files are.
        FileNotFoundError: there are no images.
    """
    if isinstance(dataset, (str, os.PathLike)):
        found = folder(os.fspath(dataset))
    else:
        found = samples(dataset)
    if not found:
        raise FileNotFoundError(f"there are no images in {dataset!r}")
    return [os.fspath(path) for path, _ in found], [label for _, label in found]


def folder(root: str) -> list[tuple[str, int]]:
    """As ImageFolder: a folder per class, in the order of their names; files at any depth."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"{root} has no folders: it must have one per class")
    found = []
    for label, name in enumerate(classes):
        for path, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            found += [
                (os.path.join(path, file), label)
                for file in sorted(files)
                if file.lower().endswith(EXTENSIONS)
            ]
    return found


def samples(dataset: Any) -> list[tuple[str, int]]:
    if hasattr(dataset, "indices") and hasattr(dataset, "dataset"):  # torch.utils.data.Subset
        inner = samples(dataset.dataset)
        return [inner[int(i)] for i in dataset.indices]
    if hasattr(dataset, "datasets"):  # torch.utils.data.ConcatDataset
        return [sample for part in dataset.datasets for sample in samples(part)]
    found = getattr(dataset, "samples", None)
    if found is None:
        raise TypeError(
            f"{type(dataset).__name__} has no list `samples` of paths and labels, as ImageFolder "
            "has; give such a data set, or the path of a folder with one folder per class"
        )
    loader = getattr(dataset, "loader", None)
    if loader is not None and getattr(loader, "__name__", "") != "default_loader":
        raise TypeError(
            f"{type(dataset).__name__} opens its files with {loader!r}; only torchvision's "
            "default_loader can be replaced"
        )
    target = getattr(dataset, "target_transform", None)
    return [(path, int(target(label) if target else label)) for path, label in found]
