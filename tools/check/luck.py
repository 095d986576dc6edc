#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Finds tests that depend on luck: sleeps that stand for events, clocks, fixed ports, fixed paths.

Tests that are marked `timing` (in C: TIMING_TEST) may sleep and measure, and so may a line that has
a comment `no luck: REASON` or follows one. The check looks at lines, because programs that tests
start are strings in them."""

import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HELPERS = {"tests/waiting.py", "tests/waiting.h"}
A_CLOCK = "a clock: count events, or mark the test `timing`"
CLOCKS = "monotonic|perf_counter|process_time|thread_time"
C_CLOCKS = r"\b(clock_gettime|gettimeofday|clock)\(|\btime\(NULL"
RULES = [  # what is found, what to do instead, and whether a test that measures times may do it
    (r"\bu?sleep\(|\bnanosleep\(", "a sleep: wait for the event (tests/waiting.*)", True),
    (rf"\b({CLOCKS})(_ns)?\(|\btime\.time(_ns)?\(", A_CLOCK, True),
    (r"(?<!wait\()\btimeout=\d", "a short time-out: use waiting.HANG_S", True),
    (r"signal\.pause\(|\bpause\(\)", "a wait for a signal that may come before it: raise_signal", True),
    (r"(127\.0\.0\.1|localhost|0\.0\.0\.0):\d\d", "a fixed port: bind port 0", False),
    (r"(?i)(\b|_)port\b\W{1,6}\d\d", "a fixed port: bind port 0", False),
    (r"\bbind\(\(.*, *[1-9]|\bhtons\([1-9]", "a fixed port: bind port 0", False),
    (r"(?<![\w.])/tmp/(?![\w.-]*XXXXXX)[\w.-]", "a fixed path: use tmp_path or mkdtemp", False),
]  # fmt: skip


def timed_lines(name: str, text: str) -> set[int]:
    """The numbers of the lines of tests that measure times."""
    found: set[int] = set()
    if name.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if "pytest.mark.timing" in marks:
                found.update(range(node.lineno, node.end_lineno + 1))
        return found
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        inside = (inside or line.startswith("TIMING_TEST(")) and line != "}"
        if inside:
            found.add(number)
    return found


def complaints(name: str, text: str) -> list[str]:
    out: list[str] = []
    timed = timed_lines(name, text)
    rules = [*RULES, *([] if name.endswith(".py") else [(C_CLOCKS, A_CLOCK, True)])]
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not re.search(r"no luck: *\w", before + line):
            for pattern, what, may in rules:
                if re.search(pattern, line) and not (may and number in timed):
                    out.append(f"{name}:{number}: {what}: {line.strip()[:60]}")
        before = line if line.strip().startswith(("#", "/*", "*", "//")) else ""
    return out


def self_test() -> None:
    """Fails if the check would miss an offender, or complain about something else."""
    sleeps = ["time.sleep(1)", "sleep(1)"]
    clocks = ["time.monotonic()", "perf_counter_ns()", "time.time()", "process_time()"]
    ports = [
        '"http://localhost:8080/"', "MASTER_PORT='29500'", '{"MASTER_PORT": "29500"}',
        's.bind(("", 99))',
    ]  # fmt: skip
    others = ["p.communicate(timeout=60)", 'open("/tmp/x.jpg")', "name = '/tmp/a-b'", *ports]
    fine = [
        "tmp_path / 'tmp/x'", 's.bind(("127.0.0.1", 0))', "timeout=HANG_S", '"/tmp"',
        "until(done, 'it sleeps')", "'/tmp/hr-XXXXXX'", "child.wait(timeout=5)", "x.time()",
        "supports == 12", "'http://127.0.0.1:1/x'",
    ]  # fmt: skip
    for line in [*sleeps, *clocks, *others]:
        assert len(complaints("a.py", f"x = 1; {line}\n")) == 1, line
        assert not complaints("a.py", f"# no luck: meant to be slow\nx = 1; {line}\n"), line
        assert not complaints("a.py", f"x = 1; {line}  # no luck: meant to be slow\n"), line
        assert complaints("a.py", f"x = 1; {line}  # no luck:\n"), line
        test = f"@pytest.mark.timing\n@other\ndef test_a():\n    {line}\n"
        assert bool(complaints("a.py", test)) == (line in ports or "/tmp" in line), line
        assert complaints("a.py", test + f"\n\ndef test_b():\n    {line}\n"), line
    for line in ["clock_gettime(CLOCK, &t);", "s = clock();", "usleep(1);", "nanosleep(&t, 0);"]:
        assert len(complaints("a.c", f"TEST(a)\n{{\n    {line}\n}}\n")) == 1, line
        test = f"TIMING_TEST(a)\n{{\n    {line}\n}}\n"
        assert not complaints("a.c", test) and complaints("a.c", test + f"    {line}\n"), line
        assert not complaints("a.c", f"/* no luck: slow */\n    {line}\n"), line
    for line in fine:
        assert not complaints("a.py", f"x = {line}\n"), line


def main() -> int:
    self_test()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "tests"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    files = [name for name in listed.split("\0") if name.endswith((".py", ".c", ".h", ".cpp"))]
    files = [name for name in files if name not in HELPERS and (ROOT / name).is_file()]
    out = [c for name in files for c in complaints(name, (ROOT / name).read_text(errors="replace"))]
    print(f"luck: {len(files)} files of tests, {len(out)} lines that depend on luck")
    print("\n".join(out), end="\n" if out else "", file=sys.stderr)
    return bool(out) or not files


if __name__ == "__main__":
    sys.exit(main())
