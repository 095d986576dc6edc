# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipelines that bench/compare.py measures. Each contender is an endless source of batches.

`open_loop(contender, ...)` returns a function that takes the next batch and drops it. Headrace and DALI share one
definition; torchvision uses its transforms (v2) in a DataLoader, on Pillow images (`torchvision`) or on tensors
(`torchvision-tensor`). `compiled` has the same transforms, run by `headrace.torch.compile`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import containers
from augmentations import AUGMENTATIONS, Api, ssd

CONTENDERS = {
    "headrace": "headrace",
    "headrace-index": "headrace",
    "headrace-indexing": "headrace",
    "headrace-v3": "headrace",
    "headrace-index-v3": "headrace",
    "compiled": "headrace",
    "dali": "nvidia.dali",
    "torchvision": "torchvision",
    "torchvision-tensor": "torchvision",
}
# Arguments of the pipeline. headrace: no indices. headrace-indexing: like an endless first epoch, because indices are
# made but never kept. headrace-index: defaults, measured with an index of every file, as from the
# second epoch on.
OPTIONS: dict[str, dict[str, Any]] = {
    "headrace": {"index_memory_limit": 0},
    "compiled": {"index_memory_limit": 0},
    "headrace-indexing": {"index_memory_limit": 1},
}
EPOCHS_BEFORE = {"headrace-index": 3}  # epochs to run before it is measured
PIPELINES = ("train", "eval", "resized", *containers.WRITERS, *AUGMENTATIONS)
PREFETCH = 2
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)


def has(contender: str, kind: str) -> bool:
    """Whether the contender has this pipeline."""
    files = CONTENDERS[contender] == "torchvision" or contender == "compiled"
    return not (files and (kind in containers.WRITERS or kind == "ssd"))


def dali_pipeline(contender: str, kind: str, root: str, batch: int, threads: int) -> Any:
    """The pipeline `kind` (of PIPELINES), built with the API of the contender's module."""
    module = CONTENDERS[contender]
    if contender.endswith("-v3"):  # AVX2, no AVX-512
        os.environ["HEADRACE_CPU_LEVEL"] = "v3"
        contender = contender.removesuffix("-v3")
    m = Api(module)
    fn, types = m.fn, m.types

    def normalized(images: Any, **kwargs: Any) -> Any:
        return fn.crop_mirror_normalize(
            images, dtype=types.FLOAT, output_layout="CHW", mean=list(MEAN), std=list(STD), **kwargs
        )

    @m.package.pipeline_def(
        batch_size=batch, num_threads=threads, device_id=None, seed=12, exec_dynamic=True,
        prefetch_queue_depth=PREFETCH, enable_conditionals=kind in AUGMENTATIONS,
        **OPTIONS.get(contender, {}),
    )  # fmt: skip
    def define() -> Any:
        if kind == "ssd":
            return ssd(m, containers.made(kind, root), normalized)
        order = {"random_shuffle": kind != "eval", "pad_last_batch": True, "name": "Reader"}
        if kind in containers.READERS:
            files, *labels = containers.READERS[kind](m, containers.made(kind, root), **order)
        else:
            files, *labels = fn.readers.file(file_root=root, **order)
        if kind == "eval":
            images = fn.resize(fn.decoders.image(files), resize_shorter=256)
            return normalized(images, crop=(224, 224)), *labels
        if kind == "resized":
            images = fn.resize(fn.decoders.image(files), resize_shorter=256)
            images = fn.random_resized_crop(images, size=[224, 224])
        else:
            images = fn.decoders.image_random_crop(
                files, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
            )
            images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
        if kind in AUGMENTATIONS:
            images = AUGMENTATIONS[kind].dali(m, images)
        return normalized(images, mirror=fn.random.coin_flip()), *labels

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


def torchvision_data(kind: str, root: str, tensors: bool = False) -> Any:
    """A data set with the transforms of the pipeline."""
    import torch
    from torchvision import datasets, io
    from torchvision.transforms import v2 as t

    steps: list[Any] = [t.RandomResizedCrop(224), t.RandomHorizontalFlip()]
    if kind == "eval":
        steps = [t.Resize(256), t.CenterCrop(224)]
    elif kind == "resized":
        steps.insert(0, t.Resize(256))
    elif kind in AUGMENTATIONS:
        steps += AUGMENTATIONS[kind].torchvision(t)
    mean, std = [m / 255 for m in MEAN], [s / 255 for s in STD]
    steps += [] if tensors else [t.ToImage()]
    steps += [t.ToDtype(torch.float32, scale=True), t.Normalize(mean=mean, std=std)]
    loading = {"loader": lambda path: io.decode_image(path, io.ImageReadMode.RGB)} if tensors else {}
    return datasets.ImageFolder(root, t.Compose(steps), **loading)


def torchvision_loader(
    contender: str, kind: str, root: str, batch: int, threads: int
) -> Iterator[Any]:
    """The same work with torchvision's transforms, in `threads` worker processes."""
    from torch.utils import data

    dataset = torchvision_data(kind, root, contender == "torchvision-tensor")
    loader = data.DataLoader(
        dataset, batch_size=batch, num_workers=threads, prefetch_factor=PREFETCH,
        sampler=endless(len(dataset), kind != "eval"),  # type: ignore[arg-type]
    )  # fmt: skip
    return iter(loader)


def compiled_loader(kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """torchvision's transforms, run by Headrace, epoch after epoch."""
    import headrace.torch

    dataset = torchvision_data(kind, root)
    loader = headrace.torch.compile(
        dataset.transform, dataset, batch_size=batch, num_threads=threads, shuffle=kind != "eval",
        **OPTIONS["compiled"],
    )  # fmt: skip
    while True:
        yield from loader


def open_loop(contender: str, kind: str, root: str, batch: int, threads: int) -> Callable[[], Any]:
    """A function that takes the next batch of `batch` images."""
    if CONTENDERS[contender] == "torchvision":
        loader = torchvision_loader(contender, kind, root, batch, threads)
        return lambda: next(loader)
    if contender == "compiled":
        batches = compiled_loader(kind, root, batch, threads)
        return lambda: next(batches)
    return dali_pipeline(contender, kind, root, batch, threads).run


def open_iterator(contender: str, kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """The PyTorch iterator over the pipeline, epoch after epoch; the DataLoader itself for torchvision."""
    if CONTENDERS[contender] == "torchvision":
        yield from torchvision_loader(contender, kind, root, batch, threads)
        return
    if contender == "compiled":
        yield from compiled_loader(kind, root, batch, threads)
    plugin = getattr(Api(CONTENDERS[contender]), "plugin.pytorch")
    loader = plugin.DALIClassificationIterator(
        dali_pipeline(contender, kind, root, batch, threads), reader_name="Reader",
        last_batch_policy=plugin.LastBatchPolicy.PARTIAL, auto_reset=True,
    )  # fmt: skip
    while True:
        yield from loader
