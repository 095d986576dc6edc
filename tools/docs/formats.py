#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the tables of docs/image-formats.md from the files that the tests decode.

    formats.py           write them
    formats.py --check   fail if they are out of date

A table lists what `tests/python/test_image_matrix.py` reads, so a combination is in it only if its pixels are compared.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "image-formats.md"
TABLE = re.compile(r"(<!-- table: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def matrix() -> dict[str, Any]:
    """The generators of cases, by format."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    for name in ("image_matrix_tiff", "image_matrix_others"):
        importlib.import_module(name)
    return dict(importlib.import_module("image_matrix").FORMATS)


def merged(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Puts names with equal values together, in the order of their first."""
    names: dict[Any, list[str]] = defaultdict(list)
    for name, value in pairs:
        names[value].append(name)
    return [("; ".join(together), value) for value, together in names.items()]


def listed(depths: list[str]) -> str:
    """The depths, with "1 to 16" for numbers that follow one another."""
    runs: list[list[str]] = []
    for depth in depths:
        follows = runs and depth.isdecimal() and runs[-1][-1].isdecimal()
        if follows and int(depth) == int(runs[-1][-1]) + 1:
            runs[-1].append(depth)
        else:
            runs.append([depth])
    short = [f"{r[0]} to {r[-1]}" if len(r) > 2 else ", ".join(r) for r in runs]
    return ", ".join(short)


def table(cases: list[Any]) -> str:
    """A row for compressions and colours that are read with the same depths."""
    depths: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        of = depths[case.compression][case.colours] if case.pixels is not None else []
        if case.depth not in of:
            of.append(case.depth)
    by_compression = [
        (name, tuple(merged([(colours, listed(found)) for colours, found in read.items()])))
        for name, read in depths.items()
    ]
    lines = ["| compression | colours | bits per sample |", "| --- | --- | --- |"]
    for name, rows in merged(by_compression):
        for title, (colours, found) in zip(itertools.chain([name], itertools.repeat("")), rows):
            lines.append(f"| {title} | {colours} | {found} |")
    return "\n".join(lines)


def made(text: str) -> str:
    """The page with current tables."""
    formats = matrix()
    found = [m["name"] for m in TABLE.finditer(text)]
    if sorted(found) != sorted(formats):
        raise SystemExit(f"{PAGE.name} has tables of {found}, the tests have {list(formats)}")
    return TABLE.sub(lambda m: f"{m[1]}{table(list(formats[m['name']]()))}\n{m[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = PAGE.read_text("utf-8")
    current = made(text)
    if check and current != text:
        raise SystemExit(f"{PAGE} is out of date: run tools/docs/formats.py")
    if not check:
        PAGE.write_text(current, "utf-8")


if __name__ == "__main__":
    main()
