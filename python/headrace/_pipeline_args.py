# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks of the arguments of `Pipeline`."""

from __future__ import annotations

import enum
from typing import Any

from headrace.types import DALIDataType


class StreamPolicy(enum.Enum):
    """How CUDA streams are given to operators; no effect on the CPU."""

    SINGLE = 1
    PER_BACKEND = 2
    PER_OPERATOR = 3


class OperatorConcurrency(enum.Enum):
    """Which operators may run at once; no effect on the CPU."""

    NONE = 0
    BACKEND = 1
    FULL = 2


def queue_depths(depth: Any, exec_async: bool) -> tuple[bool, int, int]:
    """Whether the queues are separated, and their sizes for CPU and GPU.

    Raises:
        ValueError: separated queues without `exec_async`; sizes below 1.
        TypeError: neither int nor dict.
    """
    if type(depth) is dict:
        if not exec_async:
            raise ValueError(
                "`exec_async` must not evaluate to `False` when using separated queues."
            )
        sizes = depth.get("cpu_size", depth.get("cpu")), depth.get("gpu_size", depth.get("gpu"))
        if None in sizes:
            raise ValueError(
                'prefetch_queue_depth as a dictionary needs "cpu_size" and "gpu_size".'
            )
        separated = True
    elif type(depth) is int:
        separated, sizes = False, (depth, depth)
    else:
        raise TypeError("Expected prefetch_queue_depth to be either int or Dict[int, int]")
    if min(sizes) < 1:
        raise ValueError(f"prefetch_queue_depth must be at least 1, got {depth}.")
    return separated, sizes[0], sizes[1]


def _declared(name: str, value: Any, kind: type | tuple[type, ...], text: str, bad: Any) -> None:
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if item is None:
            continue
        if not isinstance(item, kind):
            raise TypeError(
                f"`{name}` must be either: {text}, a list of these or None. Found type {type(item)}."
            )
        if bad(item):
            raise ValueError(f"`{name}` cannot be {item}.")


def check_declared(dtype: Any, ndim: Any, layout: Any) -> None:
    """`output_dtype`, `output_ndim`, `output_layout`.

    Raises:
        TypeError, ValueError: as in DALI.
    """
    _declared(
        "output_dtype",
        dtype,
        DALIDataType,
        "a value from headrace.types.DALIDataType",
        lambda v: v == DALIDataType.NO_TYPE,
    )
    _declared("output_ndim", ndim, int, "an int", lambda v: v < 0)
    _declared("output_layout", layout, str, "a string", lambda v: False)


def each_output(name: str, value: Any, count: int) -> list[Any]:
    """A declared value for each output.

    Raises:
        RuntimeError: a list of another length.
    """
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(
            f"Lengths of provided outputs descriptions do not match. Expected: {count}, `{name}` has "
            f"{len(value)}."
        )
    return list(value)
