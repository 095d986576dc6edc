# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""One of several operations per sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.data_node import DataNode


def select(
    ops: Sequence[Callable[..., DataNode]],
    selected_op_idx: DataNode,
    *op_args: Any,
    **op_kwargs: Any,
) -> DataNode:
    """Applies `ops[selected_op_idx]` to each sample.

    Args:
        ops: augmentations, or other functions of nodes that return one node.
        selected_op_idx: one number per sample, from 0 to `len(ops)` - 1.
        op_args, op_kwargs: the arguments of the operation.
    """
    return _select(ops, 0, selected_op_idx, op_args, op_kwargs)


def _select(
    ops: Sequence[Callable[..., DataNode]], first: int, index: DataNode, args: Any, kwargs: Any
) -> DataNode:
    """`select` by halving: `ops` have the numbers from `first` on."""
    if len(ops) == 1:
        return ops[0](*args, **kwargs)
    half = (len(ops) + 1) // 2
    if index < first + half:
        out = _select(ops[:half], first, index, args, kwargs)
    else:
        out = _select(ops[half:], first + half, index, args, kwargs)
    return out
