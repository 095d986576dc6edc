# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a network without labels, as SimCLR does (https://arxiv.org/abs/2002.05709), on the CPU or on a GPU.

    python simclr_train.py FOLDER
    python simclr_train.py /data/imagenet/train --width 64 --size 224 --batch-size 512 --epochs 100

Every image is decoded once and gives two views: random crops, mirrored, with changed colours, and blurred. The
network learns to find the other view of the same image among all views of the batch. FOLDER contains folders of
images; the names of these folders are not used.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from torch import nn


def view(images: DataNode, size: int, strength: float) -> DataNode:
    """One random view of each image."""

    def around(middle: float, by: float) -> DataNode:
        return fn.random.uniform(range=[middle - by * strength, middle + by * strength])

    x = fn.random_resized_crop(images, size=[size, size], random_area=[0.08, 1.0])
    if fn.random.coin_flip(probability=0.8, dtype=types.BOOL):
        x = fn.color_twist(
            x,
            hue=around(0.0, 72.0),
            saturation=around(1.0, 0.8),
            brightness=around(1.0, 0.8),
            contrast=around(1.0, 0.8),
        )
    if fn.random.coin_flip(probability=0.2, dtype=types.BOOL):
        x = fn.saturation(x, saturation=0.0)
    if fn.random.coin_flip(probability=0.5, dtype=types.BOOL):
        x = fn.gaussian_blur(
            x, sigma=fn.random.uniform(range=[0.1, 2.0]), window_size=size // 10 // 2 * 2 + 1
        )
    return fn.crop_mirror_normalize(
        x,
        mirror=fn.random.coin_flip(),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )


@pipeline_def(exec_dynamic=True, enable_conditionals=True)
def two_views(folder: str, size: int, strength: float, gpu: bool) -> tuple[DataNode, DataNode]:
    encoded, _ = fn.readers.file(file_root=folder, random_shuffle=True, name="Reader")
    images = fn.decoders.image(encoded, device="mixed" if gpu else "cpu")
    return view(images, size, strength), view(images, size, strength)


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.shortcut: nn.Module = nn.Identity()
        if before != after or stride != 1:
            self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.shortcut(x) + self.norms[1](self.second(y)))


class Network(nn.Module):
    """A residual network of 18 layers, and the projection whose result the loss compares."""

    def __init__(self, width: int, features: int = 128) -> None:
        super().__init__()
        stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        blocks: list[nn.Module] = []
        for i, (before, after) in enumerate(zip(widths, widths[1:])):
            blocks += [Block(before, after, 2 if i else 1), Block(after, after, 1)]
        self.backbone = nn.Sequential(
            stem, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        wide = widths[-1]
        self.projection = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, features))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.projection(self.backbone(images)).float())


def contrastive_loss(features: torch.Tensor, temperature: float) -> tuple[torch.Tensor, float]:
    """The loss of views 0 ... n-1 and n ... 2n-1 of n images, and how often the nearest view is the other one."""
    similar = (features @ features.T) / temperature
    similar = similar.masked_fill(torch.eye(len(similar), device=similar.device).bool(), -1e9)
    other = torch.arange(len(similar), device=similar.device).roll(len(similar) // 2)
    found = (similar.detach().argmax(1) == other).float().mean()
    return F.cross_entropy(similar, other), float(found)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a network without labels (SimCLR).")
    parser.add_argument("folder", type=Path, help="contains folders of images")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, help="steps per epoch, at most")
    parser.add_argument("--batch-size", type=int, default=64, help="images; twice as many views")
    parser.add_argument("--threads", type=int, default=4, help="threads of the loader")
    parser.add_argument("--size", type=int, default=96, help="width and height of views in pixels")
    parser.add_argument("--strength", type=float, default=0.5, help="of the changes of colour")
    parser.add_argument("--temperature", type=float, default=0.2)
    parser.add_argument("--width", type=int, default=32, help="channels of the first layers")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--save", type=Path, help="write the weights of the backbone to this file")
    args = parser.parse_args()
    if args.strength < 0 or args.strength > 1.25:
        parser.error("--strength must be between 0 and 1.25")
    return args


def main() -> None:
    args = parse()
    gpu = torch.cuda.is_available()
    device = torch.device("cuda" if gpu else "cpu")
    pipe = two_views(
        str(args.folder),
        args.size,
        args.strength,
        gpu,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=0 if gpu else None,
        seed=11,
    )
    # FILL takes images of the next epoch into the last batch: the loss needs whole batches.
    loader = DALIGenericIterator(
        pipe,
        ["one", "two"],
        reader_name="Reader",
        last_batch_policy=LastBatchPolicy.FILL,
        auto_reset=True,
    )
    torch.manual_seed(0)
    model = Network(args.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=1e-4)
    for epoch in range(args.epochs):
        start, step, seen, losses, founds = time.perf_counter(), 0, 0, 0.0, 0.0
        for step, (batch,) in enumerate(loader, 1):
            with torch.autocast(device.type, torch.bfloat16, enabled=gpu):
                features = model(torch.cat([batch["one"], batch["two"]]))
            loss, found = contrastive_loss(features, args.temperature)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            seen += len(features)
            losses += float(loss.detach())
            founds += found
            if step == args.steps:
                break
        rate = seen / (time.perf_counter() - start)
        print(
            f"epoch {epoch}: mean loss {losses / step:.4f}, the other view is the nearest for "
            f"{founds / step:.1%}, {rate:,.0f} views/s",
            flush=True,
        )
    if args.save:
        torch.save(model.backbone.state_dict(), args.save)


if __name__ == "__main__":
    main()
