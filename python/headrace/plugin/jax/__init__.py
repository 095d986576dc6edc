# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators that return batches as `jax.Array`, and JAX functions as operators.

An array shares the memory of its batch, on the CPU or on the GPU: nothing is copied, except element
types that JAX does not have unless ``jax_enable_x64`` is set (int64 becomes int32, for example).
"""

from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.jax import fn
from headrace.plugin.jax._decorator import data_iterator
from headrace.plugin.jax._iterator import DALIGenericIterator

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator", "fn"]
