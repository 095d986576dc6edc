# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators that need JAX."""

from headrace.plugin.jax._function import jax_function

__all__ = ["jax_function"]
