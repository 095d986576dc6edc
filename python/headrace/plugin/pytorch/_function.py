# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`TorchPythonFunction`: Python functions on PyTorch tensors as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.dlpack import from_dlpack

from headrace._functions import _FunctionOperator
from headrace.data_node import DataNode


class TorchPythonFunction(_FunctionOperator):
    """Calls a function with PyTorch tensors over the pipeline's memory; see `headrace.fn.python_function`.

    Args:
        function: takes a tensor an input (with `batch_processing` a list of tensors) and returns the output, or a
            tuple of outputs.
        num_outputs: how many outputs it returns.
        batch_processing: it takes and returns lists with a tensor a sample.
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
    """`TorchPythonFunction` as a function."""
    return TorchPythonFunction(function, **kwargs)(*inputs)
