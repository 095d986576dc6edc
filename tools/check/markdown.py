#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks Markdown files: lines have at most 100 columns (except in tables), and local links have a target."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = 100
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """The anchors that GitHub generates for the headings of a document."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def long_lines(name: str, text: str) -> list[str]:
    """Complaints about long lines. Tables, generated files and lines without spaces are exempt."""
    return [] if text.startswith("<!-- Made by") else [
        f"{name}:{number}: {len(line)} columns, at most {LINE} are allowed"
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE and not line.startswith("|") and " " in line
    ]


def dead_links(file: pathlib.Path, text: str) -> list[str]:
    """Complaints about links in `file` to files or headings of the repository that do not exist."""
    out = []
    for link in LINK.findall(FENCE.sub("", text)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        if not target.exists():
            out.append(f"{file.name}: {link}: the file does not exist")
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            out.append(f"{file.name}: {link}: the heading does not exist")
    return out


def self_test() -> None:
    """Fails if the check would miss a long line or a dead link."""
    assert long_lines("a.md", "x " * LINE) and not long_lines("a.md", "| " + "x " * LINE)
    assert not long_lines("a.md", "x" * 2 * LINE)
    assert anchors("# One: `two` three\n```sh\n# no\n```\n") == {"one-two-three"}
    here = ROOT / "README.md"
    assert dead_links(here, "[a](missing.md)") and dead_links(here, "[a](README.md#missing)")
    assert not dead_links(here, "[a](README.md#headrace) [b](https://example.org/x)")


def main() -> int:
    self_test()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    out = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        out += long_lines(str(file.relative_to(ROOT)), text) + dead_links(file, text)
    print(f"markdown: {len(files)} files, {len(out)} long lines or dead links")
    print("\n".join(out), end="\n" if out else "", file=sys.stderr)
    return bool(out) or not files


if __name__ == "__main__":
    sys.exit(main())
