#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes docs/operators.md from the operators' schemas, the list of DALI's operators, and known differences.

    make_operators_md.py           write the file
    make_operators_md.py --check   fail if the file is out of date

Run it with an interpreter that has `headrace` installed. The differences are those that the tests excuse: `DIFFERENT`
in tests/ops/cases_*.py.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from headrace import fn
from headrace._base import dali_names, docs
from headrace._graph import schema

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "operators.md"
sys.path.append(str(ROOT / "tests" / "ops"))
NAMES = Path(__file__).with_name("dali_operators.txt")
COMMON = {"bytes_per_sample_hint", "device", "name", "preserve", "seed"}
# DALI's internal operators for Python syntax on nodes, and those that stand for them here.
INTERNAL = {
    "_arithmetic_generic_op": "_arithmetic",
    "_shape": "shapes",
    "_subscript_dim_check": "_subscript",
    "_tensor_subscript": "_subscript",
}

HEAD = """\
<!-- Made by tools/make_operators_md.py from the operators' schemas. Edit those, not this file. -->
# Operators

This page lists the operators of DALI 2.4. Headrace implements
{whole}.
The numbers include old names. The column *devices* lists the devices on which Headrace runs an
operator. An implemented operator has all arguments that it has in DALI, unless the column
*differences* says otherwise. Its old names work too and issue a warning. [Differences from
DALI](differences.md) lists what concerns more than one operator, such as random numbers.

`python tests/ops/report.py` compares every operator with an installed DALI.
"""


@dataclasses.dataclass
class Theirs:
    """An operator of DALI: one line of dali_operators.txt."""

    name: str
    devices: list[str]
    kind: str  # "-", "internal", "python"
    arguments: list[str]  # "!" at the end: required; "*": can be per sample

    @property
    def names(self) -> set[str]:
        return {name.rstrip("!*") for name in self.arguments}


def theirs() -> list[Theirs]:
    """DALI's operators, in alphabetical order."""
    lines = [x.split() for x in NAMES.read_text().splitlines() if x and x[0] != "#"]
    return [
        Theirs(name, devices.split("|"), kind, [] if arguments == "-" else arguments.split(","))
        for name, devices, kind, arguments in lines
    ]


