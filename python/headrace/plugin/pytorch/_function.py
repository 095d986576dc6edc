# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`TorchPythonFunction`: an operator that calls a Python function on PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

from headrace._graph.arrays import Arrays
from headrace._graph.functions import _FunctionOperator, call_operator
from headrace.data_node import DataNode


class _HostTensors(Arrays):
    def convert(self, tensor: Any) -> Any:
        return from_dlpack(tensor)


class _DeviceTensors(Arrays):
    """Tensors on a GPU. The function's current stream is one of PyTorch's own, because the allocator of PyTorch keeps
    memory for each stream. The pipeline's stream waits for it.
    """

    def __init__(self) -> None:
        self._stream: Any = None

    @contextmanager
    def scope(self, call: Any) -> Iterator[None]:
        if self._stream is None:
            self._stream = torch.cuda.Stream(call.device)
        with torch.cuda.stream(self._stream):
            yield
        call.wait_for(self._stream)

    def convert(self, tensor: Any) -> Any:
        return from_dlpack(tensor)

    def result(self, value: Any) -> Any:
        # A capsule: `__dlpack__` would make the pipeline's stream wait once for each tensor.
        return to_dlpack(value) if isinstance(value, torch.Tensor) else value


class TorchPythonFunction(_FunctionOperator):
    """Calls a function with PyTorch tensors that share the pipeline's memory.

    On a GPU, work that the function queues on its current stream is done before anything uses the
    outputs; nobody waits for it in the meantime. See also `headrace.fn.python_function`.

    Args:
        function: takes one tensor per input (with `batch_processing`, a list of tensors) and
            returns the output or a tuple of outputs.
        num_outputs: number of outputs.
        device: "cpu" or "gpu": where the tensors are.
        batch_processing: call the function once per batch, with lists of one tensor per sample.
        output_layouts: layouts of the outputs.
    """

    _name = "python_function"
    _label = "TorchPythonFunction"

    def _arrays(self, device: str) -> Arrays:
        return _DeviceTensors() if device == "gpu" else _HostTensors()


def torch_python_function(
    *inputs: Any, function: Callable[..., Any] | None = None, **kwargs: Any
) -> DataNode | list[DataNode]:
    """Calls `TorchPythonFunction` as a function; takes the same arguments."""
    node: DataNode | list[DataNode] = call_operator(TorchPythonFunction, inputs, function, kwargs)
    return node
