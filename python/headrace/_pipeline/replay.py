# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches of a run again, in any order, on this or another device, as any process of a job takes them.

What a batch contains is a function of the seed and its number (docs/order.md), so an engine of its own makes it.
"""

from __future__ import annotations

import json
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from headrace import _core
from headrace._pipeline.config import integer
from headrace._pipeline.outputs import Outputs

_MOVES = ("_to_gpu", "_to_cpu")
_LAST = 2**62


def engine(
    pipeline: Any,
    *,
    part: tuple[int, int] = (0, 0),
    cpu: bool = False,
    edges: Sequence[tuple[int, int]] | None = None,
    pool: _core.ThreadPool | None = None,
) -> _core.Pipeline:
    """An engine at the beginning of the run of a pipeline, which need not be built.

    Args:
        part: of a job: the number of its processes, and which of them; (0, 0): as the readers say.
        cpu: run on the CPU what the pipeline does on a GPU.
        edges: what the engine returns; None: the outputs of the pipeline.
        pool: its threads; None: threads of its own.

    Raises:
        RuntimeError: the pipeline has no seed, or an operator cannot run on the CPU.
    """
    definition = pipeline._complete_graph()
    graph = definition.graph.core
    if cpu or edges is not None:
        graph = _copied(graph, cpu)
    if edges is not None:
        graph.set_outputs(edges)
    seed, state = _beginning(pipeline)
    options = {
        "seed": seed,
        "prefetch_queue_depth": 1,
        "device_id": -1 if cpu else pipeline._find_device(),
        "num_shards": part[0],
        "shard_id": part[1],
        "thread_pool": pool,
        **({"batch_size": 0} if definition.in_job else {}),
        "quarantine": None,
        "trace": None,
    }
    made: _core.Pipeline = pipeline._engine(graph, **options)
    if state["past"] and any(state["past"]):  # the number of shards has changed: so did the order
        own = json.loads(made.checkpoint())
        made.close()
        own["engine"] = {**state, "graph": own["engine"]["graph"], "left_out": []}
        made = pipeline._engine(graph, **options, checkpoint=json.dumps(own).encode())
    return made


def _beginning(pipeline: Any) -> tuple[int, dict[str, Any]]:
    """The seed of a run, and how its readers were split before."""
    text = None
    if pipeline._core is not None:
        text = pipeline._core.checkpoint()
    elif pipeline._restored is not None:
        text = pipeline._restored.engine
    if text is not None:
        document = json.loads(text)
        state = document.get("engine", document)
        return state["seed"], state
    if pipeline._config.seed is None:
        raise RuntimeError(
            "The pipeline has no seed: only batches of a pipeline with a seed, of one that is built, or of a "
            "checkpoint can be made again."
        )
    return pipeline._config.seed, {"past": []}


def _copied(graph: _core.Graph, cpu: bool) -> _core.Graph:
    """The same graph, or the one that makes the same on the CPU."""
    stored = json.loads(graph.serialize())
    for node in stored["nodes"] if cpu else ():
        node["device"] = "cpu"
        node["op"] = "copy" if node["op"] in _MOVES else node["op"]
    return _core.Graph.parse(json.dumps(stored).encode())


class Replay:
    """Makes batches of a run again."""

    def __init__(self, pipeline: Any, **options: Any) -> None:
        self._core = engine(pipeline, **options)
        self._count = pipeline._complete_graph().output_count if "edges" not in options else None

    def batch(self, step: int) -> Outputs:
        """The outputs of iteration `step`.

        Raises:
            NotImplementedError: a source of the pipeline only goes forward.
            ValueError: `step` is negative or too large.
            RuntimeError: a sample could not be processed.
        """
        self._core.seek(step)
        return self.next()

    def next(self) -> Outputs:
        """The outputs of the iteration after the last one."""
        try:
            batches, iteration, positions, slots = self._core.run()
        finally:
            if self._core.held:
                del self._core.held
        return Outputs.of(batches[: self._count], iteration, positions, slots)

    def errors(self) -> list[dict[str, Any]]:
        """The bad samples so far."""
        found: list[dict[str, Any]] = json.loads(self._core.errors())
        return found

    def close(self) -> None:
        """Ends its threads."""
        self._core.close()


class Replayed:
    """The part of `Pipeline` that makes batches again, or leaves some out."""

    _core: Any
    _lock: Any
    _restored: Any
    _complete_graph: Any
    _replays: dict[bool, Replay]
    _leaves_out: bool
    build: Any

    def batch(self, step: int, device: str | None = None) -> Outputs:
        """Makes the outputs of one step of the run again. This pipeline does not advance.

        Steps are counted from the beginning of the run, also by a pipeline that was restored from a
        checkpoint: step 0 is its first batch. The bytes are those that the run got, on whatever
        device. Skipped steps can be made, too. The first call opens the readers once more.

        Args:
            step: its number.
            device: "cpu": do on the CPU what the pipeline does on a GPU; None: as the pipeline does.

        Raises:
            RuntimeError: the pipeline has no seed and is not built, an operator cannot run on the CPU,
                or a sample cannot be processed.
            NotImplementedError: a source of the pipeline only goes forward.
            ValueError: `step` or `device` is not valid, or the step was run with another number of shards.
        """
        if device not in (None, "cpu"):
            raise ValueError(f"device must be 'cpu' or None, not {device!r}.")
        number = integer("step", step, 0, _LAST)
        with self._lock:
            cpu = device == "cpu"
            if cpu not in self._replays:
                self._replays[cpu] = Replay(self, cpu=cpu)
            return self._replays[cpu].batch(number)

    def skip(self, steps: Iterable[int]) -> None:
        """Leaves out steps of the run that were not taken yet, for example ``range(48_200, 48_230)``.

        They are counted as steps, but not made: all processes of a job must skip the same ones.
        Checkpoints contain the list.

        Args:
            steps: their numbers, counted as by `batch`.

        Raises:
            NotImplementedError: a source of the pipeline only goes forward.
            ValueError: a number is negative.
        """
        numbers = sorted({integer("steps", step, 0, _LAST) for step in steps})
        if numbers:
            self.build()
            self._leaves_out = True
        for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
            found = [number for _, number in run]
            self._core.leave_out(found[0], found[-1] + 1)
