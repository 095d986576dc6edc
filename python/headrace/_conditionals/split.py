# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`fn._conditional.split` and `merge`: conditional execution without an `if` statement."""

from __future__ import annotations

import weakref
from typing import Any

from headrace import _graph
from headrace._base import messages
from headrace._graph import schema
from headrace.data_node import DataNode

# The truth value node of each predicate, by the predicate's operator and output. A merge is matched to its split by
# this node.
_truths: weakref.WeakKeyDictionary[Any, dict[int, DataNode]] = weakref.WeakKeyDictionary()


def _truth(predicate: Any, name: str) -> DataNode:
    label = f"{messages.package()}.fn._conditional.{name}"
    if not isinstance(predicate, DataNode):
        raise TypeError(
            f"The predicate of `{label}` must be a DataNode, not a {type(predicate).__name__}."
        )
    if predicate.device != "cpu":
        raise ValueError(
            f"Invalid device \"gpu\" for argument 'predicate' of operator '{label}'. "
            "It must be on the CPU: use .cpu()."
        )
    known = _truths.setdefault(predicate.source, {})
    if predicate.index not in known:
        op = schema.operators()["_conditional.validate_logical"]
        known[predicate.index] = _graph.call(
            op, op.class_name, [predicate], {"expression_name": "if"}
        )
    return known[predicate.index]


def split(input: Any, *, predicate: Any, **kwargs: Any) -> list[DataNode]:
    """Splits a batch into the samples whose `predicate` is true and the others.

    Operators that take one of the two outputs run for its samples only. `merge` combines the results into a whole
    batch.

    Args:
        input: the batch.
        predicate: a node on the CPU with one scalar per sample.

    Returns:
        The samples whose predicate is true, and those whose predicate is false.

    Raises:
        TypeError: the predicate is not a node.
        ValueError: it is on the GPU.
    """
    truth = _truth(predicate, "split")
    kwargs.pop("_if_stmt", None)
    copy = schema.operators()["copy"]
    graph = _graph.current_graph()
    outer = graph.branch
    outputs = []
    for when in (True, False):
        graph.branch = (truth, when)
        try:
            outputs.append(_graph.call(copy, "Split", [input], kwargs))
        finally:
            graph.branch = outer
        outputs[-1].source.splits = True
    return outputs


def merge(if_true: Any, if_false: Any, *, predicate: Any, **kwargs: Any) -> DataNode:
    """Combines results computed from the two outputs of `split` into one batch, in the original order.

    Args:
        if_true: computed from the first output of `split`.
        if_false: computed from the second output of `split`.
        predicate: the predicate of `split`.

    Raises:
        TypeError: the predicate is not a node.
        ValueError: an input that does not come from a split on this predicate; the predicate is on the GPU.
    """
    op = schema.operators()[_graph.MERGE]
    kwargs["predicate"] = _truth(predicate, "merge")
    node: DataNode = _graph.call(op, op.class_name, [if_true, if_false], kwargs)
    return node
