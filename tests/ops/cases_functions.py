# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators that call Python functions."""

ELSEWHERE = {
    "dl_tensor_python_function": "tests/python/test_python_function.py",
    "python_function": "tests/python/test_python_function.py",
}
