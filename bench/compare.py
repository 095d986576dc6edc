#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measure Headrace, DALI's CPU back end and a torchvision DataLoader side by side.

Every contender runs in its own process. Speed is measured in interleaved rounds: one contender takes batches for a
while, and the others sleep with full queues. CPU time is that of the process and its children, from full queues to full
queues, so that work done ahead counts. Memory and the time to the first batch are measured in fresh processes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import photographs
import pipelines
import process

Record = dict[str, Any]
REPOSITORY = Path(__file__).resolve().parent.parent


# ---- in the measured process ------------------------------------------------------------------------


def answer(args: argparse.Namespace, record: Record) -> None:
    """Send one line to the measuring process."""
    os.write(args.answers, (json.dumps(record) + "\n").encode())


def serve_rounds(args: argparse.Namespace) -> None:
    """Take as many batches as each line of standard input says, and answer with the times it took."""
    take = pipelines.open_loop(args.serve, args.pipeline, args.data, args.batch, args.threads)
    take()
    answer(args, {})
    for line in sys.stdin:
        for _ in range(pipelines.PREFETCH + 1):  # batches that were ready do not count
            take()
        start = time.perf_counter()
        for _ in range(int(line)):
            take()
        answer(args, {"wall": time.perf_counter() - start})


def serve_start(args: argparse.Namespace) -> None:
    """Measure the start up to the first batch, then take more batches to find the peak memory."""
    start = time.perf_counter()
    module = pipelines.CONTENDERS[args.serve]
    importlib.import_module(module + (".transforms" if module == "torchvision" else ".fn"))
    imported = time.perf_counter()
    take = pipelines.open_loop(args.serve, args.pipeline, args.data, args.batch, args.threads)
    take()
    answer(args, {"import": imported - start, "first": time.perf_counter() - imported})
    for _ in range(args.batches):
        take()
    answer(args, {})
    sys.stdin.read()


def serve_python(args: argparse.Namespace) -> None:
    """CPU time of the consuming thread per batch from the PyTorch iterator, with full queues."""
    loader = pipelines.open_iterator(args.serve, args.pipeline, args.data, args.batch, args.threads)
    next(loader)
    times = []
    for _ in range(args.batches):
        time.sleep(0.08)  # the queues are full again: no time for waiting
        before = time.thread_time()
        next(loader)
        times.append(time.thread_time() - before)
    answer(args, {"python": statistics.median(times)})
    sys.stdin.read()


# ---- in the measuring process -----------------------------------------------------------------------


class Contender:
    """A measured process: `ask` sends it a line, `hear` waits for its next answer."""

    def __init__(self, args: argparse.Namespace, mode: str, name: str, kind: str, threads: int):
        self.name, self.kind, self.threads, self.batch = name, kind, threads, args.batch
        read, write = os.pipe()
        command = [sys.executable, __file__, "--serve", name, "--mode", mode, "--pipeline", kind,
                   "--threads", str(threads), "--batch", str(args.batch), "--data", args.data,
                   "--batches", str(args.batches), "--answers", str(write)]  # fmt: skip

        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, pass_fds=(write,),
        )  # fmt: skip
        os.close(write)
        self.answers = os.fdopen(read)
        self.batches = 4

    def ask(self, text: str) -> None:
        """Send a line."""
        assert self.child.stdin is not None
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()

    def hear(self) -> Record:
        """The next answer. If the process ended instead, exit with the end of its error output."""
        line = self.answers.readline()
        if not line:
            words = self.child.communicate()[1]
            sys.exit(f"{self.name} ({self.kind}, {self.threads} threads) ended:\n{words[-3000:]}")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self.child.kill()
        self.child.wait()
        self.answers.close()

    def measure(self, seconds: float) -> Record:
        """One round of about `seconds`."""
        before = process.settled_cpu_seconds(self.child.pid)
        self.ask(str(self.batches))
        wall = self.hear()["wall"]
        cpu = process.settled_cpu_seconds(self.child.pid) - before
        images = self.batches * self.batch
        taken = images + (pipelines.PREFETCH + 1) * self.batch
        self.batches = max(4, round(self.batches * seconds / wall))
        return {"per_cpu_second": taken / cpu, "per_second": images / wall}


