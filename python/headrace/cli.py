# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The `headrace` command: its arguments; each sub-command has a module of its own (`cli_*.py`)."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import NoReturn


class UserError(Exception):
    """A mistake of the user's, told in one line without a traceback."""


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the layout of descriptions and shows defaults."""


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return value


def _threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_positive,
        default=len(os.sched_getaffinity(0)),
        help="worker threads (all CPUs this process may use, unless given)",
    )


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure the training and evaluation pipelines over a folder",
        description="Measures images a second and a CPU-second over a folder of images, with the\n"
        "training pipeline (random crop, resize to 224, mirror, normalise) and the\n"
        "evaluation pipeline (resize to 256, crop 224). Contenders take turns in one run.",
        formatter_class=_Formatter,
    )
    bench.add_argument("dir", metavar="DIR", help="folder with one folder of images a class")
    _threads(bench)
    bench.add_argument("--batch-size", type=_positive, default=64, help="samples in a batch")
    bench.add_argument(
        "--seconds", type=_seconds, default=6.0, help="measured time of each contender and pipeline"
    )
    bench.add_argument(
        "--rounds", type=_positive, default=3, help="turns that the time is cut into"
    )
    bench.add_argument(
        "--compare",
        default="",
        metavar="LIST",
        help="others to measure beside Headrace, where installed: dali,torchvision",
    )
    bench.add_argument(
        "--pipeline", default="train,eval", metavar="LIST", help="pipelines to run: train,eval"
    )
    bench.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser(
        "show",
        help="write a contact sheet of augmented samples",
        description="Writes one picture with samples as the training pipeline gives them.",
        formatter_class=_Formatter,
    )
    show.add_argument("dir", metavar="DIR", help="folder with one folder of images a class")
    show.add_argument("-o", "--output", default="sheet.png", help="the picture to write")
    show.add_argument("--count", type=_positive, default=32, help="samples")
    show.add_argument("--columns", type=_positive, default=8, help="samples in a row")
    show.add_argument("--size", type=_positive, default=160, help="edge of a sample in pixels")
    show.add_argument("--seed", type=int, default=0, help="seed of order and augmentations")
    _threads(show)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="run the training pipeline over a folder, with figures and a contact sheet",
        description="Runs the training pipeline over a folder of images, shows throughput and\n"
        "where the time went, and writes a contact sheet of augmented samples.",
        formatter_class=_Formatter,
    )
    demo.add_argument("dir", metavar="DATA", help="folder with one folder of images a class")
    _threads(demo)
    demo.add_argument("--batch-size", type=_positive, default=64, help="samples in a batch")
    demo.add_argument("--epochs", type=_positive, default=3, help="passes over the folder")
    demo.add_argument(
        "-o", "--output", default="headrace-demo.png", help="the contact sheet to write"
    )
    demo.add_argument("--no-progress", action="store_true", help="no progress bar")


def _add_index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    index = commands.add_parser(
        "index",
        help="make the indices of JPEG files ahead, in a folder for `Pipeline(index_cache=...)`",
        description="Makes the indices of all JPEG files under a folder, so that the first epoch is as fast\n"
        "as the others. What is there already is passed over: it may be stopped and started\n"
        "again, and several may run at once.",
        formatter_class=_Formatter,
    )
    index.add_argument("dir", metavar="DIR", help="folder with JPEG files, at any depth")
    index.add_argument("--cache", metavar="FOLDER", required=True, help="where indices are kept")
    index.add_argument("--bad", metavar="FILE", help="add the names of bad files to this one")
    _threads(index)
    index.add_argument("--no-progress", action="store_true", help="no progress bar")


def _add_ops(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ops = commands.add_parser(
        "ops",
        help="list the operators, or describe one",
        description="Lists the operators; with a name, describes one: inputs, arguments, defaults.",
        formatter_class=_Formatter,
    )
    ops.add_argument(
        "name", nargs="?", metavar="NAME", help="operator, as under fn: decoders.image"
    )
    ops.add_argument("--json", action="store_true", help="print the schema as JSON")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine and build have, and what would make loading faster",
        description="Says what this machine and build have (CPU levels, limits, memory, codecs)\n"
        "and what would make loading faster.",
        formatter_class=_Formatter,
    )
    doctor.add_argument(
        "--data", metavar="DIR", help="measure how fast files of this folder are read"
    )
    doctor.add_argument("--json", action="store_true", help="print JSON instead of tables")


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="headrace", description="Data loading and preprocessing for deep learning."
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_add_bench, _add_show, _add_index, _add_ops, _add_doctor, _add_demo):
        add(commands)
    return parser


def _fail(message: object) -> int:
    print(f"headrace: {message}", file=sys.stderr)
    return 2


def main(argv: list[str] | None = None) -> int:
    """Entry point.

    Returns:
        0, 2 for a mistake of the user's (told in one line), 130 after Ctrl-C.
    """
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.version:
        import headrace

        print(headrace.__version__)
        return 0
    if args.command is None:
        parser.print_help()
        return 2
    try:
        module = importlib.import_module(f"headrace.cli_{args.command}")
        return int(module.run(args) or 0)
    except UserError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone: `headrace ops | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def entry() -> NoReturn:
    """For `python -m headrace.cli`."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
