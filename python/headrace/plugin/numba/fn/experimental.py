# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The operator under its older name in DALI."""

from headrace.plugin.numba._function import numba_function

__all__ = ["numba_function"]
