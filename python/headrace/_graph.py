# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Turns operator calls into nodes of a graph.

Each call makes an `Instance`. While a pipeline is being defined, the instance becomes a node of its graph at once, so
that errors are raised at the user's line. Outside a pipeline the instance is checked in a temporary graph; it becomes
a node of the first pipeline that uses it.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headrace import _core, types
from headrace._schema import COMMON, Operator
from headrace.data_node import DataNode

MERGE = "_conditional.merge"

_detached = itertools.count()
_current = threading.local()


def current_pipeline() -> Any:
    """The pipeline that is being defined in this thread, or None."""
    return getattr(_current, "pipeline", None)


def push_pipeline(pipeline: Any) -> Any:
    """Makes `pipeline` the current one and returns the previous one."""
    previous = current_pipeline()
    stack = getattr(_current, "stack", None)
    if stack is None:
        stack = _current.stack = []
    stack.append(previous)
    _current.pipeline = pipeline
    return previous


def pop_pipeline() -> None:
    """Undoes the last `push_pipeline`."""
    _current.pipeline = _current.stack.pop()


def in_debug_mode() -> bool:
    """Whether the pipeline that is being defined in this thread runs its operators where they are called."""
    pipeline = current_pipeline()
    return pipeline is not None and pipeline._graph.immediate


def package() -> str:
    """The name under which the user's script imported this package: "nvidia.dali" under `headrace.as_dali`."""
    dali = type(sys.modules.get("nvidia.dali"))
    return "nvidia.dali" if hasattr(dali, "_made_by_headrace_as_dali") else "headrace"


def product() -> str:
    """The name of this package in messages that scripts match on: "DALI" under `headrace.as_dali`."""
    return "DALI" if package() == "nvidia.dali" else "Headrace"


def user_line() -> str:
    """The line of the user's code that called into this package, e.g. "file.py:31", or ""."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("headrace.cli."):
            return ""  # a pipeline of the command line has no line of the user
        if module != "headrace" and not module.startswith("headrace."):
            break
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return ""
    path = frame.f_code.co_filename
    return f"{_relative(path)}:{frame.f_lineno}"


@functools.lru_cache(maxsize=64)
def _relative(path: str) -> str:
    """The path relative to the current folder, if the file is below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def is_source(op: str) -> bool:
    """Whether the operator is a reader or an external source. Sources run for all samples, even inside a branch."""
    from headrace import _schema

    known = _schema.operators().get(op)
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
    )

    def __init__(
        self,
        op: str,
        inputs: Sequence[DataNode],
        args: dict[str, Any],
        arg_nodes: dict[str, DataNode],
        name: str | None = None,
        preserve: bool = False,
        label: str | None = None,
        device: str = "cpu",
        function: Any = None,
    ) -> None:
        self.op = op
        self.device = device
        graph = _current_graph()
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
        self.home = weakref.ref(graph)  # of the call; other graphs may use the instance too
        self.splits = False  # the guard comes from a `_conditional.split`; consumers inherit it
        self.guard = None if is_source(op) else self._innermost(graph.branch)
        self.outputs = graph.outputs_of(self)

    @property
    def id(self) -> int:
        return self.serial

    def _innermost(self, branch: tuple[DataNode, bool] | None) -> tuple[DataNode, bool] | None:
        """The guard of the current `if` branch, or of a split inside that branch whose output the call takes."""
        taken = [*self.inputs, *self.arg_nodes.values()]
        if self.op == MERGE:
            taken = [self.arg_nodes["predicate"]] if self.arg_nodes else []
        guards = [n.source.guard for n in taken if getattr(n.source, "splits", False)]
        if not guards:
            return branch
        guard: tuple[DataNode, bool] = max(guards, key=_depth_of)
        if _depth_of(guard) <= _depth_of(branch):
            return branch
        self.splits = True
        return guard

    def text(self) -> str:
        """The call as messages show it, with the name that the user gave: "decoders.image 'name' (train.py:9)"."""
        name = f" '{self.given_name}'" if self.given_name else ""
        return f"{self.op}{name} ({self.origin})"

    def nodes(self) -> list[DataNode]:
        """One DataNode per output."""
        return _current_graph().nodes_of(self)

    def names(self) -> list[str]:
        """The names of the output nodes."""
        if self.outputs == 1:
            return [self.name]
        return [f"{self.name}[{i}]" for i in range(self.outputs)]


def _depth_of(guard: tuple[DataNode, bool] | None) -> int:
    """How many branches enclose the guard's branch, itself included."""
    depth = 0
    while guard is not None:
        guard, depth = guard[0].source.guard, depth + 1
    return depth


