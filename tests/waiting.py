# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Waiting for other threads and processes. Tests, and the programs that they start, wait for
conditions instead of sleeping: how long something takes depends on what else the machine does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# Seconds after which whatever is waited for is taken to hang. Nothing takes nearly as long, even on
# a machine with other work; pytest itself ends a test after 300 seconds.
HANG_S = 240
# A duration for HEADRACE_STALL and HEADRACE_NET_TIMEOUT that no test lives to see the end of.
FOREVER_S = 4 * HANG_S


def until(condition: Callable[[], T], what: str) -> T:
    """Polls `condition` until it is true, and returns its value. Fails, naming `what`, on a hang."""
    end, pause = time.monotonic() + HANG_S, 0.001
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {HANG_S} seconds, in vain, until {what}")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return value


def running(processes: Iterable[int]) -> list[int]:
    """Those of the processes that have not ended; zombies have."""
    found = []
    for pid in processes:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def until_ended(processes: Iterable[int]) -> None:
    """Waits until all these processes have ended."""
    pids = list(processes)
    until(lambda: not running(pids), f"the processes {pids} end")


def within(function: str, thread: threading.Thread | None = None) -> bool:
    """Whether a thread (the main thread) is in a Python function with this qualified name."""
    frame = sys._current_frames().get((thread or threading.main_thread()).ident or 0)
    while frame is not None and frame.f_code.co_qualname != function:
        frame = frame.f_back
    return frame is not None


def tell(line: str, condition: Callable[[], object]) -> None:
    """Prints the line as soon as the condition is true, whatever the caller waits for meanwhile."""

    def watch() -> None:
        until(condition, f"{line!r} is true")
        print(line, flush=True)

    threading.Thread(target=watch, daemon=True).start()
