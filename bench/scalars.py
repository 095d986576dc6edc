#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures the cost of a graph of many cheap nodes: CPU time per iteration, Headrace and DALI in turns.

    PYTHONPATH=build/dev/python python bench/scalars.py [--nodes 40] [--batch 64] [--rounds 9]

The nodes are random.uniform, comparisons, and arithmetic on two nodes or on a node and a constant. There is one output.
The CPU time is that of the whole process, including the Python code of `run` and all threads. The queues are full at
the start and at the end.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from typing import Any

SETTLE = 0.05  # seconds until the queues are full


def build(module: str, nodes: int, batch: int, threads: int) -> Any:
    """A pipeline of `nodes` scalar nodes, all of which contribute to one output."""
    package = importlib.import_module(module)
    fn = importlib.import_module(module + ".fn")
    pipe = package.Pipeline(batch_size=batch, num_threads=threads, device_id=None, seed=12, exec_dynamic=True)
    with pipe:
        x = fn.random.uniform(range=[0.0, 1.0])
        count = 1
        while count < nodes:
            kind = count % 8
            if kind in (1, 5) and count + 2 <= nodes:
                x = x + fn.random.uniform(range=[-1.0, 1.0])
                count += 1
            elif kind == 3:
                x = x > 0.25
            elif kind == 4:
                x = x * 3
            elif kind == 6:
                x = x / 7.0
            else:
                x = x - 0.5
            count += 1
        pipe.set_outputs(x)
    pipe.build()
    return pipe


def measure(pipe: Any, iterations: int) -> float:
    """Microseconds of CPU time per iteration."""
    time.sleep(SETTLE)
    start = time.process_time()
    for _ in range(iterations):
        pipe.run()
    time.sleep(SETTLE)
    return (time.process_time() - start) * 1e6 / iterations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--contenders", nargs="+", default=["headrace", "nvidia.dali"])
    args = parser.parse_args()
    pipes = {name: build(name, args.nodes, args.batch, args.threads) for name in args.contenders}
    times: dict[str, list[float]] = {name: [] for name in pipes}
    for pipe in pipes.values():
        measure(pipe, args.iterations)
    for _ in range(args.rounds):
        for name, pipe in pipes.items():
            times[name].append(measure(pipe, args.iterations))
    for name, values in times.items():
        low, *_, high = sorted(values)
        print(json.dumps({"contender": name, "us": round(statistics.median(values), 1), "least": round(low, 1),
                          "most": round(high, 1)}))  # fmt: skip


if __name__ == "__main__":
    main()
