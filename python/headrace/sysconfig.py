# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Flags for compiling operators outside the tree."""

from __future__ import annotations

import os

__all__ = [
    "get_compile_flags",
    "get_include_dir",
    "get_include_flags",
    "get_lib_dir",
    "get_link_flags",
]


def get_lib_dir() -> str:
    """The folder of the package, which holds its libraries."""
    return os.path.dirname(os.path.realpath(__file__))


def get_include_dir() -> str:
    """The folder of the headers."""
    return os.path.join(get_lib_dir(), "include")


def get_include_flags() -> list[str]:
    """Flags by which a compiler finds the headers."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Flags for compiling an operator."""
    return get_include_flags()


def get_link_flags() -> list[str]:
    """Flags for linking an operator."""
    return [f"-L{get_lib_dir()}"]
