#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures single operators, decoders and the cost of an iteration on a GPU: Headrace and DALI in one process, in turns.

    python bench/gpu_ops_peers.py [--only PATTERN] [--seconds 200] [--rounds 5] [--json FILE]

prints one line per case: samples per second of Headrace and of DALI, and how many times as fast Headrace is; then the
geometric mean of each group, and what is slower than DALI. PATTERN is a regular expression for "group/name".

Data of operators is on the GPU before, in one tensor per batch, which is fed without a copy. Files are read again and
again, so those of JPEG have their indices in memory. A round is a number of iterations after those that can have been
ready before, and after one more, which had to be waited for. The numbers are medians of rounds. All cases together take
about `--seconds`; a case that there is no time for is named.

Without a GPU, `--check` runs an iteration of Headrace with the module that HEADRACE_CUDA_MODULE names. DALI's pipelines
are made, with their arguments checked, as far as that is possible without a GPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from gpu_ops_cases import CASES, INPUTS, Case, Library, write_files

DEPTH = 2
AHEAD = {"headrace": DEPTH + 7, "nvidia.dali": DEPTH}  # batches that can be ready before one is taken
LEAST = 4  # iterations of a round
AT_ONCE = 0.25  # seconds of a round, at most
THREADS = min(16, os.cpu_count() or 1)


# ---- data ----


def numbers(kind: str, batch: int) -> np.ndarray:
    """A batch of a kind."""
    shape, dtype, _ = INPUTS[kind]
    rng = np.random.default_rng(len(kind))
    if kind == "boxes":  # left, top, right, bottom
        corners = rng.random((batch, shape[0], 2, 2), dtype=np.float32)
        return np.sort(corners, axis=2).reshape(batch, *shape)
    if dtype != "uint8":
        return rng.random((batch, *shape), dtype=np.float32)
    if shape[0] < 64:
        return rng.integers(0, 256, (batch, *shape), np.uint8)
    # smooth images with some noise, so that neighbours are similar but not equal
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32)
    smooth = np.stack([np.sin(x / 50) * 90, np.cos(y / 40) * 90, np.sin((x + y) / 60) * 90], 2)
    noise = rng.normal(128, 8, (batch, *shape[:2], 1)).astype(np.float32)
    return (smooth + noise).clip(0, 255).astype(np.uint8)


class Data:
    """Batches by kind: tensors on the GPU, or arrays where there is none."""

    def __init__(self, device: bool) -> None:
        self.device = device
        self.made: dict[tuple[str, int], Any] = {}

    def batch(self, kind: str, batch: int) -> Any:
        key = (kind, batch)
        if key not in self.made:
            made: Any = numbers(kind, batch)
            if self.device:
                import torch

                made = torch.from_numpy(made).cuda()
            self.made[key] = made
        return self.made[key]

    def node(self, lib: Library, kind: str, case: Case) -> Any:
        """A node that feeds the batch."""
        made = self.batch(kind, case.batch)
        given = list(made) if case.listed else made
        layout = INPUTS[kind][2]
        more = {"no_copy": True} if self.device else {}
        return lib.fn.external_source(
            lambda: given, device="gpu", layout=layout or None, batch=True, **more
        )

    def wait(self) -> None:
        """Wait for the GPU."""
        if self.device:
            import torch

            torch.cuda.synchronize()


def pipeline(lib: Library, case: Case, data: Data, files: list[str], device_id: int | None) -> Any:
    @lib.package.pipeline_def(  # type: ignore[untyped-decorator]
        batch_size=case.batch,
        num_threads=THREADS,
        device_id=device_id,
        seed=1,
        prefetch_queue_depth=DEPTH,
        enable_conditionals=case.conditionals,
    )
    def definition() -> Any:
        nodes = [data.node(lib, kind, case) for kind in case.inputs]
        if files:
            nodes = [lib.fn.readers.file(files=files)[0]]
        return case.make(lib, *nodes)

    return definition()


# ---- measuring ----


def described(batch: Any) -> str:
    """Type and shape of the first sample."""
    return f"{getattr(batch.dtype, 'name', batch.dtype)} {tuple(batch.shape()[0])}"


class Contender:
    """A pipeline of a library, and the seconds per iteration of each round."""

    def __init__(self, lib: Library, case: Case, data: Data, files: list[str]) -> None:
        self.data = data
        self.ahead = AHEAD[lib.package.__name__]
        self.times: list[float] = []
        self.pipe = pipeline(lib, case, data, files, 0)
        self.pipe.build()
        self.result = described(self.pipe.run()[0])

    def take(self, count: int) -> float:
        """Seconds per iteration of `count` iterations that were not ready before."""
        for _ in range(self.ahead + 1):
            self.pipe.run()
        self.data.wait()
        start = time.perf_counter()
        for _ in range(count):
            self.pipe.run()
        self.data.wait()
        return (time.perf_counter() - start) / count


