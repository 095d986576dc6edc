# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""CPU time and memory of a process and its descendants, from /proc (Linux)."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """`pid` and its living descendants."""
    pids, found = [pid], []
    while pids:
        pid = pids.pop()
        found.append(pid)
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                pids += map(int, path.read_text().split())
            except OSError:
                continue  # that thread has ended
    return found


def cpu_seconds(pid: int) -> float:
    """User and system seconds of the tree, including children that were waited for."""
    ticks = 0
    for member in tree(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks * TICK


def settled_cpu_seconds(pid: int, still: float = 0.15, limit: float = 10.0) -> float:
    """`cpu_seconds` when the tree has been idle for `still` seconds: its queues are full again."""
    deadline = time.monotonic() + limit
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(still)
        now = cpu_seconds(pid)
        if now - before <= TICK:
            return now
        before = now
    return before


def memory_bytes(pid: int) -> int:
    """Proportional set size of the tree: pages shared by its processes count once."""
    total = 0
    for member in tree(pid):
        try:
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total
