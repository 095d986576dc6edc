# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets with code of their own, whose transforms are taken out of it.

Their `__getitem__` runs as it is, in the worker processes, but its transforms only remember the images
that they are called with. Whatever does not go as it did with the first sample runs as the user wrote
it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset

from headrace.torch._compile.compile import flat
from headrace.torch._compile.report import Step
from headrace.torch._compile.table import text
from headrace.torch._loading import captured
from headrace.torch._loading.captured import capturing, random_states, set_random_states
from headrace.torch._loading.engine import Job, analyse
from headrace.torch._loading.found import SEEDS, Found
from headrace.torch._loading.items import Pending, aligned, pending, replaced
from headrace.torch._loading.joint import ENCODED, RGB, AnyKind, Call, kinds_of, ran, with_image

_PATIENCE = 60.0  # seconds for the first sample
_MOST = 12  # transforms that are tried
_FAILURES = 50  # samples that a worker makes twice, because they differ from the first one


class Attached(Exception):
    """No transform can be taken out of a data set; the text is the reason."""


class Capture:
    """What happens instead of a transform: keeps images for the pipelines.

    Args:
        source: the number of the transform.
        first: the transforms that Python runs in any case.
        rest: those of a pipeline. Python runs them if an image is of another kind, or too large.
        jobs: the pipelines, by the kinds of their images.
        most: the largest image that is kept, in bytes.
    """

    def __init__(
        self,
        source: int,
        transform: Any,
        first: list[Any],
        rest: list[Any],
        jobs: dict[AnyKind, int],
        most: float,
    ) -> None:
        self.source, self.transform, self.first, self.rest = source, transform, first, rest
        self.jobs, self.most = jobs, most

    @property
    def decodes(self) -> bool:
        """Whether a pipeline takes files."""
        return any(ENCODED in kinds_of(kind) for kind in self.jobs)

    def called(self, args: tuple[Any, ...]) -> tuple[Any, list[Pending]]:
        """What stands for the result, and for the images, masks and boxes in it."""
        several = len(args) > 1
        value = ran(self.first, args if several else args[0], several)
        call, made = Call(value, self.rest), []
        job = None if call.kind is None else self.jobs.get(call.kind)
        arrays = None if job is None else call.arrays()
        whole = arrays is not None and sum(array.nbytes for array in arrays) <= self.most
        result = None if whole else ran(self.rest, value, several)

        def make(slot: int, leaf: Any) -> Pending:
            array = arrays[slot] if whole and arrays else None
            given = (job if whole else 0, array, None if whole else leaf)
            made.append(Pending(*given, self.source, slot, call))  # type: ignore[arg-type]
            return made[-1]

        return call.replaced(make, result), made


class Detached(Dataset[Any]):
    """A view of a data set: its samples with the images as far as the first transforms make them.

    Samples that do not have the images of the first sample are made as the data set makes them, and
    so is everything after many of them.

    Args:
        sources: the numbers of the transforms that made the images of the first sample, in order, and
            of the slots.
    """

    def __init__(self, dataset: Any, captures: list[Capture], sources: list[Source]) -> None:
        self.dataset, self._captures, self._sources = dataset, captures, sources
        self._failures = 0

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        return self._made(lambda: [self.dataset[index]])[0]

    def __getitems__(self, indices: Any) -> Any:
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return self._made(lambda: many(indices))
        states = random_states()
        samples = self._captured(lambda: [self.dataset[index] for index in indices])
        if samples is not None:
            return samples
        set_random_states(states)
        return [self[index] for index in indices]

    def _made(self, make: Callable[[], Any]) -> Any:
        states = random_states()
        samples = self._captured(make)
        if samples is not None:
            return samples
        self._failures += 1
        set_random_states(states)
        return make()

    def _captured(self, make: Callable[[], Any]) -> Any:
        """These samples, waiting for their images; None: they are not like the first one."""
        if self._failures > _FAILURES:
            return None
        made: list[Pending] = []

        def call(capture: Capture, args: tuple[Any, ...]) -> Any:
            result, images = capture.called(args)
            made.extend(images)
            return result

        with contextlib.suppress(Exception), _captured(self._captures, call):
            samples = make()
            found = [pending(sample) for sample in samples]
            every = {id(image) for images in found for image in images}
            if len(made) == len(every) == len(self._sources) * len(found) and all(
                sources_of(images) == self._sources and aligned(images) for images in found
            ):
                return samples
        return None


Source = tuple[int, int]


def sources_of(images: list[Pending]) -> list[Source]:
    """The transforms and slots that images come from."""
    return [(image.source, image.slot) for image in images]


@contextlib.contextmanager
def _captured(captures: list[Capture], call: Callable[[Capture, Any], Any]) -> Iterator[None]:
    """Within it, `call` is called instead of the transforms."""

    def bound(capture: Capture) -> captured.Call:
        return lambda *args: call(capture, args)

    calls = [(capture.transform, bound(capture)) for capture in captures]
    with capturing(calls, any(capture.decodes for capture in captures)):
        yield


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


