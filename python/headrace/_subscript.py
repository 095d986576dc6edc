# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""``x[...]`` of a data node: indices, ranges and new axes as arguments of operators."""

from __future__ import annotations

import operator
from typing import Any

from headrace import _graph, _schema, types
from headrace.data_node import DataNode, _NewAxis

_MOST_SUBSCRIPTS = 32


def _number(value: Any) -> Any:
    """An index: a node, or an int of what has one value.

    Raises:
        TypeError: it is no integer.
    """
    if isinstance(value, DataNode):
        return value
    if isinstance(value, types.ScalarConstant):
        value = value.value
    try:
        return operator.index(value)
    except TypeError:
        pass
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):
        return _number(value.item())  # an array of one element
    raise TypeError(f"Indices of a data node are integers or nodes, not {type(value).__name__}.")


def _bound(value: Any) -> Any:
    """A bound of a range: as an index; a float is truncated, as in DALI.

    Raises:
        TypeError, ValueError: it is no number.
    """
    return int(value) if isinstance(value, (float, str)) else _number(value)


def _range(subscript: slice, d: int) -> dict[str, Any]:
    """The arguments of a range of dimension `d`."""
    parts = {"lo": subscript.start, "hi": subscript.stop, "step": subscript.step}
    return {f"{k}_{d}": _bound(value) for k, value in parts.items() if value is not None}


def _new_axes(node: DataNode, axes: list[int], names: list[str | None]) -> DataNode:
    """The node with axes of extent 1 at `axes` of the result.

    Raises:
        ValueError: some of them are named and some are not.
    """
    named = [name for name in names if name is not None]
    if named and len(named) != len(names):
        raise ValueError("New axis name must be specified for all axes or none.")
    found = _schema.find_function("expand_dims")
    if found is None:
        raise NotImplementedError("newaxis is not part of this version of Headrace.")
    arguments: dict[str, Any] = {"axes": axes}
    if named:
        arguments["new_axis_names"] = "".join(named)
    made: DataNode = _graph.call(found[0], found[0].class_name, [node], arguments)
    return made


def subscript(node: DataNode, subscripts: Any) -> DataNode:
    """What ``node[subscripts]`` is: integers take one index of a dimension, which goes; ranges and nodes as bounds
    take several; `newaxis` makes a dimension of extent 1.

    Raises:
        NotImplementedError: ``...``.
        TypeError: an index or bound that is neither number nor node.
        ValueError: some new axes have names and some have none; too many subscripts.
    """
    if not isinstance(subscripts, tuple):
        subscripts = (subscripts,)
    if len(subscripts) > _MOST_SUBSCRIPTS:
        raise ValueError(f"Too many subscripts: {len(subscripts)}, at most {_MOST_SUBSCRIPTS}.")
    arguments: dict[str, Any] = {}
    axes: list[int] = []
    names: list[str | None] = []
    dimension = kept = 0  # dimensions of the input that are done with, and of the result
    for item in subscripts:
        if item is Ellipsis:
            raise NotImplementedError("Ellipsis in indexing is not implemented")
        if isinstance(item, _NewAxis):
            axes.append(kept)
            names.append(item.name)
            kept += 1
            continue
        if item is None or isinstance(item, slice):
            arguments |= _range(item or slice(None), dimension)
            kept += 1
        else:
            arguments[f"at_{dimension}"] = _number(item)
        dimension += 1
    op = _schema.operators()["_subscript"]
    if dimension > len(op.args) // 4:
        raise ValueError(
            f"{dimension} subscripts: a tensor has at most {len(op.args) // 4} dimensions."
        )
    if dimension:
        arguments["num_subscripts"] = dimension
        node = _graph.call(op, "subscript", [node], arguments)
    return _new_axes(node, axes, names) if axes else node
