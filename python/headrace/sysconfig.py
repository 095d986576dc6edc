# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Flags for compiling operators outside the tree (docs/plugins.md)."""

from __future__ import annotations

import os

__all__ = [
    "get_cmake_dir",
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
    """The folder of the headers: `headrace/operator.h`, `headrace/plugin.h`."""
    return os.path.join(get_lib_dir(), "include")


def get_cmake_dir() -> str:
    """The folder of the package config, for `CMAKE_PREFIX_PATH` or `headrace_DIR`."""
    return os.path.join(get_lib_dir(), "cmake")


def get_include_flags() -> list[str]:
    """Compiler flags with which the headers are found."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Compiler flags for an operator."""
    return get_include_flags()


def get_link_flags() -> list[str]:
    """Linker flags for an operator: a plug-in links nothing of Headrace, so there are none."""
    return []
