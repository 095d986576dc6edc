# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: operators run where they are called, and nodes hold their data.

Each call in the function that defines the pipeline is a step. In the first iteration it gets a pipeline of its own, of one
node, with fed sources in the places of the nodes that it needs: so every operator, reader and device works as
ever, and random numbers are those of the whole pipeline, whose graph numbers the nodes. Later iterations feed the same
steps again.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from headrace import _core, _graph
from headrace._pipeline_run import with_layout
from headrace._tensor_text import format_batch
from headrace.data_node import DataNode
from headrace.tensors import TensorListCPU, TensorListGPU

_SOURCE = "external_source"


class DataNodeDebug(DataNode):
    """A node that holds what its operator gave in this iteration.

    `get` gives the batch, ``numpy.array(node)`` an array of a batch of one shape; printing shows the samples.
    """

    __slots__ = ("_data",)
    __array_ufunc__ = None  # of an array and a node, the node does the arithmetic

    def __init__(self, data: Any, name: str, device: str, source: Any, index: int = 0) -> None:
        super().__init__(name, device, source, index)
        self._data = data

    def get(self) -> Any:
        """The batch: `TensorListCPU` or `TensorListGPU`."""
        return self._data

    def shape(self, **unused: Any) -> Any:  # type: ignore[override]
        """The shapes of the samples: a list of tuples."""
        return self._data.shape()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._data.__array__(dtype, copy)

    def __str__(self) -> str:
        text = format_batch(self._data, indent=" " * 9)
        return f'DataNodeDebug(\n    name="{self.name}",\n    data={text})'

    __repr__ = __str__


class Settings:
    """What steps need to know of the pipeline."""

    def __init__(
        self, batch_size: int, num_threads: int, seed: int, options: dict[str, Any]
    ) -> None:
        self.batch_size = batch_size
        self.num_threads = num_threads
        self.seed = seed
        self.options = options


def _needs(instance: _graph.Instance) -> list[DataNode]:
    return [*instance.inputs, *instance.arg_nodes.values()]


class _Step:
    """A call of an operator; `instance` is that of the first iteration."""

    def __init__(self, instance: _graph.Instance, number: int) -> None:
        self.instance = instance
        self.number = number
        self.engine: Any = None
        self._fed: list[int] = []
        self._lone = -1  # a source that only says how many samples there are

    def check(self, call: _graph.Instance) -> None:
        """Whether `call` is this step, once more.

        Raises:
            RuntimeError: another operator, or other arguments.
        """
        first = self.instance
        if (call.op, call.origin) != (first.op, first.origin):
            raise RuntimeError(
                f"Unexpected operator '{call.op}' ({call.origin}), where '{first.op}' ({first.origin}) was called in "
                "the first iteration. Debug mode does not support changing the order of operators executed "
                "within the pipeline."
            )
        shapes = [(len(i.inputs), sorted(i.arg_nodes)) for i in (call, first)]
        if shapes[0] != shapes[1]:
            raise RuntimeError(
                f"Trying to use operator '{first.op}' ({first.origin}) with other inputs than when it was built. "
                f"Expected number and argument inputs: {shapes[1]}, got {shapes[0]}."
            )
        for name in first.args.keys() | call.args.keys():
            then, now = first.args.get(name), call.args.get(name)
            if repr(now) != repr(then):
                raise RuntimeError(
                    f"Argument '{name}' for operator '{first.op}' ({first.origin}) unexpectedly changed value from "
                    f"'{then}' to '{now}'."
                )

    def prepare(self, graph: DebugGraph) -> None:
        """Makes the pipeline of this step: the node has the number that it has in the whole graph, and so have
        the sources that stand for the nodes that it needs."""
        needed = {graph.numbers[node.source]: node.source for node in _needs(self.instance)}
        own = _core.Graph()
        for number in range(self.number):
            source = needed.get(number)
            several = source is not None and source.outputs > 1
            args = {"num_outputs": source.outputs} if source is not None and several else {}
            device = "cpu" if source is None or source.device == "cpu" else "gpu"
            own.add_node(_SOURCE, None, device, None, [], args, {})
        own.add_node(*graph.description(self.instance))
        self._fed = sorted(needed)
        edges = [(self.number, i) for i in range(self.instance.outputs)]
        if not needed and not self._reads():
            self._lone = own.add_node(_SOURCE, None, "cpu", None, [], {}, {})
            edges.append((self._lone, 0))
        own.set_outputs(edges or [(number, 0) for number in self._fed])
        settings = graph.settings
        self.engine = _core.Pipeline(
            own,
            settings.batch_size,
            settings.num_threads,
            prefetch_queue_depth=1,
            seed=settings.seed,
            **settings.options,
        )

    def _reads(self) -> bool:
        from headrace import _schema

        return _schema.operators()[self.instance.op].is_reader

    def run(self, data: dict[int, list[Any]], size: int) -> list[Any]:
        """A batch an output, from those of the nodes that it needs, or of `size` samples."""
        for number in self._fed:
            self.engine.feed(number, data[number])
        if self._lone >= 0:
            import numpy

            self.engine.feed(self._lone, [TensorListCPU(numpy.zeros((size, 1), numpy.uint8))])
        return list(self.engine.run()[0][: self.instance.outputs])