def measure_speed(args: argparse.Namespace, kind: str) -> list[Record]:
    """Interleaved rounds of one pipeline; one record per contender, thread count and round."""
    running = [
        Contender(args, "rounds", name, kind, threads)
        for threads in args.thread_counts
        for name in args.contenders
        if pipelines.has(name, kind)
    ]
    records = []
    try:
        for contender in running:
            contender.hear()
        for number in range(-1, args.rounds):  # the first one warms up and finds the number of batches
            for contender in running:
                figures = contender.measure(args.seconds)
                if number >= 0:
                    records.append(
                        {"measure": "speed", "pipeline": kind, "threads": contender.threads,
                         "round": number, "contender": contender.name, **figures}
                    )  # fmt: skip
    finally:
        for contender in running:
            contender.close()
    return records


def measure_start(args: argparse.Namespace, name: str, kind: str) -> Record:
    """Time to the first batch (median of three processes) and peak memory, with two threads."""
    tries = []
    peak = 0
    for _ in range(3):
        contender = Contender(args, "start", name, kind, 2)
        tries.append(contender.hear())
        os.set_blocking(contender.answers.fileno(), False)
        while not contender.answers.readline() and contender.child.poll() is None:
            peak = max(peak, process.memory_bytes(contender.child.pid))
            time.sleep(0.03)
        contender.close()
    return {
        "measure": "start", "pipeline": kind, "contender": name, "memory": peak,
        "import": statistics.median(t["import"] for t in tries),
        "first": statistics.median(t["first"] for t in tries),
    }  # fmt: skip


def measure_python(args: argparse.Namespace, name: str, kind: str) -> Record:
    """CPU time of the consumer's thread per batch."""
    contender = Contender(args, "python", name, kind, 2)
    figures = contender.hear()
    contender.close()
    return {"measure": "python", "pipeline": kind, "contender": name, **figures}


# ---- the report -------------------------------------------------------------------------------------


