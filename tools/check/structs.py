#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks that no tag of a struct, union or enum that begins with hr_ is defined in two files: a file that included
both would not compile, and one that includes the wrong one may."""

import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINITION = re.compile(r"\b(?:struct|union|enum)\s+(hr_\w+)\s*\{")


def main() -> int:
    where: dict[str, list[str]] = defaultdict(list)
    paths = [p for folder in ("include", "src", "python/_core") for p in (ROOT / folder).rglob("*")]
    for path in sorted(paths):
        if path.suffix in {".c", ".h", ".cu", ".cuh", ".inc"}:
            for match in DEFINITION.finditer(COMMENT.sub("", path.read_text())):
                where[match[1]].append(str(path.relative_to(ROOT)))
    twice = {tag: places for tag, places in where.items() if len(places) > 1}
    for tag, places in sorted(twice.items()):
        print(f"structs: {tag} is defined in {', '.join(places)}")
    print(f"structs: {len(where)} tags, {len(twice)} defined twice")
    return 1 if twice or not where else 0


sys.exit(main())
