# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images on their way from a data set to the pipelines.

A data set view puts a `Pending` where its sample has the transformed image. `Collate` makes a `Batch`
of such samples, in this process or in a worker: the pixels in a block of memory per pipeline, and the
rest with gaps, which `Batch.filled` closes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import get_worker_info
from torch.utils.data._utils.collate import (
    collate,
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
)


Port = tuple[int, int]  # the number of a pipeline, and that of its input


class Pending:
    """What stands for a transformed image.

    Attributes:
        job: the number of the pipeline that makes it.
        array: what this pipeline gets; None: Python has made the image.
        made: what Python made.
        source: the number of the transform in the data set.
        slot: the number of the input of the pipeline. Input 0 is the image; what moves with it comes
            after it.
        call: what is the same for the inputs of a call of the transform.
    """

    __slots__ = ("array", "call", "job", "made", "slot", "source")

    def __init__(
        self,
        job: int,
        array: NDArray[Any] | None,
        made: Any = None,
        source: int = 0,
        slot: int = 0,
        call: Any = None,
    ) -> None:
        self.job, self.array, self.made, self.source = job, array, made, source
        self.slot, self.call = slot, call

    @property
    def port(self) -> Port | None:
        """The pipeline, and which of its inputs; None: Python has made the image."""
        return None if self.array is None else (self.job, self.slot)


def aligned(images: list[Pending]) -> bool:
    """Whether the inputs of each pipeline have the same order."""
    calls: dict[int, dict[int, list[int]]] = {}
    for image in images:
        slots = calls.setdefault(image.job, {})
        slots.setdefault(image.slot, []).append(id(image.call))
    return all(one == slots[min(slots)] for slots in calls.values() for one in slots.values())


class Gap(NamedTuple):
    """Where images belong: one of them, or `count` of them as one tensor."""

    first: int
    count: int | None = None


def replaced(obj: Any, kind: type, make: Callable[[Any], Any]) -> Any:
    """The object with `make(x)` in place of each x of a type, within lists, tuples and mappings."""
    if type(obj) is kind:
        return make(obj)
    if isinstance(obj, Mapping):
        items = {key: replaced(value, kind, make) for key, value in obj.items()}
        if any(items[key] is not value for key, value in obj.items()):
            if not isinstance(obj, MutableMapping):
                return items
            obj.update(items)
    elif isinstance(obj, list):
        obj[:] = [replaced(value, kind, make) for value in obj]
    elif isinstance(obj, tuple):
        values = [replaced(value, kind, make) for value in obj]
        if any(new is not old for new, old in zip(values, obj)):
            return obj._make(values) if hasattr(obj, "_make") else type(obj)(values)
    return obj


def pending(sample: Any) -> list[Pending]:
    """The images that a sample waits for."""
    found: list[Pending] = []
    replaced(sample, Pending, lambda image: (found.append(image), image)[1])
    return found


class Block:
    """The arrays for a pipeline, in one tensor, which a worker sends with one descriptor.

    An array that several images are made of is sent once.
    """

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        keys = [(array.__array_interface__["data"][0], array.shape) for array in arrays]
        unique = dict(zip(keys, arrays))
        numbers = {key: number for number, key in enumerate(unique)}
        self._numbers = [numbers[key] for key in keys]
        self._shapes = [array.shape for array in unique.values()]
        flat = [array.reshape(-1) for array in unique.values()]
        self._dtype = flat[0].dtype
        self._bytes = _memory(sum(array.nbytes for array in flat))
        np.concatenate(flat, out=self._bytes.numpy().view(self._dtype))

    def arrays(self) -> list[NDArray[Any]]:
        sizes = [int(np.prod(shape)) for shape in self._shapes]
        parts = np.split(self._bytes.numpy().view(self._dtype), np.cumsum(sizes)[:-1])
        unique = [part.reshape(shape) for part, shape in zip(parts, self._shapes)]
        return [unique[number] for number in self._numbers]


def _memory(size: int) -> torch.Tensor:
    """Bytes; in a worker, in the memory that it shares with the process that gets them."""
    if get_worker_info() is None:
        return torch.empty(size, dtype=torch.uint8)
    storage = torch.UntypedStorage._new_shared(size, device="cpu")
    return torch.empty(0, dtype=torch.uint8).set_(storage)  # type: ignore[call-overload,no-any-return]


