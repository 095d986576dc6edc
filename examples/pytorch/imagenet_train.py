# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a ResNet-50 on GPUs from a folder with train/ and val/, each with one folder per class, as in ImageNet.

    python imagenet_train.py /data/imagenet
    torchrun --nproc_per_node 8 imagenet_train.py /data/imagenet --epochs 90
    python imagenet_train.py /data/imagenet --loader torchvision     # for comparison

Files are decoded and augmented on the GPU that trains; every process reads its own shard. Prints images per second
and the share of time that the GPU was idle between steps, waiting for data.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

MEAN = [123.675, 116.28, 103.53]
STD = [58.395, 57.12, 57.375]
Batch = tuple[torch.Tensor, torch.Tensor]


class Headrace:
    """Batches of half-precision CHW images and labels on the GPU; one epoch per `iter`."""

    def __init__(self, args: argparse.Namespace, folder: Path, training: bool, rank: int, world: int, gpu: int) -> None:
        from headrace import fn, pipeline_def, types
        from headrace.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

        @pipeline_def(batch_size=args.batch_size, num_threads=args.threads, device_id=gpu, seed=12 + rank)
        def define() -> Any:
            files, labels = fn.readers.file(
                file_root=str(folder),
                random_shuffle=training,
                shard_id=rank,
                num_shards=world,
                pad_last_batch=True,
                name="Reader",
            )
            extra: dict[str, Any]
            if training:
                images = fn.decoders.image_random_crop(
                    files, device="mixed", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
                )
                images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
                extra = {"mirror": fn.random.coin_flip()}
            else:
                images = fn.decoders.image(files, device="mixed")
                images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_TRIANGULAR)
                extra = {"crop": (224, 224)}
            images = fn.crop_mirror_normalize(
                images, dtype=types.FLOAT16, output_layout="CHW", mean=MEAN, std=STD, **extra
            )
            return images, labels.gpu()

        # PARTIAL counts every image once. It may give a process an empty last batch, whose loss is NaN.
        policy = LastBatchPolicy.FILL if training else LastBatchPolicy.PARTIAL
        self.loader = DALIClassificationIterator(
            define(), reader_name="Reader", auto_reset=True, last_batch_policy=policy
        )

    def __iter__(self) -> Iterator[Batch]:
        for (batch,) in self.loader:
            yield batch["data"], batch["label"].flatten().long()


class Torchvision:
    """The same with torchvision's transforms, in the worker processes of a DataLoader."""

    def __init__(self, args: argparse.Namespace, folder: Path, training: bool, rank: int, world: int, gpu: int) -> None:
        from torchvision import datasets
        from torchvision import transforms as t

        steps: list[Any] = [t.RandomResizedCrop(224), t.RandomHorizontalFlip()]
        if not training:
            steps = [t.Resize(256), t.CenterCrop(224)]
        scale = t.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD])
        data = datasets.ImageFolder(str(folder), t.Compose([*steps, t.ToTensor(), scale]))
        self.sampler: Any = torch.utils.data.DistributedSampler(data, world, rank, shuffle=training)
        self.loader = torch.utils.data.DataLoader(
            data,
            args.batch_size,
            sampler=self.sampler,
            num_workers=args.threads,
            pin_memory=True,
            persistent_workers=args.threads > 0,
        )
        self.epoch = 0

    def __iter__(self) -> Iterator[Batch]:
        self.sampler.set_epoch(self.epoch)
        self.epoch += 1
        for images, labels in self.loader:
            yield images.cuda(non_blocking=True).half(), labels.cuda(non_blocking=True)


LOADERS = {"headrace": Headrace, "torchvision": Torchvision}


class Gaps:
    """GPU time between the end of a step and the start of the next one, measured with events over a window of
    steps."""

    def __init__(self) -> None:
        self.events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self.begin = torch.cuda.Event(enable_timing=True)

    def start(self) -> None:
        self.begin = torch.cuda.Event(enable_timing=True)
        self.begin.record()

    def end(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.events.append((self.begin, event))

    def share(self) -> float:
        """The idle share of the time since the first step of the window. Starts a new window."""
        torch.cuda.synchronize()
        pairs = list(zip(self.events, self.events[1:]))
        idle = sum(before[1].elapsed_time(after[0]) for before, after in pairs)
        whole = self.events[0][0].elapsed_time(self.events[-1][1])
        self.events.clear()
        return idle / whole if whole else 0.0


def train_epoch(
    epoch: int, loader: Any, model: nn.Module, optimizer: Any, scaler: Any, args: argparse.Namespace, world: int
) -> None:
    model.train()
    gaps, start, seen = Gaps(), time.perf_counter(), 0
    for step, (images, labels) in enumerate(loader, 1):
        gaps.start()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(images.contiguous(memory_format=torch.channels_last)), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        gaps.end()
        seen += len(labels)
        if step % args.print_every == 0:
            share = gaps.share()
            rate = seen * world / (time.perf_counter() - start)
            if int(os.environ.get("RANK", "0")) == 0:
                print(
                    f"epoch {epoch} step {step}: loss {float(loss.detach()):.3f}, {rate:,.0f} img/s, "
                    f"{share:.1%} of the time waiting for data",
                    flush=True,
                )
            start, seen = time.perf_counter(), 0
        if step == args.steps:
            break


@torch.no_grad()
def evaluate(loader: Any, model: nn.Module, world: int) -> float:
    """The share of images whose class is predicted correctly."""
    model.eval()
    counts = torch.zeros(2, device="cuda")
    for images, labels in loader:
        with torch.autocast("cuda", torch.float16):
            best = model(images.contiguous(memory_format=torch.channels_last)).argmax(1)
        counts += torch.stack([(best == labels).sum(), torch.tensor(len(labels), device="cuda")])
    if world > 1:
        dist.all_reduce(counts)
    return float(counts[0] / counts[1].clamp(min=1))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a ResNet-50 on GPUs.")
    parser.add_argument("folder", type=Path, help="contains train/ and, unless --no-eval, val/")
    parser.add_argument("--loader", choices=sorted(LOADERS), default="headrace")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="steps per epoch, at most")
    parser.add_argument("--batch-size", type=int, default=256, help="samples per process")
    parser.add_argument("--threads", type=int, default=8, help="loader threads or worker processes, per process")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate for 256 samples per step")
    parser.add_argument("--print-every", type=int, default=20)
    parser.add_argument("--no-eval", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = parse()
    if not torch.cuda.is_available():
        raise SystemExit("this example needs a GPU; train_cpu.py does not")
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    gpu = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(gpu)
    torch.backends.cudnn.benchmark = True
    if world > 1:
        dist.init_process_group("nccl")
    from torchvision.models import resnet50

    classes = sum(p.is_dir() for p in (args.folder / "train").iterdir())
    model: nn.Module = resnet50(num_classes=classes).cuda().to(memory_format=torch.channels_last)
    if world > 1:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[gpu])
    rate = args.lr * args.batch_size * world / 256
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    scaler = torch.amp.GradScaler("cuda")
    make = LOADERS[args.loader]
    training = make(args, args.folder / "train", True, rank, world, gpu)
    validation = None if args.no_eval else make(args, args.folder / "val", False, rank, world, gpu)
    for epoch in range(args.epochs):
        train_epoch(epoch, training, model, optimizer, scaler, args, world)
        schedule.step()
        if validation:
            right = evaluate(validation, model, world)
            if rank == 0:
                print(f"epoch {epoch}: {right:.2%} correct", flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
