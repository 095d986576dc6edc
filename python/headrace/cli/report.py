# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace report`: writes an HTML file about the speed and the data of a pipeline."""

from __future__ import annotations

import argparse

from headrace.cli._common import add_batch_size, add_threads, positive
from headrace.cli._target import failures, load

HELP = "write an HTML report about the speed and the data of a pipeline"
DESCRIPTION = (
    "Runs a pipeline and writes one HTML file: the verdict, the graph, time per operator,\n"
    "a timeline of the workers, samples after each step, bad samples, the machine."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "target", metavar="MODULE:FUNCTION", help="a pipeline, or a function that returns one"
    )
    parser.add_argument("-o", "--output", default="report.html", help="file to write")
    parser.add_argument("--batches", type=positive, default=20, help="iterations to run")
    parser.add_argument("--samples", type=positive, default=4, help="samples to show")
    parser.add_argument("--seed", type=int, default=0, help="seed of the pipeline")
    add_batch_size(parser)
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    with failures():
        pipe = load(args.target, args.batch_size, args.threads, args.seed)
        pipe.report(args.output, args.batches, args.samples)
    print(f"{args.output}: report of {args.target}")
    return 0
