#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks the built site: every link has a target, and links lead from the first page to every page: links.py FOLDER."""

from __future__ import annotations

import functools
import html.parser
import sys
import urllib.parse
from pathlib import Path


class Page(html.parser.HTMLParser):
    """The links of a page, and the places that links may point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.places.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


@functools.cache
def page(path: Path) -> Page:
    return Page(path.read_text("utf-8"))


def broken(site: Path) -> list[str]:
    """Complaints about links without a target. Links to other sites are not followed."""
    out = []
    for file in sorted(site.rglob("*.html")):
        for link in page(file).links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link in ("#", ""):
                continue
            path = urllib.parse.unquote(parts.path)
            target = (file.parent / path).resolve() if path else file
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                out.append(f"{file.relative_to(site)}: {link}: there is no such file")
            elif parts.fragment and target.suffix == ".html":
                if urllib.parse.unquote(parts.fragment) not in page(target).places:
                    out.append(f"{file.relative_to(site)}: {link}: there is no such place")
    return sorted(set(out))


def orphans(site: Path) -> list[str]:
    """Complaints about pages to which no links lead from index.html."""
    todo, seen = [site / "index.html"], {site / "index.html"}
    while todo:
        file = todo.pop()
        for link in page(file).links:
            parts = urllib.parse.urlsplit(link)
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve()
            here = not parts.netloc and target.suffix == ".html" and target.is_file()
            if here and target not in seen:
                seen.add(target)
                todo.append(target)
    left = set(site.rglob("*.html")) - seen
    return sorted(f"{file.relative_to(site)}: no links lead here from index.html" for file in left)


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    count = len(list(site.rglob("*.html")))
    found, alone = broken(site), orphans(site) if count else []
    print(f"links: {count} pages, {len(found)} broken links, {len(alone)} orphans")
    print("\n".join([*found, *alone]), end="\n" if found or alone else "", file=sys.stderr)
    return bool(found or alone) or not count


if __name__ == "__main__":
    sys.exit(main())
