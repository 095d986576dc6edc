# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace ops`: the operators, from their tables."""

from __future__ import annotations

import argparse
import difflib
import json
from typing import Any

from headrace.cli import UserError


def load_operators() -> list[dict[str, Any]]:
    """The operators' tables, hidden ones left out, sorted by name."""
    from headrace import _core

    operators = json.loads(_core.schema_json())["operators"]
    shown = [op for op in operators if "hidden" not in op["flags"] and op["name"][0] != "_"]
    return sorted(shown, key=lambda op: str(op["name"]))


def find_operator(operators: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The operator of that name under `fn` or `ops`; old names too.

    Raises:
        UserError: there is none; the message names similar ones.
    """
    from headrace import _schema

    wanted = name.removeprefix("fn.").removeprefix("ops.")
    found = _schema.find_function(wanted) or _schema.find_class(wanted)
    for op in operators:
        if found and op["name"] == found[0].name:
            return op
    if _schema.missing_function(wanted) or _schema.missing_class(wanted):
        raise UserError(f"DALI's operator {wanted} is not in this version yet")
    names = [str(op["name"]) for op in operators]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"; similar: {', '.join(close)}" if close else "; `headrace ops` lists them"
    raise UserError(f"no operator {wanted!r}{hint}")


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    line = " ".join((text or "").split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def describe_default(arg: dict[str, Any]) -> str:
    """The default as it is written in Python, or a word."""
    if "required" in arg["flags"]:
        return "required"
    return str(arg["default"]) if arg["default"] is not None else "None"


def describe_type(arg: dict[str, Any]) -> str:
    """Type of an argument with its range, choices and kind, for people."""
    words = str(arg["type"]).lower().replace("64", "")
    if arg["list"]:
        words = f"list of {words}"
    if "min" in arg:
        words += f" {arg['min']:g}..{arg['max']:g}"
    if arg.get("choices"):
        words += f" ({', '.join(arg['choices'])})"
    if "per_sample" in arg["flags"]:
        words += ", per sample"
    return words


def _print_list(operators: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("fn.", no_wrap=True)
    table.add_column("what it does")
    for op in operators:
        if "deprecated" not in op["flags"]:
            table.add_row(op["name"], first_sentence(op["doc"]))
    Console().print(table)


def _print_operator(op: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"[bold]fn.{op['name']}[/bold]  (cpu)")
    if op["aliases"]:
        console.print(f"also: {', '.join(op['aliases'])}")
    console.print()
    console.print(escape(op["doc"] or ""))
    for item in op["inputs"]:
        layouts = f": {', '.join(item['layouts'])}" if item["layouts"] else ""
        console.print(f"\ninput  [bold]{escape(item['name'])}[/bold]{layouts}", end="")
    console.print(f"\noutputs: {', '.join(op['outputs']) or op['out_count']}")
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("argument", "type", "default", "meaning"):
        table.add_column(column, no_wrap=column == "argument")
    for arg in op["args"]:
        doc = arg["doc"] or ""
        if "ignored" in arg["flags"]:
            doc = f"{doc} (accepted, changes nothing)"
        if "deprecated" in arg["flags"]:
            doc = f"{doc} (deprecated" + (f", use {arg['use']})" if arg.get("use") else ")")
        table.add_row(
            escape(arg["name"]),
            escape(describe_type(arg)),
            escape(describe_default(arg)),
            escape(doc),
        )
    console.print(table)


def run(args: argparse.Namespace) -> int:
    """The command."""
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