def pick(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """The records whose fields equal `wanted`."""
    return [r for r in records if all(r.get(k) == v for k, v in wanted.items())]


def ratios(over: list[Record], under: list[Record], figure: str) -> list[float]:
    """`figure` of `over` divided by that of `under`, round by round, sorted."""
    divisors = {r["round"]: r[figure] for r in under}
    return sorted(r[figure] / divisors[r["round"]] for r in over)


def spread(values: list[float]) -> str:
    """Median, minimum and maximum, as text."""
    return f"{statistics.median(values):.2f}  ({values[0]:.2f} to {values[-1]:.2f})"


def median_text(records: list[Record], figure: str) -> str:
    """The median over the rounds, rounded."""
    return f"{statistics.median(r[figure] for r in records):.0f}"


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table. The first column is text, the others are numbers."""
    from rich.console import Console
    from rich.table import Table

    made = Table(*columns, title=title, title_justify="left")
    for i, column in enumerate(made.columns):
        column.no_wrap = True
        column.justify = "left" if i == 0 else "right"
    for row in rows:
        made.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 110).print(made)


def report_speed(records: list[Record], kind: str, threads: int, names: list[str]) -> None:
    """The table of one pipeline at one number of threads."""
    chosen = pick(records, measure="speed", pipeline=kind, threads=threads)
    first = pick(chosen, contender=names[0])
    rows = []
    for name in names:
        theirs = pick(chosen, contender=name)
        row = [name, median_text(theirs, "per_cpu_second"), median_text(theirs, "per_second")]
        if name != names[0]:
            row += [
                spread(ratios(first, theirs, figure)) for figure in ("per_cpu_second", "per_second")
            ]
        rows.append(row)
    table(f"{kind}, {threads} thread{'s' if threads > 1 else ''}",
          ["", "images / CPU-s", "images / s", f"{names[0]} / this, CPU-s", f"{names[0]} / this, s"],
          rows)  # fmt: skip


def report_scaling(records: list[Record], kind: str, names: list[str], threads: list[int]) -> None:
    """CPU time per image and speed with more threads, relative to the smallest thread count."""
    rows = []
    for name in names:
        runs = {
            n: pick(records, measure="speed", pipeline=kind, contender=name, threads=n)
            for n in threads
        }
        for n in threads[1:]:
            cpu = ratios(runs[threads[0]], runs[n], "per_cpu_second")
            wall = ratios(runs[n], runs[threads[0]], "per_second")
            rows.append([name, str(n), spread(cpu), spread(wall)])
    table(f"{kind}: more threads compared with {threads[0]}",
          ["", "threads", "CPU-s per image", "images / s"], rows)  # fmt: skip


def report_start(records: list[Record], kind: str, names: list[str]) -> None:
    """The table of start-up time, peak memory and the consumer's CPU time."""
    rows = []
    for name in names:
        start = pick(records, measure="start", pipeline=kind, contender=name)[0]
        python = pick(records, measure="python", pipeline=kind, contender=name)[0]
        rows.append([name, f"{start['import'] * 1e3:.0f} ms", f"{start['first'] * 1e3:.0f} ms",
                     f"{start['memory'] / 1e6:.0f} MB", f"{python['python'] * 1e6:.0f} µs"])  # fmt: skip
    table(f"{kind}, 2 threads",
          ["", "import", "first batch", "peak memory", "consumer's CPU per batch"], rows)  # fmt: skip


# ---- the command line -------------------------------------------------------------------------------


def installed(name: str) -> bool:
    """Whether the contender's package can be imported."""
    try:
        return importlib.util.find_spec(pipelines.CONTENDERS[name]) is not None
    except ModuleNotFoundError:
        return False


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", help=photographs.HELP)
    parser.add_argument("--contenders", default="headrace,headrace-index,dali,torchvision")
    parser.add_argument(
        "--pipelines", default="train,eval", help="some of " + ",".join(pipelines.PIPELINES)
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round (default: 2)")
    parser.add_argument("--batches", type=int, default=20, help="batches for memory and consumer time")
    parser.add_argument(
        "--json", default="build/bench.jsonl", help="file for the results, one record per line"
    )
    parser.add_argument("--no-speed", action="store_true", help="only start, memory, consumer time")
    parser.add_argument("--only-speed", action="store_true", help="no start, memory, consumer time")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--mode", help=argparse.SUPPRESS)
    parser.add_argument("--pipeline", help=argparse.SUPPRESS)
    parser.add_argument("--answers", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def prepare(args: argparse.Namespace) -> None:
    """Split lists and drop contenders that are not installed."""
    args.data = args.data or photographs.folder()
    names = args.contenders.split(",")
    for name in names:
        if not installed(name):
            print(f"skipped, because it is not installed: {name}")
    args.contenders = [name for name in names if installed(name)]
    args.pipelines = args.pipelines.split(",")
    args.thread_counts = [int(n) for n in args.threads.split(",")]


def machine(args: argparse.Namespace) -> Record:
    """The machine and the settings of the run."""
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    files = sum(1 for p in Path(args.data).rglob("*") if p.is_file())
    return {"measure": "machine", "cpu": model, "cpus": len(os.sched_getaffinity(0)),
            "files": files, "batch": args.batch, "rounds": args.rounds,
            "seconds": args.seconds}  # fmt: skip


def main() -> None:
    """Measure and report."""
    args = parse()
    if args.serve:
        serve = {"rounds": serve_rounds, "start": serve_start, "python": serve_python}
        args.threads = int(args.threads)
        serve[args.mode](args)
        return
    prepare(args)
    records = [machine(args)]
    print("{cpu}, {cpus} CPUs; {files} files; batches of {batch}".format(**records[0]))
    for kind in args.pipelines:
        names = [name for name in args.contenders if pipelines.has(name, kind)]
        if not args.no_speed:
            records += measure_speed(args, kind)
            for threads in args.thread_counts:
                report_speed(records, kind, threads, names)
            if len(args.thread_counts) > 1:
                report_scaling(records, kind, names, args.thread_counts)
        if not args.only_speed:
            for name in names:
                records.append(measure_start(args, name, kind))
                records.append(measure_python(args, name, kind))
            report_start(records, kind, names)
    Path(args.json).parent.mkdir(parents=True, exist_ok=True)
    Path(args.json).write_text("".join(json.dumps(r) + "\n" for r in records))
    print(f"results written to {args.json}")


if __name__ == "__main__":
    main()
