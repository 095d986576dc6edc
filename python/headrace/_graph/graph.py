# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Graphs and their nodes. Each call of an operator makes an `Instance`.

While a pipeline is being defined, the instance becomes a node of its graph at once, so that errors are raised at the
user's line. Outside a pipeline the instance is checked in a temporary graph; it becomes a node of the first pipeline
that uses it.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from headrace import _core
from headrace._base.messages import user_line
from headrace._graph import schema
from headrace._graph.node import Node

MERGE = "_conditional.merge"

_detached = itertools.count()


class Current(threading.local):
    """The pipelines that are being defined in this thread, the innermost last."""

    pipelines: tuple[Any, ...] = ()


current = Current()


def current_pipeline() -> Any:
    """The pipeline that is being defined in this thread, or None."""
    return current.pipelines[-1] if current.pipelines else None


def push_pipeline(pipeline: Any) -> Any:
    """Makes `pipeline` the current one and returns the previous one."""
    previous = current_pipeline()
    current.pipelines = (*current.pipelines, pipeline)
    return previous


def pop_pipeline() -> None:
    """Undoes the last `push_pipeline`."""
    if not current.pipelines:
        raise IndexError("no pipeline is being defined")
    current.pipelines = current.pipelines[:-1]


def in_debug_mode() -> bool:
    """Whether the pipeline that is being defined in this thread runs its operators where they are called."""
    pipeline = current_pipeline()
    return pipeline is not None and pipeline._graph.immediate


def is_source(op: str) -> bool:
    """Whether the operator is a reader or an external source. Sources run for all samples, even inside a branch."""
    known = schema.operators().get(op)
    return known is not None and known.source is not None


class Instance:
    """One call of an operator; a graph makes its node from it."""

    __slots__ = (
        "op",
        "name",
        "inputs",
        "args",
        "arg_nodes",
        "preserve",
        "device",
        "origin",
        "serial",
        "source",
        "outputs",
        "given_name",
        "guard",
        "splits",
        "home",
        "__weakref__",
        "function",
        "draws_as",
    )

    def __init__(
        self,
        op: str,
        inputs: Sequence[Node],
        args: dict[str, Any],
        arg_nodes: dict[str, Node],
        name: str | None = None,
        preserve: bool = False,
        label: str | None = None,
        device: str = "cpu",
        function: Any = None,
        draws_as: Instance | None = None,
    ) -> None:
        self.op = op
        self.device = device
        graph = current_graph()
        self.serial, own_name = graph.next_name(label or op)
        self.given_name = name
        self.name = name or own_name
        self.inputs = list(inputs)
        self.args = args
        self.arg_nodes = arg_nodes
        self.preserve = preserve
        self.origin = user_line()
        self.source: Any = None  # the `Source` that feeds an external_source
        self.function = function  # a `Function`; the engine keeps a weak reference to it
        self.draws_as = draws_as  # an earlier instance, whose random numbers it draws, too
        self.home = weakref.ref(graph)  # of the call; other graphs may use the instance too
        self.splits = False  # the guard comes from a `_conditional.split`; consumers inherit it
        self.guard = None if is_source(op) else self._innermost(graph.branch)
        self.outputs = graph.outputs_of(self)

    @property
    def id(self) -> int:
        return self.serial

    def _innermost(self, branch: tuple[Node, bool] | None) -> tuple[Node, bool] | None:
        """The guard of the current `if` branch, or of a split inside that branch whose output the call takes."""
        taken = [*self.inputs, *self.arg_nodes.values()]
        if self.op == MERGE:
            taken = [self.arg_nodes["predicate"]] if self.arg_nodes else []
        guards = [n.source.guard for n in taken if getattr(n.source, "splits", False)]
        if not guards:
            return branch
        guard: tuple[Node, bool] = max(guards, key=_depth_of)
        if _depth_of(guard) <= _depth_of(branch):
            return branch
        self.splits = True
        return guard

    def text(self) -> str:
        """The call as messages show it, with the name that the user gave: "decoders.image 'name' (train.py:9)"."""
        name = f" '{self.given_name}'" if self.given_name else ""
        return f"{self.op}{name} ({self.origin})"

    def nodes(self) -> list[Any]:
        """One DataNode per output."""
        return current_graph().nodes_of(self)

    def names(self) -> list[str]:
        """The names of the output nodes."""
        if self.outputs == 1:
            return [self.name]
        return [f"{self.name}[{i}]" for i in range(self.outputs)]


