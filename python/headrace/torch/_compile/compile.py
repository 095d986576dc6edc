# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`compile`: from transforms and a data set to a loader."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from headrace import fn
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline
from headrace.torch._compile import augment, choices, convert, datasets, geometry, regions, table
from headrace.torch._compile.report import Report, Step
from headrace.torch._compile.state import State
from headrace.torch.loader import Loader

# Their rules are in the table now that they are imported.
FAMILIES = (augment, choices, convert, geometry, regions)
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

    def __init__(self, pipeline: Pipeline, report: Report, drop_last: bool) -> None:
        super().__init__(pipeline, reader_name=READER, drop_last=drop_last)
        self.report = report


def compile(
    transform: Any,
    dataset: Any,
    *,
    batch_size: int = 1,
    shuffle: bool = False,
    drop_last: bool = False,
    num_threads: int = 4,
    device: Any = "cpu",
    seed: int | None = None,
    shard_id: int = 0,
    num_shards: int = 1,
    **pipeline_kwargs: Any,
) -> CompiledLoader:
    """Turns transforms of torchvision and a data set into a loader.

    The loader yields `(images, labels)` as a DataLoader over the data set does. Its attribute
    `report` says which transforms were compiled.

    Args:
        transform: a Compose of `torchvision.transforms` or `torchvision.transforms.v2`, one of
            their transforms, or the transforms of weights (`weights.transforms()`).
        dataset: an ImageFolder or another data set with `samples`, a Subset of one, or the path of
            a folder with one folder per class. Transforms that it has itself are ignored.
        batch_size, shuffle, drop_last: as in a DataLoader.
        num_threads: threads that read, decode and transform.
        device: where batches are made: "cpu", "cuda", "cuda:1" or a torch.device.
        seed: of the order and of the random transforms; by default a different one in each run.
        shard_id, num_shards: which part of the data set is read, for training in parallel.
        pipeline_kwargs: further arguments of `Pipeline`.

    Raises:
        TypeError: the data set does not say where its files are, or the transforms do not return
            tensors.
        FileNotFoundError: there are no images.
    """
    files, labels = datasets.files_and_labels(dataset)
    data = Data(files, labels, shuffle, shard_id, num_shards)
    number = device_number(device)
    report, last = analyse(transform, number)
    for step in report.python:
        warnings.warn(
            f"headrace.torch.compile: Python runs {step.transform}, because {step.reason}",
            stacklevel=2,
        )
    pipe = Pipeline(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=number,
        seed=seed,
        **pipeline_kwargs,
    )
    with pipe:
        pipe.set_outputs(*define(transform, data, number, last, []))
    return CompiledLoader(pipe, report, drop_last)


def explain(transform: Any) -> Report:
    """Says which transforms `compile` would compile, and why not the others.

    Args:
        transform: as in `compile`.
    """
    return analyse(transform, None)[0]


def device_number(device: Any) -> int | None:
    """The number of a GPU; None for the CPU.

    Raises:
        ValueError: there is no such kind of device.
    """
    kind, _, number = str(device).partition(":")
    if kind == "cpu":
        return None
    if kind not in ("cuda", "gpu"):
        raise ValueError(f"`device` is {device!r}; it must be 'cpu' or 'cuda', optionally with an index")
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
    # Pillow does not turn pictures as their metadata says.
    state = State(fn.decoders.image(encoded, device=where, adjust_orientation=False))
    for part in flat(transform):
        table.apply(part, state, steps)
        if device is not None and last and len(steps) == last:
            state.image = state.image.gpu()
    if not state.tensor:
        raise TypeError(
            "the transforms return PIL images, which cannot be batched: "
            "add ToImage (v2) or ToTensor to them"
        )
    images = state.flush()
    return images, labels.gpu() if device is not None else labels


def flat(transform: Any) -> list[Any]:
    """The transforms, without the containers that run them one after the other."""
    parts = table.sequence(transform)
    if parts is None:
        return [transform]
    return [one for part in parts for one in flat(part)]
