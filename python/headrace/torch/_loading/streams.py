# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets whose samples come one after the other: iterable ones, of the user or of Hugging Face.

Their `__iter__` runs as it is, in the worker processes. Nothing can be tried before, since a sample
that was taken may not come again; so a transform returns a `Late`, which becomes a tensor if the code
uses it. Each batch carries the place of its worker, from which a later run continues.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from headrace.torch._compile.compile import flat
from headrace.torch._compile.report import Step
from headrace.torch._compile.table import text
from headrace.torch._loading.captured import (
    Call,
    capturing,
    random_states,
    set_random_states,
    suspended,
)
from headrace.torch._loading.engine import Job, analyse
from headrace.torch._loading.found import Found
from headrace.torch._loading.items import Pending, replaced
from headrace.torch._loading.joint import (
    ENCODED,
    RGB,
    Kind,
    image_array,
    image_kind,
    image_of,
    ran,
)
from headrace.torch._loading.late import Late

_KINDS = (ENCODED, RGB, Kind("PIL", 1), Kind("tensor", 3), Kind("tensor", 1))
_FIXED = {
    "Resize", "CenterCrop", "Pad", "Grayscale", "ToTensor", "PILToTensor", "ToImage", "ToPureTensor",
    "ToDtype", "ConvertImageDtype", "Normalize",
}  # fmt: skip
_NOTHING = "the transform before it gives something that the engine does not take"


class Taken:
    """A transform of a stream, and what happens instead of it.

    Args:
        first: the transforms that Python runs in any case.
        jobs: the pipelines, by the kinds of their images.
        bounded: large images stay in Python, because a worker would have to send them.
    """

    def __init__(
        self,
        transform: Any,
        first: list[Any],
        rest: list[Any],
        jobs: dict[Kind, int],
        bounded: bool,
    ) -> None:
        self.transform, self._first, self._rest, self._jobs = transform, first, rest, jobs
        self._bounded = bounded
        self._random = any(type(part).__name__ not in _FIXED for part in rest)
        self._most: int | None = None  # the largest image that is sent, in bytes

    def called(self, *args: Any) -> Any:
        if len(args) > 1:
            with suspended():
                return ran(self._first + self._rest, args, True)
        image = ran(self._first, args[0], False)
        kind = image_kind(image)
        job = None if kind is None else self._jobs.get(kind)
        if kind is None or job is None:
            return self._python(image)
        array = image_array(image)
        if self._bounded and array.nbytes > self._limit(array, kind):
            return self._python(image)
        return Late.of(
            Pending(job, array), lambda: self._python(image_of(array, kind)), self._random
        )

    def _python(self, image: Any) -> Any:
        with suspended():
            for part in self._rest:
                image = part(image)
        return image

    def _limit(self, array: Any, kind: Kind) -> int:
        """Twice the bytes that PyTorch's worker would send: the first image shows how many."""
        if self._most is None:
            states = random_states()
            self._most = 2 * self._python(image_of(array, kind)).nbytes
            set_random_states(states)
        return self._most


def taken(
    transforms: list[Any], bounded: bool
) -> tuple[list[Taken], tuple[Job, ...], tuple[Step, ...]]:
    """What happens instead of the transforms of a data set: of those that can be compiled."""
    found: list[Taken] = []
    jobs: list[Job] = []
    steps: list[Step] = []
    for transform in transforms:
        parts = flat(transform)
        first, kinds, shown = _split(parts)
        steps += shown
        if kinds:
            numbers = {kind: len(jobs) + i for i, kind in enumerate(kinds)}
            jobs += [Job(kind, parts[first:]) for kind in kinds]
            found.append(Taken(transform, parts[:first], parts[first:], numbers, bounded))
    return found, tuple(jobs), tuple(steps)


