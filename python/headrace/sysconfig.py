# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Compiler and linker flags for custom operators."""

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
    """The folder of the package, which contains its libraries."""
    return os.path.dirname(os.path.realpath(__file__))


def get_include_dir() -> str:
    """The folder that contains the headers."""
    return os.path.join(get_lib_dir(), "include")


def get_include_flags() -> list[str]:
    """Compiler flags for finding the headers."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Compiler flags for an operator."""
    return get_include_flags()


def get_link_flags() -> list[str]:
    """Linker flags for an operator."""
    return [f"-L{get_lib_dir()}"]
