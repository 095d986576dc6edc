# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets with code of their own, whose transform is taken out of it.

Their `__getitem__` runs as it is, in the worker processes, but finds a `Capture` where it has its
transform. Whatever does not go as it did with the first sample runs as the user wrote it.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset

from headrace.torch._compile.compile import flat
from headrace.torch._loading.engine import Kind, analyse, array_of, kind_of
from headrace.torch._loading.items import Pending, pending

NAMES = ("transform", "transforms")  # of the attribute
# Code that calls one of these may repeat random numbers, for example for an image and its mask.
_SEEDS = {"manual_seed", "seed", "set_rng_state", "setstate", "set_state", "fork_rng"}

_PATIENCE = 60.0  # seconds for the first sample


class Attached(Exception):
    """A transform cannot be taken out of its data set; the text is the reason."""


def holders(dataset: Any) -> list[tuple[Any, str]]:
    """The objects that have the transform, with the name of the attribute.

    Raises:
        Attached: there is none, or it is a transform of images and targets.
    """
    vision = sys.modules.get("torchvision.datasets.vision")
    joint = getattr(dataset, "transforms", None)
    if vision and isinstance(joint, vision.StandardTransform) and joint.transform is not None:
        found = [(joint, "transform")]
        return [*found, (dataset, "transform")] if hasattr(dataset, "transform") else found
    for name in NAMES:
        if callable(getattr(dataset, name, None)):
            return [(dataset, name)]
    if isinstance(dataset, (Subset, ConcatDataset)) or hasattr(dataset, "dataset"):
        parts = getattr(dataset, "datasets", None) or [dataset.dataset]
        return [holder for part in parts for holder in holders(part)]
    raise Attached(f"{type(dataset).__name__} has no attribute `transform` that is called")


def transform_of(dataset: Any) -> Any:
    """The transform of all samples.

    Raises:
        Attached: there is not exactly one.
    """
    found = [getattr(holder, name) for holder, name in holders(dataset)]
    if not found or any(transform is not found[0] for transform in found):
        raise Attached("its parts have different transforms")
    return found[0]


def seeds(dataset: Any) -> bool:
    """Whether the class of a data set, or of one within it, mentions seeds of random numbers."""
    for kind in type(dataset).__mro__:
        if kind.__module__.partition(".")[0] in ("torch", "torchvision", "builtins"):
            continue
        for member in vars(kind).values():
            if isinstance(member, types.FunctionType) and _SEEDS & set(_names(member.__code__)):
                return True
    parts = getattr(dataset, "datasets", None) or [getattr(dataset, "dataset", None)]
    return any(part is not None and seeds(part) for part in parts)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


class Capture:
    """Takes the place of a transform: keeps images for the pipeline, which needs them of one kind.

    Args:
        first: the transforms that Python runs in any case.
        rest: those of the pipeline. Python runs them if an image is of another kind, or too large.
        most: the largest image that is kept, in bytes.
    """

    def __init__(
        self, transform: Any, first: list[Any], rest: list[Any], kind: Kind | None, most: float
    ) -> None:
        self._transform, self._first, self._rest = transform, first, rest
        self._kind, self._most = kind, most
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._transform, name)

    def __call__(self, image: Any, /) -> Pending:
        self.calls += 1
        for part in self._first:
            image = part(image)
        if kind_of(image) == self._kind:
            array = array_of(image)
            if array.nbytes <= self._most:
                return Pending(array)
        for part in self._rest:
            image = part(image)
        return Pending(None, image)


class Detached(Dataset[Any]):
    """A view of a data set: its samples with the images as far as the first transforms make them.

    A batch that does not come with one image per sample is made as the data set makes it.
    """

    def __init__(
        self,
        dataset: Any,
        transform: Any,
        first: list[Any],
        rest: list[Any],
        kind: Kind,
        most: float,
    ) -> None:
        self.dataset, self.kind = dataset, kind
        self._capture = (transform, first, rest, kind, most)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        return self._made(lambda: [self.dataset[index]])[0]

    def __getitems__(self, indices: Any) -> Any:
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return self._made(lambda: many(indices))
        return self._made(lambda: [self.dataset[index] for index in indices])

    def _made(self, make: Callable[[], Any]) -> Any:
        capture = Capture(*self._capture)
        states = torch.get_rng_state(), random.getstate(), np.random.get_state()
        with contextlib.suppress(Exception), swapped(self.dataset, capture):
            samples = make()
            found = [len(pending(sample)) for sample in samples]
            if capture.calls == len(found) and all(count == 1 for count in found):
                return samples
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
        return make()


# Held while a data set has a capture: two loaders in two threads may have the same data set.
_swapping = threading.RLock()


def _forked() -> None:
    global _swapping
    _swapping = threading.RLock()


os.register_at_fork(after_in_child=_forked)


