# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace ops`: lists operators and describes them from their schemas."""

from __future__ import annotations

import argparse
import difflib
import json
from typing import Any

from headrace import _core
from headrace._base import docs
from headrace._graph import schema
from headrace.cli._common import UserError, need

HELP = "list the operators, or describe one"
DESCRIPTION = (
    "Lists the operators. With a name, shows that operator's inputs, arguments and defaults."
)


def load_operators() -> list[dict[str, Any]]:
    """The schemas of all operators except hidden ones, sorted by name."""
    operators = json.loads(_core.schema_json())["operators"]
    shown = [op for op in operators if "hidden" not in op["flags"] and op["name"][0] != "_"]
    return sorted(shown, key=lambda op: str(op["name"]))


def find_operator(operators: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The operator with a name under `fn` or `ops`, current or old.

    Raises:
        UserError: the operator does not exist; the message suggests similar names.
    """
    wanted = name.removeprefix("fn.").removeprefix("ops.")
    found = schema.find_function(wanted) or schema.find_class(wanted)
    for op in operators:
        if found and op["name"] == found[0].name:
            return op
    names = [str(op["name"]) for op in operators]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"; similar names: {', '.join(close)}" if close else "; `headrace ops` lists all"
    raise UserError(f"unknown operator {wanted!r}{hint}")


def _print_list(operators: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("fn.", no_wrap=True)
    table.add_column("what it does")
    for op in operators:
        if "deprecated" not in op["flags"]:
            table.add_row(op["name"], docs.first_sentence(op["doc"]))
    Console().print(table)


def _outputs(op: dict[str, Any]) -> str:
    if op["out_keys"]:
        return f"a dictionary with the keys of {op['out_keys']}"
    return ", ".join(op["outputs"]) or str(op["out_count"])


def _print_operator(op: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"[bold]fn.{op['name']}[/bold]  ({', '.join(op['runs_on'])})")
    if op["aliases"]:
        console.print(f"also: {', '.join(op['aliases']).replace('ops:', 'ops.')}")
    console.print()
    console.print(escape(op["doc"] or ""))
    console.print()
    for line in docs.inputs(op):
        console.print(f"input:   {escape(line)}")
    console.print(f"outputs: {_outputs(op)}")
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("argument", "type", "default", "meaning"):
        table.add_column(column, no_wrap=column == "argument")
    for row in docs.arguments(op):
        table.add_row(*map(escape, row))
    console.print(table)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="name of an operator under fn: decoders.image"
    )
    parser.add_argument("--json", action="store_true", help="print the schema as JSON")


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if not args.json:
        need("rich")
    operators = load_operators()
    if args.name is None:
        if args.json:
            print(json.dumps(operators, indent=1))
        else:
            _print_list(operators)
        return 0
    op = find_operator(operators, args.name)
    if args.json:
        print(json.dumps(op, indent=1))
    else:
        _print_operator(op)
    return 0
