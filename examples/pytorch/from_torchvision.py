# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a classifier on a folder of class folders with transforms of torchvision, run by Headrace.

    python from_torchvision.py FOLDER                      # Headrace
    python from_torchvision.py FOLDER --loader torchvision # for comparison

Two lines differ between the loaders: the import and the one that makes the loader.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import headrace.torch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2


def make_loader(args: argparse.Namespace) -> Any:
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ]
    )
    data = ImageFolder(args.folder, transform)
    if args.loader == "torchvision":
        return DataLoader(data, args.batch_size, shuffle=True, num_workers=args.threads)
    # The change: this line instead of the one above.
    loader = headrace.torch.compile(
        transform, data, batch_size=args.batch_size, shuffle=True, num_threads=args.threads
    )
    print(loader.report)
    return loader


def make_network(classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 7, stride=4, padding=3),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, classes),
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains with transforms of torchvision.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    parser.add_argument("--loader", choices=["headrace", "torchvision"], default="headrace")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2, help="loader threads or processes")
    parser.add_argument("--size", type=int, default=224, help="width and height in pixels")
    return parser.parse_args()


def main() -> None:
    args = parse()
    torch.manual_seed(1)
    loader = make_loader(args)
    model = make_network(len(ImageFolder(args.folder).classes))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(args.epochs):
        start, seen, total = time.perf_counter(), 0, 0.0
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(labels)
            total += float(loss.detach()) * len(labels)
        rate = seen / (time.perf_counter() - start)
        print(f"epoch {epoch}: mean loss {total / seen:.4f}, {seen} images, {rate:.0f} img/s")


if __name__ == "__main__":
    main()
