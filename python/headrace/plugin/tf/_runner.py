# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches of a pipeline that is fed from datasets."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from headrace._pipeline.iterated import Iterated
from headrace.pipeline import Pipeline
from headrace.tensors import TensorListGPU


@dataclasses.dataclass(frozen=True)
class Input:
    """A dataset that feeds an external source.

    Args:
        dataset: yields one tensor at a time.
        layout: layout of a sample; None: that of the external source.
        batch: the tensors are batches, not samples; None: as the external source says.
    """

    dataset: tf.data.Dataset
    _: dataclasses.KW_ONLY
    layout: str | None = None
    batch: bool | None = False

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, tf.data.Dataset):
            raise TypeError(
                f"`dataset` should be a `tf.data.Dataset`, not {type(self.dataset).__name__}."
            )


def inputs_of(pipeline: Pipeline, given: Any) -> dict[str, Input]:
    """Checks `input_datasets`, and that every external source without `source` has one.

    Raises:
        TypeError: it is not a dictionary of datasets by name.
        ValueError: a name is unknown or missing.
    """
    expected = (
        "`input_datasets` must be a dictionary that maps the names of external sources to "
        "`tf.data.Dataset` or `experimental.Input`"
    )
    if not isinstance(given, Mapping):
        raise TypeError(f"{expected}, not {type(given).__name__}.")
    empty = [name for name, fed in Iterated(pipeline).placeholders().items() if fed]
    inputs = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, (tf.data.Dataset, Input)):
            raise TypeError(f"{expected}; got {name!r}: {type(value).__name__}.")
        if name not in empty:
            raise ValueError(
                f"The pipeline has no external source without `source` named {name!r}. It has: "
                f"{', '.join(map(repr, empty)) or 'none'}."
            )
        inputs[name] = value if isinstance(value, Input) else Input(value)
    missing = [name for name in empty if name not in inputs]
    if missing:
        raise ValueError(
            "Found External Source nodes in the Pipeline, that were not assigned any inputs: "
            f"{', '.join(map(repr, missing))}. Add them to `input_datasets`."
        )
    return inputs


class Feed:
    """What one input gives to one pass over the dataset."""

    def __init__(self, name: str, value: Input, batched: bool, batch_size: int) -> None:
        self.name = name
        self.layout = value.layout
        self._items = iter(value.dataset)
        self._batched = batched
        self._batch_size = batch_size

    def next(self) -> Any:
        """The next batch, or None at the end. The last one may have fewer samples."""
        if self._batched:
            return next(map(_array, self._items), None)
        samples = [_array(item) for item in itertools.islice(self._items, self._batch_size)]
        return samples or None


def _array(item: Any) -> np.ndarray[Any, Any]:
    (tensor,) = item if isinstance(item, tuple) else (item,)
    return np.asarray(tensor)


class Definition:
    """How to run a pipeline. Each pass runs a copy, unless the pipeline contains Python functions.

    Args:
        options: constructor arguments of the copies.
        inputs: what feeds its external sources.

    Raises:
        ValueError: the pipeline contains Python functions, and another batch size is asked for.
    """

    def __init__(
        self, pipeline: Pipeline, options: dict[str, Any], inputs: dict[str, Input]
    ) -> None:
        self.pipeline = pipeline
        self._options = options
        self._inputs = inputs
        self._text: bytes | None = None
        self._passes = 0
        if all(Iterated(pipeline).placeholders().values()):
            try:
                self._text = pipeline.serialize()
            except RuntimeError:  # it contains Python functions
                self._text = None
        size = options["batch_size"]
        if self._text is None and size != pipeline.max_batch_size:
            raise ValueError(
                f"A pipeline with Python functions runs with its own batch size, which is "
                f"{pipeline.max_batch_size}; pass it as `batch_size` instead of {size}."
            )

    def start(self) -> Runner:
        """Begins a pass."""
        if self._text is not None:
            pipe = Pipeline.deserialize(self._text, **self._options)
        else:
            pipe = self.pipeline
            pipe.build()
            if self._passes:
                pipe.reset()
        self._passes += 1
        size = self._options["batch_size"]
        known = Iterated(self.pipeline)
        feeds = [
            Feed(name, i, known.takes_batches(name) if i.batch is None else i.batch, size)
            for name, i in self._inputs.items()
        ]
        return Runner(pipe, feeds, self._options["prefetch_queue_depth"])


class Runner:
    """Iterates over the batches of one pass. The outputs of a batch are lists of samples."""

    def __init__(self, pipe: Pipeline, feeds: list[Feed], depth: int) -> None:
        self._pipe = pipe
        self._feeds = feeds
        self._depth = depth
        self._scheduled = 0
        self._ended = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._feeds:
            return self._pipe.run()
        while self._scheduled < self._depth and not self._ended:
            batches = [feed.next() for feed in self._feeds]
            if any(batch is None for batch in batches):
                self._ended = True
                break
            for feed, batch in zip(self._feeds, batches):
                self._pipe.feed_input(feed.name, batch, layout=feed.layout)
            self._pipe.schedule_run()
            self._scheduled += 1
        if not self._scheduled:
            raise StopIteration
        self._scheduled -= 1
        return self._pipe.outputs()


def array(batch: Any) -> np.ndarray[Any, Any]:
    """The batch in host memory."""
    host = batch.as_cpu() if isinstance(batch, TensorListGPU) else batch
    found: np.ndarray[Any, Any] = host.as_array()
    return found


def tensor(batch: Any) -> tf.Tensor:
    """The batch as a tensor that shares its memory, if TensorFlow can use its device."""
    if isinstance(batch, TensorListGPU) and not tf.config.list_physical_devices("GPU"):
        batch = batch.as_cpu()
    if not batch.is_dense_tensor():
        return tf.convert_to_tensor(array(batch))
    return tf.experimental.dlpack.from_dlpack(batch.as_tensor().__dlpack__())
