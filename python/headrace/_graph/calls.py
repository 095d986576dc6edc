# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Calls of operators: their inputs and arguments become nodes and constants."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from headrace import _core
from headrace._base import foreign, types
from headrace._base.messages import depth
from headrace._graph.constants import constant
from headrace._graph.frames import changed_on_gpu
from headrace._graph.graph import Instance, check_device, choose_device, current_graph
from headrace._graph.node import Node
from headrace._graph.schema import COMMON, Operator, schema_name


def transfer(op: str, node: Node) -> Any:
    """Copies the node to the other device; `op` is ``_to_gpu`` or ``_to_cpu``."""
    device = "gpu" if op == "_to_gpu" else "cpu"
    (moved,) = Instance(op, [node], {}, {}, device=device).nodes()
    moved.name = node.name
    return moved


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python numbers and flat lists."""
    if isinstance(value, types.ScalarConstant):
        return value.value
    if isinstance(value, (bool, int, float, str, bytes, list, tuple)) or value is None:
        if isinstance(value, (list, tuple)):
            return [_plain(v) for v in value]
        return value
    if isinstance(value, (_core.Tensor, _core.Batch)):
        raise TypeError("a tensor cannot be a constant argument; feed it through external_source")
    if hasattr(value, "tolist") and not isinstance(value, type):
        flat = value.reshape(-1) if getattr(value, "ndim", 0) > 1 else value
        return flat.tolist()
    return value


def split_arguments(
    op: Operator, label: str, kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Node]]:
    """Splits the keyword arguments of a call into constants and nodes. None means that the argument is not given.

    Raises:
        KeyError: the operator has no argument of that name.
        TypeError: a value of the wrong type; an argument given under both its old and its new name.
        RuntimeError: an array with more dimensions than the argument takes.
    """
    constants: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    for name, value in kwargs.items():
        known = op.args.get(name)
        if known is None and name not in COMMON:
            hint = foreign.suggestion(name, [*op.args, *COMMON])
            shown = schema_name(op.name)
            raise KeyError(f'Argument "{name}" is not defined for operator "{shown}".{hint}')
        if value is None:
            continue
        if known is not None and "deprecated" in known.flags:
            if known.use and kwargs.get(known.use) is not None:
                raise TypeError(
                    f"Operator `{label}` got an unexpected '{name}' deprecated argument when '{known.use}' "
                    "was already provided"
                )
            _warn_argument(label, known)
        if name == "seed" and not op.has_seed:
            warnings.warn(
                'The argument "seed" should not be used with operators that don\'t use random numbers. It has no effect on '
                f'operator "{label}".',
                DeprecationWarning,
                stacklevel=depth(),
            )
            continue
        if isinstance(value, Node):
            nodes[name] = value
            continue
        if known is not None and known.type == "JSON":
            constants[name] = _json(name, label, value)
            continue
        if known is not None and (known.type == "DTYPE" or "dtypes" in known.flags):
            value = _data_types(name, label, value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
            raise TypeError(
                f'Argument "{name}" of operator "{label}": a list of nodes cannot be an argument. Pass one '
                "node with all the numbers instead, for example from fn.stack."
            )
        if known is not None and "exact" in known.flags:
            _check_array(label, known, value)
        if known is not None and not known.is_list and getattr(value, "size", None) == 1:
            value = value.item()  # an array of one element is a number
        try:
            constants[name] = _plain(value)
        except TypeError as error:
            raise TypeError(f'Argument "{name}" of operator "{label}": {error}.') from None
    return constants, nodes


def _json(name: str, label: str, value: Any) -> str:
    """Lists and dictionaries as the engine takes them. It checks what they contain."""

    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            if not all(isinstance(key, str) for key in item):
                raise TypeError("the keys of a dictionary must be strings")
            return {key: plain(inner) for key, inner in item.items()}
        if isinstance(item, (list, tuple)):
            return [plain(inner) for inner in item]
        return _plain(item)

    try:
        return json.dumps(plain(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f'Argument "{name}" of operator "{label}": {error}.') from None


def _data_types(name: str, label: str, value: Any) -> Any:
    """Element types, which may be given by name, or as types of NumPy and PyTorch."""
    try:
        return types.data_types(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f'Argument "{name}" of operator "{label}": {error}') from None


def _check_array(label: str, argument: Any, value: Any) -> None:
    """Raises RuntimeError for an array with more dimensions than the argument. A scalar takes one element."""
    ndim = getattr(value, "ndim", 0)
    if ndim > 1 or (ndim == 1 and not argument.is_list and value.size != 1):
        raise RuntimeError(
            f'Argument "{argument.name}" of operator "{label}": an array of shape {tuple(value.shape)} '
            f"cannot be converted to {'a list of numbers' if argument.is_list else 'one number'}."
        )


def _warn_argument(label: str, argument: Any) -> None:
    if argument.use:
        text = f"The argument `{argument.name}` is a deprecated alias for `{argument.use}`. Use `{argument.use}` instead."
    else:
        text = f"The argument `{argument.name}` is no longer used and will be removed in a future release."
    warnings.warn(text, DeprecationWarning, stacklevel=depth())


def _is_set(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value)


def promote(value: Any, label: str, position: int, device: str = "cpu") -> Node:
    """Converts an input to a node. Numbers and arrays become constants on the operator's device.

    Raises:
        TypeError: `value` is not a node, a number or an array.
    """
    if isinstance(value, Node):
        return value
    try:
        if value is None or isinstance(value, (str, bytes)):
            raise TypeError
        return constant(value, device="gpu" if device == "gpu" else "cpu")
    except (TypeError, ValueError):
        raise TypeError(
            f"when calling operator `{label}`: expected inputs of type 'DataNode', list of 'DataNode' or "
            f"convertible to constant nodes. Received input `{position}` of type "
            f"'{type(value).__name__}'."
        ) from None


def input_sets(
    inputs: Iterable[Any], label: str, device: str = "cpu"
) -> tuple[list[list[Node]], bool]:
    """Expands lists of nodes: an operator called with lists of N nodes is called N times.

    Returns:
        The inputs of each call, and whether any input was a list.

    Raises:
        ValueError: lists of different lengths.
        TypeError: an input that cannot be a node.
    """
    inputs = list(inputs)
    lengths = {len(value) for value in inputs if _is_set(value)}
    if not lengths:
        return [[promote(value, label, i, device) for i, value in enumerate(inputs)]], False
    if len(lengths) > 1:
        raise ValueError(
            f"All argument lists for Multiple Input Sets used with operator '{label}' must have the same length."
        )
    (count,) = lengths
    columns = []
    for i, value in enumerate(inputs):
        if _is_set(value):
            columns.append([promote(item, label, i, device) for item in value])
        else:
            columns.append([promote(value, label, i, device)] * count)
    return [list(row) for row in zip(*columns, strict=True)], True


def call(op: Operator, label: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Calls an operator.

    Returns:
        A node, a list of nodes if the operator has several outputs, or None if it has none. A dictionary of nodes if
        the outputs have the keys of an argument.

    Raises:
        ValueError: wrong number of inputs, wrong device name.
        KeyError: unknown argument.
        TypeError: wrong type of an input or argument.
        RuntimeError: anything else that the operator's schema does not allow, e.g. an input on the wrong device.
    """
    check_device(kwargs.get("device"), label)
    graph = current_graph()
    inputs = [graph.accept(value, i) for i, value in enumerate(inputs)]
    kwargs = {key: graph.accept(value, key) for key, value in kwargs.items()}
    device = kwargs.pop("device", None) or choose_device(inputs)
    sets, several = input_sets(inputs, label, device)
    name = kwargs.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"The name of an operator must be a string, not {type(name).__name__}.")
    preserve = bool(kwargs.pop("preserve", False))
    constants, nodes = split_arguments(op, label, kwargs)
    results = []
    first: Instance | None = None
    for i, row in enumerate(sets):
        own = name if name is None or not several else f"{name}_{i}"
        # Such an operator needs no data on the device (e.g. shapes, a reader, a decoder of videos): its outputs are
        # copied, unless it makes them there.
        on_cpu = op.is_copied or op.is_reader
        if device == "mixed":
            on_cpu = device not in op.runs_on
        copied = device != "cpu" and device in op.devices and on_cpu
        if device == "gpu" and "observes" in op.flags:
            host = [node.cpu() for node in row]
            Instance(op.name, host, constants, nodes, own, True, op.class_name, "cpu")
            results.append(row)
            continue
        changed = copied and changed_on_gpu(op, constants, nodes, own, preserve)
        if changed:
            results.append(changed)
            continue
        runs_on = "cpu" if copied else device
        if "on_host" in op.flags and copied:
            row = [node.cpu() if node.device == "gpu" else node for node in row]
        elif runs_on == "gpu":
            row = _copied_to_host(op, row)
        instance = Instance(
            op.name, row, constants, nodes, own, preserve, op.class_name, runs_on, draws_as=first
        )
        made = instance.nodes()
        if "random" in op.flags:  # one draw for all sets: an image and its mask get the same crop
            first = first or instance
        results.append([node.gpu() for node in made] if copied else made)
    if op.out_keys is not None:  # an operator without inputs: there is one set
        return dict(zip(kwargs[op.out_keys], results[0], strict=True))
    if len(results) == 1:  # also for a list of one node
        return _unwrap(results[0])
    if all(len(nodes_of_set) == 1 for nodes_of_set in results):
        return [nodes_of_set[0] for nodes_of_set in results]
    return tuple(list(outputs) for outputs in zip(*results, strict=True))


def _copied_to_host(op: Operator, row: list[Node]) -> list[Node]:
    """The inputs; those on the GPU whose elements the host needs, such as matrices and anchors, are copied there."""
    host = [bool(declared["host"]) for declared in op.inputs]
    return [
        node.cpu() if i < len(host) and host[i] and node.device == "gpu" else node
        for i, node in enumerate(row)
    ]


def _unwrap(nodes: list[Node]) -> Any:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else nodes
