# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DALI's name of the module of `Tensor`."""

from headrace.experimental.dynamic._data import Tensor

__all__ = ["Tensor"]
