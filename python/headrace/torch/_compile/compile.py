# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`compile`: from transforms and a data set to a loader."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import torch

from headrace import fn
from headrace._pipeline.config import integer
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline
from headrace.plugin.pytorch._ranks import warn_of_whole
from headrace.torch._arguments import data_loader_arguments, pipeline_arguments, shard_of
from headrace.torch._compile import augment, boxes, choices, convert, datasets, geometry, regions, table, timm
from headrace.torch._compile.own_code import DatasetLoader, Items
from headrace.torch._compile.report import Report, Step
from headrace.torch._compile.state import State
from headrace.torch.loader import Loader

# Their rules are in the table now that they are imported.
FAMILIES = (augment, boxes, choices, convert, geometry, regions, timm)
READER = "Reader"


@dataclasses.dataclass(frozen=True)
class Data:
    """What the pipeline reads."""

    files: list[str]
    labels: list[int]
    shuffle: bool
    shard_id: int
    num_shards: int


class CompiledLoader(Loader):
    """A `Loader` that `compile` made.

    Attributes:
        report: which transforms were compiled, and why others were not.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        report: Report,
        drop_last: bool,
        files: datasets.Files | None = None,
        pin_memory: bool = False,
    ) -> None:
        super().__init__(pipeline, reader_name=READER, drop_last=drop_last, pin_memory=pin_memory)
        self.report = report
        self._files = files  # whose targets take the place of the labels, which are numbers

    def _shown(self, batch: Any) -> tuple[torch.Tensor, ...]:
        shown = super()._shown(batch)
        if self._files is None:
            return shown
        images, numbers = shown
        targets = self._files.targets(numbers)
        if isinstance(targets, torch.Tensor):
            targets = targets.to(images.device)
            targets = targets.pin_memory() if self._pin_memory and not targets.is_cuda else targets
        return images, targets


def compile(
    transform: Any,
    dataset: Any,
    *,
    batch_size: int = 1,
    shuffle: bool = False,
    drop_last: bool = False,
    num_threads: int | None = None,
    device: Any = "cpu",
    seed: int | None = None,
    shard_id: int | None = None,
    num_shards: int | None = None,
    pin_memory: bool = False,
    num_workers: int | None = None,
    prefetch_factor: int | None = None,
    persistent_workers: bool | None = None,
    **pipeline_kwargs: Any,
) -> CompiledLoader | DatasetLoader:
    """Turns transforms of torchvision and a data set into a loader.

    The loader yields `(images, targets)` as a DataLoader over the data set does. Its attribute
    `report` says which transforms were compiled.

    If the class of the data set has code of its own and applies the transform, Python runs this code,
    and nothing is compiled: the loader is a `DatasetLoader`, whose `report` says why.

    Args:
        transform: a Compose of `torchvision.transforms` or `torchvision.transforms.v2`, one of
            their transforms, or the transforms of weights (`weights.transforms()`).
        dataset: an ImageFolder or DatasetFolder with torchvision's default loader, a Subset or
            ConcatDataset of such, a list of pairs (path, target), or the path of a folder with one
            folder per class; its own `transform` is ignored. Or a data set with indices and code of
            its own, such as a `__getitem__`, whose `transform` is the argument.
        batch_size, shuffle, drop_last: as in a DataLoader.
        num_threads: threads that read, decode and transform; 4 by default. For code of the data set:
            processes, as `num_workers` of a DataLoader; by default 0, which is this process.
        device: where batches are made: "cpu", "cuda", "cuda:1" or a torch.device.
        seed: of the order and of the random transforms; by default a different one in each run.
        shard_id, num_shards: which part of the data set is read, for training in parallel. By
            default, that of this process, if torch.distributed is initialised or torchrun has started
            several processes. ``num_shards=1``: every process reads everything.
        pin_memory: as in a DataLoader, for batches on the CPU.
        num_workers: another name of `num_threads`; 0 means 1.
        prefetch_factor: another name of `prefetch_queue_depth`.
        persistent_workers: has no effect: threads stay from epoch to epoch.
        pipeline_kwargs: further arguments of `Pipeline`. For code of the data set, where the last three
            arguments are those of a DataLoader: its `collate_fn`, `timeout` and
            `multiprocessing_context`.

    Raises:
        TypeError: the data set has code of its own and does not apply the transform, or has no
            indices; the transforms do not return tensors, or there is no such argument.
        ValueError: an argument has a value that is not allowed.
        FileNotFoundError: there are no images.
    """
    check_transform(transform)
    if num_workers is not None and num_threads is not None:
        raise ValueError("`num_workers` is another name of `num_threads`: give one of them.")
    shards = shard_of(shard_id, num_shards)
    try:
        files = datasets.files_of(dataset)
    except datasets.OwnCode as own:
        if not datasets.applies(dataset, transform):
            raise
        if device_number(device) is not None:
            raise ValueError(
                f"`device` is {device!r}, but {own.reason}, which Python runs on the CPU. Copy the "
                "batches in the training loop."
            ) from None
        warn_of_whole([{"number_of_shards": shards[1]}], 2)
        items = Items(
            dataset,
            batch_size,
            shuffle,
            drop_last,
            seed,
            shards,
            pin_memory=pin_memory,
            num_workers=integer("num_workers", num_workers or num_threads or 0, 0, 2**31 - 1),
            prefetch_factor=prefetch_factor,
            persistent_workers=bool(persistent_workers),
            **data_loader_arguments("compile", pipeline_kwargs, own.reason),
        )
        return DatasetLoader(items, own_report(dataset, own))
    more = pipeline_arguments("compile", pipeline_kwargs)
    if num_workers is not None:
        num_threads = max(integer("num_workers", num_workers, 0, 2**31 - 1), 1)
    if prefetch_factor is not None:
        more.setdefault("prefetch_queue_depth", prefetch_factor)
    data = Data(files.paths, files.labels, shuffle, *shards)
    number = device_number(device)
    report, last = analyse(transform, number)
    for step in report.python:
        warnings.warn(
            f"headrace.torch.compile: Python runs {step.transform}, because {step.reason}",
            stacklevel=2,
        )
    pipe = Pipeline(
        batch_size=batch_size,
        num_threads=4 if num_threads is None else num_threads,
        device_id=number,
        seed=seed,
        **more,
    )
    with pipe:
        images, labels = define(transform, data, number, last, [])
        if number is not None and not files.numbered:
            labels = labels.gpu()
        pipe.set_outputs(images, labels)
    return CompiledLoader(pipe, report, drop_last, files if files.numbered else None, pin_memory)


def explain(transform: Any, dataset: Any = None) -> Report:
    """Says which transforms `compile` would compile, and why not the others.

    Args:
        transform, dataset: as in `compile`. With a data set, also whether Python runs its code.
    """
    check_transform(transform)
    try:
        if dataset is not None:
            datasets.files_of(dataset)
    except datasets.OwnCode as own:
        if not datasets.applies(dataset, transform):
            raise
        return own_report(dataset, own)
    return analyse(transform, None)[0]


def own_report(dataset: Any, own: datasets.OwnCode) -> Report:
    """Of a data set whose samples are made by Python."""
    return Report((Step(f"all of {type(dataset).__name__}", compiled=False, reason=own.reason),))


def check_transform(transform: Any) -> None:
    """Refuses what cannot be called.

    Raises:
        TypeError: it is neither a transform nor a list of them.
    """
    if callable(transform) or isinstance(transform, (list, tuple)):
        return
    raise TypeError(
        f"`transform` is {transform!r}; it must be a transform, such as a Compose of "
        "torchvision.transforms.v2, or a list of them. To compile those of a data set, pass "
        "dataset.transform."
    )


def device_number(device: Any) -> int | None:
    """The number of a GPU; None for the CPU.

    Raises:
        ValueError: there is no such kind of device.
    """
    kind, _, number = str(device).partition(":")
    if kind == "cpu":
        return None
    if kind not in ("cuda", "gpu"):
        raise ValueError(
            f"`device` is {device!r}; it must be 'cpu' or 'cuda', optionally with an index"
        )
    return int(number or 0)


def analyse(transform: Any, device: int | None) -> tuple[Report, int]:
    """Compiles for the CPU, without data. Also returns the number of steps up to the last one that
    needs the CPU."""
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    steps: list[Step] = []
    with pipe:
        define(transform, Data(["none"], [0], False, 0, 1), None, 0, steps)
    last = max((i + 1 for i, step in enumerate(steps) if step.needs_cpu), default=0)
    return Report(tuple(steps)), last


def define(
    transform: Any, data: Data, device: int | None, last: int, steps: list[Step]
) -> tuple[DataNode, DataNode]:
    """The nodes of images and labels. The first `last` steps run on the CPU."""
    encoded, labels = fn.readers.file(
        files=data.files,
        labels=data.labels,
        random_shuffle=data.shuffle,
        shard_id=data.shard_id,
        num_shards=data.num_shards,
        pad_last_batch=True,
        name=READER,
    )
    where = "mixed" if device is not None and last == 0 else "cpu"
    # Pillow does not turn images as their metadata says.
    state = State(fn.decoders.image(encoded, device=where, adjust_orientation=False))
    images = transformed(state, transform, device, last, steps)
    return images, labels


def transformed(
    state: State, transform: Any, device: int | None, last: int, steps: list[Step]
) -> DataNode:
    """The image after all transforms. The first `last` of them run on the CPU.

    Raises:
        TypeError: it is no tensor.
    """
    for part in flat(transform):
        table.apply(part, state, steps)
        if device is not None and last and len(steps) == last:
            state.image = state.image.gpu()
    if not state.tensor:
        raise TypeError(
            "the transforms return PIL images, which cannot be batched: "
            "add ToImage (v2) or ToTensor to them"
        )
    return state.flush()


def flat(transform: Any) -> list[Any]:
    """The transforms, without the containers that run them one after the other."""
    parts = table.sequence(transform)
    if parts is None:
        return [transform]
    return [one for part in parts for one in flat(part)]
