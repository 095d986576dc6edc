# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators that need Numba."""

from headrace.plugin.numba._function import numba_function
from headrace.plugin.numba.fn import experimental

__all__ = ["experimental", "numba_function"]
