# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""NumPy's functions, called with nodes: which of them are arithmetic, and what to use instead of others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

# ufuncs that do what an operator of Python does
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
}

_REDUCTIONS = "mean sum min max".split()
_MATH = "sqrt cbrt exp log log2 log10 fabs floor ceil sin cos tan sinh cosh tanh".split()
_SAME = (
    "stack reshape transpose flip pad squeeze expand_dims zeros_like ones_like full_like".split()
)
_INSTEAD = {
    **{name: f"fn.reductions.{name}" for name in _REDUCTIONS},
    **{name: f"math.{name}" for name in _MATH},
    **{name: f"fn.{name}" for name in _SAME},
    "amin": "fn.reductions.min",
    "amax": "fn.reductions.max",
    "std": "fn.reductions.std_dev",
    "var": "fn.reductions.variance",
    "add.reduce": "fn.reductions.sum",
    "minimum.reduce": "fn.reductions.min",
    "maximum.reduce": "fn.reductions.max",
    "minimum": "math.min",
    "maximum": "math.max",
    "clip": "math.clamp",
    "arcsin": "math.asin",
    "arccos": "math.acos",
    "arctan": "math.atan",
    "arctan2": "math.atan2",
    "arcsinh": "math.asinh",
    "arccosh": "math.acosh",
    "arctanh": "math.atanh",
    "float_power": "math.fpow",
    "invert": "~node",
    "concatenate": "fn.cat",
    "hstack": "fn.cat",
    "vstack": "fn.cat",
    "shape": "node.shape()",
    "size": "node.shape()",
    "astype": "fn.cast",
}


def refusal(name: str) -> TypeError:
    """The error for a function of NumPy that was called with a node."""
    better = _INSTEAD.get(name)
    use = f"use {better}" if better else "use an operator of headrace.fn"
    return TypeError(
        f"numpy.{name} was called with a DataNode, which has no data while the pipeline is defined: "
        f"{use}, or let fn.python_function call it when the pipeline runs."
    )


def ufunc(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a ufunc that is arithmetic.

    Raises:
        TypeError: it is not.
    """
    name = function.__name__
    if method == "__call__" and not kwargs and name in OPERATORS:
        if len(inputs) == 2 and not hasattr(inputs[0], "source"):
            return _reflected(OPERATORS[name], *inputs)
        return OPERATORS[name](*inputs)
    raise refusal(name if method == "__call__" else f"{name}.{method}")


def _reflected(function: Callable[..., Any], left: Any, node: Any) -> Any:
    """`left` op `node`, computed by the node: NumPy's objects would call the ufunc again."""
    name = function.__name__.rstrip("_")
    swapped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
    own = f"__{swapped[name]}__" if name in swapped else f"__r{name}__"
    return getattr(node, own)(left)
