# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipelines that bench/compare.py measures. Each contender is an endless source of batches.

`open_loop(contender, ...)` returns a function that takes the next batch and drops it. Headrace and DALI share one
definition; torchvision uses its usual transforms in a DataLoader with Pillow.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

CONTENDERS = {
    "headrace": "headrace",
    "headrace-index": "headrace",
    "headrace-indexing": "headrace",
    "headrace-v3": "headrace",
    "headrace-index-v3": "headrace",
    "dali": "nvidia.dali",
    "torchvision": "torchvision",
}
# Arguments of the pipeline. headrace: no indices. headrace-indexing: like an endless first epoch, because indices are
# made but never kept. headrace-index: defaults, measured with an index of every file, as from the
# second epoch on.
OPTIONS: dict[str, dict[str, Any]] = {
    "headrace": {"index_memory_limit": 0},
    "headrace-indexing": {"index_memory_limit": 1},
}
EPOCHS_BEFORE = {"headrace-index": 3}  # epochs to run before it is measured
PIPELINES = ("train", "eval", "resized")
PREFETCH = 2
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)


def dali_pipeline(contender: str, kind: str, root: str, batch: int, threads: int) -> Any:
    """The pipeline `kind` (of PIPELINES), built with the API of the contender's module."""
    module = CONTENDERS[contender]
    if contender.endswith("-v3"):  # AVX2, no AVX-512
        os.environ["HEADRACE_CPU_LEVEL"] = "v3"
        contender = contender.removesuffix("-v3")
    package = importlib.import_module(module)
    fn = importlib.import_module(module + ".fn")
    types = importlib.import_module(module + ".types")

    def normalized(images: Any, **kwargs: Any) -> Any:
        return fn.crop_mirror_normalize(
            images, dtype=types.FLOAT, output_layout="CHW", mean=list(MEAN), std=list(STD), **kwargs
        )

    @package.pipeline_def(
        batch_size=batch, num_threads=threads, device_id=None, seed=12, exec_dynamic=True,
        prefetch_queue_depth=PREFETCH, **OPTIONS.get(contender, {}),
    )  # fmt: skip
    def define() -> Any:
        files, labels = fn.readers.file(
            file_root=root, random_shuffle=kind != "eval", pad_last_batch=True, name="Reader"
        )
        if kind == "train":
            images = fn.decoders.image_random_crop(
                files, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
            )
            images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
            return normalized(images, mirror=fn.random.coin_flip()), labels
        images = fn.decoders.image(files)
        images = fn.resize(images, resize_shorter=256)
        if kind == "eval":
            return normalized(images, crop=(224, 224)), labels
        images = fn.random_resized_crop(images, size=[224, 224])
        return normalized(images, mirror=fn.random.coin_flip()), labels

    pipe = define()
    pipe.build()
    for _ in range(EPOCHS_BEFORE.get(contender, 0) * -(-pipe.epoch_size("Reader") // batch)):
        pipe.run()
    return pipe


def endless(length: int, shuffle: bool) -> Iterator[int]:
    """Indices below `length`, epoch after epoch."""
    import torch

    while True:
        order = torch.randperm(length) if shuffle else torch.arange(length)
        yield from order.tolist()


def torchvision_loader(kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """The same work with torchvision's transforms on Pillow images, in `threads` worker processes."""
    from torch.utils import data
    from torchvision import datasets
    from torchvision import transforms as t

    steps: list[Any] = [t.RandomResizedCrop(224), t.RandomHorizontalFlip()]
    if kind == "eval":
        steps = [t.Resize(256), t.CenterCrop(224)]
    elif kind == "resized":
        steps.insert(0, t.Resize(256))
    mean, std = [m / 255 for m in MEAN], [s / 255 for s in STD]
    dataset = datasets.ImageFolder(
        root, t.Compose([*steps, t.ToTensor(), t.Normalize(mean=mean, std=std)])
    )
    loader = data.DataLoader(
        dataset, batch_size=batch, num_workers=threads, prefetch_factor=PREFETCH,
        sampler=endless(len(dataset), kind != "eval"),  # type: ignore[arg-type]
    )  # fmt: skip
    return iter(loader)


def open_loop(contender: str, kind: str, root: str, batch: int, threads: int) -> Callable[[], Any]:
    """A function that takes the next batch of `batch` images."""
    if contender == "torchvision":
        loader = torchvision_loader(kind, root, batch, threads)
        return lambda: next(loader)
    return dali_pipeline(contender, kind, root, batch, threads).run


def open_iterator(contender: str, kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """The PyTorch iterator over the pipeline, epoch after epoch; the DataLoader itself for torchvision."""
    if contender == "torchvision":
        yield from torchvision_loader(kind, root, batch, threads)
        return
    plugin = importlib.import_module(CONTENDERS[contender] + ".plugin.pytorch")
    loader = plugin.DALIClassificationIterator(
        dali_pipeline(contender, kind, root, batch, threads), reader_name="Reader",
        last_batch_policy=plugin.LastBatchPolicy.PARTIAL, auto_reset=True,
    )  # fmt: skip
    while True:
        yield from loader
