# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs many small jobs in worker processes. A job that crashes or hangs is reported, and the others continue.

A job is "module:function" in this folder. The function takes a number and returns a JSON value.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., dict[int, Any]]  # `run`, or that of `Kept`
HERE = Path(__file__).resolve().parent
_answers: int | None = None  # in a worker: the file descriptor for answers


def stage(name: str) -> None:
    """Called by a job: names its next stage, so that a crash can be attributed to it."""
    if _answers is not None:
        os.write(_answers, (json.dumps({"stage": name}) + "\n").encode())


def serve(job: str) -> None:
    """The main loop of a worker: reads one number per line and writes one answer per line. Jobs print to standard
    error."""
    global _answers
    _answers = os.dup(1)
    os.dup2(2, 1)
    module, _, function = job.partition(":")
    sys.path.insert(0, str(HERE))
    work = getattr(importlib.import_module(module), function)
    for line in sys.stdin:
        os.write(_answers, (json.dumps({"answer": work(int(line))}) + "\n").encode())


class Worker:
    """One worker process, which is replaced when it ends."""

    def __init__(self, job: str, limit_s: float, environment: dict[str, str]) -> None:
        self.job, self.limit_s = job, limit_s
        # The current folder, into which operators write files.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        found = [os.path.abspath(path) for path in sys.path if path]
        self.environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(found)}
        self.errors = tempfile.TemporaryFile()
        self.start()

    def start(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "pool.py"), self.job],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env=self.environment, cwd=self.folder.name,
        )  # fmt: skip
        self.rest = b""
        self.fresh = True

    def line(self) -> bytes | None:
        """The next line of an answer; None at the end or after the time limit."""
        assert self.child.stdout is not None
        limit = self.limit_s + (60 if self.fresh else 0)  # imports are slow
        while b"\n" not in self.rest:
            if not select.select([self.child.stdout], [], [], limit)[0]:
                return None
            got = os.read(self.child.stdout.fileno(), 1 << 16)
            if not got:
                return None
            self.rest += got
        self.fresh = False
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def ask(self, number: int) -> Any:
        """The answer, or {"ended": why, "stage": where} if the process ended or had to be killed."""
        assert self.child.stdin is not None
        reached = ""
        try:
            self.child.stdin.write(f"{number}\n".encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # the process has ended already: reading the answer reports that
        while (line := self.line()) is not None:
            said = json.loads(line)
            if "answer" in said:
                return said["answer"]
            reached = said["stage"]
        return self.ended(reached)

    def ended(self, reached: str) -> dict[str, str]:
        """The reason why the process ended, and its last output. Starts a new process."""
        try:
            code = self.child.wait(timeout=5)
            why = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            why = f"no answer within {self.limit_s:.0f} s"
        self.errors.seek(0)
        words = self.errors.read()[-2000:].decode(errors="replace")
        self.errors.seek(0)
        self.errors.truncate()
        self.start()
        return {"ended": why, "stage": reached, "words": words}

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        self.errors.close()
        self.folder.cleanup()


class Kept:
    """Runs jobs one after the other, those of a kind in a process that is kept: starting one takes longer than most jobs."""

    def __init__(self) -> None:
        self.workers: dict[str, Worker] = {}

    def run(
        self,
        job: str,
        numbers: list[int],
        limit_s: float = 60.0,
        environment: dict[str, str] | None = None,
    ) -> dict[int, Any]:
        """Like `run` below."""
        if job not in self.workers:
            self.workers[job] = Worker(job, limit_s, environment or {})
        return {number: self.workers[job].ask(number) for number in numbers}

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def run(
    job: str,
    numbers: list[int],
    limit_s: float = 60.0,
    environment: dict[str, str] | None = None,
    workers: int = 2,
) -> dict[int, Any]:
    """The answers to all numbers; see Worker.ask for jobs that did not answer."""
    waiting = list(reversed(numbers))
    answers: dict[int, Any] = {}
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(job, limit_s, environment or {})
        try:
            while True:
                with lock:
                    if not waiting:
                        return
                    number = waiting.pop()
                answer = worker.ask(number)
                with lock:
                    answers[number] = answer
        finally:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(max(1, min(workers, len(numbers))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


if __name__ == "__main__":
    importlib.import_module(
        "pool"
    )  # jobs import this module by its name: that module object writes the answers
    sys.modules["pool"].serve(sys.argv[1])