def _current_graph() -> Graph:
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

    def __init__(self, graph: Any = None) -> None:
        self.core = _core.Graph() if graph is None else graph
        self.numbers: dict[Instance, int] = {}
        self.branch: tuple[DataNode, bool] | None = None  # the conditional branch being defined
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
        )

    def edge(self, node: DataNode) -> tuple[int, int]:
        """Node number and output."""
        return self.add(node.source), node.index

    def outputs_of(self, instance: Instance) -> int:
        """How many outputs the instance's node has."""
        return self.core.node_outputs(self.add(instance))

    def nodes_of(self, instance: Instance) -> list[DataNode]:
        """One DataNode per output of the instance, which must have been added."""
        device = "cpu" if instance.device == "cpu" else "gpu"
        return [DataNode(name, device, instance, i) for i, name in enumerate(instance.names())]

    def accept(self, value: Any, as_input: bool) -> Any:
        """Hook for debug mode: converts an input or argument value of a call to what this graph takes."""
        return value


class _Detached(Graph):
    """The temporary graph of a call outside any pipeline."""

    def next_name(self, label: str) -> tuple[int, str]:
        serial = next(_detached)
        return serial, f"__{label}_detached_{serial}"


# ---- calls ----


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


def transfer(op: str, node: DataNode) -> DataNode:
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
) -> tuple[dict[str, Any], dict[str, DataNode]]:
    """Splits the keyword arguments of a call into constants and nodes. None means that the argument is not given.

    Raises:
        KeyError: the operator has no argument of that name.
        TypeError: a value of the wrong type; an argument given under both its old and its new name.
        RuntimeError: an array with more dimensions than the argument takes.
    """
    constants: dict[str, Any] = {}
    nodes: dict[str, DataNode] = {}
    for name, value in kwargs.items():
        known = op.args.get(name)
        if known is None and name not in COMMON:
            raise KeyError(f'Argument "{name}" is not defined for operator "{label}".')
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
                stacklevel=_depth(),
            )
            continue
        if isinstance(value, DataNode):
            nodes[name] = value
            continue
        if isinstance(value, (list, tuple)) and any(isinstance(v, DataNode) for v in value):
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
    warnings.warn(text, DeprecationWarning, stacklevel=_depth())


def _depth() -> int:
    """The `stacklevel` of the user's frame, for warnings issued by the caller of this function."""
    frame, depth = sys._getframe(1), 1
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "headrace" and not module.startswith("headrace."):
            return depth
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return depth


def warn(text: str) -> None:
    """Warns at the user's line."""
    warnings.warn(text, stacklevel=_depth())


def deprecated(text: str) -> None:
    """Issues a DeprecationWarning at the user's line."""
    warnings.warn(text, DeprecationWarning, stacklevel=_depth())


def warn_renamed(old: str, new: str) -> None:
    """Warns that an operator was called by its old name."""
    warnings.warn(
        f"WARNING: `{package()}.{old}` is now deprecated. Use `{package()}.{new}` instead.",
        DeprecationWarning,
        stacklevel=_depth(),
    )


def _is_set(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(v, DataNode) for v in value)


