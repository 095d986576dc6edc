# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline` in debug mode: its function runs in every iteration, operators run immediately."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any, Self

from headrace import _graph
from headrace._pipeline.config import NO_BATCH_SIZE
from headrace._pipeline.debug.graph import DebugGraph
from headrace._pipeline.debug.step import DataNodeDebug, Settings
from headrace._pipeline.definition import Definition, output_node
from headrace._pipeline.outputs import Outputs
from headrace._pipeline.pipeline import Pipeline, _live
from headrace._pipeline.readers import Readers
from headrace.data_node import DataNode
from headrace.types import PipelineAPIType

_LIKE_THE_WHOLE = ("strict", "max_image_pixels", "host_memory_limit", "device_memory_limit")


class _NoEngine:
    """Stands in for the engine, which a pipeline in debug mode does not have."""

    held = 0  # 1 while outputs wait to be delivered; deleted then

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
        config = self._config
        if config.max_batch_size is None:
            raise ValueError(NO_BATCH_SIZE)
        self._function = function
        self._core = _NoEngine()
        self._epoch.engine = self._epoch  # an iteration is taken when it is delivered
        self._pid = os.getpid()
        self._made: Outputs | None = None  # outputs of the iteration that waits to be taken
        self._output_count: int | None = None  # known after the first iteration
        given = config.options
        options = {k: given[k] for k in _LIKE_THE_WHOLE if given[k] is not None}
        options["device_id"] = -1 if self.device_id is None else self.device_id
        seed = int.from_bytes(os.urandom(4), "little") if config.seed is None else config.seed
        threads = config.num_threads or len(os.sched_getaffinity(0))
        settings = Settings(config.max_batch_size, threads, seed, options)
        self._debug = DebugGraph(settings)
        self._graph = self._debug
        _live.add(self)

    def __enter__(self) -> Self:
        raise RuntimeError(
            "A pipeline in debug mode works only with the `pipeline_def` decorator: using the `with` statement is "
            "not supported."
        )

    def build(self) -> None:
        """Does nothing: operators are built in the first iteration."""

    @property
    def _depth(self) -> int:
        return 1

    def _prepare(self, more: Any = ()) -> None:
        """Runs an iteration. If an exception ends it, the next call repeats it with the same data, except after the
        failure of an operator: then it counts as taken."""
        epoch = self._epoch
        self._debug.begin(epoch.taken + epoch.index, epoch.iteration, epoch.index)
        pipelines = _graph.current.pipelines
        try:
            Pipeline.push_current(self)
            self.iter_setup()
            given = self._function()
            given = () if given is None else given if isinstance(given, tuple) else (given,)
            nodes = [self._output(value, i) for i, value in enumerate(given)]
        except Exception:
            if self._debug.failed:
                epoch.requested += 1
                epoch.taken += 1
                epoch.iteration += 1
            raise
        finally:
            self._debug.called = {}
            _graph.current.pipelines = pipelines
        self._debug.end()
        batches = [node.get() for node in nodes]
        made = Outputs.of(batches, epoch.taken, self._config.max_batch_size or 0)
        if self._output_count is None:
            self._declare_outputs(len(batches))
            self._output_count = len(batches)
        self._made = made  # no call from here on (see `run`)
        self._core.held = 1
        epoch.requested += 1

    def _named_inputs(self, inputs: dict[str, Any]) -> None:
        """Uses these data in the next iteration. One that ran already, but was not delivered, is repeated."""
        called = {name: (data, None, None) for name, data in inputs.items()}
        for name in called:
            self._check_source(name)
        if self._core.held:
            del self._core.held
            self._epoch.requested -= 1
        self._debug.called = called

    def _next(self, inputs: Any) -> Outputs:
        assert self._made is not None
        return self._made

    def _output(self, value: Any, i: int) -> Any:
        node = self._debug.accept(value, "")
        if isinstance(node, DataNode) and not isinstance(node, DataNodeDebug):
            (node,) = [self._evaluated(node)]
        return node if isinstance(node, DataNode) else output_node(node, i)

    def _evaluated(self, node: DataNode) -> DataNode:
        """Returns a node that was created outside the function, with its data."""
        if node.source not in self._debug.numbers:
            self._debug.outputs_of(node.source)
        return self._debug.nodes_of(node.source)[node.index]

    def _can_end(self) -> bool:
        return self._debug.asks() or self._own_setup

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
        self._check_source(name)
        waiting = self._debug.fed.get(name, deque())
        self._debug.fed[name] = deque([*waiting, (data, layout, cuda_stream)])

    def _check_source(self, name: str) -> None:
        if self._output_count is not None and name not in self._debug.sources():
            raise KeyError(f'Could not find an input operator with name "{name}"')

    def _readers(self) -> Readers:
        """As in `Pipeline`; runs the first iteration if it has not run yet."""
        self._run_once()
        steps = self._debug.readers()
        plans = {name: step.plan for name, step in steps.items()}
        return Readers({name: plan.engine.reader_meta(plan.node) for name, plan in plans.items()})

    @property
    def num_outputs(self) -> int:
        """Number of outputs; runs the first iteration if it has not run yet."""
        self._run_once()
        return self._output_count or 0

    def _run_once(self) -> None:
        if self._output_count is None:
            self._epoch.look_ahead(self._prepare)

    def _enter(self, api_type: PipelineAPIType) -> None:
        if api_type is not PipelineAPIType.BASIC:
            raise RuntimeError(
                "A pipeline in debug mode supports only `run`: it does not schedule iterations ahead."
            )
        super()._enter(api_type)

    def _complete_graph(self, define_graph: Callable[[], Any] | None = None) -> Definition:
        raise RuntimeError("A pipeline in debug mode has no graph to serialize.")

    def close(self) -> None:
        """Stops the workers of all operators."""
        self._debug.close()
        _live.discard(self)
