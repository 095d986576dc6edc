# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets with code of their own, whose transform is taken out of it.

Their `__getitem__` runs as it is, in the worker processes, but finds a `Capture` where it has its
transform. Whatever does not go as it did with the first sample runs as the user wrote it.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset

from headrace.torch._compile.compile import flat
from headrace.torch._compile.own_code import seeded
from headrace.torch._loading.engine import Kind, analyse, array_of, kind_of
from headrace.torch._loading.items import Pending, pending

NAMES = ("transform", "transforms")  # of the attribute
# Code that calls one of these may repeat random numbers, for example for an image and its mask.
_SEEDS = {"manual_seed", "seed", "set_rng_state", "setstate", "set_state", "fork_rng"}


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
    """Takes the place of a transform. Keeps an image for the pipeline after the first transforms."""

    def __init__(self, transform: Any, first: list[Any], kind: Kind | None) -> None:
        self._transform, self._first, self.kind = transform, first, kind
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_transform":
            raise AttributeError(name)
        return getattr(self._transform, name)

    def __call__(self, *images: Any, **named: Any) -> Any:
        if named or len(images) != 1:
            self.calls = 2
            return self._transform(*images, **named)
        self.calls += 1
        (image,) = images
        if kind_of(image) is None or self.kind is None:
            return Pending(None, self._transform(image))
        for part in self._first:
            image = part(image)
        if kind_of(image) != self.kind:
            raise Attached("the image is of another kind than the first one")
        return Pending(array_of(image))


class Detached(Dataset[Any]):
    """A view of a data set: its samples with the images as far as the first transforms make them."""

    def __init__(self, dataset: Any, transform: Any, first: list[Any], kind: Kind) -> None:
        self.dataset = dataset
        self._transform, self._first, self.kind = transform, first, kind

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        return self._made(lambda: [self.dataset[index]])[0]

    def __getitems__(self, indices: Any) -> Any:
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return self._made(lambda: many(indices))
        return self._made(lambda: [self.dataset[index] for index in indices])

    def _made(self, make: Any) -> Any:
        capture = Capture(self._transform, self._first, self.kind)
        states = torch.get_rng_state()
        with contextlib.suppress(Exception), swapped(self.dataset, capture):
            samples = make()
            found = [len(pending(sample)) for sample in samples]
            if capture.calls == len(found) and all(count == 1 for count in found):
                return samples
        torch.set_rng_state(states)
        return make()


@contextlib.contextmanager
def swapped(dataset: Any, capture: Capture) -> Iterator[None]:
    """Within it, the data set calls `capture` instead of its transform."""
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
        seen = _seen(Trial(dataset, transform), workers)
        if isinstance(seen, str):
            raise Attached(seen)
        steps = analyse(transform, seen)
        last = max((i + 1 for i, step in enumerate(steps) if not step.compiled), default=0)
        parts = flat(transform)
        if last == len(parts):
            raise Attached("none of its last transforms is compiled")
        if last:
            seen = _seen(Trial(dataset, transform, parts[:last]), workers)
            if isinstance(seen, str):
                raise Attached(seen)
            analyse(parts[last:], seen)
    except Attached:
        raise
    except Exception as error:
        raise Attached(f"{type(error).__name__} when it was tried: {error}") from None
    return Detached(dataset, transform, parts[:last], seen), parts[last:], steps


def _seen(trial: Trial, workers: dict[str, Any]) -> Kind | str:
    """What came of a trial, in a worker if there are to be any."""
    if not workers["num_workers"]:
        return seeded((0,), trial.__getitem__, 0)
    given = {**workers, "num_workers": 1, "generator": torch.Generator()}
    loader: DataLoader[Any] = DataLoader(trial, batch_size=None, sampler=[0], **given)
    return next(iter(loader))  # type: ignore[no-any-return]


class Trial(Dataset[Any]):
    """Makes a sample with the transform, and with a capture, and compares them.

    `trial[index]` is what the transform gets, after the first transforms, or why it stays.
    """

    def __init__(self, dataset: Any, transform: Any, first: list[Any] | None = None) -> None:
        self.dataset, self._transform, self._first = dataset, transform, first or []

    def __getitem__(self, index: Any) -> Kind | str:
        plain = self.dataset[index]
        seen: list[Any] = []
        capture = _Trial(self._transform, self._first, seen)
        state = torch.initial_seed()
        with swapped(self.dataset, capture):
            sample = self.dataset[index]
        if capture.calls != 1 or len(seen) != 1:
            return f"its code calls the transform {capture.calls} times for a sample, or not with an image"
        if seen[0] is None:
            return "the transform gets something else than an RGB or grey image of 8 bits"
        if torch.initial_seed() != state:
            return "its code sets the seed of random numbers"
        if not alike(sample, plain):
            return "its code goes on with the image after the transform"
        return seen[0]  # type: ignore[no-any-return]


class _Trial(Capture):
    def __init__(self, transform: Any, first: list[Any], seen: list[Any]) -> None:
        super().__init__(transform, first, None)
        self._seen = seen

    def __call__(self, *images: Any, **named: Any) -> Any:
        if not named and len(images) == 1:
            image = images[0]
            for part in self._first if kind_of(image) else []:
                image = part(image)
            self._seen.append(kind_of(image))
        return super().__call__(*images, **named)


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
