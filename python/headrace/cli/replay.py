# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace replay`: shows the samples of one batch of a run."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli._common import UserError, add_batch_size, add_threads, check_output, positive
from headrace.cli._target import failures, load

HELP = "write an HTML file with the samples of one batch of a run"
DESCRIPTION = (
    "Makes a batch of a run again, on the CPU, and writes an HTML file with the samples, the names of\n"
    "their files, the random numbers, and what each step makes of them."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "target", metavar="MODULE:FUNCTION", help="a pipeline, or a function that returns one"
    )
    parser.add_argument("--step", type=int, required=True, help="number of the batch, from 0")
    parser.add_argument("--state", help="a checkpoint of the run, which has its seed")
    parser.add_argument("-o", "--output", default="replay.html", help="file to write")
    parser.add_argument("--samples", type=positive, default=16, help="samples to show, at most")
    parser.add_argument("--seed", type=int, default=0, help="seed of the run, without --state")
    add_batch_size(parser)
    add_threads(parser)


def _state(path: str) -> bytes:
    """The checkpoint of a pipeline, of an iterator or of a loader, in a file of bytes or of PyTorch."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not data.startswith(b"PK"):
        return data
    import torch

    found = torch.load(path, map_location="cpu", weights_only=True)
    states = list(_checkpoints(found))
    if not states:
        raise UserError(f"{path} contains no checkpoint of a pipeline")
    return states[0]


def _checkpoints(value: Any) -> list[bytes]:
    """All checkpoints in what `torch.save` got."""
    if isinstance(value, bytes) and b"headrace_checkpoint" in value[:40]:
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list, tuple)):
        return []
    return [found for part in parts for found in _checkpoints(part)]


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if args.step < 0:
        raise UserError(f"--step must be at least 0, got {args.step}")
    check_output(args.output)
    with failures():
        pipe = load(args.target, args.batch_size, args.threads, args.seed)
        if args.state:
            pipe._restart(_state(args.state))
        shown = pipe.show(args.samples, step=args.step)
        shown.save(args.output)
    print(f"{args.output}: {shown.samples} samples of step {args.step} of {args.target}")
    return 0