def measure(case: Case, libs: list[Library], data: Data, files: list[str], until: float,
            rounds: int) -> dict[str, Any]:  # fmt: skip
    """The record of a case, measured until about the time `until`."""
    contenders = [Contender(lib, case, data, files) for lib in libs]
    results = [contender.result for contender in contenders]
    counts = []
    for contender in contenders:
        once = contender.take(2)
        # the iterations before a round count, too
        share = (until - time.perf_counter()) / (rounds * len(libs))
        counts.append(max(LEAST, int(min(share, AT_ONCE) / once) - contender.ahead - 1))
    for number in range(rounds):
        order = list(zip(contenders, counts, strict=True))
        for contender, count in order if number % 2 else reversed(order):
            contender.times.append(contender.take(count))
        if number >= 2 and time.perf_counter() > until:
            break
    rates = [case.batch / statistics.median(c.times) for c in contenders]
    record: dict[str, Any] = {"name": case.name, "group": case.group, "batch": case.batch}
    for lib, rate, contender in zip(libs, rates, contenders, strict=True):
        name = lib.package.__name__.split(".")[-1]
        record[name] = rate
        record[f"{name} rounds"] = [case.batch / t for t in contender.times]
    record["ratio"] = rates[0] / rates[1]
    if results[0] != results[1]:
        record["differs"] = f"outputs differ: {results[0]} and {results[1]}"
    return record


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def show(record: dict[str, Any]) -> None:
    if "error" in record:
        print(f"{record['name']:28} {record['error']}", flush=True)
        return
    ours, theirs = record["headrace"], record["dali"]
    per = f"{1e6 * record['batch'] / ours:9.1f} us per batch, {1e6 * record['batch'] / theirs:.1f}"
    extra = per if record["group"] in ("feeding", "iteration") else ""
    extra += record.get("differs", "")
    print(f"{record['name']:28}{ours:12,.0f}{theirs:12,.0f}{record['ratio']:7.2f} {extra}", flush=True)


def measure_all(cases: list[Case], args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    libs = [Library("headrace"), Library("nvidia.dali")]
    data = Data(device=True)
    records: list[dict[str, Any]] = []
    end = time.perf_counter() + args.seconds
    group = ""
    for number, case in enumerate(cases):
        now = time.perf_counter()
        if case.group != group:
            group = case.group
            print(f"\n{group:28}{'Headrace':>12}{'DALI':>12}{'times':>7}")
        try:
            if now > end:
                raise TimeoutError("not measured: no time left")
            files = write_files(case, folder, THREADS) if case.files else []
            until = now + (end - now) / (len(cases) - number)
            record = measure(case, libs, data, files, until, args.rounds)
        except Exception as error:
            record = {"name": case.name, "group": case.group, "error": first_line(error)}
        records.append(record)
        show(record)
        gc.collect()
    return records


def summarise(records: list[dict[str, Any]]) -> None:
    known = [r for r in records if "ratio" in r]
    print()
    for group in dict.fromkeys(r["group"] for r in known):
        ratios = [r["ratio"] for r in known if r["group"] == group]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{group}: {mean:.2f} times as fast (geometric mean of {len(ratios)})")
    slower = sorted((r for r in known if r["ratio"] < 1), key=lambda r: float(r["ratio"]))
    print("slower: " + (", ".join(f"{r['name']} {r['ratio']:.2f}" for r in slower) or "none"))
    left = [r["name"] for r in records if "error" in r]
    if left:
        print("without a result: " + ", ".join(left))


# ---- without a GPU ----


def check(cases: list[Case], folder: Path) -> int:
    """Run an iteration of ours, make DALI's; returns the number of failures."""
    ours, data = Library("headrace"), Data(device=False)
    try:
        theirs: Library | None = Library("nvidia.dali")
    except ImportError:
        theirs = None
        print("DALI is not installed: its pipelines are not made")
    failed = 0
    for case in cases:
        case.batch = 1
        said = []
        try:
            files = write_files(case, folder, THREADS) if case.files else []
            pipe = pipeline(ours, case, data, files, 0)
            pipe.build()
            said.append(described(pipe.run()[0]))
            if theirs is not None:  # adds the operators to DALI's graph, with their arguments
                pipeline(theirs, case, data, files, None).serialize()
                said.append("DALI's made")
        except Exception as error:
            failed += 1
            said.append(f"FAILED: {first_line(error)}")
        print(f"{case.group}/{case.name}: {'; '.join(said)}", flush=True)
    print(f"{len(cases)} cases, {failed} failed")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="cases whose group/name it matches")
    parser.add_argument("--seconds", type=float, default=200, help="for all cases together")
    parser.add_argument("--rounds", type=int, default=5, help="per case and library")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write all rounds")
    parser.add_argument("--list", action="store_true", help="name the cases, and end")
    parser.add_argument("--check", action="store_true", help="try all pipelines without a GPU")
    args = parser.parse_args()
    warnings.showwarning = lambda *_, **__: None  # DALI's policies call names that it has deprecated
    cases = [c for c in CASES if re.search(args.only, f"{c.group}/{c.name}")]
    if not cases:
        parser.error(f"no case matches {args.only!r}; --list names them")
    if args.list:
        print("\n".join(f"{c.group}/{c.name}" for c in cases))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if args.check:
            return 1 if check(cases, Path(folder)) else 0
        records = measure_all(cases, args, Path(folder))
    summarise(records)
    if args.json:
        args.json.write_text(json.dumps(records, indent=1))
    return 1 if any("error" in r or "differs" in r for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
