# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The outputs of an iteration: their declared properties, and their memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from headrace import types
from headrace._pipeline.config import PipelineConfig, each_output
from headrace.data_node import DataNode


class Outputs(tuple):  # type: ignore[type-arg]
    """The batches of one iteration.

    Attributes:
        iteration: number of the iteration.
        positions: reader positions that the iteration took. With ``on_error="skip"`` this can be
            more than the number of samples.
        slots: the position of each sample in the batch; None if it equals the sample's index.
    """

    iteration: int
    positions: int
    slots: tuple[int, ...] | None

    @classmethod
    def of(
        cls, batches: Iterable[Any], iteration: int, positions: int, slots: Any = None
    ) -> Outputs:
        outputs = cls(batches)
        outputs.iteration, outputs.positions, outputs.slots = iteration, positions, slots
        return outputs

    @property
    def all_bad(self) -> bool:
        """Whether ``on_error="skip"`` left out all samples. The batches then have no type and no shape."""
        return self.positions > 0 and bool(self) and len(self[0]) == 0


class OutputChecks:
    """The element types, numbers of dimensions and layouts that were declared for the outputs.

    Raises:
        RuntimeError: there are not as many of them as outputs.
    """

    def __init__(self, config: PipelineConfig, count: int) -> None:
        names = ("output_dtype", "output_ndim", "output_layout")
        columns = [each_output(name, getattr(config, name), count) for name in names]
        self._declared = list(zip(*columns, strict=True))
        self.any = any(value is not None for row in self._declared for value in row)

    def check(self, outputs: Sequence[Any]) -> None:
        """Raises RuntimeError if an output differs from what was declared."""
        for i, (batch, (dtype, ndim, layout)) in enumerate(
            zip(outputs, self._declared, strict=True)
        ):
            if dtype is not None and batch._dtype != int(dtype):
                _refuse("Data type", i, types.DALIDataType(dtype).name, batch.dtype.name)
            if ndim is not None and batch.ndim() != ndim:
                _refuse("Number of dimensions", i, ndim, batch.ndim())
            if layout is not None and batch.layout() != layout:
                _refuse("Layout", i, layout, batch.layout())


def _refuse(what: str, i: int, expected: Any, received: Any) -> NoReturn:
    raise RuntimeError(
        f"{what} in the output_idx={i} does not match. Expected: {expected}. Received: {received}."
    )


class OutputMemory:
    """The largest batch and the largest sample of each output so far, in bytes.

    Args:
        nodes: the outputs; empty for a deserialized pipeline, whose outputs have no names.
    """

    def __init__(self, nodes: Sequence[DataNode]) -> None:
        self._keys = [f"{node.device.upper()}_{_operator(node)}" for node in nodes]
        self._batch = [0] * len(nodes)
        self._sample = [0] * len(nodes)

    def add(self, batches: Sequence[Any]) -> None:
        """Records the outputs of an iteration."""
        for i, batch in enumerate(batches[: len(self._keys)]):
            sizes = [sample.nbytes for sample in batch]
            self._batch[i] = max(self._batch[i], sum(sizes))
            self._sample[i] = max(self._sample[i], *sizes, 0)

    def by_operator(self) -> dict[str, dict[str, list[int]]]:
        """Returns lists of sizes by operator, in the order of the pipeline's outputs."""
        found: dict[str, dict[str, list[int]]] = {}
        for key, batch, sample in zip(self._keys, self._batch, self._sample, strict=True):
            sizes = found.setdefault(key, {})
            for kind in ("real", "reserved"):
                sizes.setdefault(f"{kind}_memory_size", []).append(batch)
                sizes.setdefault(f"max_{kind}_memory_size", []).append(sample)
        return found


def _operator(node: DataNode) -> str:
    name: str = node.source.name if node.source is not None else node.name
    return name
