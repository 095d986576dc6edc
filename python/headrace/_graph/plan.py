# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Plans: operators that run where they are called, each compiled once for many calls."""

from __future__ import annotations

import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from headrace import _core
from headrace._graph.schema import Operator
from headrace.tensors import TensorListCPU

SOURCE = "external_source"

T = TypeVar("T")


class Plan:
    """A pipeline with one operator, whose inputs and per-sample arguments are fed by each call. One thread at a time.

    Args:
        op: the operator.
        device: "cpu", "gpu" or "mixed".
        inputs: the device of each input.
        constants: arguments with one value for all calls.
        fed: names of the arguments with one tensor per sample.
        size: the largest batch.
        threads: 0: the thread of the call does the work.
        node: other arguments of the node, by the names of `_core.Graph.add_node`. `draws_as` may be any number.
        options: of the engine.

    Raises:
        RuntimeError: an argument is not allowed, or is one of whole pipelines.
    """

    def __init__(
        self,
        op: Operator,
        device: str,
        inputs: Sequence[str],
        constants: dict[str, Any],
        fed: Sequence[str] = (),
        size: int = 1,
        threads: int = 0,
        node: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if constants.get("global_batch") is not None:
            raise RuntimeError(
                f"{op.name}: global_batch works in pipelines only. Here operators run one by one, and their "
                "random numbers depend on the calls of this process."
            )
        graph, count = _core.Graph(), len(inputs)
        kinds = [*inputs, *["cpu"] * len(fed)]
        self._lone = not kinds and not op.is_reader  # a source only states the number of samples
        given = {"name": None, "origin": None, **(node or {})}
        sources = max(given.get("draws_as", -1), self._lone - 1) + 1
        for kind in kinds + ["cpu"] * (sources - len(kinds)):
            graph.add_node(SOURCE, None, kind, None, [], {}, {})
        edges = [(number, 0) for number in range(len(kinds))]
        arguments = dict(zip(fed, edges[count:], strict=True))
        self.node = graph.add_node(
            op.name,
            device=device,
            inputs=edges[:count],
            args=constants,
            arg_inputs=arguments,
            **given,
        )
        self._count = graph.node_outputs(self.node)
        results = [(self.node, i) for i in range(self._count)]
        graph.set_outputs(results + [(0, 0)] if self._lone else results or edges[:1])
        options = {"prefetch_queue_depth": 1, "index_memory_limit": 0, **options}
        if threads:
            options["thread_pool"] = _pool(threads)
        self.engine = _core.Pipeline(graph, size, max(threads, 1), run_here=not threads, **options)

    def _fed(self, batches: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([(number, (batch,)) for number, batch in enumerate(batches)])

    def run(
        self, batches: Sequence[Any], size: int, seed: int = -1, sample: int = -1
    ) -> tuple[Any, ...]:
        """Runs the operator once on these inputs and arguments. Returns one batch per output.

        Args:
            batches: inputs and arguments.
            size: number of samples.
            seed: of the random numbers; -1: they go on from the last call.
            sample: number of the first sample, on which random numbers depend; -1: the next one.
        """
        fed = self._fed([_counting(size)] if self._lone else batches)
        results: tuple[Any, ...] = self.engine.call(fed, seed, sample)
        return results[: self._count]

    def read(self, batches: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Runs a reader once. It gives the same batches again until `held` of the engine is deleted."""
        engine = self.engine
        results = engine.call(self._fed(batches), -1, -1, True) if batches else engine.run()
        read: tuple[Any, ...] = results[0][: self._count]
        return read


@functools.cache
def _pool(threads: int) -> Any:
    """Threads that plans with this number of them share. Other pipelines would be in their way."""
    return _core.ThreadPool(threads)


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads belong to their process


@functools.lru_cache(maxsize=64)
def _counting(size: int) -> Any:
    """A batch of `size` samples, which states the number of samples and nothing else."""
    return TensorListCPU([b"\0"] * size)


class Kept(Generic[T]):
    """What is compiled for the keys used last. A call takes it and puts it back: no other thread uses it meanwhile, but
    makes another one."""

    def __init__(self, most: int) -> None:
        self.most = most  # keys
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # pipelines belong to their process

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[Any, list[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, key: Any) -> T | None:
        with self._lock:
            idle = self._idle.get(key)
            return idle.pop() if idle else None

    def put(self, key: Any, used: T) -> None:
        with self._lock:
            self._idle.setdefault(key, []).append(used)
            self._idle.move_to_end(key)
            dropped = self._idle.popitem(last=False) if len(self._idle) > self.most else None
        del dropped  # without the lock: its threads end
