# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline` in debug mode: its function runs in every iteration, operators run immediately."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any

from headrace._debug.graph import DebugGraph
from headrace._debug.step import DataNodeDebug, Settings
from headrace._pipeline.outputs import output_node
from headrace._pipeline.pipeline import Pipeline, _live
from headrace._pipeline.run import Outputs
from headrace.data_node import DataNode

_LIKE_THE_WHOLE = ("strict", "max_image_pixels", "host_memory_limit", "device_memory_limit")


class _NoEngine:
    """Stands in for the engine, which a pipeline in debug mode does not have."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"A pipeline in debug mode has no `{name}`: its operators run one by one."
        )


class PipelineDebug(Pipeline):
    """A pipeline whose operators run where they are called.

    ``experimental.pipeline_def(debug=True)`` creates it. One iteration is in flight, and bad
    samples raise an error.

    Args:
        function: defines the graph; it is called without arguments in every iteration.
        kwargs: arguments of `Pipeline`.
    """

    def __init__(self, function: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self._config.max_batch_size is None:
            raise ValueError("The pipeline has no batch_size.")
        self._function = function
        self._core = _NoEngine()
        self._ahead: Outputs | None = None  # outputs of an iteration that ran ahead of `run`
        config = self._config
        given = config.options
        options = {k: given[k] for k in _LIKE_THE_WHOLE if given[k] is not None}
        options["device_id"] = -1 if self.device_id is None else self.device_id
        seed = int.from_bytes(os.urandom(4), "little") if config.seed is None else config.seed
        threads = config.num_threads or len(os.sched_getaffinity(0))
        settings = Settings(config.max_batch_size, threads, seed, options)
        self._debug = DebugGraph(settings)
        self._graph = self._debug
        _live.add(self)

    def __enter__(self) -> Pipeline:
        raise RuntimeError(
            "A pipeline in debug mode works only with the `pipeline_def` decorator: using the `with` statement is "
            "not supported."
        )

    def build(self) -> None:
        """Does nothing: operators are built in the first iteration."""

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> Any:
        """Calls the function and returns its outputs as a tuple of batches.

        Args:
            cuda_stream: has no effect.
            pipeline_inputs: batches for external sources, by name.

        Raises:
            StopIteration: a source has ended; `reset` starts the next epoch.
            RuntimeError: an operator failed, or the operators or their arguments differ from the
                first iteration.
        """
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        if self._last_iter:
            raise StopIteration
        if self._ahead is not None:
            outputs, self._ahead = self._ahead, None
            return outputs
        return self._iterate()

    def _iterate(self) -> Outputs:
        self._debug.begin()
        Pipeline.push_current(self)
        try:
            self.iter_setup()
            given = self._function()
            given = () if given is None else given if isinstance(given, tuple) else (given,)
            nodes = [self._output(value, i) for i, value in enumerate(given)]
        except StopIteration:
            self._last_iter = True
            raise
        finally:
            Pipeline.pop_current()
        self._debug.end()
        outputs = Outputs(node.get() for node in nodes)
        outputs.iteration = self._taken
        outputs.positions = self._config.max_batch_size or 0
        outputs.slots = None
        self._taken += 1
        self._output_count = len(outputs)
        if self._checks is None and outputs:
            self._declare_checks()
        if self._checks is not None:
            self._check_outputs(outputs)
        return outputs

    def _output(self, value: Any, i: int) -> Any:
        node = self._debug.accept(value, False)
        if isinstance(node, DataNode) and not isinstance(node, DataNodeDebug):
            (node,) = [self._evaluated(node)]
        return node if isinstance(node, DataNode) else output_node(node, i)

    def _evaluated(self, node: DataNode) -> DataNode:
        """Returns a node that was created outside the function, with its data."""
        if node.source not in self._debug.numbers:
            self._debug.outputs_of(node.source)
        return self._debug.nodes_of(node.source)[node.index]

    def reset(self) -> None:
        """Starts the next epoch after StopIteration; before that, it has no effect."""
        if self._last_iter:
            self._last_iter = False
            self._debug.epoch += 1

    def _at_end(self) -> bool:
        """As `Pipeline._at_end`."""
        if self._taken and self._ahead is None and not self._last_iter and self._debug.sources():
            try:
                self._ahead = self._iterate()
            except StopIteration:
                pass
        return self._last_iter

    def feed_input(
        self,
        data_node: str | DataNode,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """As `Pipeline.feed_input`. Data fed before the first iteration wait for their source."""
        name = data_node if isinstance(data_node, str) else data_node.name
        if self._taken and name not in self._debug.sources():
            raise KeyError(f'Could not find an input operator with name "{name}"')
        self._debug.fed.setdefault(name, deque()).append((data, layout, cuda_stream))

    def empty(self) -> bool:
        """Always True: no iteration is scheduled ahead."""
        return True

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """As `Pipeline.reader_meta`; runs the first iteration if it has not run yet."""
        self._run_once()
        readers = self._debug.readers()
        metas = {known: step.engine.reader_meta(step.number) for known, step in readers.items()}
        if name is None:
            return metas
        if name not in metas:
            raise RuntimeError(
                f"Operator {name} not found or does not expose valid metadata. Readers: {sorted(metas)}."
            )
        return metas[name]

    @property
    def num_outputs(self) -> int:
        """Number of outputs; runs the first iteration if it has not run yet."""
        self._run_once()
        return self._output_count

    def _run_once(self) -> None:
        if not self._taken:
            self._ahead = self._iterate()

    def _scheduled(self) -> None:
        raise RuntimeError("A pipeline in debug mode supports only `run`: it does not schedule iterations ahead.")

    def _complete_graph(self, define_graph: Callable[[], Any] | None = None) -> None:
        raise RuntimeError("A pipeline in debug mode has no graph to serialize.")

    def close(self) -> None:
        """Stops the workers of all operators."""
        self._debug.close()
        _live.discard(self)
