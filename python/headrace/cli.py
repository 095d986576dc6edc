# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The `headrace` command and its arguments. Each subcommand is implemented in its own module (`cli_*.py`)."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import NoReturn


class UserError(Exception):
    """An error caused by the user's input, reported in one line without a traceback."""


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks in descriptions and shows default values."""


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text}")
    return value


def _threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_positive,
        default=len(os.sched_getaffinity(0)),
        help="worker threads; by default one per CPU that this process may use",
    )


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure the speed of the training and evaluation pipelines on a folder",
        description="Measures images per second and per CPU-second on a folder of images, for the\n"
        "training pipeline (random crop, resize to 224, mirror, normalise) and the\n"
        "evaluation pipeline (resize to 256, crop 224). The compared libraries take turns.",
        formatter_class=_Formatter,
    )
    bench.add_argument("dir", metavar="DIR", help="folder with one subfolder of images per class")
    _threads(bench)
    bench.add_argument("--batch-size", type=_positive, default=64, help="samples per batch")
    bench.add_argument(
        "--seconds", type=_seconds, default=6.0, help="measured time per library and pipeline"
    )
    bench.add_argument(
        "--rounds", type=_positive, default=3, help="number of turns into which the time is split"
    )
    bench.add_argument(
        "--compare",
        default="",
        metavar="LIST",
        help="other libraries to measure, if they are installed: dali,torchvision",
    )
    bench.add_argument(
        "--pipeline", default="train,eval", metavar="LIST", help="pipelines to run: train,eval"
    )
    bench.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser(
        "show",
        help="write a contact sheet of augmented samples",
        description="Writes one image that shows samples augmented as in the training pipeline.",
        formatter_class=_Formatter,
    )
    show.add_argument("dir", metavar="DIR", help="folder with one subfolder of images per class")
    show.add_argument("-o", "--output", default="sheet.png", help="image file to write")
    show.add_argument("--count", type=_positive, default=32, help="number of samples")
    show.add_argument("--columns", type=_positive, default=8, help="samples per row")
    show.add_argument(
        "--size", type=_positive, default=160, help="width and height of a sample in pixels"
    )
    show.add_argument("--seed", type=int, default=0, help="seed of the order and augmentations")
    _threads(show)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="run the training pipeline on a folder; show its speed and a contact sheet",
        description="Runs the training pipeline on a folder of images, shows the throughput and\n"
        "where the time went, and writes a contact sheet of augmented samples.",
        formatter_class=_Formatter,
    )
    demo.add_argument("dir", metavar="DATA", help="folder with one subfolder of images per class")
    _threads(demo)
    demo.add_argument("--batch-size", type=_positive, default=64, help="samples per batch")
    demo.add_argument("--epochs", type=_positive, default=3, help="passes over the folder")
    demo.add_argument(
        "-o", "--output", default="headrace-demo.png", help="file of the contact sheet"
    )
    demo.add_argument("--no-progress", action="store_true", help="show no progress bar")


def _add_index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    index = commands.add_parser(
        "index",
        help="make the indices of JPEG files in advance, for `Pipeline(index_cache=...)`",
        description="Makes the indices of all JPEG files under a folder, so that the first epoch is as\n"
        "fast as later ones. Existing indices are skipped, so the command can be interrupted\n"
        "and started again. Several can run at the same time.",
        formatter_class=_Formatter,
    )
    index.add_argument("dir", metavar="DIR", help="folder with JPEG files, at any depth")
    index.add_argument(
        "--cache", metavar="FOLDER", required=True, help="folder in which indices are stored"
    )
    index.add_argument("--bad", metavar="FILE", help="append the names of bad files to FILE")
    _threads(index)
    index.add_argument("--no-progress", action="store_true", help="show no progress bar")


def _add_ops(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ops = commands.add_parser(
        "ops",
        help="list the operators, or describe one",
        description="Lists the operators. With a name, shows that operator's inputs, arguments and defaults.",
        formatter_class=_Formatter,
    )
    ops.add_argument(
        "name", nargs="?", metavar="NAME", help="name of an operator under fn: decoders.image"
    )
    ops.add_argument("--json", action="store_true", help="print the schema as JSON")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="show what this machine and build support, and what would make loading faster",
        description="Shows what this machine and build support (CPU levels, limits, memory, codecs)\n"
        "and what would make loading faster.",
        formatter_class=_Formatter,
    )
    doctor.add_argument(
        "--data", metavar="DIR", help="measure how fast the files of this folder can be read"
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
    """The entry point of the command.

    Returns:
        The exit status: 0, 2 for an error in the user's input, 130 after Ctrl-C.
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
    except BrokenPipeError:  # the reader of a pipe has exited: `headrace ops | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def entry() -> NoReturn:
    """The entry point of `python -m headrace.cli`."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
