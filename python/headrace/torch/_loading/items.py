# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images on their way from a data set to the pipeline.

A data set view puts a `Pending` where its sample has the transformed image. `Collate` makes a `Batch`
of such samples, in this process or in a worker: the pixels in one block of memory, and the rest with
gaps, which `Batch.filled` closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data._utils.collate import collate, default_collate_fn_map


class Pending:
    """What stands for a transformed image: the array that the pipeline gets, or what Python made."""

    __slots__ = ("array", "made")

    def __init__(self, array: NDArray[np.uint8] | None, made: Any = None) -> None:
        self.array, self.made = array, made


class Gap(NamedTuple):
    """Where images belong: that of one sample, or all of them as one tensor."""

    sample: int | None


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


class Batch:
    """Samples, whose images are still to be transformed.

    Attributes:
        rest: the samples, collated or as a list, with gaps in place of the images.
    """

    def __init__(self, images: list[Pending], rest: Any) -> None:
        arrays = [image.array for image in images if image.array is not None]
        self.rest, self._count = rest, len(images)
        self._shapes = [array.shape for array in arrays]
        flat = [array.reshape(-1) for array in arrays]
        self._pixels = torch.from_numpy(np.concatenate(flat)) if flat else None
        self._numbers = [i for i, image in enumerate(images) if image.array is None]
        self._made: Any = _stacked([images[i].made for i in self._numbers])

    def arrays(self) -> list[NDArray[np.uint8]]:
        """What the pipeline gets."""
        if self._pixels is None:
            return []
        sizes = [int(np.prod(shape)) for shape in self._shapes]
        parts = np.split(self._pixels.numpy(), np.cumsum(sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes)]

    def filled(self, whole: Callable[[], torch.Tensor], each: Callable[[], Any]) -> Any:
        """The batch with all images. `whole`, `each`: what the pipeline returned, as a tensor and as
        one per sample."""
        images: list[Any] = []

        def fill(gap: Gap) -> Any:
            if gap.sample is None and not self._numbers:
                return whole()
            if gap.sample is None and not self._shapes and isinstance(self._made, torch.Tensor):
                return self._made
            if not images:
                given, made = iter(each() if self._shapes else ()), iter(self._made)
                numbers = set(self._numbers)
                images.extend(next(made if i in numbers else given) for i in range(self._count))
            return torch.stack(images) if gap.sample is None else images[gap.sample]

        return replaced(self.rest, Gap, fill)


def _stacked(images: list[Any]) -> Any:
    """As one tensor, which a worker sends with one descriptor, if they are tensors of one shape."""
    kinds = {(type(x), x.shape, x.dtype) if isinstance(x, torch.Tensor) else None for x in images}
    return torch.stack(images) if len(kinds) == 1 and None not in kinds else images


class Collate:
    """Makes a `Batch` of samples. `default`: collates them as PyTorch does; otherwise lists them."""

    def __init__(self, default: bool) -> None:
        self._default = default

    def __call__(self, samples: Any) -> Batch:
        images: list[Pending] = []
        if self._default:

            def gather(found: list[Pending], *, collate_fn_map: Any = None) -> Gap:
                images.extend(found)
                return Gap(None)

            collated = collate(samples, collate_fn_map={Pending: gather, **default_collate_fn_map})
            return Batch(images, collated)

        def number(image: Pending) -> Gap:
            images.append(image)
            return Gap(len(images) - 1)

        return Batch(images, replaced(samples, Pending, number))
