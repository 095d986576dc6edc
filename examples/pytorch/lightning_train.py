# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a small network with Lightning; the data come from a LightningDataModule.

    pip install lightning
    python lightning_train.py FOLDER
    python lightning_train.py FOLDER --devices 2
    python lightning_train.py FOLDER --resume lightning_logs/version_0/checkpoints/last.ckpt

FOLDER contains one folder of images per class. Lightning stores the state of the loader in its checkpoints.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import lightning
import torch
import torch.nn.functional as F
from headrace import fn, pipeline_def, types
from headrace.torch import Loader
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn


@pipeline_def(device_id=None, seed=7)
def pictures(folder: Path, size: int, training: bool, rank: int, world: int) -> Any:
    encoded, labels = fn.readers.file(
        file_root=str(folder),
        random_shuffle=training,
        shard_id=rank,
        num_shards=world,
        pad_last_batch=True,
    )
    if training:
        images = fn.decoders.image_random_crop(encoded, random_area=[0.5, 1.0])
    else:
        images = fn.decoders.image(encoded)
    images = fn.resize(images, size=[size, size])
    mirror = fn.random.coin_flip() if training else 0
    images = fn.crop_mirror_normalize(
        images,
        mirror=mirror,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, labels


class Pictures(lightning.LightningDataModule):
    """Class folders of images, one shard per process."""

    def __init__(self, folder: Path, size: int, batch_size: int, threads: int) -> None:
        super().__init__()
        self.folder, self.size = folder, size
        self.options = {"batch_size": batch_size, "num_threads": threads}

    def loader(self, training: bool) -> Loader:
        assert self.trainer is not None
        rank, world = self.trainer.global_rank, self.trainer.world_size
        return Loader(
            pictures(self.folder, self.size, training, rank, world, **self.options), even=training
        )

    def train_dataloader(self) -> Loader:
        return self.loader(training=True)

    def val_dataloader(self) -> Loader:
        return self.loader(training=False)


class Classifier(lightning.LightningModule):
    """Three convolutions and a linear layer."""

    def __init__(self, classes: int, lr: float) -> None:
        super().__init__()
        self.lr = lr
        layers: list[nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, 64)):
            layers += [nn.Conv2d(before, after, 3, 2, 1), nn.ReLU()]
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)]
        self.network = nn.Sequential(*layers)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        images, labels = batch
        loss = F.cross_entropy(self.network(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> None:
        images, labels = batch
        right = (self.network(images).argmax(1) == labels).sum()
        accuracy = right / max(len(labels), 1)  # the last batch of a shard may be empty
        self.log("accuracy", accuracy, batch_size=len(labels), sync_dist=True, prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network with Lightning.")
    parser.add_argument("folder", type=Path, help="folder with one folder of images per class")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=-1, help="stop after this many batches")
    parser.add_argument("--batch-size", type=int, default=32, help="samples per process")
    parser.add_argument("--size", type=int, default=64, help="width and height of images in pixels")
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--devices", type=int, default=1, help="number of processes")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--logs", default=".", help="folder for checkpoints")
    parser.add_argument("--resume", help="checkpoint to continue")
    return parser.parse_args()


def main() -> None:
    args = parse()
    classes = sum(entry.is_dir() for entry in args.folder.iterdir())
    trainer = lightning.Trainer(
        max_epochs=args.epochs,
        max_steps=args.steps,
        accelerator="auto" if torch.cuda.is_available() else "cpu",
        devices=args.devices,
        default_root_dir=args.logs,
        callbacks=[ModelCheckpoint(save_last=True, every_n_train_steps=1, save_top_k=0)],
        use_distributed_sampler=False,  # the pipelines read their shards
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )
    data = Pictures(args.folder, args.size, args.batch_size, args.threads)
    lightning.seed_everything(0)
    trainer.fit(Classifier(classes, args.lr), datamodule=data, ckpt_path=args.resume)
    metrics = {name: round(float(value), 4) for name, value in trainer.callback_metrics.items()}
    if trainer.is_global_zero:
        print(f"step {trainer.global_step}: {metrics}")


if __name__ == "__main__":
    main()
