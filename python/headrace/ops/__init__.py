# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators as classes. The constructor takes arguments; the call takes the inputs and further arguments.

Each class is created from its operator's schema on first access. `dir(headrace.ops)` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import _graph
from headrace._base import docs, messages
from headrace._graph import modules, schema
from headrace.data_node import DataNode as _DataNode  # noqa: F401  DALI has this name here
from headrace.tensors import TensorCPU


def _dlpack_to_array(dlpack: Any) -> Any:
    """A NumPy array of the data of a DLPack capsule, for functions of `DLTensorPythonFunction`."""
    import numpy as np

    return np.asarray(TensorCPU(dlpack))


def _dlpack_from_array(array: Any) -> Any:
    """A DLPack capsule of the data of a NumPy array."""
    return TensorCPU(array).__dlpack__()


class Operator:
    """Base of the operator classes.

    Raises:
        KeyError: unknown argument.
        ValueError: an argument given to both the constructor and the call; no such device.
    """

    _op: schema.Operator
    _renamed: str | None = None

    def __init__(self, **kwargs: Any) -> None:
        if self._renamed:
            messages.warn_renamed(f"ops.{self._renamed}", f"fn.{self._op.name}")
        _graph.check_device(kwargs.get("device"), self._op.class_name)
        _graph.split_arguments(self._op, self._op.class_name, kwargs)
        self._init_args = kwargs

    @property
    def device(self) -> str:
        return self._init_args.get("device") or "cpu"

    @property
    def preserve(self) -> bool:
        return bool(self._init_args.get("preserve", False))

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        for name, value in kwargs.items():
            if value is not None and self._init_args.get(name) is not None and name != "device":
                raise ValueError(f"The argument `{name}` was already specified in __init__.")
        given = {**self._init_args, **{k: v for k, v in kwargs.items() if v is not None}}
        given["device"] = given.get("device") or "cpu"  # does not follow the inputs, unlike fn
        return _graph.call(self._op, self._op.class_name, inputs, given)


class Compose:
    """A chain of operators, each of which takes the outputs of the previous one. Outputs are copied to the GPU before
    an operator that runs there.

    Raises:
        ValueError: `op_list` is empty.
    """

    def __init__(self, op_list: Sequence[Any]) -> None:
        if not op_list:
            raise ValueError("Compose needs at least one operator.")
        self._ops = list(op_list)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        outputs: Any = inputs
        for op in self._ops:
            if not isinstance(outputs, (tuple, list)):
                outputs = (outputs,)
            if getattr(op, "device", None) == "gpu":
                outputs = [node.gpu() if hasattr(node, "gpu") else node for node in outputs]
            outputs = op(*outputs, **kwargs)
            kwargs = {}
        return outputs


def cpu_ops() -> set[str]:
    """Schema names of the operators that run on the CPU, with modules: "readers__File"."""
    return _registered("cpu")


def gpu_ops() -> set[str]:
    """Schema names of the operators that run on the GPU."""
    return _registered("gpu")


def mixed_ops() -> set[str]:
    """Schema names of the operators that take CPU inputs and give GPU outputs."""
    return _registered("mixed")


def _registered(device: str) -> set[str]:
    from headrace import backend

    names = {"cpu": backend.RegisteredCPUOps, "gpu": backend.RegisteredGPUOps}
    return set(names.get(device, backend.RegisteredMixedOps)())


def _make(name: str) -> Any:
    if name == "ExternalSource":
        from headrace.external_source import ExternalSource

        return ExternalSource
    if name == "experimental.inputs.Video":
        from headrace._external.video import Video

        return Video
    if name in ("PythonFunction", "DLTensorPythonFunction"):
        from headrace._graph import functions

        return getattr(functions, name)
    module, _, leaf = name.rpartition(".")
    found = schema.find_class(name)
    if found is None:
        return None
    op, renamed = found
    members: dict[str, Any] = {
        "_op": op,
        "_renamed": name if renamed else None,
        "__doc__": docs.docstring(op.raw),
        "__signature__": modules.signature(op, with_inputs=False),
        "_schema_name": schema.schema_name(op.name),
    }
    made = type(leaf, (Operator,), members)
    made.__module__ = f"{__name__}.{module}" if module else __name__
    return made


def __getattr__(name: str) -> Any:
    return modules.attribute(__name__, "", name, _make, globals(), schema.class_names)


def __dir__() -> list[str]:
    return sorted([*modules.listing("", schema.class_names), "Compose"])


modules.register(__name__, _make, schema.class_names)
