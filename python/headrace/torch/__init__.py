# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines in the shape that PyTorch users know: loaders of ``(images, labels)``.

`compile` makes one from transforms of torchvision and a data set (docs/torchvision.md).
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "headrace.torch needs PyTorch, which is not installed: `pip install torch`, "
        "see https://pytorch.org/get-started"
    ) from error

from headrace.torch._compile.compile import CompiledLoader, compile, explain
from headrace.torch._compile.own_code import DatasetLoader
from headrace.torch._compile.report import Report, Step
from headrace.torch.data_loader import DataLoader
from headrace.torch.hugging_face import HFRows, from_hf
from headrace.torch.loader import Loader

__all__ = [
    "CompiledLoader",
    "DataLoader",
    "DatasetLoader",
    "HFRows",
    "Loader",
    "Report",
    "Step",
    "compile",
    "explain",
    "from_hf",
]