def _split(parts: list[Any]) -> tuple[int, list[Kind], list[Step]]:
    """How many of the first transforms Python runs, for which kinds of images the others are compiled,
    and how each of them runs."""
    reasons: dict[int, str] = {}
    for first in range(len(parts)):
        fits: dict[Kind, tuple[Step, ...]] = {}
        for kind in _KINDS:
            try:
                steps = analyse(parts[first:], kind)
            except Exception as error:  # it makes no tensor, for example
                reasons.setdefault(first, str(error))
                continue
            left = next((i for i, step in enumerate(steps) if not step.compiled), None)
            if left is None:
                fits[kind] = steps
            else:
                reasons.setdefault(first + left, steps[left].reason)
        if fits:
            before = [
                Step(text(part), False, reasons.get(i, _NOTHING))
                for i, part in enumerate(parts[:first])
            ]
            return first, list(fits), [*before, *next(iter(fits.values()))]
    return (
        0,
        [],
        [Step(text(part), False, reasons.get(i, _NOTHING)) for i, part in enumerate(parts)],
    )


@dataclasses.dataclass(frozen=True)
class Place:
    """How far a worker is.

    Attributes:
        samples: how many it has made in this epoch.
        state: that of the data set or of its iterator; None: it has none.
    """

    samples: int = 0
    state: Any = None


@dataclasses.dataclass
class At:
    """A batch, and how far its worker is after it. `skipped`: there is none, as the worker had its turn."""

    batch: Any
    worker: int
    place: Place
    skipped: bool = False


_SKIPPED = object()  # in place of a sample


class Places:
    """Where the batches of an epoch come from, in the order of workers.

    Attributes:
        workers: how many there are.
        last: the worker of the last batch that was taken, or -1.
        places: how far the workers are.
    """

    def __init__(self, workers: int) -> None:
        self.workers, self.last = max(workers, 1), -1
        self.places: dict[int, Place] = {}

    def took(self, at: At) -> None:
        self.last, self.places[at.worker] = at.worker, at.place

    def state(self) -> dict[str, Any]:
        places = {worker: (place.samples, place.state) for worker, place in self.places.items()}
        return {"workers": self.workers, "last": self.last, "places": places}

    def restore(self, state: Any) -> None:
        """Continues there.

        Raises:
            ValueError: it is the state of a loader with another number of workers.
        """
        if state["workers"] != self.workers:
            raise ValueError(
                f"The state is of a loader with {state['workers']} processes that iterate over the data "
                f"set, and this one has {self.workers}: give it the same num_workers."
            )
        self.last = state["last"]
        self.places = {worker: Place(*place) for worker, place in state["places"].items()}


class Streamed(IterableDataset[Any]):
    """A view of an iterable data set: its samples with the images as far as Python makes them.

    Attributes:
        start: where the next iterators begin, and how many samples a batch has.
    """

    def __init__(self, dataset: Any, captures: list[Taken]) -> None:
        self.dataset, self._captures = dataset, captures
        self.start: tuple[Places, int] | None = None
        self.running: Stream | None = None

    def __iter__(self) -> Stream:
        start, self.start = self.start, None
        self.running = Stream(self, self.dataset, self._captures, start)
        return self.running


