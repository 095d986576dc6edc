# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Glue to deep learning frameworks; each module imports its framework when it is imported."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name in {"jax", "numba", "paddle", "tf", "triton"}:
        raise ImportError(f"Headrace does not have DALI's module plugin.{name} yet")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
