# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators that need PyTorch."""

from headrace.plugin.pytorch._function import torch_python_function

__all__ = ["torch_python_function"]
