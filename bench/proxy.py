#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures what the proxy of PyTorch costs: the same pipeline alone and behind a DataLoader, in turns.

    PYTHONPATH=build/dev/python python bench/proxy.py [--data DIR] [--workers 8] [--threads 2] [--batch 64]

`reader` is the pipeline with `readers.file`. `fed` takes files that are in memory already. In `files`, the workers of a
DataLoader read the files and send them to the pipeline; in `names`, they send the names, and the pipeline reads. Printed
are images per second by the clock and per CPU-second of all processes, and the ratios of these rates to those of
`reader` and `fed`: the median over all rounds and the quartiles.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import photographs
import process
import torch
from headrace import fn, pipeline_def, types
from headrace.plugin.pytorch.experimental.proxy import DALIServer, DataLoader

MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]


def augmented(files: Any) -> Any:
    images = fn.resize(fn.decoders.image_random_crop(files), size=[224, 224])
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD, mirror=fn.random.coin_flip()
    )


@pipeline_def
def from_reader(root: str) -> Any:
    files, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")
    return augmented(files), labels


@pipeline_def
def from_memory(source: Any) -> Any:
    return augmented(fn.external_source(source=source, no_copy=True))


@pipeline_def
def of_files() -> Any:
    return augmented(fn.external_source(name="files", no_copy=True))


@pipeline_def
def of_names() -> Any:
    return augmented(fn.io.file.read(fn.external_source(name="names", no_copy=True)))


def read(path: str) -> Any:
    return np.fromfile(path, np.uint8)


def name(path: str) -> Any:
    return np.frombuffer(path.encode(), np.uint8)


class Files(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """(what `load` and the transform make of a path, a label), endlessly."""

    def __init__(self, paths: list[str], load: Any, transform: Any) -> None:
        self.paths = paths
        self.load = load
        self.transform = transform

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.load(self.paths[i % len(self.paths)])), i % 1000


def batches_of(pipe: Any) -> Iterator[Any]:
    while True:
        yield pipe.run()


def contenders(args: argparse.Namespace) -> Iterator[tuple[str, Iterator[Any]]]:
    options = {"batch_size": args.batch, "num_threads": args.threads, "device_id": None, "seed": 12,
               "prefetch_queue_depth": args.depth}  # fmt: skip
    paths = [str(path) for path in sorted(Path(args.data).glob("*/*"))]
    for label, pipe, load in [("files", of_files, read), ("names", of_names, name)]:
        server = DALIServer(pipe(**options))
        dataset = Files(paths, load, server.proxy)
        yield label, iter(DataLoader(server, dataset, batch_size=args.batch, num_workers=args.workers,
                                     sampler=itertools.count()))  # fmt: skip
    files = itertools.cycle([np.fromfile(path, np.uint8) for path in paths])
    yield "fed", batches_of(from_memory(lambda: list(itertools.islice(files, args.batch)), **options))
    yield "reader", batches_of(from_reader(args.data, **options))


def measure(batches: Iterator[Any], warm: int, count: int) -> tuple[float, float]:
    """Seconds per batch by the clock, and CPU-seconds per batch. The first `warm` batches may have been waiting."""
    cpu = process.settled_cpu_seconds(os.getpid())
    for _ in range(warm):
        next(batches)
    start = time.perf_counter()
    for _ in range(count):
        next(batches)
    clock = time.perf_counter() - start
    return clock / count, (process.settled_cpu_seconds(os.getpid()) - cpu) / (warm + count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help=photographs.HELP)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", type=int, default=40, help="batches per round")
    args = parser.parse_args()
    args.data = args.data or photographs.folder()
    found: dict[str, list[tuple[float, float]]] = {}
    running = dict(contenders(args))
    warm = 2 * args.workers + args.depth + 2
    for turn in range(args.rounds + 1):
        for label, batches in running.items():
            times = measure(batches, warm, args.count)
            if turn:
                found.setdefault(label, []).append(times)
    for k, what in enumerate(["by the clock", "per CPU-second"]):
        for label, times in found.items():
            rate = statistics.median(args.batch / one[k] for one in times)
            ratios = {other: [b[k] / a[k] for a, b in zip(times, found[other])] for other in ("fed", "reader")}
            against = ", ".join("{:.3f} ({:.3f}-{:.3f}) of {}".format(*spread(r), o) for o, r in ratios.items())
            print(f"{label:7} {rate:6.0f} images/s {what}: {against}")


def spread(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high


if __name__ == "__main__":
    main()
