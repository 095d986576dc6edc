# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Conditional mode: functions whose `if`, `and`, `or` and `not` take nodes (docs/conditionals.md).

`call` rewrites a function and the functions that it calls (`convert`, `rewrite`, `flow`). The rewritten code calls
`run` at each condition. `run` gives the nodes of a branch a guard, so that they run only for the samples that take the
branch, and merges the results of the branches.
"""

from __future__ import annotations

from headrace._conditionals import convert, run
from headrace._conditionals.convert import KEPT, call

convert.runtime = run

__all__ = ["KEPT", "call"]
