# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the functions of `math` with two or three operands: the types of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases_generic import NUMBERS, Expression, numbers
from harness import close, nearly


def named(name: str, *names: str) -> Callable[..., Any]:
    """A call whose operands are passed by name."""
    return lambda engine, *nodes: getattr(engine.math, name)(**dict(zip(names, nodes, strict=True)))


def cases() -> list[Expression]:
    found = []
    for left in NUMBERS:
        for right in NUMBERS:
            if left == right == "bool":
                continue
            inputs = [numbers(left, 0), numbers(right, 3)]
            compare = nearly if "float64" in (left, right) else close
            for name in ("min", "max"):
                found.append(Expression(name, named(name, "left", "right"), inputs))
            found.append(Expression("atan2", named("atan2", "x", "y"), inputs, compare))
            clamp = named("clamp", "value", "lo", "hi")
            found.append(Expression("clamp", clamp, [numbers(left, 1), *inputs[::-1]]))
    return found


CASES = cases()
