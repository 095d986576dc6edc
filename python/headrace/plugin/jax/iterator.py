# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The iterators under the name of DALI's module."""

from headrace.plugin.jax._decorator import data_iterator
from headrace.plugin.jax._iterator import DALIGenericIterator

__all__ = ["DALIGenericIterator", "data_iterator"]
