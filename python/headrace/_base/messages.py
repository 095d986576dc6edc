# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Warnings and messages: the user's line, and the names under which the user knows this package."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Iterable


def package() -> str:
    """The name under which the user's script imported this package: "nvidia.dali" under `headrace.as_dali`."""
    dali = type(sys.modules.get("nvidia.dali"))
    return "nvidia.dali" if hasattr(dali, "_made_by_headrace_as_dali") else "headrace"


def product() -> str:
    """The name of this package in messages that scripts match on: "DALI" under `headrace.as_dali`."""
    return "DALI" if package() == "nvidia.dali" else "Headrace"


def user_line() -> str:
    """The line of the user's code that called into this package, e.g. "file.py:31", or ""."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("headrace.cli."):
            return ""  # a pipeline of the command line has no line of the user
        if module != "headrace" and not module.startswith("headrace."):
            break
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return ""
    path = frame.f_code.co_filename
    return f"{_relative(path)}:{frame.f_lineno}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown name: ` Did you mean "resize"?`, or "" if none is similar.

    If `known` is a dictionary, its value is what the message names.
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    shown = [known[found] if isinstance(known, dict) else found for found in close]
    return f' Did you mean "{shown[0]}"?' if shown else ""


@functools.lru_cache(maxsize=64)
def _relative(path: str) -> str:
    """The path relative to the current folder, if the file is below it."""
    try:
        folder = os.path.join(os.getcwd(), "")
    except OSError:
        return path
    return path.removeprefix(folder)


def depth() -> int:
    """The `stacklevel` of the user's frame, for warnings issued by the caller of this function."""
    frame, depth = sys._getframe(1), 1
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "headrace" and not module.startswith("headrace."):
            return depth
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return depth


def warn(text: str) -> None:
    """Warns at the user's line."""
    warnings.warn(text, stacklevel=depth())


def deprecated(text: str) -> None:
    """Issues a DeprecationWarning at the user's line."""
    warnings.warn(text, DeprecationWarning, stacklevel=depth())


def warn_renamed(old: str, new: str) -> None:
    """Warns that an operator was called by its old name."""
    warnings.warn(
        f"WARNING: `{package()}.{old}` is now deprecated. Use `{package()}.{new}` instead.",
        DeprecationWarning,
        stacklevel=depth(),
    )
