# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A training script for test_torch_dataloader_processes.py, started by torchrun.

    loader_processes.py FRAMEWORK IMAGES OUTPUT [--stop N] [--resume]

Trains two epochs, or N batches. Writes a line per batch to OUTPUT.RANK: the epoch and the labels.
`--resume` continues from the state that the first run saved in OUTPUT.state.
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

    def __call__(self, epoch: int, batch: Any) -> None:
        pixels = batch["x"].double().sum().item()
        print(epoch, pixels, *batch["labels"].tolist(), file=self.file, flush=True)


def plain(given: argparse.Namespace, log: Log) -> None:
    torch.distributed.init_process_group("gloo")
    loader = DataLoader(dataset(given.images), BATCH, shuffle=True, num_workers=1)
    begin, state = 0, f"{given.output}.state"
    if given.resume:
        found = torch.load(f"{state}.{RANK}", weights_only=False)
        begin = found["epoch"]
        loader.load_state_dict(found["loader"])
    count = 0
    for epoch in range(begin, EPOCHS):
        for batch in loader:
            log(epoch, batch)
            count += 1
            if count == given.stop:
                saved = {"epoch": epoch, "loader": loader.state_dict()}
                torch.save(saved, f"{state}.{RANK}")
                return


def with_lightning(given: argparse.Namespace, log: Log) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            log(self.current_epoch, batch)
            return self.layer(batch["x"].mean().reshape(1, 1)).sum()

        def on_train_batch_end(self, *_: Any) -> None:
            if self.trainer.global_step == given.stop:
                self.trainer.save_checkpoint(path)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    path = f"{given.output}.state"
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=2,
        max_epochs=EPOCHS,
        max_steps=given.stop or -1,
        enable_checkpointing=False,
        **quiet,  # type: ignore[arg-type]
    )
    loader = DataLoader(dataset(given.images), BATCH, shuffle=True, num_workers=1)
    more = {"ckpt_path": path, "weights_only": False} if given.resume else {}
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
    path, begin, skipped = f"{given.output}.state", 0, 0
    if given.resume:
        accelerator.load_state(path)
        steps = torch.load(f"{path}/steps")
        begin, skipped = steps["epoch"], steps["taken"]
    count = 0
    for epoch in range(begin, EPOCHS):
        loader.set_epoch(epoch)
        used = accelerator.skip_first_batches(loader, skipped) if skipped else loader
        taken, skipped = skipped, 0
        for batch in used:
            log(epoch, batch)
            count, taken = count + 1, taken + 1
            if count == given.stop:
                accelerator.save_state(path)
                torch.save({"epoch": epoch, "taken": taken}, f"{path}/steps")
                return


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
                log(trainer.state.global_step, {"x": x, "labels": labels})
            return {"loss": self.layer(x.mean().reshape(1, 1)).sum()}

    arguments = transformers.TrainingArguments(
        output_dir=f"{given.output}.state",
        per_device_train_batch_size=BATCH,
        num_train_epochs=EPOCHS,
        max_steps=given.stop or -1,
        save_strategy="steps" if given.stop else "no",
        save_steps=given.stop or 500,
        report_to=[],
        use_cpu=True,
        dataloader_num_workers=1,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(Model(), arguments, train_dataset=dataset(given.images))
    loader = trainer.get_train_dataloader()
    assert type(loader.base_dataloader) is DataLoader
    if given.resume:
        trainer.train(resume_from_checkpoint=True)
    else:
        trainer.train()


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
    parser.add_argument("--stop", type=int)
    parser.add_argument("--resume", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(7)
    FRAMEWORKS[given.framework](given, Log(given.output))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
