# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Conditional mode: functions whose `if`, `and`, `or` and `not` take nodes (docs/conditionals.md).

`call` gives a function rewritten (`convert`, `rewrite`, `flow`), and so what it calls; the new code asks `run` at each condition,
which gives nodes guards, so that they run for the samples that take their branch, and merges what branches give.
"""

from __future__ import annotations

from headrace._conditionals.convert import KEPT, call

__all__ = ["KEPT", "call"]
