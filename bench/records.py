# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures what reading costs: records of about 110 KB from files and from containers, without decoding.

    python bench/records.py [--records 4000] [--rounds 5] [--seconds 0.6] [--only webdataset]

The contenders are Headrace, DALI with files mapped into memory, and DALI with reads. *read* passes the bytes on,
*touch* also computes something from all of them (the same NumPy function for all contenders): without it, a mapped
file is not read at all. All contenders of a container run in one process, one thread each, in interleaved rounds.
Prints samples per CPU-second, and the median ratios to DALI. The records are written to --scratch (a temporary folder
by default), and stay in the page cache. With --cold they are dropped from it before each measurement, which reads
at most half of them; headrace-direct (use_o_direct) takes part instead of mapped files, whose pages cannot be dropped,
and samples per second are printed, too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import containers
import numpy as np
from augmentations import Api

CONTENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "headrace": ("headrace", {}),
    "headrace-direct": ("headrace", {"use_o_direct": True, "dont_use_mmap": True}),
    "dali-mmap": ("nvidia.dali", {}),
    "dali-read": ("nvidia.dali", {"dont_use_mmap": True}),
}


def records(count: int) -> Iterator[containers.Sample]:
    chance = random.Random(1)
    for i in range(count):
        yield chance.randbytes(max(2000, int(chance.gauss(110e3, 30e3)))), i % 100


def write(folder: pathlib.Path, kind: str, count: int) -> None:
    if (folder / "complete").exists():
        return
    target = folder if kind != "file" else folder / "class"
    target.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        for i, (data, _) in enumerate(records(count)):
            (target / f"{i:06}.jpg").write_bytes(data)
    else:
        containers.WRITERS[kind](target, records(count))
    (folder / "complete").touch()
    os.sync()  # pages that were not written yet cannot be dropped


def touch(array: Any) -> None:
    words = array[: array.size // 8 * 8].view(np.uint64)
    np.bitwise_xor.reduce(words)


def build(name: str, kind: str, folder: str, shuffle: bool) -> Any:
    module, extra = CONTENDERS[name]
    m = Api(module)
    order = {"random_shuffle": shuffle, "initial_fill": 256, "name": "Reader", **extra}

    @m.package.pipeline_def(batch_size=64, num_threads=1, device_id=None, seed=12, prefetch_queue_depth=2)
    def define() -> Any:
        if kind == "file":
            return tuple(m.fn.readers.file(file_root=folder, **order))
        return tuple(containers.READERS[kind](m, folder, **order))

    pipe = define()
    pipe.build()
    return pipe


def evict(folder: str) -> None:
    """Drops the files from the page cache."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            with path.open("rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_for(seconds: float, pipe: Any, use: Callable[[Any], None] | None, most: float) -> tuple[float, float]:
    """Samples per CPU-second and per second, from full queues to full queues."""
    count, cpu, start = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - start < seconds and count < most:
        batch = pipe.run()[0]
        if use:
            for i in range(len(batch)):
                use(batch.at(i))
        count += 64
    return count / (time.process_time() - cpu), count / (time.perf_counter() - start)


def measure(kind: str, folder: str, args: argparse.Namespace) -> None:
    use: dict[str, Callable[[Any], None] | None] = {"read": None, "touch": touch}
    pipes = {name: build(name, kind, folder, args.shuffle) for name in args.contenders}
    rates: dict[tuple[str, str], list[float]] = {}
    speeds: dict[tuple[str, str], list[float]] = {}
    most = args.records / 2 if args.cold else float("inf")
    for _ in range(args.rounds):
        for mode in use:
            for name, pipe in pipes.items():
                run_for(args.seconds / 4, pipe, use[mode], most)
                if args.cold:
                    evict(folder)
                rate, speed = run_for(args.seconds, pipe, use[mode], most)
                rates.setdefault((mode, name), []).append(rate)
                speeds.setdefault((mode, name), []).append(speed)
    for (mode, name), found in rates.items():
        line = f"{kind:10} {mode:5} {name:15} {statistics.median(found):9,.0f} ({min(found):,.0f}-{max(found):,.0f})"
        for other in pipes:
            if name == args.contenders[0] and other != name:
                ratio = statistics.median(a / b for a, b in zip(found, rates[mode, other], strict=True))
                line += f"  {ratio:.2f} x {other}"
        if args.cold:
            line += f"  {statistics.median(speeds[mode, name]):,.0f} per second"
        print(line, flush=True)


def main() -> None:
    kinds = ["file", *containers.READERS]
    parser = argparse.ArgumentParser(description="What reading costs, side by side.")
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--cold", action="store_true", help="drop the records from the page cache before measuring")
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", choices=kinds, default=kinds)
    parser.add_argument("--contenders", nargs="*", choices=sorted(CONTENDERS))
    args = parser.parse_args()
    left_out = "dali-mmap" if args.cold else "headrace-direct"  # mapped pages cannot be dropped
    args.contenders = args.contenders or [name for name in CONTENDERS if name != left_out]
    with tempfile.TemporaryDirectory(prefix="headrace-records-") as temporary:
        for kind in args.only:
            folder = (args.scratch or pathlib.Path(temporary)) / kind
            write(folder, kind, args.records)
            measure(kind, str(folder), args)


if __name__ == "__main__":
    main()
