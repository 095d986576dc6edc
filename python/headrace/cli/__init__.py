# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The `headrace` command. Each module in `_COMMANDS` is one subcommand.

`HELP` is its line in the list of commands, and `DESCRIPTION` its text in ``--help``.
`add_arguments(parser)` declares its arguments. `run(args)` runs it and returns the exit status.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any, NoReturn

import headrace
from headrace._base import messages
from headrace.cli import bench, demo, doctor, hash, index, ops, pack, replay, report, show
from headrace.cli._common import UserError, masked

_COMMANDS: tuple[Any, ...] = (bench, show, report, hash, replay, index, pack, ops, doctor, demo)


class _Parser(argparse.ArgumentParser):
    """Suggests the nearest name for an unknown command."""

    def error(self, message: str) -> NoReturn:
        """Prints the message and ends the process."""
        if match := re.match(r"argument COMMAND: invalid choice: '(.*?)'", message):
            names = [module.__name__.rpartition(".")[2] for module in _COMMANDS]
            hint = messages.suggestion(match[1], names) or f" Choose from {', '.join(names)}."
            message = f"unknown command '{match[1]}'.{hint}"
        super().error(masked(message))


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks in descriptions and shows default values."""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command."""
    parser = _Parser(
        prog="headrace", description="Data loading and preprocessing for deep learning."
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in _COMMANDS:
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.HELP,
            description=module.DESCRIPTION,
            formatter_class=_Formatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run, parser=command)
    return parser


def _fail(message: object) -> int:
    print(f"headrace: {masked(str(message))}", file=sys.stderr)
    return 2


def main(argv: list[str] | None = None) -> int:
    """The entry point of the command.

    Returns:
        The exit status: 0, 2 for an error in the user's input, 130 after Ctrl-C.
    """
    parser = make_parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        used = getattr(args, "parser", parser)
        hint = messages.suggestion(unknown[0].partition("=")[0], list(used._option_string_actions))
        used.error(f"unknown argument {unknown[0]}.{hint or ' See --help.'}")
    if args.version:
        print(f"headrace {headrace.__version__}")
        return 0
    if args.command is None:
        parser.print_help()
        return 2
    try:
        return int(args.run(args))
    except UserError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe has exited: `headrace ops | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
