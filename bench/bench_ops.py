#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures every operator on typical input, in Headrace and DALI's CPU back end, one thread each, in one process.

A row is a pipeline that is always fed the same batch. Rounds are interleaved: each engine in turn runs the pipeline,
and a second pipeline that only feeds. The measured time is the CPU time of the process until it is idle again. `net` is
the median time of the pipeline minus that of feeding. If the difference is lost in noise, no ratio is given, and only
`total` is meaningful. A ratio is DALI's time divided by Headrace's: above 1, Headrace is faster. Operators that DALI
has on a GPU only are compared with OpenCV, called directly on one thread.

    bench_ops.py                  all rows
    bench_ops.py resize reduc     rows whose names contain one of these
    bench_ops.py --json FILE      also writes one JSON object per row
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import ops_rows
import photographs

ENGINES = ("headrace", "nvidia.dali")


@functools.cache
def samples(kind: str, data: str | None) -> tuple[list[np.ndarray], str]:
    """A batch of the given kind of input, and its layout."""
    rng = np.random.default_rng(5)
    if kind == "jpeg":
        return jpeg_files(data or photographs.folder()), ""
    shape, dtype, layout, count = ops_rows.INPUTS[kind]
    if ops_rows.special(kind, 0) is not None:
        return [ops_rows.special(kind, i) for i in range(count)], layout
    if np.dtype(dtype).kind == "f":
        return [rng.random(shape).astype(dtype) * 255 for _ in range(count)], layout
    low, high = ops_rows.RANGES.get(kind, (0, 200))
    return [rng.integers(low, high, shape).astype(dtype) for _ in range(count)], layout


def jpeg_files(data: str) -> list[np.ndarray]:
    """Eight JPEG files of a folder that are at least 300 pixels wide and high."""
    from PIL import Image

    files = sorted(p for p in Path(data).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))[::7]
    files = [path for path in files if min(Image.open(path).size) >= 300][:8]
    return [np.fromfile(path, np.uint8) for path in files]


def settle() -> float:
    """CPU time of the process when it is idle."""
    last = time.process_time()
    for _ in range(200):
        time.sleep(0.002)
        now = time.process_time()
        if now - last < 1e-4:
            return now
        last = now
    return last


def feed(fn: Any, batch: list[np.ndarray], layout: str) -> Any:
    """A node that returns the same batch again and again."""
    return fn.external_source(source=lambda: batch, **({"layout": layout} if layout else {}))


class Loop:
    """A pipeline of one engine. With `feeds_only`, it returns its inputs."""

    def __init__(self, engine: str, row: ops_rows.Row, feeds_only: bool, data: str | None) -> None:
        root = importlib.import_module(engine)
        fn = importlib.import_module(engine + ".fn")
        types = importlib.import_module(engine + ".types")
        fed = [samples(kind, data) for kind in row.inputs]
        self.batch = len(fed[0][0]) if fed else row.batch

        @root.pipeline_def(batch_size=self.batch, num_threads=1, device_id=None, seed=3,
                           prefetch_queue_depth=1)  # fmt: skip
        def pipeline() -> Any:
            nodes = [feed(fn, batch, layout) for batch, layout in fed]
            if feeds_only:
                return tuple(nodes) if nodes else fn.constant(idata=[1])
            out: list[Any] = []
            for i in range(row.times):
                result = row.call(fn, types, i, *nodes)
                out += result if isinstance(result, (list, tuple)) else [result]
            return tuple(out)

        self.pipe = pipeline()
        self.pipe.build()
        for _ in range(3):
            self.pipe.run()
        self.iterations = 1

    def run(self) -> None:
        self.pipe.run()

    def calibrate(self, seconds: float) -> None:
        """Choose the number of iterations so that a round takes about `seconds`."""
        self.iterations = max(2, min(2000, round(seconds / max(self.round(), 1e-6))))

    def round(self) -> float:
        """CPU seconds per iteration."""
        before = settle()
        for _ in range(self.iterations):
            self.run()
        return (settle() - before) / self.iterations


class Direct(Loop):
    """Calls of OpenCV, on one thread. With `feeds_only`, nothing."""

    def __init__(self, row: ops_rows.Row, feeds_only: bool, data: str | None) -> None:
        import cv2

        cv2.setNumThreads(1)
        fed = [samples(kind, data)[0] for kind in row.inputs]
        self.batch, self.iterations = len(fed[0]), 1
        self.calls = [] if feeds_only else [functools.partial(row.opencv, cv2, *given) for given in zip(*fed)]

    def run(self) -> None:
        for call in self.calls:
            call()


def open_loop(engine: str, row: ops_rows.Row, feeds_only: bool, data: str | None) -> Loop:
    if engine != ENGINES[0] and row.opencv:
        return Direct(row, feeds_only, data)
    return Loop(engine, row, feeds_only, data)


def measure(row: ops_rows.Row, args: argparse.Namespace) -> dict[str, Any]:
    """Medians of interleaved rounds, in µs per sample and call."""
    loops = {
        (engine, only): open_loop(engine, row, only, args.data)
        for engine in ENGINES
        for only in (False, True)
    }
    times: dict[tuple[str, bool], list[float]] = {key: [] for key in loops}
    for loop in loops.values():
        loop.calibrate(args.seconds)
    for _ in range(args.rounds):
        for key, loop in loops.items():
            times[key].append(loop.round())
    scale = 1e6 / (loops["headrace", False].batch * row.times)
    name = row.name + (" (OpenCV)" if row.opencv else "")
    record: dict[str, Any] = {"row": name, "operator": row.op, "samples": round(1e6 / scale)}
    medians = {key: statistics.median(values) * scale for key, values in times.items()}
    for engine, short in zip(ENGINES, ("headrace", "dali")):
        record[short] = medians[engine, False]
        record[short + "_net"] = medians[engine, False] - medians[engine, True]
    record["total_ratio"] = record["dali"] / record["headrace"]
    pairs = zip(times[ENGINES[1], False], times[ENGINES[0], False])
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    record["total_range"] = [ratios[0], ratios[-1]]
    noise = 0.1 * min(record["headrace"], record["dali"])
    clear = record["headrace_net"] > noise and record["dali_net"] > 0
    record["net_ratio"] = record["dali_net"] / record["headrace_net"] if clear else None
    return record


def text(record: dict[str, Any]) -> str:
    net = f"{record['net_ratio']:.2f}" if record["net_ratio"] else ""
    low, high = record["total_range"]
    return (
        f"| {record['row']} | {record['headrace_net']:.1f} | {record['dali_net']:.1f} | {net} "
        f"| {record['total_ratio']:.2f} ({low:.2f}–{high:.2f}) |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="measure only rows whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.03, help="CPU time per round")
    parser.add_argument("--data", help=photographs.HELP)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| | Headrace, µs | DALI, µs | ratio | with feeding |\n| --- | --- | --- | --- | --- |")
    out = open(args.json, "w", encoding="utf-8") if args.json else None
    for row in ops_rows.ROWS:
        if args.rows and not any(part in row.name for part in args.rows):
            continue
        try:
            record = measure(row, args)
        except Exception as error:  # a row that fails must not stop the others
            print(f"{row.name}: {type(error).__name__}: {str(error)[-200:]}", file=sys.stderr)
            continue
        print(text(record), flush=True)
        if out:
            print(json.dumps(record), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
