# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A pipeline as a function of batches, for ``ray.data``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace._pipeline.pipeline import Pipeline


class MapBatches:
    """Runs a pipeline over the batches of a ``ray.data.Dataset``::

        dataset.map_batches(
            headrace.ray.MapBatches, fn_constructor_args=(decode, ["bytes"], ["image"]),
            batch_size=64, concurrency=2, num_cpus=4)

    Bytes and texts, such as the contents of files or their paths, reach the pipeline as
    one-dimensional UINT8 tensors, everything else as it is. Random operators draw in the order in
    which an actor gets its batches, so their results are not reproducible; those of `Loader` are.

    Args:
        pipeline: called in each actor; returns a pipeline that is not built, with one
            ``fn.external_source(name=column)`` for each column of `inputs`.
        inputs: columns that the pipeline gets. They are not part of the result unless they are
            outputs, too; the other columns are.
        outputs: one column for each output of the pipeline.

    Raises:
        ValueError: `inputs` is empty, or `outputs` does not fit the pipeline.
    """

    def __init__(
        self, pipeline: Callable[[], Pipeline], inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._pipe = pipeline()
        self._pipe.build()
        self._inputs, self._outputs = list(inputs), list(outputs)
        if not self._inputs:
            raise ValueError("`inputs` must name at least one column.")
        if len(self._outputs) != self._pipe.num_outputs:
            raise ValueError(
                f"`outputs` has {len(self._outputs)} names, but the pipeline has "
                f"{self._pipe.num_outputs} output(s)."
            )

    def __call__(self, batch: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Runs one batch, in parts if it is larger than those of the pipeline.

        Raises:
            KeyError: a column is missing.
        """
        missing = [name for name in self._inputs if name not in batch]
        if missing:
            raise KeyError(f"The batch has no column {missing[0]!r}; it has {sorted(batch)}.")
        count, most = len(batch[self._inputs[0]]), int(self._pipe.max_batch_size or 1)
        parts: list[list[Any]] = [[] for _ in self._outputs]
        for first in range(0, count, most):
            for name in self._inputs:
                column = batch[name][first : first + most]
                self._pipe.feed_input(name, [_sample(value) for value in column])
            for part, output in zip(parts, self._pipe.run()):
                output = output.as_cpu() if hasattr(output, "as_cpu") else output
                part.extend(np.array(sample) for sample in output)
        rest = {k: v for k, v in batch.items() if k not in self._inputs}
        return {**rest, **{k: _column(v) for k, v in zip(self._outputs, parts)}}


def _sample(value: Any) -> NDArray[Any]:
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    return np.asarray(value)


def _column(samples: list[NDArray[Any]]) -> NDArray[Any]:
    """One array, or an array of arrays if they differ in shape."""
    if len({sample.shape for sample in samples}) == 1:
        return np.stack(samples)
    column = np.empty(len(samples), object)
    for i, sample in enumerate(samples):
        column[i] = sample
    return column
