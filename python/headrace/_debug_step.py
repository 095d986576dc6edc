# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: a node that holds its data, and a step, the pipeline that makes them."""

from __future__ import annotations

import copy
from typing import Any

from headrace import _core, _graph
from headrace._tensor_text import format_batch
from headrace.data_node import DataNode
from headrace.tensors import TensorListCPU

SOURCE = "external_source"


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


def needs(instance: _graph.Instance) -> list[DataNode]:
    return [*instance.inputs, *instance.arg_nodes.values()]


class Step:
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

    def prepare(self, graph: _graph.Graph, settings: Settings) -> None:
        """Makes the pipeline of this step: the node has the number that it has in the whole graph, and so have
        the sources that stand for the nodes that it needs."""
        needed = {graph.numbers[node.source]: node.source for node in needs(self.instance)}
        own = _core.Graph()
        for number in range(self.number):
            source = needed.get(number)
            several = source is not None and source.outputs > 1
            args = {"num_outputs": source.outputs} if source is not None and several else {}
            device = "cpu" if source is None or source.device == "cpu" else "gpu"
            own.add_node(SOURCE, None, device, None, [], args, {})
        call = copy.copy(self.instance)
        call.guard = None  # it is given the samples of its branch alone
        own.add_node(*graph.description(call))
        self._fed = sorted(needed)
        edges = [(self.number, i) for i in range(self.instance.outputs)]
        if not needed and not self.reads():
            self._lone = own.add_node(SOURCE, None, "cpu", None, [], {}, {})
            edges.append((self._lone, 0))
        own.set_outputs(edges or [(number, 0) for number in self._fed])
        self.engine = _core.Pipeline(
            own,
            settings.batch_size,
            settings.num_threads,
            prefetch_queue_depth=1,
            seed=settings.seed,
            **settings.options,
        )

    def reads(self) -> bool:
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
