# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DALI's name of the module of `Batch`."""

from headrace.experimental.dynamic._data import Batch

__all__ = ["Batch"]
