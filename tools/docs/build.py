#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Builds the documentation site: gathers the pages, makes those that are generated, runs Sphinx, checks the links.

    build.py FOLDER    FOLDER/notebooks has pages made by notebooks.py; FOLDER/source gets all pages, FOLDER/html the site

The pages are the Markdown files of docs/ and of the top folder, as they are: they also read well without the site.
Their links to other files of the repository become links to pages that show these files.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import notebooks
import operators
import reference

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
# The order of the pages. Those of docs/ that are not listed come last.
SECTIONS = {
    "Start": ["install", "tutorial", "examples/index", "faq"],
    "Coming from": [
        "from-dali", "from-pytorch", "torchvision", "from-hugging-face", "from-timm", "from-ffcv", "from-webdataset",
    ],
    "Guides": [
        "pytorch", "frameworks", "readers", "image-formats", "volumes", "audio", "object-storage", "gpu", "multi-gpu", "ray", "scale",
        "video", "reproducibility", "order", "bad-files", "speed", "notebooks", "conditionals", "debug", "dynamic",
        "jpeg-index",
    ],
    "Reference": [
        "operators/index", "operators", "differences", "api", "c-api", "command-line", "statistics",
        "performance",
    ],
    "Extending": ["contributing", "plugins", "architecture"],
    "Project": ["changelog", "security"],
}  # fmt: skip
NOTEBOOKS = "examples/notebooks"
LANGUAGES = {
    ".c": "c", ".h": "c", ".inc": "c", ".cu": "cuda", ".py": "python", ".sh": "sh", ".txt": "text",
}  # fmt: skip
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<path>[^)#\s]*)(?P<place>#[^)\s]*)?\)")


class Site:
    """The pages that are gathered in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: set[str] = set()  # files and folders of the repository that pages link to

    def place_of(self, path: str) -> str:
        """Where a file of the repository is in the site."""
        if path in TOP and (ROOT / path).is_file():
            return TOP[path]
        if path.startswith("docs/") and path.endswith(".md"):
            return path.removeprefix("docs/")
        if path.startswith(NOTEBOOKS):
            rest = path.removeprefix(NOTEBOOKS)
            return f"examples{Path(rest).with_suffix('.md')}" if rest else "examples/index.md"
        self.files.add(path)
        return f"files/{path}.md" if (ROOT / path).is_file() else f"files/{path}/index.md"

    def linked(self, text: str, source: str, place: str) -> str:
        """The text of a page with its links changed from the repository to the site."""

        def changed(match: re.Match[str]) -> str:
            path = match["path"]
            if not path or "://" in path or path.startswith("mailto:"):
                return match[0]
            target = os.path.relpath(os.path.normpath(ROOT / Path(source).parent / path), ROOT)
            if not (ROOT / target).exists():
                return match[0]  # a page that is generated; Sphinx complains if there is none
            there = os.path.relpath(self.place_of(target), Path(place).parent)
            return f"]({there}{match['place'] or ''})"

        parts, at = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(changed, text[at : fence.start()]), fence[0]]
            at = fence.end()
        return "".join([*parts, LINK.sub(changed, text[at:])])

    def write(self, place: str, text: str) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def add_pages(self) -> None:
        sources = [f for f in TOP if f != "README.md" and (ROOT / f).is_file()]
        sources += [str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md"))]
        for source in sources:
            text = (ROOT / source).read_text("utf-8")
            text = reference.filled(text)
            place = self.place_of(source)
            text = self.linked(text, source, place)
            if place == "operators.md":
                text = re.sub(r"^\| `([\w.]+)` \|", self._operator, text, flags=re.MULTILINE)
                text = text.replace("# Operators\n", "# Compatibility with DALI\n", 1)
            if place == "architecture.md":
                text += toctree(
                    "",
                    ["architecture/" + p.stem for p in sorted(ROOT.glob("docs/architecture/*.md"))],
                )
            self.write(place, text)

    def _operator(self, match: re.Match[str]) -> str:
        """The beginning of a row, with a link if the operator has a page."""
        page = f"operators/{match[1]}.md"
        return f"| [`{match[1]}`]({page}) |" if (self.folder / page).is_file() else match[0]

    def add_files(self) -> None:
        """A page for each file and folder of the repository that a page links to."""
        for path in sorted(self.files):
            here = ROOT / path
            if here.is_dir():
                listed = [p.name for p in sorted(here.iterdir()) if p.is_file()]
                for name in listed:
                    self.add_file(f"{path}/{name}")
                items = "\n".join(f"* [{name}]({name}.md)" for name in listed)
                self.write(
                    f"files/{path}/index.md", f"---\norphan: true\n---\n\n# {path}\n\n{items}\n"
                )
            else:
                self.add_file(path)

    def add_file(self, path: str) -> None:
        text = (ROOT / path).read_text("utf-8")
        language = LANGUAGES.get(Path(path).suffix, "text")
        if path.endswith("CMakeLists.txt"):
            language = "cmake"
        self.write(
            f"files/{path}.md",
            f"---\norphan: true\n---\n\n# {path}\n\n`````{{code-block}} {language}\n{text}\n`````\n",
        )

    def add_index(self) -> None:
        """The first page, with the tree of all pages."""
        index = self.folder / "index.md"
        there = {str(p.relative_to(self.folder).with_suffix("")) for p in self.folder.glob("*.md")}
        there |= {"operators/index", "examples/index"}
        text = index.read_text("utf-8")
        known = {"index"}
        for title, pages in SECTIONS.items():
            text += toctree(title, [page for page in pages if page in there])
            known.update(pages)
        if there - known:
            text += toctree("More", sorted(there - known))
        index.write_text(text, "utf-8")


def toctree(title: str, pages: list[str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    return "\n```{toctree}\n:hidden:\n" + caption + "\n" + "\n".join(pages) + "\n```\n"


def gather(folder: Path) -> None:
    """Writes all pages and the settings into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(folder)
    operators.make(folder / "operators")
    notebooks.add(folder / "examples", folder.parent / "notebooks")
    site.add_pages()
    site.write("api.md", reference.python_api())
    site.add_files()
    site.add_index()
    (folder / "_static").mkdir()
    shutil.copy(HERE / "site.css", folder / "_static")
    shutil.copy(HERE / "conf.py", folder)


def main() -> int:
    out = Path(sys.argv[1]).resolve()
    gather(out / "source")
    shutil.rmtree(out / "html", ignore_errors=True)
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        "auto",
        "-b",
        "html",
    ]
    status = subprocess.run([*sphinx, "-d", out / "state", out / "source", out / "html"]).returncode
    if status:
        return status
    return subprocess.run([sys.executable, HERE / "links.py", out / "html"]).returncode


if __name__ == "__main__":
    sys.exit(main())
