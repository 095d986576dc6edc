# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DataNode: an output of an operator while the pipeline is being defined."""

from __future__ import annotations

from typing import Any

from headrace import _graph
from headrace._base import messages, types
from headrace._graph import numpy_calls, schema
from headrace._graph import subscript as _subscript
from headrace._graph.node import Node

_NO_BOOL = (
    '"DataNode" was used in conditional context - it might have been used in truth evaluation for `if` '
    "statement, logical expression or cast to a boolean. To use conditional execution via `if` statements "
    "you need to specify `enable_conditionals=True` in `@{package}.pipeline_def` decorator. You can read "
    "more about conditional execution in specific section of the Pipeline documentation. Bool conversion "
    "can be achieved with the `cast` operator."
)

newaxis = _subscript.NewAxis()


class DataNode(Node):
    """One output of an operator in a graph. It holds no data.

    Nodes are inputs of other operators, per-sample arguments, operands of arithmetic and outputs of the pipeline.

    Attributes:
        name: name of the operator, followed by ``[i]`` if it has several outputs.
        device: "cpu" or "gpu".
        source: the call that made the node.
        index: number of the output of `source`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        op = getattr(self.source, "op", None)
        return (
            f'DataNode(name="{self.name}", device="{self.device}", source="{op}", '
            f'index="{self.index}")'
        )

    __str__ = __repr__

    # ---- functions of NumPy ----

    def __array__(self, *arguments: Any, **kwargs: Any) -> Any:
        raise numpy_calls.refusal("array")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise numpy_calls.refusal(function.__name__)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return numpy_calls.ufunc(function, method, inputs, kwargs)

    # ---- devices and properties ----

    def gpu(self) -> DataNode:
        """The data on the GPU. Returns this node if the data are already there."""
        if self.device == "gpu":
            return self
        if getattr(self.source, "op", None) == "_to_cpu":
            node: DataNode = self.source.inputs[0]
            return node
        return _graph.transfer("_to_gpu", self)

    def cpu(self) -> DataNode:
        """The data on the CPU. Returns this node if the data are already there.

        Raises:
            RuntimeError: the pipeline was created without the dynamic executor.
        """
        if self.device == "cpu":
            return self
        pipeline = _graph.current_pipeline()
        if pipeline is not None:
            pipeline._config.require_exec_dynamic(
                "This pipeline doesn't support transition from GPU to CPU.\n"
                "GPU->CPU transitions require "
            )
        if getattr(self.source, "op", None) == "_to_gpu":
            node: DataNode = self.source.inputs[0]
            return node
        return _graph.transfer("_to_cpu", self)

    def shape(self, *, dtype: Any = None, device: str = "cpu") -> DataNode:
        """The shape of each sample, as a 1-D tensor with one number per dimension.

        Args:
            dtype: element type of the result, INT64 by default.
            device: "cpu" or "gpu": where the result is placed.

        Raises:
            ValueError: no such device.
            RuntimeError: the device is "mixed".
        """
        return _placed(_hidden("_shape", "shape()", self, dtype=dtype, device="cpu"), device)

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """A property of each sample, as a 1-D UINT8 tensor with the text.

        Args:
            key: `"source_info"` or `"layout"`.
            device: "cpu" or "gpu": where the result is placed.

        Raises:
            ValueError: no such device.
            RuntimeError: no such property; the device is "mixed".
        """
        node = _hidden("get_property", "property()", self, key=key, device="cpu")
        return _placed(node, device)

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """The origin of each sample, such as its file name, as a 1-D UINT8 tensor."""
        return self.property("source_info", device=device)

    def __getitem__(self, subscript: Any) -> DataNode:
        """Indexes each sample like NumPy's basic indexing: with integers, ranges and `newaxis`.

        Negative indices count from the end. Indices and bounds may be nodes with one integer per sample.

        Raises:
            NotImplementedError: ``...`` among the subscripts.
            TypeError: a subscript that is not an integer, a range, a node or a new axis.
            ValueError: only some of the new axes have names; too many subscripts.
        """
        return _subscript.subscript(self, subscript)

    # ---- unsupported operations ----

    def __bool__(self) -> bool:
        raise TypeError(_NO_BOOL.format(package=messages.package()))

    # Without this, iter() would try __getitem__. Code tests for Iterable to tell one output from several.
    __iter__ = None

    # ---- arithmetic ----

    __hash__ = object.__hash__

    def __pos__(self) -> DataNode:
        return self

    def __neg__(self) -> DataNode:
        return arithmetic("neg", self)

    def __invert__(self) -> DataNode:
        return arithmetic("invert", self)

    def __abs__(self) -> DataNode:
        return arithmetic("abs", self)

    def __add__(self, other: Any) -> DataNode:
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> DataNode:
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> DataNode:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> DataNode:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> DataNode:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> DataNode:
        return arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> DataNode:
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> DataNode:
        return arithmetic("div", other, self)

    def __floordiv__(self, other: Any) -> DataNode:
        return arithmetic("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> DataNode:
        return arithmetic("floordiv", other, self)

    def __mod__(self, other: Any) -> DataNode:
        return arithmetic("mod", self, other)

    def __rmod__(self, other: Any) -> DataNode:
        return arithmetic("mod", other, self)

    def __pow__(self, other: Any) -> DataNode:
        return arithmetic("pow", self, other)

    def __rpow__(self, other: Any) -> DataNode:
        return arithmetic("pow", other, self)

    def __and__(self, other: Any) -> DataNode:
        return arithmetic("and", self, other)

    def __rand__(self, other: Any) -> DataNode:
        return arithmetic("and", other, self)

    def __or__(self, other: Any) -> DataNode:
        return arithmetic("or", self, other)

    def __ror__(self, other: Any) -> DataNode:
        return arithmetic("or", other, self)

    def __xor__(self, other: Any) -> DataNode:
        return arithmetic("xor", self, other)

    def __rxor__(self, other: Any) -> DataNode:
        return arithmetic("xor", other, self)

    def __lshift__(self, other: Any) -> DataNode:
        return arithmetic("lshift", self, other)

    def __rlshift__(self, other: Any) -> DataNode:
        return arithmetic("lshift", other, self)

    def __rshift__(self, other: Any) -> DataNode:
        return arithmetic("rshift", self, other)

    def __rrshift__(self, other: Any) -> DataNode:
        return arithmetic("rshift", other, self)

    def __eq__(self, other: Any) -> DataNode:  # type: ignore[override]
        return arithmetic("eq", self, other)

    def __ne__(self, other: Any) -> DataNode:  # type: ignore[override]
        return arithmetic("ne", self, other)

    def __lt__(self, other: Any) -> DataNode:
        return arithmetic("lt", self, other)

    def __le__(self, other: Any) -> DataNode:
        return arithmetic("le", self, other)

    def __gt__(self, other: Any) -> DataNode:
        return arithmetic("gt", self, other)

    def __ge__(self, other: Any) -> DataNode:
        return arithmetic("ge", self, other)


def _check(maybe_node: Any) -> None:
    """Raises TypeError unless `maybe_node` is a node."""
    if not isinstance(maybe_node, DataNode):
        raise TypeError(
            f'Expected outputs of type compatible with "DataNode". Received output type with name '
            f'"{type(maybe_node).__name__}" that does not match.'
        )


def _hidden(name: str, what: str, node: DataNode, **kwargs: Any) -> DataNode:
    found = schema.find_function(name)
    if found is None:
        raise NotImplementedError(f"{what} of a node is not part of this version of Headrace.")
    return _graph.call(found[0], found[0].class_name, [node], kwargs)


def _placed(node: DataNode, device: str) -> DataNode:
    """Moves a node that is computed on the CPU to `device`."""
    _graph.check_device(device, node.name)
    if device == "mixed":
        raise RuntimeError(f'{node.name} does not support device "mixed"; use "cpu" or "gpu".')
    return node.gpu() if device == "gpu" else node


_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}


def _has_nodes(value: Any) -> bool:
    return isinstance(value, DataNode) or (
        isinstance(value, (list, tuple)) and any(_has_nodes(item) for item in value)
    )


def is_number(operand: Any) -> bool:
    """Whether the operand is a scalar: not a node, list, tuple, or array with dimensions."""
    return not isinstance(operand, (DataNode, list, tuple)) and getattr(operand, "shape", None) in (
        None,
        (),
        [],
    )


def check_operand(op: str, side: int, operand: Any) -> None:
    """Raises TypeError for a list of nodes."""
    if isinstance(operand, (list, tuple)) and _has_nodes(operand):
        raise TypeError(
            f"The input {side} of operator `{_SYMBOLS.get(op, op)}` must be a `DataNode` or a compatible "
            f"constant. Got a `{type(operand).__name__}` with nested `DataNode`(s).\n"
            "Did you pass a return value of an operator producing multiple outputs?"
        )


def _scalar(operand: Any) -> types.ScalarConstant:
    if isinstance(operand, types.ScalarConstant):
        number = operand
    elif isinstance(operand, float):  # also NumPy's float64, which becomes FLOAT
        return types.ScalarConstant(float(operand))
    elif hasattr(operand, "dtype"):
        return types.ScalarConstant(operand, types.to_dali_type(operand.dtype))
    else:
        number = types.ScalarConstant(operand)
    if number.dtype == types.INT32 and not -(2**31) <= number.value < 2**31:
        raise OverflowError(f"{operand} does not fit into INT32; use types.Constant(...).int64().")
    return number


def arithmetic(op: str, *operands: Any) -> DataNode:
    """A node that computes `op` of one or two operands, element by element.

    It runs on the GPU if an operand is there. Operands are nodes, numbers or arrays.

    Raises:
        TypeError: an operand of another type.
        OverflowError: an integer that does not fit into INT32.
    """
    known = schema.operators().get("_arithmetic")
    if known is None or op not in known.args["op"].raw.get("choices", [op]):
        raise NotImplementedError(f'"{op}" of nodes is not part of this version of Headrace.')
    args: dict[str, Any] = {"op": op}
    inputs: list[DataNode] = []
    for side, operand in enumerate(operands):
        if isinstance(operand, DataNode):
            inputs.append(operand)
            continue
        check_operand(op, side, operand)
        if not is_number(operand):
            inputs.append(_graph.constant(operand))
            continue
        number = _scalar(operand)
        if "const_side" in args:
            inputs.append(_graph.constant(number))  # the operator takes only one constant
            continue
        args["const_side"] = side
        args["const_type"] = number.dtype
        if number.dtype in (types.FLOAT, types.FLOAT16, types.FLOAT64):
            args["fvalue"] = float(number.value)
        else:
            args["ivalue"] = int(number.value)
    device = _graph.choose_device(inputs)
    if device == "gpu":
        inputs = [node.gpu() for node in inputs]
    instance = _graph.Instance("_arithmetic", inputs, args, {}, None, False, "Arithmetic", device)
    return instance.nodes()[0]


_graph.Graph.node_type = DataNode