def promote(value: Any, label: str, position: int, device: str = "cpu") -> DataNode:
    """Converts an input to a node. Numbers and arrays become constants on the operator's device.

    Raises:
        TypeError: `value` is not a node, a number or an array.
    """
    if isinstance(value, DataNode):
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
) -> tuple[list[list[DataNode]], bool]:
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
            f"All argument lists for multiple input sets of `{label}` must have the same length."
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
        A node, a list of nodes if the operator has several outputs, or None if it has none.

    Raises:
        ValueError: wrong number of inputs, wrong device name.
        KeyError: unknown argument.
        TypeError: wrong type of an input or argument.
        RuntimeError: anything else that the operator's schema does not allow, e.g. an input on the wrong device.
    """
    check_device(kwargs.get("device"), label)
    graph = _current_graph()
    inputs = [graph.accept(value, True) for value in inputs]
    kwargs = {key: graph.accept(value, False) for key, value in kwargs.items()}
    if not op.in_min <= len(inputs) <= op.in_max:
        raise ValueError(
            f"Operator {label} expects from {op.in_min} to {op.in_max} inputs, but received "
            f"{len(inputs)}."
        )
    device = kwargs.pop("device", None) or choose_device(inputs)
    sets, several = input_sets(inputs, label, device)
    name = kwargs.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"The name of an operator must be a string, not {type(name).__name__}.")
    preserve = bool(kwargs.pop("preserve", False))
    constants, nodes = split_arguments(op, label, kwargs)
    results = []
    for i, row in enumerate(sets):
        own = name if name is None or not several else f"{name}_{i}"
        # Such an operator (e.g. shapes) needs no sample data: it runs on the CPU and its output is copied.
        copied = device == "gpu" and device in op.devices and "anywhere" in op.flags
        runs_on = "cpu" if copied else device
        instance = Instance(op.name, row, constants, nodes, own, preserve, op.class_name, runs_on)
        made = instance.nodes()
        results.append([node.gpu() for node in made] if copied else made)
    if len(results) == 1:  # also for a list of one node
        return _unwrap(results[0])
    if all(len(nodes_of_set) == 1 for nodes_of_set in results):
        return [nodes_of_set[0] for nodes_of_set in results]
    return tuple(list(outputs) for outputs in zip(*results, strict=True))


def _unwrap(nodes: list[DataNode]) -> Any:
    if not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else nodes


# ---- constants ----

_LOSSY = {"float64": types.FLOAT, "int64": types.INT32, "uint64": types.UINT32}
_RANGES = {types.INT32: (-(2**31), 2**31 - 1), types.UINT32: (0, 2**32 - 1)}


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = "cpu",
    **kwargs: Any,
) -> DataNode:
    """A node whose every sample is `value`.

    Args:
        value: a number, a member of an enumeration, a list of either, or an array.
        dtype: element type. By default that of `value`; 64-bit types become 32-bit ones, as in DALI.
        shape: shape of each sample, by default that of `value`. A single number fills any shape.
        layout: layout of the samples.
        device: "cpu" or "gpu".

    Raises:
        TypeError: the value is not numeric, or `dtype` is not an element type.
        ValueError: no such device.
        RuntimeError: the number of values does not match the shape.
        OverflowError: without `dtype`, an integer does not fit into 32 bits.
    """
    check_device(device, "Constant")
    if isinstance(value, types.ScalarConstant):
        dtype = value.dtype if dtype is None else dtype
        value = value.value
    flat, own_shape, own_dtype = _flatten(value)
    low, high = _RANGES.get(own_dtype, (None, None)) if dtype is None else (None, None)
    if low is not None and high is not None and flat and not low <= min(flat) <= max(flat) <= high:
        raise OverflowError(f"{value} does not fit into {own_dtype.name}. Pass a larger dtype.")
    dtype = types.element_type(own_dtype if dtype is None else dtype, enums=True)
    if shape is None:
        shape = own_shape
    elif isinstance(shape, int):
        shape = [shape]
    args: dict[str, Any] = {"dtype": dtype, "shape": [int(n) for n in shape]}
    volume = 1
    for extent in args["shape"]:
        volume *= extent
    if len(flat) != volume and len(flat) != 1:
        raise RuntimeError(f"{len(flat)} values do not fill a tensor of shape {list(shape)}.")
    floats = dtype in (types.FLOAT, types.FLOAT16, types.FLOAT64)
    if floats or any(isinstance(v, float) for v in flat):
        args["fdata"] = [float(v) for v in flat]  # the operator rounds
    else:
        args["idata"] = [int(v) for v in flat]
    if layout:
        args["layout"] = str(layout)
    name = kwargs.pop("name", None)
    runs_on = "gpu" if device == "gpu" else "cpu"
    return Instance("constant", [], args | kwargs, {}, name, False, "Constant", runs_on).nodes()[0]


def _has_enums(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_enums, value))
    return types.enum_type(value) is not None


def _flatten_enums(value: Any) -> tuple[list[Any], list[int], types.DALIDataType]:
    """As `_flatten`, for a member of an enumeration or a list of members."""
    if not isinstance(value, (list, tuple)):
        return [value], [], types.enum_type(value)  # type: ignore[return-value]
    kinds = list(dict.fromkeys(map(type, value)))
    if list in kinds or tuple in kinds:
        raise TypeError("A constant of an enumeration has at most one dimension: use fn.reshape.")
    if len(kinds) > 1:
        raise TypeError(
            f"Expected all elements of the input to be the same enum type: `{kinds[0].__name__}` but got "
            f"`{kinds[1].__name__}` for one of the elements."
        )
    return list(value), [len(value)], types.enum_type(value[0])  # type: ignore[return-value]


def _flatten(value: Any) -> tuple[list[Any], list[int], types.DALIDataType]:
    """The elements in row-major order, the shape and the type of a number, list or array."""
    if _has_enums(value):
        return _flatten_enums(value)
    if isinstance(value, bool):
        return [value], [], types.BOOL
    if isinstance(value, int):
        return [value], [], types.INT32
    if isinstance(value, float):
        return [value], [], types.FLOAT
    if isinstance(value, (list, tuple)) and all(isinstance(v, (bool, int, float)) for v in value):
        if value and all(isinstance(v, bool) for v in value):
            return list(value), [len(value)], types.BOOL
        if not value or any(isinstance(v, float) for v in value):
            return list(value), [len(value)], types.FLOAT
        return list(value), [len(value)], types.INT32
    import numpy

    try:
        array = numpy.asarray(value)
    except ValueError:
        raise TypeError("A constant cannot be made from lists of different lengths.") from None
    name = array.dtype.name
    if array.dtype.kind not in "biuf":
        raise TypeError(f"A constant cannot be made from a {type(value).__name__}.")
    narrowed = isinstance(value, (list, tuple, numpy.ndarray, numpy.generic))  # as DALI does
    dtype = (narrowed and _LOSSY.get(name)) or types.to_dali_type(name)
    return array.reshape(-1).tolist(), list(array.shape), dtype
