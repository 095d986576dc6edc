# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What a training job needs of hosts, network and storage, from the cost of one image.

    python bench/scale.py
    python bench/scale.py --gpus 256 --samples 1e9 --host-us 120 --bytes 250000 --rate 5000

The defaults are measured ones (docs/performance.md). Pass those of your pipeline: `pipe.stats()` has
the CPU time and the bytes, your training loop the images per second.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Cost:
    """What one image costs, and how fast a GPU trains."""

    host_us: float  # CPU time of the host
    bytes: float  # as stored
    requests: float  # to the storage
    rate: float  # images per second and GPU that the training takes
    use: float  # share of the cores' time that may be planned for


@dataclass(frozen=True)
class Needs:
    """What a job needs."""

    gpus: int
    samples: int
    images_per_second: float
    cores: int  # of all hosts
    gigabits: float  # per second, from the storage
    requests: float  # per second
    terabytes: float  # the data set: what a cache of everything holds
    cache_per_node: float  # gigabytes, if each node of 8 GPUs keeps its shards
    epoch_hours: float


def needs(gpus: int, samples: int, cost: Cost, gpus_per_node: int = 8) -> Needs:
    """Computes them; everything is proportional to the images per second, or to the samples."""
    rate = gpus * cost.rate
    size = samples * cost.bytes
    nodes = math.ceil(gpus / gpus_per_node)
    return Needs(
        gpus,
        samples,
        rate,
        math.ceil(round(rate * cost.host_us * 1e-6 / cost.use, 6)),
        rate * cost.bytes * 8e-9,
        rate * cost.requests,
        size * 1e-12,
        size / nodes * 1e-9,
        samples / rate / 3600,
    )


def lost_node(every: float, seconds: float, gpus: int, rate: float) -> float:
    """Images that are computed again or not at all after a node is lost.

    Args:
        every: seconds between two checkpoints; half of that is lost on average.
        seconds: from the loss to the first step of the restarted job.
    """
    return (every / 2 + seconds) * gpus * rate


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a training job needs.")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 8, 64, 1024])
    parser.add_argument("--samples", type=float, nargs="+", default=[1e7, 1e8, 1e9, 1e10])
    parser.add_argument("--host-us", type=float, default=60, help="host CPU time per image in us")
    parser.add_argument("--bytes", type=float, default=108_000, help="per image, as stored")
    parser.add_argument("--requests", type=float, default=1, help="to the storage, per image")
    parser.add_argument("--rate", type=float, default=4850, help="images per second and GPU")
    parser.add_argument("--use", type=float, default=0.75, help="share of the cores' time")
    parser.add_argument("--checkpoint", type=float, default=600, help="seconds between two")
    parser.add_argument("--restart", type=float, default=60, help="seconds to start again")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = parse()
    cost = Cost(args.host_us, args.bytes, args.requests, args.rate, args.use)
    table = [needs(gpus, int(samples), cost) for gpus in args.gpus for samples in args.samples]
    if args.json:
        print(json.dumps([asdict(row) for row in table], indent=1))
        return
    print("| GPUs | samples | images/s | cores | Gbit/s | requests/s | TB | GB per node | epoch, h |")
    print("|" + " --- |" * 9)
    for row in table:
        print(
            f"| {row.gpus:,} | {row.samples:.0e} | {row.images_per_second:,.0f} | {row.cores:,} "
            f"| {row.gigabits:,.1f} | {row.requests:,.0f} | {row.terabytes:,.1f} "
            f"| {row.cache_per_node:,.0f} | {row.epoch_hours:,.2f} |"
        )
    print()
    for gpus in args.gpus:
        lost = lost_node(args.checkpoint, args.restart, gpus, args.rate)
        print(f"{gpus} GPUs: a lost node costs the time of {lost:,.0f} images")


if __name__ == "__main__":
    main()
