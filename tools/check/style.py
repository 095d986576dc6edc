#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks limits that clang-format does not enforce on C files: lengths of lines, functions and files, and nesting."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE, FUNCTION, FILE, LEVELS = 100, 60, 800, 4
TOO_DEEP = re.compile(r" {%d,}(if|for|while|do|switch)\b" % (4 * (LEVELS + 1)))


def complaints(name: str, text: str) -> list[str]:
    """Complaints about the C file `name`. Its text must be formatted by clang-format."""
    out = []
    lines = text.splitlines()
    if len(lines) > FILE:
        out.append(f"{name}: {len(lines)} lines, at most {FILE} are allowed")
    start = None
    for number, line in enumerate(lines, 1):
        width = len(line.removesuffix("\\").rstrip())
        if width > LINE:
            out.append(f"{name}:{number}: {width} columns, at most {LINE} are allowed")
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            length = number - start - 1
            if length > FUNCTION:
                out.append(f"{name}:{start}: function of {length} lines, at most {FUNCTION} are allowed")
            start = None
        elif start is not None and TOO_DEEP.match(line):
            out.append(f"{name}:{number}: nested deeper than {LEVELS} levels")
    return out


def self_test() -> None:
    """Fails if the check would miss a violation."""
    body = "int f(void)\n{\n" + "    x();\n" * FUNCTION + "}\n"
    assert not complaints("a.c", body)
    assert complaints("a.c", body.replace("}\n", "    x();\n}\n"))
    assert complaints("a.c", "x" * (LINE + 1)) and not complaints("a.c", "x" * LINE)
    assert complaints("a.c", "\n" * (FILE + 1)) and not complaints("a.c", "\n" * FILE)
    deep = "int f(void)\n{\n" + " " * 20 + "if (x)\n}\n"
    assert complaints("a.c", deep) and not complaints("a.c", deep.replace(" " * 20, " " * 16))


def main() -> int:
    self_test()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.c", "*.h", "*.inc"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    files = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    out = [c for name in files for c in complaints(name, (ROOT / name).read_text(errors="replace"))]
    print(f"style: {len(files)} files, {len(out)} too long or too deep")
    print("\n".join(out), end="\n" if out else "", file=sys.stderr)
    return bool(out) or not files


if __name__ == "__main__":
    sys.exit(main())
