# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace hash`: hashes of the batches of a pipeline, for one or several numbers of processes."""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

from headrace import _core
from headrace._pipeline.replay import Replay
from headrace.cli._common import UserError, add_batch_size, add_threads, positive
from headrace.cli._target import failures, load

HELP = "print hashes of the batches of a pipeline, for several numbers of processes"
DESCRIPTION = (
    "Runs a pipeline and prints the SHA-256 of its batches. With readers that have a global_batch,\n"
    "--world 1,3,8 runs it as 1, 3 and 8 processes would, and prints one line for each number.\n"
    "The exit status is 1 if the lines differ."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "target", metavar="MODULE:FUNCTION", help="a pipeline, or a function that returns one"
    )
    parser.add_argument("--steps", type=positive, default=10, help="batches to hash")
    parser.add_argument("--first", type=int, default=0, help="number of the first batch")
    parser.add_argument(
        "--world",
        type=_numbers,
        help="numbers of processes, such as 1,3,8; by default, the part of one process as the "
        "pipeline says",
    )
    parser.add_argument("--each", action="store_true", help="also print the hash of every batch")
    parser.add_argument("--cpu", action="store_true", help="run on the CPU what it does on a GPU")
    parser.add_argument("--seed", type=int, default=0, help="seed of a pipeline that has none")
    add_batch_size(parser)
    add_threads(parser)


def _numbers(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def batch_hash(parts: list[Any]) -> bytes:
    """The hash of a batch of a job.

    Args:
        parts: the outputs of each process. Process r of n has the samples r, r + n, ... of the batch.
    """
    digest = hashlib.sha256()
    samples = []
    for rank, outputs in enumerate(parts):
        batches = [batch.as_cpu() for batch in outputs]
        slots = outputs.slots or range(len(batches[0]) if batches else 0)
        samples += [(slot * len(parts) + rank, batches, i) for i, slot in enumerate(slots)]
    for place, batches, i in sorted(samples, key=lambda sample: sample[0]):
        for batch in batches:
            tensor = batch[i]
            digest.update(f"{place} {tensor.dtype} {list(tensor.shape())}\n".encode())
            digest.update(memoryview(tensor))
    return digest.digest()


def hashes(pipe: Any, world: int, first: int, steps: int, cpu: bool, threads: int) -> list[bytes]:
    """The hashes of some batches, made as `world` processes would; 0: the batches of `pipe` itself."""
    pool = _core.ThreadPool(threads)
    ranks: list[Replay] = []
    found = []
    try:
        for rank in range(max(world, 1)):
            ranks.append(Replay(pipe, part=(world, rank), cpu=cpu, pool=pool))
        for step in range(first, first + steps):
            parts = [r.batch(step) if step == first else r.next() for r in ranks]
            found.append(batch_hash(parts))
    finally:
        for replay in ranks:
            replay.close()
    return found


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if args.first < 0:
        raise UserError(f"--first must be at least 0, got {args.first}")
    results = {}
    with failures():
        pipe = load(args.target, args.batch_size, args.threads, args.seed)
        for world in args.world or [0]:
            found = hashes(pipe, world, args.first, args.steps, args.cpu, args.threads)
            results[world] = found
            name = f"world {world}" if world else "own part"
            for i, value in enumerate(found if args.each else ()):
                print(f"{name}  step {args.first + i}  {value.hex()}")
            whole = hashlib.sha256(b"".join(found)).hexdigest()
            print(f"{name}  steps {args.first} to {args.first + args.steps - 1}  {whole}")
    reference = next(iter(results.values()))
    for world, found in results.items():
        for i, (a, b) in enumerate(zip(reference, found, strict=True)):
            if a != b:
                print(f"world {world} differs from {next(iter(results))} at step {args.first + i}")
                return 1
    return 0