def function_of_plugin(name: str) -> Any:
    """The function of a framework's plug-in, with its docstring, or None. Read from the source: the framework may
    not be installed.
    """
    plugin, _, leaf = name.removeprefix("plugin.").rpartition(".fn")
    for path in sorted((ROOT / "python" / "headrace" / "plugin" / plugin).glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name == leaf.rpartition(".")[2]:
                return SimpleNamespace(__doc__=ast.get_docstring(node))
    return None


def python_function(name: str) -> Any:
    """The Python function of that name without a schema of its own, or None."""
    if name.startswith("plugin."):
        return function_of_plugin(name)
    target: Any = fn
    try:
        for part in name.split("."):
            target = getattr(target, part)
    except AttributeError:
        return None
    return target


@dataclasses.dataclass
class Row:
    """An operator of DALI and its counterpart in Headrace."""

    theirs: Theirs
    there: bool
    alias_of: str = ""
    devices: list[str] = dataclasses.field(default_factory=list)
    doc: str = ""
    differences: list[str] = dataclasses.field(default_factory=list)


def excused(op: schema.Operator) -> list[str]:
    """The differences that the tests know, by argument or input."""
    from collection import MODULES

    out = []
    for module in MODULES:
        for pattern, reason in getattr(module, "DIFFERENT", {}).items():
            names, _, what = pattern.removeprefix("^").partition(": ")
            if not re.fullmatch(names, op.name):
                continue
            which = what.partition("=")[0]
            named = [f"`{name}`" for name in op.args if re.fullmatch(which, name)]
            if "=" in what and not named:
                continue
            where = "arguments" if which == r"\w+" else ", ".join(named) or "inputs"
            out.append(f"{where}: {reason}")
    return out


def differences(entry: Theirs, op: schema.Operator) -> list[str]:
    """What differs from DALI's operator but for the devices."""
    ours = set(op.args) - COMMON
    if entry.name == "external_source":  # its arguments are those of a Python function
        ours |= set(inspect.signature(fn.external_source).parameters)
        return [f"lacks `{name}`" for name in sorted(entry.names - ours)]
    required = {name.rstrip("!*") for name in entry.arguments if "!" in name}
    varied = {name.rstrip("!*") for name in entry.arguments if "*" in name}
    both = ours & entry.names
    out = [f"lacks `{name}`" for name in sorted(entry.names - ours)]
    if ours - entry.names:
        out.append("has also " + ", ".join(f"`{name}`" for name in sorted(ours - entry.names)))
    for name in sorted(both):
        arg = op.args[name]
        if arg.required != (name in required):
            out.append(f"`{name}` is {'required' if arg.required else 'optional'}")
        if arg.per_sample != (name in varied):
            out.append(f"`{name}` can{'' if arg.per_sample else 'not'} be per sample")
    return out + excused(op)


def row_of(entry: Theirs) -> Row:
    found = schema.find_function(INTERNAL.get(entry.name, entry.name))
    if found:
        op, _ = found
        alias = "" if entry.kind == "internal" or op.name == entry.name else op.name
        listed = [] if entry.kind == "internal" or alias else differences(entry, op)
        return Row(entry, True, alias, op.runs_on, op.doc, listed)
    function = python_function(entry.name)
    if function is None:
        return Row(entry, False, dali_names.RENAMED.get(entry.name, ""))
    return Row(entry, True, "", sorted(entry.devices), (function.__doc__ or "").strip())


def sentence(text: str) -> str:
    """The first sentence, escaped for a table."""
    return docs.first_sentence(text).rstrip(".").replace("|", "\\|")


def family(name: str) -> str:
    return name.rpartition(".")[0]


def tables(rows: list[Row]) -> list[str]:
    """One table per module. Old names are listed in the row of the new name."""
    old: dict[str, list[str]] = {}
    for row in rows:
        if row.alias_of:
            old.setdefault(row.alias_of, []).append(row.theirs.name)
    out = []
    kept = [row for row in rows if not row.alias_of and not row.theirs.kind == "internal"]
    for module in sorted({family(row.theirs.name) for row in kept}):
        out.append(f"\n## {'fn.' + module if module else 'fn'}\n")
        out.append("| operator | devices | DALI's devices | what it does | differences | old names |")
        out.append("| --- | --- | --- | --- | --- | --- |")
        for row in kept:
            if family(row.theirs.name) != module:
                continue
            here = ", ".join(row.devices) if row.there else "not yet"
            names = ", ".join(f"`{name}`" for name in old.get(row.theirs.name, []))
            cells = [f"`{row.theirs.name}`", here, ", ".join(row.theirs.devices)]
            differ = "; ".join(row.differences).replace("|", "\\|")
            line = "| " + " | ".join([*cells, sentence(row.doc), differ, names]) + " |"
            out.append(line.replace("  ", " "))
    return out


def syntax(rows: list[Row]) -> list[str]:
    """The table of DALI's internal operators."""
    out = [
        "\n## Internal operators for Python syntax\n",
        "| DALI's name | implemented |",
        "| --- | --- |",
    ]
    for row in rows:
        if row.theirs.kind == "internal":
            out.append(f"| `{row.theirs.name}` | {'yes' if row.there else 'not yet'} |")
    return out


def own(rows: list[Row]) -> list[str]:
    """The table of operators that DALI does not have."""
    known = {row.theirs.name for row in rows}
    listed = [op for op in schema.operators().values() if "hidden" not in op.flags]
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
        f"{sum(row.there for row in registered)} of the {len(registered)} registered operators "
        f"and {sum(row.there for row in wrappers)} of the {len(wrappers)} Python functions that wrap them"
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
        print(
            f"{DOCUMENT.relative_to(ROOT)} is out of date: run tools/make_operators_md.py",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
