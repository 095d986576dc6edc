# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains on the CPU under torchrun, and goes on with another number of processes.

    torchrun --nproc-per-node 2 elastic_train.py FOLDER --checkpoint state.pt
    torchrun --nproc-per-node 3 elastic_train.py FOLDER --checkpoint state.pt
    torchrun --nnodes 1:4 --max-restarts 10 --rdzv-endpoint HOST:29400 ... elastic_train.py ...

Rank 0 saves one checkpoint for all ranks. When torchrun starts the processes again, because one has died or a
machine has come or gone, they continue there: the rest of the epoch is split among them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from headrace import fn, pipeline_def
from headrace.data_node import DataNode
from headrace.torch import Loader
from torch import nn


@pipeline_def(num_threads=1, device_id=None, seed=7)
def training_pipeline(folder: str, shard_id: int, num_shards: int) -> tuple[DataNode, DataNode]:
    encoded, labels = fn.readers.file(
        file_root=folder,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
    )
    images = fn.resize(fn.decoders.image_random_crop(encoded), size=[32, 32])
    return fn.crop_mirror_normalize(images, std=[255.0], output_layout="CHW"), labels


def save(path: Path, state: dict[str, Any]) -> None:
    """Replaces the checkpoint when the new one is complete."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains with a changing number of processes.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=4, help="samples per process")
    parser.add_argument("--every", type=int, default=10, help="batches between two checkpoints")
    parser.add_argument("--stop-after", type=int, help="save and stop after this many batches")
    return parser.parse_args()


def main() -> None:
    args = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 1000))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # even=False: each sample exactly once; the last batch of a shard may be smaller or empty.
    loader = Loader(training_pipeline(args.folder, rank, world, batch_size=args.batch_size), even=False)
    seen, steps = 0, 0
    if args.checkpoint.exists():
        state = torch.load(args.checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        seen = state["seen"]
    while loader.epoch < args.epochs and steps != args.stop_after:
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels, reduction="sum")
            optimizer.zero_grad()
            (loss / args.batch_size).backward()
            optimizer.step()
            counted = torch.tensor(len(labels))
            dist.all_reduce(counted)
            seen, steps = seen + int(counted), steps + 1
            if "DUMP" in os.environ:  # for the test: which samples this process has had
                with open(f"{os.environ['DUMP']}.{rank}", "a") as file:
                    print(*labels.tolist(), file=file)
            if rank == 0 and (steps % args.every == 0 or steps == args.stop_after):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                save(args.checkpoint, {**state, "loader": loader.state_dict(), "seen": seen})
            if steps == args.stop_after:
                break
    if rank == 0:
        print(f"{world} processes, {steps} steps, {seen} samples in all", flush=True)
    # A process should not exit while a thread of Gloo still holds one of its tensors: releasing it then aborts.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
