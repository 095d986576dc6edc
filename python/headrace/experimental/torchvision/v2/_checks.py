# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks of arguments that several transforms have. They return the value in one form."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any


def positive(value: Any, name: str) -> None:
    """Raises ValueError unless the number, or each of them, is greater than 0."""
    if any(v <= 0 for v in _numbers(value)):
        raise ValueError(f"`{name}` must be positive, not {value!r}")


def non_negative(value: Any, name: str) -> None:
    """Raises ValueError if the number, or one of them, is less than 0."""
    if any(v < 0 for v in _numbers(value)):
        raise ValueError(f"`{name}` must not be negative, as {value!r} is")


def _numbers(value: Any) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [v for v in values if isinstance(v, numbers.Real)]


def interval(value: Any, name: str) -> tuple[float, float]:
    """(min, max).

    Raises:
        ValueError: it is not a sequence of two numbers in this order.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError(f"`{name}` must be a number or a pair (min, max), not {value!r}")
    if value[0] > value[1]:
        raise ValueError(f"`{name}` must be (min, max), not {value!r}")
    return float(value[0]), float(value[1])


def probability(p: Any) -> float:
    """Raises ValueError unless it is a number from 0 to 1."""
    if not isinstance(p, (int, float)) or not 0.0 <= p <= 1.0:
        raise ValueError(
            f"p should be a floating point value in the interval [0.0, 1.0], not {p!r}"
        )
    return float(p)


def window_size(size: Any) -> tuple[int, int]:
    """Height and width of an int, or of a sequence of one or two.

    Raises:
        TypeError: it is neither.
        ValueError: another number of elements, or one that is not a positive integer.
    """
    if not isinstance(size, (int, list, tuple)):
        raise TypeError(f"`size` must be an int, a list or a tuple, not {type(size).__name__}")
    values = [size] if isinstance(size, int) else list(size)
    if len(values) not in (1, 2):
        raise ValueError(f"`size` must have one or two elements, not {len(values)}")
    if not all(isinstance(v, int) for v in values):
        raise ValueError(f"`size` must consist of integers, not {size!r}")
    positive(values, "size")
    return values[0], values[-1]


def padding_mode(mode: Any, known: Sequence[str]) -> str:
    """Raises ValueError unless it is one of the known modes."""
    if mode not in known:
        raise ValueError(f"`padding_mode` must be one of {', '.join(known)}, not {mode!r}")
    return str(mode)


def fill(value: Any) -> list[float]:
    """One value, or one per channel.

    Raises:
        TypeError: it is not a number, a sequence of numbers, or None.
        ValueError: it is an empty sequence.
    """
    values = [0] if value is None else [value] if isinstance(value, numbers.Real) else value
    if not isinstance(values, (list, tuple)) or not all(
        isinstance(v, numbers.Real) for v in values
    ):
        raise TypeError(f"`fill` must be a number, a sequence of numbers or None, not {value!r}")
    if not values:
        raise ValueError("`fill` has no elements")
    return [float(v) for v in values]