@contextlib.contextmanager
def swapped(dataset: Any, capture: Capture) -> Iterator[None]:
    """Within it, the data set calls `capture` instead of its transform."""
    with _swapping:
        found = holders(dataset)
        old = [getattr(holder, name) for holder, name in found]
        try:
            for holder, name in found:
                setattr(holder, name, capture)
            yield
        finally:
            for (holder, name), transform in zip(found, old):
                setattr(holder, name, transform)


class WorkerInit:
    """The first thing in a worker: shows the user's code its own data set, not a view."""

    def __init__(self, then: Any) -> None:
        self._then = then

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None:
            object.__setattr__(info, "dataset", info.dataset.dataset)  # type: ignore[attr-defined]
        if self._then is not None:
            self._then(worker)


def detach(dataset: Any, workers: dict[str, Any]) -> tuple[Detached, Any, tuple[Any, ...]]:
    """Tries the first sample. Returns the view, what the pipeline runs, and a step per transform.

    Args:
        workers: arguments of a DataLoader: where the data set's code runs.

    Raises:
        Attached: the samples have to be made as they are.
    """
    if isinstance(dataset, IterableDataset) or not hasattr(type(dataset), "__getitem__"):
        raise Attached("its samples come one after the other")
    transform = transform_of(dataset)
    if seeds(dataset):
        raise Attached("its code sets the seeds or states of random numbers")
    try:
        if len(dataset) == 0:
            raise Attached("it is empty")
        parts = flat(transform)
        seen, size = _seen(Trial(dataset, transform, [], parts), workers)
        steps = analyse(transform, seen)
        last = max((i + 1 for i, step in enumerate(steps) if not step.compiled), default=0)
        first, rest = parts[:last], parts[last:]
        if not rest:
            raise Attached("none of its last transforms is compiled")
        if first:
            seen, size = _seen(Trial(dataset, transform, first, rest), workers)
            analyse(rest, seen)
    except Attached:
        raise
    except Exception as error:
        raise Attached(f"{type(error).__name__} when it was tried: {error}") from None
    # Workers send at most twice the bytes that they would send to a DataLoader of PyTorch.
    most = 2 * size if workers["num_workers"] else math.inf
    return Detached(dataset, transform, first, rest, seen, most), rest, steps


def _seen(trial: Trial, workers: dict[str, Any]) -> tuple[Kind, int]:
    """What came of a trial. It runs in a worker process, so nothing in this one changes.

    Raises:
        Attached: the transform has to stay.
    """
    given = {"timeout": _PATIENCE, **workers, "num_workers": 1, "generator": torch.Generator()}
    loader: DataLoader[Any] = DataLoader(trial, batch_size=None, sampler=[0], **given)
    (seen,) = loader
    if isinstance(seen, str):
        raise Attached(seen)
    return seen  # type: ignore[no-any-return]


class Trial(Dataset[Any]):
    """Makes a sample with the transform, and with a capture, and compares them.

    `trial[index]` is what the transform gets, after the first transforms, and the bytes that it
    makes of it, or why it stays.
    """

    def __init__(self, dataset: Any, transform: Any, first: list[Any], rest: list[Any]) -> None:
        self.dataset, self._capture = dataset, (transform, first, rest)

    def __getitem__(self, index: Any) -> tuple[Kind, int] | str:
        plain = self.dataset[index]
        seed, capture = torch.initial_seed(), _Trial(*self._capture)
        with swapped(self.dataset, capture):
            sample = self.dataset[index]
        if capture.calls != 1:
            return f"its code calls the transform {capture.calls} times for a sample"
        if capture.seen is None:
            return "the transform gets something else than an RGB or grey image of 8 bits"
        if torch.initial_seed() != seed:
            return "its code sets the seed of random numbers"
        if len(pending(sample)) != 1 or not alike(sample, plain):
            return "its code goes on with the image after the transform"
        (image,) = pending(sample)
        return capture.seen, image.made.nbytes


class _Trial(Capture):
    """Python runs all transforms, but `seen` is what the pipeline would get."""

    def __init__(self, transform: Any, first: list[Any], rest: list[Any]) -> None:
        super().__init__(transform, [], first + rest, None, 0)
        self._before, self.seen = first, None

    def __call__(self, image: Any, /) -> Pending:
        before = image
        for part in self._before:
            before = part(before)
        self.seen = kind_of(before)
        self.calls += 1
        return Pending(None, self._transform(image))


def alike(sample: Any, plain: Any) -> bool:
    """Whether a sample has an image where another one has a tensor, and is like it elsewhere."""
    if isinstance(sample, Pending):
        both = isinstance(plain, torch.Tensor) and isinstance(sample.made, torch.Tensor)
        return both and plain.dtype == sample.made.dtype
    if type(sample) is not type(plain):
        return False
    if isinstance(sample, dict):
        return sample.keys() == plain.keys() and all(alike(sample[k], plain[k]) for k in sample)
    if isinstance(sample, (list, tuple)):
        return len(sample) == len(plain) and all(map(alike, sample, plain))
    if isinstance(sample, torch.Tensor):
        return sample.dtype == plain.dtype and sample.dim() == plain.dim()
    return not pending(sample)
