# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: nodes that hold data, and steps, which compute them."""

from __future__ import annotations

from typing import Any

from headrace import _graph
from headrace._base.tensor_text import format_batch
from headrace._graph import schema
from headrace._graph.node import Node
from headrace._graph.plan import SOURCE, Plan
from headrace.data_node import DataNode


class DataNodeDebug(DataNode):
    """A node that holds its operator's output of the current iteration.

    `get` returns the batch. ``numpy.array(node)`` makes an array if all samples have one shape. Printing shows the
    samples.
    """

    __slots__ = ("_data",)
    __array_ufunc__ = None  # NumPy leaves arithmetic of an array and a node to the node

    def __init__(self, data: Any, name: str, device: str, source: Any, index: int = 0) -> None:
        super().__init__(name, device, source, index)
        self._data = data

    def get(self) -> Any:
        """The batch: `TensorListCPU` or `TensorListGPU`."""
        return self._data

    def shape(self, **unused: Any) -> Any:  # type: ignore[override]
        """The shapes of the samples, as a list of tuples."""
        return self._data.shape()

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """A function of NumPy is called with the arrays of this iteration."""
        return function(*_arrays(args), **{name: _arrays(value) for name, value in kwargs.items()})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._data.__array__(dtype, copy)

    def __str__(self) -> str:
        text = format_batch(self._data, indent=" " * 9)
        return f'DataNodeDebug(\n    name="{self.name}",\n    data={text})'

    __repr__ = __str__


def _arrays(value: Any) -> Any:
    """Arrays in place of the nodes in a value."""
    if isinstance(value, DataNodeDebug):
        return value.__array__()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_arrays, value))
    return value


class Settings:
    """The pipeline's parameters that steps use."""

    def __init__(
        self, batch_size: int, num_threads: int, seed: int, options: dict[str, Any]
    ) -> None:
        self.batch_size = batch_size
        self.num_threads = num_threads
        self.seed = seed
        self.options = options


def _kind(node: Node | None) -> str:
    """What a call takes: a constant, a batch from the user, or a node."""
    if node is None or node.source.op == "constant":
        return "a constant"
    return "a batch" if is_given(node.source) else "a node"


def is_given(instance: _graph.Instance) -> bool:
    """Whether an instance stands for a batch that the user passed to a call."""
    return instance.op == SOURCE and instance.source is None


def needs(instance: _graph.Instance) -> list[Node]:
    """The nodes that an instance takes as inputs or arguments."""
    return [*instance.inputs, *instance.arg_nodes.values()]


class Step:
    """An operator call that each iteration repeats; `instance` is the call of the first iteration."""

    def __init__(self, instance: _graph.Instance, number: int) -> None:
        self.instance = instance
        self.number = number
        self.plan: Any = None  # once it has run
        self._try = -1  # of the iteration that ran last
        self._drawn = 0  # samples of all iterations before it
        self._size = 0  # its samples

    def check(self, call: _graph.Instance) -> None:
        """Checks that `call` repeats this step.

        Raises:
            RuntimeError: it is a different operator or line, or has different inputs or arguments.
        """
        first = self.instance
        if (call.op, call.origin) != (first.op, first.origin):
            raise RuntimeError(
                f"Unexpected operator '{call.op}' ({call.origin}). The first iteration called '{first.op}' "
                f"({first.origin}) here. Debug mode does not support changing the order of operators executed "
                "within the pipeline."
            )
        self._check_count("inputs", len(first.inputs), len(call.inputs))
        then, now = first.args.keys() | first.arg_nodes, call.args.keys() | call.arg_nodes
        self._check_count("keyword arguments", len(then), len(now))
        for i, (was, node) in enumerate(zip(first.inputs, call.inputs, strict=True)):
            self._check_kind(f"Input {i}", was, node)
        for name in sorted(then | now):
            self._check_kind(
                f"Argument '{name}'", first.arg_nodes.get(name), call.arg_nodes.get(name)
            )
            value, changed = first.args.get(name), call.args.get(name)
            if repr(changed) != repr(value):
                raise RuntimeError(
                    f"Argument '{name}' for operator '{first.op}' unexpectedly changed value from '{value}' to "
                    f"'{changed}' ({first.origin})."
                )

    def _check_count(self, what: str, then: int, now: int) -> None:
        first = self.instance
        if now != then:
            raise RuntimeError(
                f"Trying to use operator '{first.op}' with different number of {what} than when it was built. "
                f"The first iteration gave it {then}, this one {now} ({first.origin})."
            )

    def _check_kind(self, what: str, then: Node | None, now: Node | None) -> None:
        first, was, is_now = self.instance, _kind(then), _kind(now)
        if is_now != was:
            raise RuntimeError(
                f"{what} for operator '{first.op}' is {is_now} but was {was} in the first iteration "
                f"({first.origin})."
            )

    def prepare(self, graph: _graph.Graph, settings: Settings, call: _graph.Instance) -> None:
        """Compiles this step as `call` makes it in this iteration, which need not be the first: no sample may have
        taken its branch before. Random numbers are those of the whole graph."""
        drawing = graph.numbers[call.draws_as] if call.draws_as else self.number
        node = {"name": call.given_name, "origin": call.origin, "preserve": call.preserve}
        self.plan = Plan(
            schema.operators()[call.op],
            call.device,
            [node.device for node in call.inputs],
            call.args,
            [*call.arg_nodes],
            settings.batch_size,
            settings.num_threads,
            node={**node, "function": call.function, "draws_as": drawing},
            seed=settings.seed,
            **settings.options,
        )

    def reads(self) -> bool:
        return schema.operators()[self.instance.op].is_reader

    def run(self, batches: list[Any], size: int, number: int) -> list[Any]:
        """Runs the step once.

        Args:
            batches: of the nodes it needs.
            size: number of samples, for a step without inputs.
            number: of the iteration. If it is repeated, because an exception ended it, a reader
                gives the same batch again, and random numbers are the same.

        Returns:
            One batch per output.
        """
        size = len(batches[0]) if batches else size
        reads = self.reads()
        if self._try != number:  # no call in here
            self._drawn += self._size
            self._size, self._try = size, number
            if reads:
                del self.plan.engine.held
        if reads:
            return list(self.plan.read(batches))
        return list(self.plan.run(batches, size, sample=self._drawn))
