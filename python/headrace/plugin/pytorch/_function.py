# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`TorchPythonFunction`: an operator that calls a Python function on PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.dlpack import from_dlpack

from headrace._graph.functions import _FunctionOperator
from headrace.data_node import DataNode


class TorchPythonFunction(_FunctionOperator):
    """Calls a function with PyTorch tensors that share the pipeline's memory.

    See also `headrace.fn.python_function`.

    Args:
        function: takes one tensor per input (with `batch_processing`, a list of tensors) and
            returns the output or a tuple of outputs.
        num_outputs: number of outputs.
        batch_processing: call the function once per batch, with lists of one tensor per sample.
        output_layouts: layouts of the outputs.
    """

    _name = "python_function"
    _label = "TorchPythonFunction"

    @staticmethod
    def _convert(tensor: Any) -> Any:
        return from_dlpack(tensor)


def torch_python_function(
    *inputs: Any, function: Callable[..., Any] | None = None, **kwargs: Any
) -> DataNode | list[DataNode]:
    """Calls `TorchPythonFunction` as a function; takes the same arguments."""
    return TorchPythonFunction(function, **kwargs)(*inputs)
