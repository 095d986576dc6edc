# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Implements ``x[...]`` of a data node. Indices and ranges become arguments of an operator, new axes another one."""

from __future__ import annotations

import operator
from typing import Any

from headrace._base import types
from headrace._graph import schema
from headrace._graph.calls import call
from headrace._graph.node import Node

_MOST_SUBSCRIPTS = 32


class NewAxis:
    """`newaxis`, or `newaxis("C")` with the letter of the new dimension."""

    __slots__ = ("name",)

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            if not isinstance(name, str):
                raise TypeError("Axis name must be a single-character string")
            if len(name) != 1:
                raise ValueError("Axis name must be a single-character string")
        self.name = name

    def __call__(self, name: str | None = None) -> NewAxis:
        return NewAxis(name)


def _number(value: Any) -> Any:
    """Converts an index to a node or an int.

    Raises:
        TypeError: it is not an integer.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, types.ScalarConstant):
        value = value.value
    try:
        return operator.index(value)
    except TypeError:
        pass
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):
        return _number(value.item())  # an array of one element
    raise TypeError(f"Indices of a DataNode must be integers or nodes, not {type(value).__name__}.")


def _bound(value: Any) -> Any:
    """Converts a bound of a range like an index. Floats are truncated, as in DALI.

    Raises:
        TypeError, ValueError: it is not a number.
    """
    return int(value) if isinstance(value, (float, str)) else _number(value)


def _range(subscript: slice, d: int) -> dict[str, Any]:
    """The operator arguments for a range in dimension `d`."""
    parts = {"lo": subscript.start, "hi": subscript.stop, "step": subscript.step}
    return {f"{k}_{d}": _bound(value) for k, value in parts.items() if value is not None}


def _new_axes(node: Node, axes: list[int], names: list[str | None]) -> Node:
    """Inserts axes of extent 1 at the positions `axes` of the result.

    Raises:
        ValueError: only some of them are named.
    """
    named = [name for name in names if name is not None]
    if named and len(named) != len(names):
        raise ValueError("New axis name must be specified for all axes or none.")
    found = schema.find_function("expand_dims")
    if found is None:
        raise NotImplementedError("newaxis is not part of this version of Headrace.")
    arguments: dict[str, Any] = {"axes": axes}
    if named:
        arguments["new_axis_names"] = "".join(named)
    made: Node = call(found[0], found[0].class_name, [node], arguments)
    return made


def subscript(node: Node, subscripts: Any) -> Node:
    """The node ``node[subscripts]``. An index removes its dimension, a range keeps it, and `newaxis` adds a dimension
    of extent 1.

    Raises:
        NotImplementedError: ``...``.
        TypeError: an index or bound that is not a number or a node.
        ValueError: only some of the new axes have names; too many subscripts.
    """
    if not isinstance(subscripts, tuple):
        subscripts = (subscripts,)
    if len(subscripts) > _MOST_SUBSCRIPTS:
        raise ValueError(f"Got {len(subscripts)} subscripts, expected at most {_MOST_SUBSCRIPTS}.")
    arguments: dict[str, Any] = {}
    axes: list[int] = []
    names: list[str | None] = []
    dimension = kept = 0  # current dimension of the input and of the result
    for item in subscripts:
        if item is Ellipsis:
            raise NotImplementedError("Ellipsis in indexing is not implemented")
        if isinstance(item, NewAxis):
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
    op = schema.operators()["_subscript"]
    if dimension > len(op.args) // 4:
        raise ValueError(
            f"Got {dimension} subscripts, but a tensor has at most {len(op.args) // 4} dimensions."
        )
    if dimension:
        arguments["num_subscripts"] = dimension
        node = call(op, "subscript", [node], arguments)
    return _new_axes(node, axes, names) if axes else node
