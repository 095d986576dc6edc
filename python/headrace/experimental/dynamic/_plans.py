# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Plans: operators with fixed arguments, compiled once and run on the data of many calls."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any

from headrace import _core
from headrace._graph import schema
from headrace.tensors import TensorListCPU

MOST_PLANS = 128  # kept for later calls
_SOURCE = "external_source"


class Plan:
    """A pipeline with one operator, whose inputs and per-sample arguments are fed.

    Args:
        op: the operator.
        device: "cpu", "gpu" or "mixed".
        inputs: the device of each input.
        constants: arguments with one value for all calls.
        fed: names of the arguments with one tensor per sample.
        size: the largest batch.
        threads: 0: the thread of the call does the work.
        device_id: the GPU, or -1.
        seed: of the random numbers, until a run gets one of its own.
        checkpoint: where a reader continues.
    """

    def __init__(
        self,
        op: schema.Operator,
        device: str,
        inputs: tuple[str, ...],
        constants: dict[str, Any],
        fed: tuple[str, ...],
        size: int,
        threads: int,
        device_id: int,
        seed: int = 0,
        checkpoint: bytes | None = None,
    ) -> None:
        graph = _core.Graph()

        def source(kind: str) -> int:
            return graph.add_node(_SOURCE, None, kind, None, [], {}, {})

        self._sources = [source(kind) for kind in inputs] + [source("cpu") for _ in fed]
        edges = [(number, 0) for number in self._sources]
        arguments = dict(zip(fed, edges[len(inputs) :], strict=True))
        self.node = graph.add_node(
            op.name, None, device, None, edges[: len(inputs)], constants, arguments
        )
        self._count = graph.node_outputs(self.node)
        results = [(self.node, i) for i in range(self._count)]
        # a source that only states the number of samples
        self._lone = not self._sources and op.source is None
        if self._lone:
            self._sources.append(source("cpu"))
            results.append((self._sources[-1], 0))
        if not results:
            results = edges[:1]
        graph.set_outputs(results)
        options: dict[str, Any] = {"device_id": device_id} if device_id >= 0 else {}
        if checkpoint is not None:
            options["checkpoint"] = checkpoint
            seed = -1  # that of the checkpoint
        self.engine = _core.Pipeline(
            graph,
            size,
            max(threads, 1),
            prefetch_queue_depth=2 if op.is_reader else 1,
            seed=seed,
            index_memory_limit=0,
            run_here=threads == 0,
            thread_pool=_pools.get(threads) if threads else None,
            **options,
        )
        self._lock = threading.Lock()

    def run(self, batches: list[Any], size: int, seed: int | None) -> tuple[Any, ...]:
        """Runs the operator once on these inputs and arguments. Returns one batch per output."""
        if self._lone:
            batches = [_counting(size)]
        fed = tuple(
            (number, (batch,)) for number, batch in zip(self._sources, batches, strict=True)
        )
        with self._lock:
            results: tuple[Any, ...] = self.engine.call(fed, -1 if seed is None else seed)
        return results[: self._count]

    def read(self) -> tuple[Any, ...]:
        """Runs a reader once. It gives the same batches again until `held` of the engine is deleted."""
        with self._lock:
            results: tuple[Any, ...] = self.engine.run()[0]
        return results[: self._count]


class _Pools:
    """Threads: one pool for each number of threads that contexts have. Plans with one number share them."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # threads belong to their process

    def _forget(self) -> None:
        self._pools: dict[int, Any] = {}

    def get(self, threads: int) -> Any:
        return self._pools.setdefault(threads, _core.ThreadPool(threads))


_pools = _Pools()
_counts: dict[int, Any] = {}


def _counting(size: int) -> Any:
    """A batch of `size` samples, which states the number of samples and nothing else."""
    found = _counts.get(size)
    if found is None:
        found = TensorListCPU([b"\0"] * size)
        if len(_counts) < 64:
            _counts[size] = found
    return found


class Plans:
    """The plans used last."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # pipelines belong to their process

    def _forget(self) -> None:
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Plan | None:
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
            return plan

    def add(self, key: Any, plan: Plan) -> Plan:
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)  # it ends when the last run is over
        return plan
