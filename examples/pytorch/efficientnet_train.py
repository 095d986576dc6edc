# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains an EfficientNet (https://arxiv.org/abs/1905.11946) with automatic augmentation, on the CPU or on GPUs.

    python efficientnet_train.py FOLDER --automatic-augmentation trivialaugment
    torchrun --nproc_per_node 8 efficientnet_train.py /data/imagenet --epochs 400

FOLDER contains train/ and val/, each with one folder of images per class, as in ImageNet. The defaults are
EfficientNet-B0; --width, --depth and --size scale it. Every process trains on its own shard.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from headrace import fn, pipeline_def, types
from headrace.auto_aug import auto_augment, rand_augment, trivial_augment
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy
from torch import nn

AUGMENTATIONS: dict[str, Any] = {
    "disabled": lambda images, shape: images,
    "autoaugment": lambda images, shape: auto_augment.auto_augment(images, shape=shape),
    "trivialaugment": lambda images, shape: trivial_augment.trivial_augment_wide(
        images, shape=shape
    ),
    "randaugment": lambda images, shape: rand_augment.rand_augment(images, n=2, m=9, shape=shape),
}
# One row per stage of EfficientNet-B0: expansion, channels, layers, stride, size of the kernel.
STAGES = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
]


@pipeline_def(exec_dynamic=True, enable_conditionals=True)
def image_pipeline(
    folder: str, size: int, augmentation: str, training: bool, rank: int, world: int, gpu: bool
) -> tuple[DataNode, DataNode]:
    device = "mixed" if gpu else "cpu"
    encoded, labels = fn.readers.file(
        file_root=folder,
        random_shuffle=training,
        shard_id=rank,
        num_shards=world,
        pad_last_batch=True,
        name="Reader",
    )
    if training:
        images = fn.decoders.image_random_crop(
            encoded, device=device, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_TRIANGULAR)
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        images = AUGMENTATIONS[augmentation](images, [size, size])
    else:
        images = fn.decoders.image(encoded, device=device)
        images = fn.resize(
            images, resize_shorter=size * 8 // 7, interp_type=types.INTERP_TRIANGULAR
        )
    images = fn.crop_mirror_normalize(
        images,
        crop=(size, size),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, labels.gpu() if gpu else labels


def convolution(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> list[Any]:
    pad = kernel // 2
    return [
        nn.Conv2d(before, after, kernel, stride, pad, groups=groups, bias=False),
        nn.BatchNorm2d(after, eps=1e-3, momentum=0.01),
    ]


class Excite(nn.Module):
    """Squeeze and excitation: weighs the channels by what the whole image contains."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.squeeze(x.mean((2, 3), keepdim=True))
        return x * torch.sigmoid(self.excite(F.silu(weights)))


class Block(nn.Module):
    """An inverted residual: expands the channels, filters each of them, and projects them back."""

    def __init__(
        self, before: int, after: int, expansion: int, stride: int, kernel: int, drop: float
    ) -> None:
        super().__init__()
        wide = before * expansion
        steps = [*convolution(before, wide, 1), nn.SiLU(inplace=True)] if expansion > 1 else []
        steps += [*convolution(wide, wide, kernel, stride, wide), nn.SiLU(inplace=True)]
        steps += [Excite(wide, max(1, before // 4)), *convolution(wide, after, 1)]
        self.steps = nn.Sequential(*steps)
        self.residual, self.drop = stride == 1 and before == after, drop

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.steps(x)
        if not self.residual:
            return torch.Tensor(y)
        if self.training:  # stochastic depth: leave the block out for some samples
            kept = torch.rand(len(y), 1, 1, 1, device=y.device) >= self.drop
            y = y * kept / (1 - self.drop)
        return torch.Tensor(x + y)


class EfficientNet(nn.Module):
    def __init__(self, classes: int, width: float, depth: float, dropout: float = 0.2) -> None:
        super().__init__()

        def scaled(channels: int) -> int:
            """A multiple of 8, not less than 0.9 of the scaled number."""
            number = max(8, int(channels * width + 4) // 8 * 8)
            return number + 8 if number < 0.9 * channels * width else number

        layers = [max(1, -int(-n * depth // 1)) for _, _, n, _, _ in STAGES]
        before, done = scaled(32), 0
        steps = [*convolution(3, before, 3, 2), nn.SiLU(inplace=True)]
        for (expansion, channels, _, stride, kernel), count in zip(STAGES, layers):
            for i in range(count):
                drop = dropout * done / sum(layers)
                after, step = scaled(channels), stride if i == 0 else 1
                steps.append(Block(before, after, expansion, step, kernel, drop))
                before, done = after, done + 1
        last = 4 * before
        steps += [*convolution(before, last, 1), nn.SiLU(inplace=True)]
        self.features = nn.Sequential(*steps)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.features(images).mean((2, 3)))
        return result


class Average:
    """The moving average of a model's weights, which is what is evaluated."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay, self.steps = copy.deepcopy(model).eval(), decay, 0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 10))
        for ours, theirs in zip(
            self.model.state_dict().values(), model.state_dict().values(), strict=True
        ):
            if ours.is_floating_point():
                ours.lerp_(theirs, 1 - decay)
            else:
                ours.copy_(theirs)


def make_loader(args: argparse.Namespace, training: bool, rank: int, world: int, gpu: int | None) -> Any:
    pipe = image_pipeline(
        str(args.folder / ("train" if training else "val")),
        args.size,
        args.automatic_augmentation,
        training,
        rank,
        world,
        gpu is not None,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=gpu,
        seed=21 + rank,
    )
    # PARTIAL counts every image once; FILL keeps the batches of all processes equal.
    policy = LastBatchPolicy.FILL if training else LastBatchPolicy.PARTIAL
    return DALIClassificationIterator(
        pipe, reader_name="Reader", last_batch_policy=policy, auto_reset=True
    )


def train_epoch(
    loader: Any, model: nn.Module, average: Average, optimizer: Any, schedule: Any, steps: int | None
) -> tuple[float, float]:
    """Returns the mean loss, and images per second of this process."""
    model.train()
    start, seen, losses = time.perf_counter(), 0, torch.zeros(())
    for step, (batch,) in enumerate(loader, 1):
        images, labels = batch["data"], batch["label"].flatten().long()
        with torch.autocast(images.device.type, torch.bfloat16, enabled=images.is_cuda):
            scores = model(images.contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(scores.float(), labels, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        average.update(getattr(model, "module", model))
        seen += len(labels)
        losses = losses + loss.detach().cpu() * len(labels)
        if step == steps:
            break
    return float(losses) / seen, seen / (time.perf_counter() - start)


@torch.no_grad()
def evaluate(loader: Any, model: nn.Module, device: torch.device) -> float:
    """The share of images whose class is predicted correctly, over all processes."""
    counts = torch.zeros(2, device=device)
    for (batch,) in loader:
        labels = batch["label"].flatten().long()
        best = model(batch["data"]).argmax(1)
        counts += torch.tensor([float((best == labels).sum()), len(labels)], device=device)
    if dist.is_initialized():
        dist.all_reduce(counts)
    return float(counts[0] / counts[1].clamp(min=1))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains an EfficientNet.")
    parser.add_argument("folder", type=Path, help="contains train/ and val/")
    parser.add_argument(
        "--automatic-augmentation", choices=list(AUGMENTATIONS), default="autoaugment"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, help="steps per epoch, at most")
    parser.add_argument("--batch-size", type=int, default=64, help="samples per process")
    parser.add_argument("--threads", type=int, default=4, help="threads of the loader, per process")
    parser.add_argument("--size", type=int, default=224, help="width and height in pixels")
    parser.add_argument("--width", type=float, default=1.0, help="factor of the channels")
    parser.add_argument("--depth", type=float, default=1.0, help="factor of the layers")
    parser.add_argument("--lr", type=float, default=0.08, help="for 256 samples per step")
    parser.add_argument("--average", type=float, default=0.9999, help="decay of averaged weights")
    parser.add_argument("--save", type=Path, help="write the averaged weights to this file")
    return parser.parse_args()


def main() -> None:
    args = parse()
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    gpu = int(os.environ.get("LOCAL_RANK", "0")) if torch.cuda.is_available() else None
    device = torch.device("cpu" if gpu is None else f"cuda:{gpu}")
    if gpu is not None:
        torch.cuda.set_device(gpu)
    if world > 1:
        dist.init_process_group("gloo" if gpu is None else "nccl")
    torch.manual_seed(0)
    training, validation = (make_loader(args, t, rank, world, gpu) for t in (True, False))
    classes = sum(p.is_dir() for p in (args.folder / "train").iterdir())
    plain = EfficientNet(classes, args.width, args.depth).to(device)
    plain = plain.to(memory_format=torch.channels_last)
    average = Average(plain, args.average)
    model: nn.Module = nn.parallel.DistributedDataParallel(plain) if world > 1 else plain
    rate = args.lr * args.batch_size * world / 256
    optimizer = torch.optim.SGD(
        model.parameters(), rate, momentum=0.9, weight_decay=1e-5, nesterov=True
    )
    steps = args.epochs * min(len(training), args.steps or len(training))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.05)
    for epoch in range(args.epochs):
        loss, speed = train_epoch(training, model, average, optimizer, schedule, args.steps)
        right = evaluate(validation, average.model, device)
        if rank == 0:
            print(
                f"epoch {epoch}: loss {loss:.3f}, {right:.1%} correct, {speed * world:,.0f} img/s",
                flush=True,
            )
    if args.save and rank == 0:
        torch.save(average.model.state_dict(), args.save)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
