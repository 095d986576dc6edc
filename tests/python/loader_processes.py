# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A training script for test_torch_dataloader_processes.py, started by torchrun.

    loader_processes.py FRAMEWORK IMAGES OUTPUT [--save N | --resume STATE]

Trains two epochs, and saves a state after N batches. Writes a line per batch to OUTPUT.RANK: the sum
of its pixels, and its labels. `--resume` continues from such a state.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from headrace.torch import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

RANK = int(os.environ["RANK"])
BATCH, EPOCHS = 4, 2


class Own(ImageFolder):
    """Its code runs in Python."""

    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)
        return {"x": image, "labels": label}


def dataset(root: str) -> Any:
    steps = [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip()]
    return Own(root, transforms.Compose([*steps, transforms.ToTensor()]))


class Log:
    def __init__(self, output: str) -> None:
        self.file = Path(f"{output}.{RANK}").open("a")  # noqa: SIM115

    def __call__(self, batch: Any) -> None:
        pixels = batch["x"].double().sum().item()
        print(pixels, *batch["labels"].tolist(), file=self.file, flush=True)


def plain(given: argparse.Namespace, log: Log) -> None:
    torch.distributed.init_process_group("gloo")
    loader = DataLoader(dataset(given.images), BATCH, shuffle=True, num_workers=1)
    begin = 0
    if given.resume:
        found = torch.load(f"{given.resume}.{RANK}", weights_only=False)
        begin = found["epoch"]
        loader.load_state_dict(found["loader"])
    count = 0
    for epoch in range(begin, EPOCHS):
        for batch in loader:
            log(batch)
            count += 1
            if count == given.save:
                saved = {"epoch": epoch, "loader": loader.state_dict()}
                torch.save(saved, f"{given.output}.state.{RANK}")


def with_lightning(given: argparse.Namespace, log: Log) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            log(batch)
            return self.layer(batch["x"].mean().reshape(1, 1)).sum()

        def on_train_batch_end(self, *_: Any) -> None:
            if self.trainer.global_step == given.save:
                self.trainer.save_checkpoint(f"{given.output}.state")

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=2,
        max_epochs=EPOCHS,
        enable_checkpointing=False,
        **quiet,  # type: ignore[arg-type]
    )
    loader = DataLoader(dataset(given.images), BATCH, shuffle=True, num_workers=1)
    more = {"ckpt_path": given.resume, "weights_only": False} if given.resume else {}
    trainer.fit(Module(), loader, **more)
    used = trainer.train_dataloader
    assert isinstance(used, DataLoader) and used.explain().way == "workers", type(used)


def with_accelerate(given: argparse.Namespace, log: Log) -> None:
    import accelerate

    accelerate.data_loader.DataLoader = DataLoader  # type: ignore[misc]
    seedable = accelerate.DataLoaderConfiguration(use_seedable_sampler=True)
    accelerator = accelerate.Accelerator(cpu=True, dataloader_config=seedable)
    loader = DataLoader(dataset(given.images), BATCH, shuffle=True, num_workers=1)
    model = torch.nn.Linear(1, 1)
    model, loader = accelerator.prepare(model, loader)
    assert type(loader.base_dataloader) is DataLoader
    begin, skipped = 0, 0
    if given.resume:
        accelerator.load_state(given.resume)
        steps = torch.load(f"{given.resume}/steps")
        begin, skipped = steps["epoch"], steps["taken"]
    count = 0
    for epoch in range(begin, EPOCHS):
        loader.set_epoch(epoch)
        used = accelerator.skip_first_batches(loader, skipped) if skipped else loader
        taken, skipped = skipped, 0
        for batch in used:
            log(batch)
            count, taken = count + 1, taken + 1
            if count == given.save:
                accelerator.save_state(f"{given.output}.state")
                torch.save({"epoch": epoch, "taken": taken}, f"{given.output}.state/steps")


def with_trainer(given: argparse.Namespace, log: Log) -> None:
    import accelerate
    import transformers

    accelerate.data_loader.DataLoader = DataLoader  # type: ignore[misc]

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x: Any, labels: Any) -> Any:
            if self.training:
                log({"x": x, "labels": labels})
            return {"loss": self.layer(x.mean().reshape(1, 1)).sum()}

    arguments = transformers.TrainingArguments(
        output_dir=f"{given.output}.state",
        per_device_train_batch_size=BATCH,
        num_train_epochs=EPOCHS,
        save_strategy="steps" if given.save else "no",
        save_steps=given.save or 500,
        report_to=[],
        use_cpu=True,
        dataloader_num_workers=1,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(Model(), arguments, train_dataset=dataset(given.images))
    loader = trainer.get_train_dataloader()
    assert type(loader.base_dataloader) is DataLoader
    trainer.train(resume_from_checkpoint=given.resume)


FRAMEWORKS = {
    "torchrun": plain,
    "lightning": with_lightning,
    "accelerate": with_accelerate,
    "trainer": with_trainer,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("images")
    parser.add_argument("output")
    parser.add_argument("--save", type=int)
    parser.add_argument("--resume")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(7)
    FRAMEWORKS[given.framework](given, Log(given.output))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