def _depth_of(guard: tuple[Node, bool] | None) -> int:
    """How many branches enclose the guard's branch, itself included."""
    depth = 0
    while guard is not None:
        guard, depth = guard[0].source.guard, depth + 1
    return depth


def current_graph() -> Graph:
    """The graph of the pipeline that is being defined, or a temporary one for a call outside any pipeline.

    Instances keep no strong reference to it: a dropped pipeline must end at once, without waiting for the garbage
    collector.
    """
    pipeline = current_pipeline()
    graph: Graph = pipeline._graph if pipeline is not None else _Detached()
    return graph


class Graph:
    """The graph of a pipeline. Instances become nodes in the order in which they are added."""

    immediate = False  # operators run as soon as their nodes are added
    node_type: ClassVar[type[Any]] = (
        Node  # `headrace.data_node`, which needs graphs, sets it to `DataNode`
    )

    def __init__(self, graph: Any = None) -> None:
        self.core = _core.Graph() if graph is None else graph
        self.numbers: dict[Instance, int] = {}
        self.branch: tuple[Node, bool] | None = None  # the conditional branch being defined
        self._calls = itertools.count()

    def next_name(self, label: str) -> tuple[int, str]:
        """The number of the next call, and its node's name if the user gives none."""
        serial = next(self._calls)
        return serial, f"__{label}_{serial}"

    def add(self, instance: Instance) -> int:
        """The number of the instance's node. Adds the node, and those it depends on, if they are missing."""
        number = self.numbers.get(instance)
        if number is not None:
            return number
        number = self.core.add_node(*self.description(instance))
        self.numbers[instance] = number
        return number

    def description(self, instance: Instance) -> tuple[Any, ...]:
        """The arguments of `core.add_node` for an instance. Adds the nodes it depends on."""
        return (
            instance.op,
            instance.given_name,
            instance.device,
            instance.origin,
            [self.edge(node) for node in instance.inputs],
            instance.args,
            {name: self.edge(node) for name, node in instance.arg_nodes.items()},
            instance.preserve,
            instance.guard and (self.edge(instance.guard[0]), instance.guard[1]),
            instance.function,
            self.add(instance.draws_as) if instance.draws_as else None,
        )

    def edge(self, node: Node) -> tuple[int, int]:
        """Node number and output."""
        return self.add(node.source), node.index

    def outputs_of(self, instance: Instance) -> int:
        """How many outputs the instance's node has."""
        return self.core.node_outputs(self.add(instance))

    def nodes_of(self, instance: Instance) -> list[Any]:
        """One DataNode per output of the instance, which must have been added."""
        device = "cpu" if instance.device == "cpu" else "gpu"
        return [
            self.node_type(name, device, instance, i) for i, name in enumerate(instance.names())
        ]

    def accept(self, value: Any, place: int | str) -> Any:
        """Hook for debug mode: converts an input or argument value of a call to what this graph takes. `place` is the
        index of the input, or the name of the argument."""
        return value


class _Detached(Graph):
    """The temporary graph of a call outside any pipeline."""

    def next_name(self, label: str) -> tuple[int, str]:
        serial = next(_detached)
        return serial, f"__{label}_detached_{serial}"


def check_device(device: Any, label: str) -> None:
    """Checks a device name. The engine checks whether the operator and its inputs support that device.

    Raises:
        ValueError: the name is not "cpu", "gpu" or "mixed".
    """
    if device not in (None, "cpu", "gpu", "mixed"):
        raise ValueError(f'Unsupported device type: "{device}" for operator {label}.')


def choose_device(inputs: Iterable[Any]) -> str:
    """The device of an operator called without `device`: "gpu" if any input is there."""
    for value in inputs:
        for node in value if isinstance(value, (list, tuple)) else (value,):
            if getattr(node, "device", None) == "gpu":
                return "gpu"
    return "cpu"