class DebugGraph(_graph.Graph):
    """A graph whose nodes are worked on as they come."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.epoch = 0
        self.fed: dict[str, deque[tuple[Any, Any, Any]]] = {}  # data, layout, stream by source
        self._steps: list[_Step] = []
        self._complete = False  # the steps are all that there are
        self._at = 0
        self._size: int | None = None  # of the batches of this iteration
        self._data: dict[int, list[Any]] = {}  # of this iteration, by the node's number

    def begin(self) -> None:
        """Starts an iteration."""
        self._at = 0
        self._size = None
        self._data.clear()
        self.numbers.clear()

    def end(self) -> None:
        """An iteration went through: from now on the steps must be the same."""
        self._complete = True

    def close(self) -> None:
        """Ends the workers of all steps."""
        for step in self._steps:
            if step.engine is not None:
                step.engine.close()

    def sources(self) -> set[str]:
        """The names of the external sources."""
        return {s.instance.name for s in self._steps if s.instance.source is not None}

    def readers(self) -> dict[str, _Step]:
        """The readers by name."""
        return {s.instance.name: s for s in self._steps if s.engine is not None and s._reads()}

    # ---- what a call becomes ----

    def outputs_of(self, instance: _graph.Instance) -> int:
        for node in _needs(instance):
            if node.source not in self.numbers:  # made outside the function
                self.outputs_of(node.source)
                self.nodes_of(node.source)
        if self._at == len(self._steps):
            if self._complete:
                raise RuntimeError(
                    f"Unexpected operator '{instance.op}' ({instance.origin}). Debug mode does not support changing "
                    "the order of operators executed within the pipeline."
                )
            number = self.core.add_node(*self.description(instance))
            instance.outputs = self.core.node_outputs(number)
            self._steps.append(_Step(instance, number))
        step = self._steps[self._at]
        step.check(instance)
        self._at += 1
        self.numbers[instance] = step.number
        instance.name = step.instance.name
        return step.instance.outputs

    def nodes_of(self, instance: _graph.Instance) -> list[DataNode]:
        number = self.numbers[instance]
        if number not in self._data:
            step = next(s for s in self._steps[: self._at][::-1] if s.number == number)
            self._data[number] = self._evaluate(step, instance)
        return [
            DataNodeDebug(batch, name, "gpu" if batch._device >= 0 else "cpu", instance, i)
            for i, (batch, name) in enumerate(
                zip(self._data[number], instance.names(), strict=True)
            )
        ]

    def _evaluate(self, step: _Step, instance: _graph.Instance) -> list[Any]:
        if step.instance.source is not None:
            batches = self._ask(step.instance)
            self._agree(len(batches[0]), instance)
            return batches
        for node in _needs(instance):
            self._agree(len(self._data[self.numbers[node.source]][0]), instance)
        if step.engine is None:
            step.prepare(self)
        batches = step.run(self._data, self._size or self.settings.batch_size)
        if batches:
            self._agree(len(batches[0]), instance)
        return batches

    def _agree(self, size: int, instance: _graph.Instance) -> None:
        """All batches of an iteration have one size.

        Raises:
            RuntimeError: this one has another.
        """
        if self._size is None:
            self._size = size
        if size != self._size:
            raise RuntimeError(
                f"Batch size must be uniform across an iteration: '{instance.name}' ({instance.origin}) has {size} "
                f"samples, expected {self._size}. Call external sources whose batch size varies before other "
                "operators."
            )

    def _ask(self, instance: _graph.Instance) -> list[Any]:
        """The next batches of an external source."""
        source = instance.source
        waiting = self.fed.get(instance.name)
        source.device_id = max(self.settings.options.get("device_id", -1), 0)
        source.device_id = source.device_id if source.device == "gpu" else -1
        if source.callback is None:
            if waiting:
                data, layout, stream = waiting.popleft()
                if layout is not None:
                    data = with_layout(source, data, layout, stream)
                source.last = source.prepare([data], self.settings.batch_size, stream)
            elif not source.repeat_last or source.last is None:
                raise IndexError(f"{source.label}: nothing was fed. Call feed_input before run.")
            return list(source.last)
        if waiting:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{instance.name}' with a `source` argument specified."
            )
        source.ask(self.settings.batch_size, self.epoch)
        columns = source.columns(source.take_answer())
        return list(source.prepare(columns, self.settings.batch_size))

    # ---- data among the arguments of a call ----

    def accept(self, value: Any, as_input: bool) -> Any:
        """Batches, lists of tensors and, as inputs, arrays with the batch in dimension 0 become nodes."""
        if isinstance(value, (TensorListCPU, TensorListGPU)):
            return self._given(value)
        if isinstance(value, (list, tuple)) and value and all(map(_has_data, value)):
            if any(isinstance(item, (DataNode, _core.Batch)) for item in value):
                return [self.accept(item, as_input) for item in value]
            on_gpu = any(isinstance(item, _core.DeviceTensor) for item in value)
            return self._given((TensorListGPU if on_gpu else TensorListCPU)(list(value)))
        if as_input and _has_data(value) and not isinstance(value, DataNode):
            if getattr(value, "ndim", 0) and not isinstance(value, _core.Tensor):
                return self._given(TensorListCPU(value))
        return value

    def _given(self, batch: Any) -> DataNode:
        """A node of a batch that comes from the user."""
        device = "gpu" if batch._device >= 0 else "cpu"
        instance = _graph.Instance(_SOURCE, [], {}, {}, None, False, "Given", device)
        self._agree(len(batch), instance)
        self._data[self.numbers[instance]] = [batch]
        return self.nodes_of(instance)[0]


def _has_data(value: Any) -> bool:
    """Whether it is a node, a batch, a tensor or an array."""
    return isinstance(value, (DataNode, _core.Batch, _core.Tensor)) or (
        hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    )