class Stream:
    """Iterates over a view."""

    def __init__(
        self,
        view: Streamed,
        dataset: Any,
        captures: list[Taken],
        start: tuple[Places, int] | None,
    ) -> None:
        self._view, self._dataset, self._captures = view, dataset, captures
        self._skipped, place = 0, Place()
        if start is not None:
            places, size = start
            worker = worker_number()
            place = places.places.get(worker, place)
            # Workers take turns, from the first one on: those that had theirs begin with nothing.
            self._skipped = size if worker <= places.last else 0
        self.samples = place.samples
        self._source = self._begun(place)
        self._state = self._stateful()

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        if self._skipped:
            self._skipped -= 1
            return _SKIPPED
        self._view.running = self
        sample = self._next()
        for late in _several(sample):  # one draw for all of them
            late.settled()
        self.samples += 1
        return replaced(sample, Late, _waiting)

    def place(self) -> Place:
        # A copy: the batch is pickled later, when the data set has gone on.
        return Place(self.samples, copy.deepcopy(self._state()) if self._state else None)

    def _begun(self, place: Place) -> Iterator[Any]:
        """Iterates from there: where its state says, or after as many samples."""
        if place.state is None:
            source = iter(self._dataset)
            self._source = source
            for _ in range(place.samples):
                self._next()
            return source
        if _has_state(self._dataset):
            if _hugging_face(self._dataset):  # it would begin later epochs there, too
                kept = {id(one.transform): one.transform for one in self._captures}
                self._dataset = copy.deepcopy(self._dataset, kept)
            self._dataset.load_state_dict(place.state)
            return iter(self._dataset)
        source = iter(self._dataset)
        source.load_state_dict(place.state)  # type: ignore[attr-defined]
        return source

    def _next(self) -> Any:
        def bound(capture: Taken) -> Call:
            return capture.called

        if not self._captures:
            return next(self._source)
        calls = [(capture.transform, bound(capture)) for capture in self._captures]
        with capturing(calls, decodes=True):
            return next(self._source)

    def _stateful(self) -> Callable[[], Any] | None:
        """What gives the state, of the data set or of its iterator."""
        owners: list[Any] = [one for one in (self._dataset, self._source) if _has_state(one)]
        return owners[0].state_dict if owners and not forgets(owners[0]) else None


def _has_state(owner: Any) -> bool:
    return callable(getattr(owner, "state_dict", None)) and callable(
        getattr(owner, "load_state_dict", None)
    )


def forgets(owner: Any) -> bool:
    """Whether a state leaves out samples: those that a shuffle buffer of Hugging Face's has."""
    return _hugging_face(owner) and any(
        type(one).__name__ == "BufferShuffledExamplesIterable" for one in Found(owner).objects
    )


def _waiting(late: Late) -> Pending:
    """What a batch has in place of it."""
    return Pending(0, None, late.settled()) if late.used else late.hand_on()


def _several(sample: Any) -> list[Late]:
    """Those that a sample has more than once."""
    found: list[Late] = []
    replaced(sample, Late, lambda late: (found.append(late), late)[1])
    return [one for i, one in enumerate(found) if any(one is other for other in found[:i])]


def _hugging_face(owner: Any) -> bool:
    return type(owner).__module__.startswith("datasets.")


def undivided(dataset: Any) -> bool:
    """Whether each process gets all of a stream of Hugging Face's."""
    return _hugging_face(dataset) and getattr(dataset, "_distributed", 0) is None


def worker_number() -> int:
    info = get_worker_info()
    return 0 if info is None else info.id


class Placed:
    """Collates samples of a stream, and says where it is then."""

    def __init__(self, view: Streamed, collate: Callable[[Any], Any]) -> None:
        self._view, self._collate = view, collate

    def __call__(self, samples: Any) -> At:
        first = samples[0] if type(samples) is list and samples else samples
        if first is _SKIPPED:
            return At(None, worker_number(), Place(), skipped=True)
        batch = self._collate(samples)
        assert self._view.running is not None
        return At(batch, worker_number(), self._view.running.place())


class Arriving:
    """The batches of a stream. Notes their places for those who take them.

    Attributes:
        places: of the last batch for which `took` was called.
    """

    def __init__(self, below: Iterator[At], places: Places) -> None:
        self._below, self.places = below, places
        self._coming: deque[At] = deque()

    def __iter__(self) -> Arriving:
        return self

    def __next__(self) -> Any:
        while True:
            at = next(self._below)
            if not at.skipped:
                batch, at.batch = at.batch, None
                self._coming.append(at)
                return batch

    def took(self) -> None:
        """The next of the batches is the user's now."""
        self.places.took(self._coming.popleft())
