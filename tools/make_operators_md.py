#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes docs/operators.md from the operators' tables and the names of DALI's.

    make_operators_md.py           write it
    make_operators_md.py --check   fail if it is not what would be written

`headrace` must be importable: run it with the interpreter it is installed in.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
from pathlib import Path
from typing import Any

from headrace import _dali_names, _docs, _schema, fn

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "operators.md"
NAMES = Path(__file__).with_name("dali_operators.txt")
# What Python's syntax on nodes becomes here, where DALI has an internal operator for it.
INTERNAL = {
    "_arithmetic_generic_op": "_arithmetic",
    "_shape": "shapes",
    "_subscript_dim_check": "_subscript",
    "_tensor_subscript": "_subscript",
}

HEAD = """\
<!-- Made by tools/make_operators_md.py from the operators' tables: edit those. -->
# Operators

Every operator of DALI 2.4 and what there is of it here: {whole}, old names included. *Devices* are those that it runs on
here, and in DALI. An operator that is there has all arguments of DALI's. Old names work where the operator is there, and warn.

`python tests/ops/report.py` compares every operator with a live DALI, case by case.
"""


@dataclasses.dataclass
class Theirs:
    """One line of dali_operators.txt."""

    name: str
    devices: list[str]
    kind: str  # "", "internal", "python"


def theirs() -> list[Theirs]:
    """What DALI has, in order of the alphabet."""
    lines = [x.split() for x in NAMES.read_text().splitlines() if x and x[0] != "#"]
    return [Theirs(x[0], x[1].split("|"), x[2] if len(x) > 2 else "") for x in lines]


def python_function(name: str) -> Any:
    """A function of that name that is no operator of a table, or None."""
    if name.startswith("plugin."):
        module, _, leaf = name.rpartition(".")
        try:
            return getattr(importlib.import_module("headrace." + module), leaf, None)
        except ImportError:
            return None
    target: Any = fn
    try:
        for part in name.split("."):
            target = getattr(target, part)
    except (AttributeError, NotImplementedError):
        return None
    return None if _schema.missing_function(name) else target


@dataclasses.dataclass
class Row:
    """An operator of DALI and what is here."""

    theirs: Theirs
    there: bool
    alias_of: str = ""
    devices: list[str] = dataclasses.field(default_factory=list)
    doc: str = ""


def row_of(entry: Theirs) -> Row:
    found = _schema.find_function(INTERNAL.get(entry.name, entry.name))
    if found:
        op, _ = found
        alias = "" if entry.kind == "internal" or op.name == entry.name else op.name
        return Row(entry, True, alias, op.runs_on, op.doc)
    function = python_function(entry.name)
    if function is None:
        return Row(entry, False, _dali_names.RENAMED.get(entry.name, ""))
    return Row(entry, True, "", ["cpu"], (function.__doc__ or "").strip())


def sentence(text: str) -> str:
    """The first sentence, safe in a table."""
    return _docs.first_sentence(text).rstrip(".").replace("|", "\\|")


def family(name: str) -> str:
    return name.rpartition(".")[0]


def tables(rows: list[Row]) -> list[str]:
    """A table a module, old names beside the new ones."""
    old: dict[str, list[str]] = {}
    for row in rows:
        if row.alias_of:
            old.setdefault(row.alias_of, []).append(row.theirs.name)
    out = []
    kept = [row for row in rows if not row.alias_of and not row.theirs.kind == "internal"]
    for module in sorted({family(row.theirs.name) for row in kept}):
        out.append(f"\n## {'fn.' + module if module else 'fn'}\n")
        out.append("| operator | devices | DALI's devices | what it does | old names |")
        out.append("| --- | --- | --- | --- | --- |")
        for row in kept:
            if family(row.theirs.name) != module:
                continue
            here = ", ".join(row.devices) if row.there else "not yet"
            names = ", ".join(f"`{name}`" for name in old.get(row.theirs.name, []))
            cells = [f"`{row.theirs.name}`", here, ", ".join(row.theirs.devices)]
            line = "| " + " | ".join([*cells, sentence(row.doc), names]) + " |"
            out.append(line.replace("  ", " "))
    return out


def syntax(rows: list[Row]) -> list[str]:
    """DALI's operators that users do not name."""
    out = ["\n## Behind Python's syntax\n", "| DALI's | here |", "| --- | --- |"]
    for row in rows:
        if row.theirs.kind == "internal":
            out.append(f"| `{row.theirs.name}` | {'yes' if row.there else 'not yet'} |")
    return out


def own(rows: list[Row]) -> list[str]:
    """Operators that DALI does not have."""
    known = {row.theirs.name for row in rows}
    listed = [op for op in _schema.operators().values() if "hidden" not in op.flags]
    listed = [op for op in listed if op.name not in known]
    if not listed:
        return []
    out = ["\n## Not in DALI\n", "| operator | devices | what it does |", "| --- | --- | --- |"]
    for op in sorted(listed, key=lambda op: op.name):
        out.append(f"| `{op.name}` | {', '.join(op.runs_on)} | {sentence(op.doc)} |")
    return out


def document() -> str:
    rows = [row_of(entry) for entry in theirs()]
    wrappers = [row for row in rows if row.theirs.kind == "python"]
    registered = [row for row in rows if row.theirs.kind != "python"]
    whole = (
        f"{sum(row.there for row in registered)} of its {len(registered)} registered operators, "
        f"and {sum(row.there for row in wrappers)} of {len(wrappers)} functions around them"
    )
    lines = [HEAD.format(whole=whole), *tables(rows), *syntax(rows), *own(rows)]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = document()
    if not args.check:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.is_file() or DOCUMENT.read_text(encoding="utf-8") != text:
        print(f"{DOCUMENT.relative_to(ROOT)} is old: run tools/make_operators_md.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