class Results(NamedTuple):
    """What a pipeline returned: as a tensor, and as one per image."""

    whole: Callable[[], torch.Tensor]
    each: Callable[[], list[torch.Tensor]]


class Batch:
    """Samples, whose images are still to be transformed.

    Attributes:
        rest: the samples, collated or as a list, with gaps in place of the images.
        blocks: what the pipelines get, by their numbers and those of their inputs.
        late: the samples are collated after the gaps are closed, as some have none.
    """

    def __init__(self, images: list[Pending], rest: Any, late: bool = False) -> None:
        self.rest, self.late = rest, late
        self._ports = [image.port for image in images]
        arrays: dict[int, dict[int, list[NDArray[Any]]]] = {}
        for image in images:
            if image.array is not None:
                arrays.setdefault(image.job, {}).setdefault(image.slot, []).append(image.array)
        self.blocks = {
            job: {slot: Block(found) for slot, found in slots.items()}
            for job, slots in arrays.items()
        }
        self._made: Any = _stacked([image.made for image in images if image.array is None])

    def filled(self, made: dict[int, list[Results]]) -> Any:
        """The batch with all images. `made`: by the numbers of the pipelines and of their inputs."""
        images: list[Any] = []
        results = {(job, slot): one for job, all in made.items() for slot, one in enumerate(all)}

        def fill(gap: Gap) -> Any:
            if gap.count is not None:
                found = self._together(gap.first, gap.count, results)
                if found is not None:
                    return found
            if not images:
                given: dict[Any, Any] = {port: iter(one.each()) for port, one in results.items()}
                given[None] = iter(self._made)
                images.extend(next(given[port]) for port in self._ports)
            if gap.count is None:
                return images[gap.first]
            return torch.stack(images[gap.first : gap.first + gap.count])

        whole = replaced(self.rest, Gap, fill)
        return default_collate(whole) if self.late else whole

    def _together(self, first: int, count: int, results: dict[Port, Results]) -> Any:
        """These images, if they are next to each other in what one pipeline, or Python, made."""
        (port, *others) = {*self._ports[first : first + count]}
        if others:
            return None
        begin = self._ports[:first].count(port)
        end, total = begin + count, self._ports.count(port)
        if port is None:
            return self._made[begin:end] if isinstance(self._made, torch.Tensor) else None
        if total == count:
            return results[port].whole()
        if len({image.shape for image in results[port].each()}) > 1:
            return None
        return results[port].whole()[begin:end]


def _stacked(images: list[Any]) -> Any:
    """As one tensor, which a worker sends with one descriptor, if they are tensors of one shape."""
    kinds = {(type(x), x.shape, x.dtype) if isinstance(x, torch.Tensor) else None for x in images}
    return torch.stack(images) if len(kinds) == 1 and None not in kinds else images


class _Unlike(Exception):
    """Some samples have a tensor where others wait for an image."""


# A dictionary's order says which rule is taken.
_OTHER_RULES = {k: v for k, v in default_collate_fn_map.items() if k is not torch.Tensor}


class Collate:
    """Makes a `Batch` of samples. `default`: collates them as PyTorch does; otherwise lists them."""

    def __init__(self, default: bool) -> None:
        self._default = default

    def __call__(self, samples: Any) -> Batch:
        images: list[Pending] = []

        def gather(found: list[Pending], *, collate_fn_map: Any = None) -> Gap:
            if any(type(image) is not Pending for image in found):
                raise _Unlike
            images.extend(found)
            return Gap(len(images) - len(found), len(found))

        def tensors(found: list[Any], *, collate_fn_map: Any = None) -> torch.Tensor:
            if any(type(tensor) is Pending for tensor in found):
                raise _Unlike
            return collate_tensor_fn(found, collate_fn_map=collate_fn_map)

        def number(image: Pending) -> Gap:
            images.append(image)
            return Gap(len(images) - 1)

        if self._default and len({len(pending(sample)) for sample in samples}) == 1:
            with contextlib.suppress(_Unlike):
                rules = {Pending: gather, torch.Tensor: tensors, **_OTHER_RULES}
                return Batch(images, collate(samples, collate_fn_map=rules))
            images.clear()
        return Batch(images, replaced(samples, Pending, number), late=self._default)
