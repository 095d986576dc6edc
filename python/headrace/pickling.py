# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pickling of callbacks of parallel external sources for spawned workers."""

from headrace._external.pickling import dumps, loads, pickle_by_value

__all__ = ["dumps", "loads", "pickle_by_value"]
