# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""How callbacks of parallel external sources travel to spawned workers."""

from headrace._external.pickling import dumps, loads, pickle_by_value

__all__ = ["dumps", "loads", "pickle_by_value"]