def detach(
    dataset: Any, workers: dict[str, Any]
) -> tuple[Detached, tuple[Job, ...], tuple[Step, ...]]:
    """Tries the first sample. Returns the view, what the pipelines do, and a step per transform.

    Args:
        workers: arguments of a DataLoader: where the data set's code runs.

    Raises:
        Attached: the samples have to be made as they are.
    """
    if isinstance(dataset, IterableDataset) or not hasattr(type(dataset), "__getitem__"):
        raise Attached("its samples come one after the other")
    found = Found(dataset)
    if not 0 < len(found.transforms) <= _MOST:
        count = f"more than {_MOST} transforms" if found.transforms else "no transform"
        raise Attached(f"{count} of torchvision found in {type(dataset).__name__}")
    if found.seeds:
        raise Attached(f"{found.seeds} sets the seeds or states of random numbers")
    try:
        if len(dataset) == 0:
            raise Attached("it is empty")
        tried = _tried(Trial(dataset, found.transforms), workers)
        if isinstance(dataset, ConcatDataset) and any(seen.reason is None for seen in tried):
            raise Attached("its parts have different transforms")
        some = bool(workers["num_workers"])
        captures, jobs, steps = _captures(found.transforms, tried, some)
        taken = [capture.transform for capture in captures]
        (whole,) = _tried(Trial(dataset, taken, together=True), workers)
        sources = [(captures[number].source, slot) for number, slot in whole.sources]
    except Attached:
        raise
    except Exception as error:
        raise Attached(f"{type(error).__name__} when it was tried: {error}") from None
    return Detached(dataset, captures, sources), jobs, steps


class Seen(NamedTuple):
    """What a trial found.

    Attributes:
        kinds: of what each part of the transform gets; None: nothing that a pipeline takes.
        size: the bytes of the result.
        sources: the numbers of the transforms that made the images of the sample, in order, and of the
            slots.
        reason: why the transform cannot be taken out; empty if it can. None: it was not called.
    """

    kinds: list[AnyKind | None]
    size: int
    sources: list[Source]
    reason: str | None


def _captures(
    transforms: list[Any], tried: list[Seen], workers: bool
) -> tuple[list[Capture], tuple[Job, ...], tuple[Step, ...]]:
    """What the trials lead to. Raises Attached if it is nothing."""
    captures: list[Capture] = []
    jobs: list[Job] = []
    all_steps: list[Step] = []
    reasons: list[str] = []
    files = any(kind and ENCODED in kinds_of(kind) for seen in tried for kind in seen.kinds)
    for source, (transform, seen) in enumerate(zip(transforms, tried)):
        if seen.reason is None:
            continue
        parts = flat(transform)
        try:
            first, kind, steps = _split(parts, seen)
        except Attached as reason:
            reasons.append(str(reason))
            all_steps += [Step(text(part), False, str(reason)) for part in parts]
            continue
        kinds = [kind]
        if files and kinds_of(kind)[0] in (ENCODED, RGB):
            kinds = [with_image(kind, ENCODED), with_image(kind, RGB)]
        numbers = {one: len(jobs) + i for i, one in enumerate(kinds)}
        jobs += [Job(one, parts[first:]) for one in kinds]
        # Workers send at most twice the bytes that they would send to a DataLoader of PyTorch.
        most = 2 * seen.size if workers else math.inf
        captures.append(Capture(source, transform, parts[:first], parts[first:], numbers, most))
        all_steps += steps
    if not captures:
        raise Attached(reasons[0] if reasons else "its code calls no transform with an image alone")
    return captures, tuple(jobs), tuple(all_steps)


def _split(parts: list[Any], seen: Seen) -> tuple[int, AnyKind, list[Step]]:
    """How many of the first transforms Python runs, and what kind of image the others get."""
    if seen.reason:
        raise Attached(seen.reason)
    nothing = "the transform gets something else than an RGB or grey image of 8 bits"
    first, steps = 0, [Step(text(part), False, nothing) for part in parts]
    while first < len(parts):
        kind = seen.kinds[first]
        if kind is None:
            first += 1
            continue
        try:
            steps[first:] = analyse(parts[first:], kind)
        except Exception as error:  # of the transform, or it makes no tensor
            raise Attached(f"{type(error).__name__}: {error}") from None
        left = [i + 1 for i, step in enumerate(steps) if i >= first and not step.compiled]
        if not left:
            later = "a transform after it is not compiled"
            before = [
                dataclasses.replace(s, compiled=False, reason=s.reason or later)
                for s in steps[:first]
            ]
            return first, kind, [*before, *steps[first:]]
        first = left[-1]
    raise Attached(
        nothing if steps[-1].reason == nothing else "none of its last transforms is compiled"
    )


