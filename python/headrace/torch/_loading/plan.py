# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The choice of the way in which batches are made, and its reasons."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import torch
from torch.utils.data import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    IterDataPipe,
    Subset,
    TensorDataset,
)

from headrace.torch._compile.datasets import OwnCode
from headrace.torch._compile.report import Step
from headrace.torch._loading import detached, known
from headrace.torch._loading.engine import Job, analyse
from headrace.torch._loading.found import Found
from headrace.torch._loading.joint import ENCODED, FILE, kinds_of
from headrace.torch._loading.streams import Streamed, Taken, taken

_WAYS = {
    "files": "the engine reads the files of {} and transforms the images",
    "arrays": "the engine transforms the arrays of {}",
    "rows": "batches are rows of the tensors of {}",
    "workers": "the code of {} makes images, and the engine transforms them",
    "python": "a DataLoader of PyTorch makes the batches of {}",
}


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How a `DataLoader` makes its batches. `print(explanation)` shows it.

    Attributes:
        way: "files", "arrays", "rows", "workers" or "python" (docs/from-pytorch.md).
        dataset: the class of the data set.
        steps: how each transform runs; empty if all of it is the data set's own business.
        reasons: why no better way was taken.
        notices: what differs from a DataLoader of PyTorch.
    """

    way: str
    dataset: str
    steps: tuple[Step, ...] = ()
    reasons: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"way       {self.way}: {_WAYS[self.way].format(self.dataset)}"]
        lines += map(str, self.steps)
        lines += [f"because   {reason}" for reason in self.reasons]
        return "\n".join([*lines, *(f"notice    {notice}" for notice in self.notices)])


@dataclasses.dataclass(frozen=True)
class Plan:
    """How batches are made.

    Attributes:
        view: what the DataLoader below has as its data set.
        jobs: what the pipelines do, if there are any.
        signature: of the transforms of the data set, which must not have changed.
    """

    explanation: Explanation
    view: Any
    jobs: tuple[Job, ...] = ()
    signature: Any = None

    @property
    def in_process(self) -> bool:
        """Whether there are no workers, however many the user wants."""
        return self.explanation.way in ("files", "arrays", "rows")

    @property
    def streamed(self) -> bool:
        """Whether batches come with places."""
        return isinstance(self.view, Streamed)

    @property
    def decodes(self) -> bool:
        """Whether files that the data set's code opens are decoded by a pipeline."""
        return any(ENCODED in kinds_of(job.kind) for job in self.jobs)


def signature(dataset: Any) -> Any:
    """What changes if a transform of a data set is replaced or altered."""
    try:
        transforms = Found(dataset).transforms
    except Exception:
        return None
    try:
        return transforms, pickle.dumps(transforms)
    except Exception:
        return transforms, repr(transforms)


def same(one: Any, other: Any) -> bool:
    """Whether two signatures are equal."""
    if one is None or other is None:
        return one is other
    return list(map(id, one[0])) == list(map(id, other[0])) and one[1] == other[1]


def choose(dataset: Any, plain_batches: bool, workers: dict[str, Any]) -> Plan:
    """Chooses the best way.

    Args:
        plain_batches: batches are collated by PyTorch's function.
        workers: arguments of a DataLoader that concern worker processes.
    """
    name = _name(dataset)
    reasons: list[str] = []
    if isinstance(dataset, IterableDataset):
        return dataclasses.replace(_streamed(dataset, name, workers), signature=signature(dataset))
    if plain_batches and isinstance(_innermost(dataset), TensorDataset):
        try:
            return Plan(Explanation("rows", name), known.Rows(dataset))
        except (known.Unknown, OwnCode) as reason:
            reasons.append(str(reason))
    mark = signature(dataset)
    ways = [_known, _detached]
    if torch.get_default_dtype() != torch.float32:
        ways = []
        reasons.append(f"PyTorch's default type is {torch.get_default_dtype()}")
    for way in ways:
        found = way(dataset, name, reasons, workers)
        if found is not None:
            return dataclasses.replace(found, signature=mark)
    return Plan(Explanation("python", name, reasons=tuple(reasons)), dataset, signature=mark)


def _streamed(dataset: Any, name: str, workers: dict[str, Any]) -> Plan:
    if isinstance(dataset, IterDataPipe):
        reason = "it is a data pipe, which PyTorch's loader changes"
        return Plan(Explanation("python", name, reasons=(reason,)), dataset)
    found = Found(dataset)
    captures: list[Taken] = []
    jobs: tuple[Job, ...] = ()
    steps: tuple[Step, ...] = ()
    reasons: list[str] = []
    if torch.get_default_dtype() != torch.float32:
        reasons.append(f"PyTorch's default type is {torch.get_default_dtype()}")
    elif found.seeds:
        reasons.append(f"{found.seeds} sets the seeds or states of random numbers")
    else:
        captures, jobs, steps = taken(found.transforms, bool(workers["num_workers"]))
    if not found.transforms:
        reasons.append(f"no transform of torchvision found in {name}")
    way = "workers" if jobs else "python"
    return Plan(Explanation(way, name, steps, tuple(reasons)), Streamed(dataset, captures), jobs)


def _known(dataset: Any, name: str, reasons: list[str], workers: dict[str, Any]) -> Plan | None:
    try:
        view = known.Known(dataset)
        if view.transform is None:
            raise known.Unknown("it has no transform")
        steps = analyse(view.transform, view.kind)
    except known.Unknown as reason:
        reasons.append(str(reason))
        return None
    except Exception as error:
        reasons.append(f"its transform: {error}")
        return None
    python = [step for step in steps if not step.compiled]
    if python:
        reasons.append(f"Python runs {python[0].transform}: {python[0].reason}")
        return None
    way = "files" if view.kind == FILE else "arrays"
    return Plan(Explanation(way, name, steps), view, (Job(view.kind, view.transform),))


def _detached(dataset: Any, name: str, reasons: list[str], workers: dict[str, Any]) -> Plan | None:
    try:
        view, jobs, steps = detached.detach(dataset, workers)
    except detached.Attached as reason:
        if str(reason) not in reasons:
            reasons.append(str(reason))
        return None
    except Exception as error:  # of a data set that cannot be looked into
        reasons.append(f"{type(error).__name__}: {error}")
        return None
    return Plan(Explanation("workers", name, steps, tuple(reasons)), view, jobs)


def _innermost(dataset: Dataset[Any]) -> Any:
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return dataset


def _name(dataset: Any) -> str:
    """The class of a data set, and of those within it."""
    kind = type(dataset).__name__
    parts: list[Any] = []
    if isinstance(dataset, (Subset, ConcatDataset)):
        parts = [dataset.dataset] if isinstance(dataset, Subset) else dataset.datasets
    inner = dict.fromkeys(map(_name, parts))
    return f"{kind} of {', '.join(inner)}" if inner else kind
