# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The place of a call in the user's code, from which a traceback can be made later. Frames are not kept alive."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

Site = list[tuple[str, str, int]]  # file, function and line; the innermost first


def here() -> Site:
    """The lines of the user's code that led to this call into the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _ours(frame):
        frame = frame.f_back
    site = []
    while frame is not None and not _ours(frame):
        site.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return site


def traceback(site: Site) -> TracebackType | None:
    """A traceback that ends where `here` was called. Its frames have no variables."""
    made = None
    for file, name, line in site:
        made = TracebackType(made, _frame(file, name), -1, line)
    return made


def _ours(frame: FrameType) -> bool:
    return f"{frame.f_globals.get('__name__', '')}.".startswith("headrace.")


def _frame(file: str, name: str) -> FrameType:
    """A frame of a function of that name in that file."""
    variables = {"get": sys._getframe}
    exec(compile("frame = get()", file, "exec").replace(co_name=name), variables)
    frame: FrameType = variables["frame"]  # type: ignore[assignment]
    return frame
