# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions compiled by Numba as operators. They run without the GIL."""

from headrace.plugin.numba import experimental, fn
from headrace.plugin.numba._function import NumbaFunction

__all__ = ["NumbaFunction", "experimental", "fn"]
