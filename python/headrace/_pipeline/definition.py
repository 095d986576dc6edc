# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The definition of a pipeline: the graph, its outputs, and the nodes that they depend on."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace import _graph
from headrace._base import messages
from headrace._external import video
from headrace._graph import schema
from headrace.data_node import DataNode

if TYPE_CHECKING:
    from headrace._external.feeding import Source


class Definition:
    """A complete graph.

    Attributes:
        sink_count: outputs of the engine that keep nodes in the graph; they follow the others.
        outputs: the nodes; empty after deserialization.
        sources: external sources by name.
        readers: the node of each by name.
        in_job: a reader has a `global_batch`.
    """

    def __init__(
        self,
        graph: _graph.Graph,
        output_count: int,
        sink_count: int,
        outputs: Sequence[DataNode] = (),
    ) -> None:
        self.graph = graph
        self.output_count = output_count
        self.sink_count = sink_count
        self.outputs = list(outputs)
        self.sources: dict[str, Source] = {}
        self.readers: dict[str, int] = {}
        self.in_job = False

    def check_resumes(self) -> None:
        """Checks that a checkpoint can be taken.

        Raises:
            RuntimeError: an operator was called outside the definition of this pipeline, or a file is fed whose
                sequences are in several batches: a checkpoint does not say which of them were taken.
        """
        numbers = self.graph.numbers
        for made in numbers:
            if made.op == video.NAME:
                raise RuntimeError(
                    f"Checkpointing is not implemented for this operator: {made.text()}. A checkpoint does not hold "
                    "the position in the file that was fed. Create the pipeline without `enable_checkpointing`."
                )
        foreign = [made.text() for made in numbers if made.home() is not self.graph]
        if foreign:
            raise RuntimeError(
                "The pipeline does not support checkpointing because it contains operator(s) that were defined "
                f"outside the pipeline scope: {', '.join(foreign)}. Call them while this pipeline is the current "
                "one, for example in a function decorated with `@pipeline_def`."
            )


def define(graph: _graph.Graph, outputs: Sequence[Any], sinks: Sequence[DataNode]) -> Definition:
    """Completes a graph. The pipeline must be the current one: some outputs become new nodes.

    Raises:
        TypeError: an output cannot be a node.
        RuntimeError: two nodes have the same name.
    """
    nodes = [output_node(value, i) for i, value in enumerate(outputs)]
    edges = [graph.edge(node) for node in [*nodes, *sinks]]
    used = _used_outputs(graph, [*nodes, *sinks])
    _check_names(graph, used)
    graph.core.set_outputs(edges)
    made = Definition(graph, len(nodes), len(sinks), nodes)
    for instance, number in graph.numbers.items():
        if instance not in used:
            continue
        if instance.source is not None:
            _warn_unused(instance, used[instance])
            instance.source.node = number
            made.sources[instance.name] = instance.source
        elif schema.operators()[instance.op].is_reader:
            made.readers[instance.name] = number
            made.in_job |= instance.args.get("global_batch") is not None
    return made


def _has_node(value: Any) -> bool:
    return isinstance(value, DataNode) or (
        isinstance(value, (list, tuple)) and any(_has_node(item) for item in value)
    )


def output_node(value: Any, i: int) -> DataNode:
    """Returns output `i` of the pipeline function as a node; numbers and arrays become constants.

    Raises:
        TypeError: `value` is none of these.
    """
    if isinstance(value, DataNode):
        return value
    if _has_node(value):
        raise TypeError(
            f"Illegal pipeline output type. The output {i} contains a nested `DataNode`. Missing list/tuple "
            "expansion (*) is the likely cause."
        )
    try:
        if value is None or isinstance(value, (str, bytes)):
            raise TypeError
        return _graph.constant(value)
    except TypeError:
        raise TypeError(
            f"Illegal output type. The output {i} is a `{type(value)}`. Allowed types are ``DataNode`` and "
            "types convertible to `types.Constant` (numerical constants, 1D lists/tuple of numbers and ND "
            "arrays)."
        ) from None


def _used_outputs(graph: _graph.Graph, ends: list[DataNode]) -> dict[Any, set[int]]:
    """Instances that `ends` depend on or that are preserved, and which outputs of them are used."""
    used: dict[Any, set[int]] = {}
    work = list(ends)
    for instance in graph.numbers:
        if instance.preserve:
            used.setdefault(instance, set())
            work += _needs(instance)
    while work:
        node = work.pop()
        if node.source in used:
            used[node.source].add(node.index)
            continue
        used[node.source] = {node.index}
        work += _needs(node.source)
    return used


def _needs(instance: Any) -> Iterator[DataNode]:
    yield from instance.inputs
    yield from instance.arg_nodes.values()
    if instance.guard:
        yield instance.guard[0]


_SHORT = reprlib.Repr()
_SHORT.maxother = 160


def _check_names(graph: _graph.Graph, used: Iterable[Any]) -> None:
    """Checks that no two instances in use have the same name, which a node of another pipeline may cause.

    Raises:
        RuntimeError: two of them have the same name.
    """
    by_name: dict[str, list[Any]] = {}
    for instance in used:
        by_name.setdefault(instance.name, []).append(instance)
    same = {name: made for name, made in by_name.items() if len(made) > 1}
    if not same:
        return
    text = "; ".join(
        f"'{name}': {', '.join(i.text() for i in same[name])}" for name in sorted(same)
    )
    foreign = any(i.home() is not graph for made in same.values() for i in made)
    advice = (
        "Some of them were called while another pipeline was the current one. Call them in the definition of "
        "this pipeline."
    )
    raise RuntimeError(
        "The pipeline is invalid because it contains operators with non-unique names: "
        f"{text}. {advice if foreign else 'Give each a name of its own.'}"
    )


def _warn_unused(instance: Any, outputs: set[int]) -> None:
    """Warns if the callback of a source computes outputs that nothing uses."""
    unused = sorted(set(range(instance.outputs)) - outputs)
    if instance.source.callback is not None and unused and not instance.preserve:
        text = ", ".join(str(i) for i in unused)
        many = (
            f"outputs at the indices {text} are"
            if len(unused) > 1
            else f"output at the index {text} is"
        )
        messages.warn(
            f"The external source node '{instance.name}' ({instance.origin}) with the source "
            f"'{_SHORT.repr(instance.source.source)}' produces {instance.outputs} outputs, but the {many} "
            "not used. For best performance, adjust your callback so that it computes only the needed "
            "outputs."
        )
