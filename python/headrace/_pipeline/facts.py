# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Properties of a pipeline: its arguments, readers and statistics."""

from __future__ import annotations

import json
from typing import Any

from headrace import types
from headrace._base import messages
from headrace._pipeline.config import OperatorConcurrency, PipelineConfig, StreamPolicy, each_output
from headrace._pipeline.memory import OutputMemory


class PipelineFacts:
    """The read-only part of `Pipeline`."""

    _config: PipelineConfig
    _output_count: int
    _core: Any
    _pool: Any
    _memory: OutputMemory | None
    _restored: bool
    _readers: dict[str, int]

    def build(self) -> None:
        raise NotImplementedError

    @property
    def batch_size(self) -> int | None:
        """Old name of `max_batch_size`."""
        messages.deprecated("`batch_size` is deprecated, use `max_batch_size`.")
        return self._config.max_batch_size

    @property
    def max_batch_size(self) -> int | None:
        """Maximum number of samples in a batch."""
        return self._config.max_batch_size

    @property
    def num_threads(self) -> int | None:
        """Number of worker threads."""
        return self._config.num_threads

    @property
    def device_id(self) -> int | None:
        """The GPU as given to the constructor; None: CPU only."""
        return None if self._config.device_id == types.CPU_ONLY_DEVICE_ID else self._config.device_id

    @property
    def seed(self) -> int | None:
        """Seed of all random numbers, or None."""
        return self._config.seed

    @property
    def exec_pipelined(self) -> bool:
        """Whether iterations overlap."""
        return self._config.exec_pipelined

    @property
    def exec_async(self) -> bool:
        """Whether iterations run while Python does other work."""
        return self._config.exec_async

    @property
    def exec_dynamic(self) -> bool | None:
        """As given to the constructor; True by default."""
        return self._config.exec_dynamic

    @property
    def exec_separated(self) -> bool:
        """Whether `prefetch_queue_depth` was given separately for CPU and GPU."""
        return self._config.exec_separated

    @property
    def stream_policy(self) -> StreamPolicy | None:
        """As given to the constructor."""
        return self._config.stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency | None:
        """As given to the constructor."""
        return self._config.concurrency

    @property
    def set_affinity(self) -> bool:
        """Whether workers are pinned to CPUs."""
        return self._config.set_affinity

    @property
    def max_streams(self) -> int:
        """Always -1."""
        return -1

    @property
    def prefetch_queue_depth(self) -> int | dict[str, int]:
        """As given to the constructor."""
        return self._config.prefetch_queue_depth

    @property
    def cpu_queue_size(self) -> int:
        """Number of iterations in flight on the CPU."""
        return self._config.cpu_queue_size

    @property
    def gpu_queue_size(self) -> int:
        """Number of iterations in flight on the GPU."""
        return self._config.gpu_queue_size

    @property
    def default_cuda_stream_priority(self) -> int:
        """Always 0."""
        return 0

    @property
    def enable_memory_stats(self) -> bool:
        """As given to the constructor."""
        return self._config.enable_memory_stats

    @property
    def py_num_workers(self) -> int | None:
        """As given to the constructor."""
        return self._config.py_num_workers

    @property
    def _py_pool(self) -> Any:
        """The workers as an object with DALI's `pids` and `close`, None where there are none."""
        if self._pool is None:
            return None
        from headrace._external.pool_view import PoolView

        return PoolView(self._pool)

    @property
    def py_start_method(self) -> str:
        """As given to the constructor."""
        return self._config.py_start_method

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was restored from a checkpoint."""
        return self._core is not None and self._restored

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        self.build()
        return self._output_count

    def output_dtype(self) -> list[Any]:
        """Declared element types of the outputs; None is a wildcard."""
        self.build()
        return each_output("output_dtype", self._config.output_dtype, self._output_count)

    def output_ndim(self) -> list[Any]:
        """Declared numbers of dimensions of the outputs; None is a wildcard."""
        self.build()
        return each_output("output_ndim", self._config.output_ndim, self._output_count)

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Returns the metadata of a reader, or of all readers by name.

        Keys: epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch,
        stick_to_shard.

        Raises:
            RuntimeError: there is no such reader.
        """
        self.build()
        if name is None:
            return {known: self._core.reader_meta(node) for known, node in self._readers.items()}
        if name not in self._readers:
            raise RuntimeError(
                f"Operator {name} not found or does not expose valid metadata. Readers: "
                f"{sorted(self._readers)}."
            )
        return self._core.reader_meta(self._readers[name])

    def epoch_size(self, name: str | None = None) -> Any:
        """Returns the number of samples in an epoch of a reader, or of all readers by name.

        All shards are counted; with `pad_last_batch`, each as long as the longest.

        Raises:
            RuntimeError: there is no such reader.
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

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Returns the sizes in bytes of the shared memory blocks of parallel sources.

        "capacities" has one entry per block, "per_sample_capacities" the same per sample.
        """
        slots = [] if self._pool is None else self._pool.all_slots()
        return {
            "capacities": [slot.size for slot in slots],
            "per_sample_capacities": [slot.size // max(slot.samples, 1) for slot in slots],
        }

    def stats(self) -> dict[str, Any]:
        """Returns the counters since the start: see docs/statistics.md."""
        self.build()
        return json.loads(self._core.stats())

    def explain(self) -> str:
        """Returns a text that explains what limits the speed of this pipeline."""
        self.build()
        return self._core.explain()

    def errors(self) -> list[dict[str, Any]]:
        """Returns one dictionary per bad sample.

        Keys: iteration, index, epoch, source, operator, message, action.
        """
        self.build()
        return json.loads(self._core.errors())

    def describe(self) -> str:
        """Returns a text that describes the compiled plan: stages, nodes, fused chains."""
        self.build()
        return self._core.describe()