def _tried(trial: Trial, workers: dict[str, Any]) -> list[Seen]:
    """What came of a trial. It runs in a worker process, so nothing in this one changes.

    Raises:
        Attached: the transforms have to stay.
    """
    given = {"timeout": _PATIENCE, **workers, "num_workers": 1, "generator": torch.Generator()}
    loader: DataLoader[Any] = DataLoader(
        trial, batch_size=None, sampler=[0], collate_fn=_same, **given
    )
    (seen,) = loader
    if isinstance(seen, str):
        raise Attached(seen)
    return seen  # type: ignore[no-any-return]


def _same(one: Any) -> Any:
    return one


class Trial(Dataset[Any]):
    """Makes a sample with the transforms, and with each of them captured, or all of them `together`.

    `trial[index]` is what became of each capture, or why all transforms stay.
    """

    def __init__(self, dataset: Any, transforms: list[Any], together: bool = False) -> None:
        self.dataset, self._transforms, self._together = dataset, transforms, together

    def __getitem__(self, index: Any) -> list[Seen] | str:
        set_by: list[str] = []
        with _watched(set_by):
            self._states = random_states()
            plain = self.dataset[index]
            every = list(range(len(self._transforms)))
            groups = [every] if self._together else [[number] for number in every]
            seen = [self._try(index, numbers, plain) for numbers in groups]
        if set_by:
            return f"its code calls {set_by[0]}"
        if self._together and seen[0].reason:
            return seen[0].reason
        return seen

    def _try(self, index: Any, numbers: list[int], plain: Any) -> Seen:
        kinds: list[list[AnyKind | None]] = []
        before: list[Any] = []  # images that were files, and are decoded by now
        sizes: list[int] = []
        images: list[Pending] = []

        def called(number: int, args: tuple[Any, ...]) -> Any:
            several, parts = len(args) > 1, flat(self._transforms[number])
            value = args if several else args[0]
            kinds.append([])
            call = Call(value, parts)
            for i, part in enumerate(parts):
                now = Call(value, parts[i:])
                call = now if now.kind else call
                if any(now.image is one for one in before) and now.kind and not i:
                    now.kind = with_image(now.kind, ENCODED)
                if now.kind and ENCODED in kinds_of(now.kind):
                    before.append(now.image)
                kinds[-1].append(now.kind)
                value = part(*value) if several else part(value)
            made: list[Pending] = []

            def make(slot: int, leaf: Any) -> Pending:
                made.append(Pending(0, None, leaf, number, slot, call))
                return made[-1]

            result = call.replaced(make, value)
            sizes.append(sum(one.made.nbytes for one in made))
            images.extend(made)
            return result

        def bound(number: int) -> captured.Call:
            return lambda *args: called(number, args)

        calls = [(self._transforms[number], bound(number)) for number in numbers]
        set_random_states(self._states)
        try:
            with capturing(calls, decodes=True):
                sample = self.dataset[index]
        except Exception:  # its code wanted a tensor
            return Seen([], 0, [], "its code goes on with the image after the transform")
        if not kinds:
            return Seen([], 0, [], None)
        found = pending(sample)
        if len({id(image) for image in found}) != len(images) or len(found) != len(images):
            return Seen([], 0, [], "its code does not return what the transform makes")
        if not self._alike(index, sample, plain):
            return Seen([], 0, [], "its code goes on with the image after the transform")
        if not self._together and any(one != kinds[0] for one in kinds):
            return Seen([], 0, [], "the transform gets images of several kinds")
        if not aligned(found):
            return Seen([], 0, [], "its code mixes what several calls of the transform return")
        return Seen(kinds[0], max(sizes), sources_of(found), "")

    def _alike(self, index: Any, sample: Any, plain: Any) -> bool:
        """Whether a sample is the plain one; or like it, if this one is never the same."""
        if not alike(sample, plain):
            return False
        made = replaced(sample, Pending, lambda image: image.made)
        if equal(made, plain):
            return True
        set_random_states(self._states)
        return not equal(self.dataset[index], plain)


@contextlib.contextmanager
def _watched(calls: list[str]) -> Iterator[None]:
    """Within it, in a process of its own, calls that set states of random numbers are noted."""
    owners: list[Any] = [torch, torch.random, random, np.random]
    names = [(owner, name) for owner in owners for name in SEEDS if hasattr(owner, name)]
    old = [(owner, name, getattr(owner, name)) for owner, name in names]

    def noting(name: str, then: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return then(*args, **kwargs)

        return called

    for owner, name, then in old:
        setattr(owner, name, noting(f"{owner.__name__}.{name}", then))
    try:
        yield
    finally:
        for owner, name, then in old:
            setattr(owner, name, then)


def alike(sample: Any, plain: Any) -> bool:
    """Whether a sample has images where another one has tensors, and is like it elsewhere."""
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


def equal(one: Any, other: Any) -> bool:
    """Whether two samples have the same values."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    try:
        return (
            bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
        )
    except Exception:
        return False
