# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a small network on a folder of class folders, on the CPU, in one or more processes.

    python train_cpu.py FOLDER --epochs 3
    torchrun --nproc_per_node 2 train_cpu.py FOLDER --epochs 3 --checkpoint state.pt
    torchrun --nproc_per_node 2 train_cpu.py FOLDER --epochs 3 --checkpoint state.pt --resume

Every process reads its own shard. In each epoch the shards are disjoint and together contain every file.
A checkpoint contains the state of the model, the optimiser and the loader; training resumes exactly there.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import IO, Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from torch import nn

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


@pipeline_def
def training_pipeline(files: list[str], size: int, shard_id: int, num_shards: int) -> tuple[DataNode, DataNode]:
    # Without labels, the reader numbers the files; a table maps the numbers to classes.
    encoded, numbers = fn.readers.file(
        files=files,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image_random_crop(encoded, random_area=[0.25, 1.0])
    images = fn.resize(images, size=[size, size], interp_type=types.INTERP_TRIANGULAR)
    images = fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, numbers


class Network(nn.Module):
    """A residual network, small enough for a demonstration on a CPU."""

    def __init__(self, classes: int, width: int = 32) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 5, stride=2, padding=2)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(4, width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
            for _ in range(3)
        )
        self.norm = nn.GroupNorm(4, width)
        self.head = nn.Linear(width, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.stem(images)
        for block in self.blocks:
            x = F.avg_pool2d(x + block(x), 2)
        result: torch.Tensor = self.head(self.norm(x).mean(dim=(2, 3)))
        return result


def list_files(folder: str) -> tuple[list[str], list[int], int]:
    """The paths, the class of each file, and the number of classes."""
    names = sorted(p.name for p in Path(folder).iterdir() if p.is_dir())
    files, classes = [], []
    for number, name in enumerate(names):
        for path in sorted(Path(folder, name).iterdir()):
            if path.suffix.lower() in EXTENSIONS:
                files.append(str(path))
                classes.append(number)
    if not files:
        raise SystemExit(f"no images in the folders of {folder}")
    return files, classes, len(names)


def save(path: str, rank: int, model: nn.Module, optimizer: Any, loader: Any, epoch: int) -> None:
    """Writes a checkpoint of this process. The old one is replaced when the new one is complete."""
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "loader": loader.checkpoints(),
        "epoch": epoch,
    }
    part = f"{path}.rank{rank}.part"
    torch.save(state, part)
    if dist.is_initialized():
        dist.barrier()
    os.replace(part, f"{path}.rank{rank}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network on the CPU.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32, help="samples per process")
    parser.add_argument("--threads", type=int, default=1, help="loader threads per process")
    parser.add_argument("--size", type=int, default=64, help="width and height of images in pixels")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--checkpoint", help="save after every epoch to FILE.rankN")
    parser.add_argument("--resume", action="store_true", help="resume from --checkpoint")
    parser.add_argument("--stop-after", type=int, help="stop and save after this many batches")
    parser.add_argument(
        "--dump", help="write 'epoch number class' of every sample; one file per process"
    )
    return parser.parse_args()


def make_loader(
    args: argparse.Namespace, files: list[str], rank: int, world: int, checkpoint: bytes | None
) -> DALIGenericIterator:
    pipe = training_pipeline(
        files,
        args.size,
        rank,
        world,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=None,
        seed=7,
        enable_checkpointing=True,
        checkpoint=checkpoint,
    )
    return DALIGenericIterator(
        pipe,
        ["images", "numbers"],
        reader_name="Reader",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        auto_reset=True,
    )


class Epoch:
    """Trains until the epoch ends or --stop-after batches are done, and counts batches and samples."""

    def __init__(self, args: argparse.Namespace, class_of: torch.Tensor, dump: IO[str] | None):
        self.args, self.class_of, self.dump = args, class_of, dump
        self.batches, self.samples, self.loss, self.waited = 0, 0, 0.0, 0.0

    def run(
        self, number: int, loader: DALIGenericIterator, model: nn.Module, optimizer: Any
    ) -> bool:
        """Returns whether the epoch was finished."""
        self.loss, seen = 0.0, 0
        while self.batches != self.args.stop_after:
            asked = time.perf_counter()
            try:
                (batch,) = next(loader)
            except StopIteration:
                self.loss /= max(seen, 1)
                return True
            finally:
                self.waited += time.perf_counter() - asked
            seen += self.step(number, batch, model, optimizer)
        return False

    def step(
        self, number: int, batch: dict[str, torch.Tensor], model: nn.Module, optimizer: Any
    ) -> int:
        indices = batch["numbers"].flatten().long()
        labels = self.class_of[indices]
        if self.dump:
            for index, label in zip(indices.tolist(), labels.tolist(), strict=True):
                print(number, index, label, file=self.dump)
        # A sum: on ranks with a smaller shard, the last batch may be partial or empty.
        loss = F.cross_entropy(model(batch["images"]), labels, reduction="sum")
        optimizer.zero_grad()
        (loss / self.args.batch_size).backward()
        optimizer.step()
        self.loss += float(loss.detach())
        self.batches += 1
        self.samples += len(labels)
        return len(labels)


def main() -> None:
    args = parse()
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if world > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    files, classes, class_count = list_files(args.folder)
    model: nn.Module = Network(class_count)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    epoch, checkpoint = 0, None
    if args.resume:
        state = torch.load(f"{args.checkpoint}.rank{rank}", weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch, checkpoint = state["epoch"], state["loader"][0]
    loader = make_loader(args, files, rank, world, checkpoint)
    parallel = nn.parallel.DistributedDataParallel(model) if world > 1 else model
    dump = open(f"{args.dump}.rank{rank}", "a" if args.resume else "w") if args.dump else None
    training = Epoch(args, torch.tensor(classes), dump)
    start = time.perf_counter()
    while epoch < args.epochs:
        finished = training.run(epoch, loader, parallel, optimizer)
        epoch += finished
        if finished and rank == 0:
            print(f"epoch {epoch}: mean loss {training.loss:.4f}", flush=True)
        if args.checkpoint:
            save(args.checkpoint, rank, model, optimizer, loader, epoch)
        if not finished:
            break
    seconds = time.perf_counter() - start
    samples = torch.tensor(training.samples)
    if world > 1:
        dist.all_reduce(samples)
    if rank == 0:
        share = training.waited / seconds
        print(
            f"{int(samples) / seconds:.0f} img/s in {world} processes, {share:.1%} waiting for data"
        )
    if dump:
        dump.close()
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
