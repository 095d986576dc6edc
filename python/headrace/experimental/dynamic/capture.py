# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Names of DALI's capture of loops. Reading runs ahead in any case, so nothing is captured here."""

from __future__ import annotations

from typing import TypeVar

_T = TypeVar("_T")


def invariant(value: _T) -> _T:
    """Returns `value`: what does not change in a loop needs no mark here."""
    return value
