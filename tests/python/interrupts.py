# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Exceptions at the points where the interpreter runs signal handlers, one point after the other."""

from __future__ import annotations

import dis
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Interrupt(BaseException):
    """What the signal handler raises."""


class InterruptError(Exception):
    """The same as an ordinary exception, which code may catch."""


_ERRORS = (Interrupt, InterruptError)


class Points:
    """Calls a function, and raises an exception at its point number `at`.

    CPython runs signal handlers, which may raise, at the start of a function, before a jump back, and after a call of
    a function in C. Points in frames of tests, and in what their callbacks call, do not count.
    """

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at = at
        self.error = error
        self.count = 0  # points that were reached
        self.where = ""
        self._before: dict[FrameType, str] = {}  # the last instruction in each frame
        self._returned: set[FrameType] = set()  # a C function has returned to them since then

    def call(self, function: Callable[[], Any]) -> Any:
        before = sys.gettrace(), sys.getprofile()
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        try:
            return function()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
            self._before.clear()
            self._returned.clear()

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_return":
            self._returned.add(frame)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "call":
            if _is_ours(frame):
                return None
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
        elif event == "return":
            self._before.pop(frame, None)
        elif event == "opcode":
            before = self._before.get(frame, "")
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            called = before.startswith("CALL") and frame in self._returned
            self._returned.discard(frame)
            if called or before in ("RESUME", "JUMP_BACKWARD"):
                self._reach(frame)
        return self._trace

    def _reach(self, frame: FrameType) -> None:
        self.count += 1
        if self.count - 1 == self.at:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
            sys.settrace(None)
            sys.setprofile(None)
            raise self.error(self.where)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether a frame is one of a test, or was called by a callback of a test."""
    passed: list[bool] = []  # the frames from this one on: whether they are of tests
    ends = (Points.call.__code__, Timer.run.__code__)
    while frame is not None and frame.f_code not in ends:
        passed.append(frame.f_code.co_filename.startswith((_TESTS, "<")))
        frame = frame.f_back
    return passed != sorted(passed) or not passed or passed[0]


class Campaign:
    """Runs actions and interrupts each one once, at a point chosen at random. An interrupted action is repeated.

    Args:
        count: how many exceptions to raise.
    """

    def __init__(self, count: int) -> None:
        self.left = count
        self.where = "nowhere"  # the last exception
        self._random = random.Random(count)
        self._points: dict[str, int] = {}  # the most points of any action of this kind

    def run(self, kind: str, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of the action. StopIteration is a result, too."""
        most = self._points.get(kind, 1)
        points = Points(self._random.randrange(most + 1), self._random.choice(_ERRORS))
        try:
            return points.call(lambda: _result(action, args, kwargs))
        except points.error as error:
            assert points.where and points.where in str(error)
            self.left -= 1
            self.where = points.where
        finally:
            self._points[kind] = max(most, points.count)
        return _result(action, args, kwargs)


def _result(action: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return action(*args, **kwargs)
    except StopIteration:
        return StopIteration


class Timer(Campaign):
    """Interrupts actions by signals, at random times."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._longest = 0.01
        signal.signal(signal.SIGALRM, _raise)

    def run(self, kind: str, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()  # no luck: only chooses when the next signal comes
        try:
            signal.setitimer(signal.ITIMER_REAL, self._random.uniform(1e-5, self._longest))
            result = _result(action, args, kwargs)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._longest = time.perf_counter() - start  # no luck: the same
            return result
        except Interrupt as error:
            self.left -= 1
            self.where = str(error)
        return _result(action, args, kwargs)


def _raise(number: int, frame: FrameType | None) -> None:
    """Raises unless the test itself runs: after an action has returned, its result is not repeated."""
    if frame is not None and not _is_ours(frame):
        raise Interrupt(f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})")
