# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Memory used by the outputs of a pipeline, for `Pipeline.executor_statistics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.data_node import DataNode


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
