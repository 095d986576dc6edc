# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What a pipeline says about itself: its readers, counters, errors and plan."""

from __future__ import annotations

import json
from typing import Any

from headrace._pipeline.outputs import OutputMemory
from headrace._pipeline.readers import Readers
from headrace._pipeline.text import Text


class Observed:
    """The part of `Pipeline` that is asked about its readers and its run."""

    _core: Any
    _memory: OutputMemory | None
    _complete_graph: Any
    build: Any

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Returns the metadata of a reader, or of all readers by name.

        Keys: epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch,
        stick_to_shard. After a resume with another number of shards also rest_size, the number of
        samples, over all shards, that were left of the epoch and are read before whole epochs. With
        `global_batch` also this number.

        Raises:
            RuntimeError: `name` is not a reader.
        """
        readers = self._readers()
        return readers.all() if name is None else readers.meta(name)

    def _readers(self) -> Readers:
        self.build()
        nodes = self._complete_graph().readers
        return Readers({name: self._core.reader_meta(node) for name, node in nodes.items()})

    def epoch_size(self, name: str | None = None) -> Any:
        """Returns the number of samples in an epoch of a reader, or of all readers by name.

        All shards are counted; with `pad_last_batch`, each as long as the longest.

        Raises:
            RuntimeError: `name` is not a reader.
        """
        if name is None:
            return {k: meta["epoch_size_padded"] for k, meta in self.reader_meta().items()}
        return self.reader_meta(name)["epoch_size_padded"]

    def executor_statistics(self) -> dict[str, dict[str, list[int]]]:
        """Returns the memory of the pipeline's outputs in bytes; empty without `enable_memory_stats`.

        Keys are "CPU_name" or "GPU_name" of the operator. Each value has lists with one entry per
        output: `real_memory_size` (largest batch so far), `max_real_memory_size` (largest sample),
        and the same numbers as `reserved_memory_size` and `max_reserved_memory_size`. Data that
        stay inside the pipeline are not counted; see also `stats`.
        """
        self.build()
        return self._memory.by_operator() if self._memory is not None else {}

    def stats(self) -> dict[str, Any]:
        """Returns the counters since the start: see docs/statistics.md."""
        self.build()
        return json.loads(self._core.stats())

    def explain(self) -> Text:
        """Returns a text that explains what limits the speed of this pipeline, with a table of its operators."""
        self.build()
        return Text(self._core.explain())

    def errors(self) -> list[dict[str, Any]]:
        """Returns a dictionary per bad sample: iteration, index, epoch, source, operator, message, action.

        They are in the order of iterations and, in a batch, of samples, with any number of threads. The first 10,000
        are listed. Samples of batches that are prepared in advance are listed, too, so a later call may insert entries.
        """
        self.build()
        return json.loads(self._core.errors())

    def describe(self) -> Text:
        """Returns a text that describes the compiled plan: stages, nodes, fused chains."""
        self.build()
        return Text(self._core.describe())
