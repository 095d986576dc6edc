#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs the notebooks of examples/notebooks and makes pages of them. Needs no Jupyter.

    notebooks.py [NOTEBOOK...]       run all notebooks, or only these
    notebooks.py --pages FOLDER      run all notebooks and write their pages for the site

The cells of a notebook are plain Python and run in order, in one namespace and a folder of their own. The value of a
last line is shown as Jupyter shows it: by its `_repr_html_`, or by its `repr`.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import html
import importlib.util
import io
import json
import linecache
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

from paths import ROOT

FOLDER = ROOT / "examples" / "notebooks"


@dataclasses.dataclass
class Cell:
    """A cell, and what it showed."""

    kind: str  # "markdown" or "code"
    text: str
    printed: str = ""
    shown: str = ""  # HTML


def found() -> list[Path]:
    """The notebooks. The one to begin with comes first."""
    return sorted(FOLDER.glob("*.ipynb"), key=lambda path: (path.stem != "getting_started", path))


def read(path: Path) -> list[Cell]:
    """The cells of a notebook. It must have been saved without outputs."""
    document = json.loads(path.read_text("utf-8"))
    for cell in document["cells"]:
        if cell.get("outputs") or cell.get("execution_count"):
            raise ValueError(f"{path.name} has outputs: clear them before saving it")
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]


def title(cells: list[Cell]) -> str:
    return cells[0].text.partition("\n")[0].removeprefix("# ")


def needs_torch(cells: list[Cell]) -> bool:
    return any("torch" in cell.text for cell in cells if cell.kind == "code")


def run_cell(cell: Cell, name: str, namespace: dict[str, Any]) -> None:
    """Runs a cell and keeps what it printed and its last value."""
    linecache.cache[name] = (len(cell.text), None, cell.text.splitlines(True), name)  # for inspect
    tree = ast.parse(cell.text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            made = value._repr_html_() if hasattr(value, "_repr_html_") else None
            if made is not None:
                cell.shown = made
            elif value is not None:
                print(repr(value))
    cell.printed = printed.getvalue()


def run(path: Path, folder: Path) -> list[Cell]:
    """Runs a notebook in a folder and returns its cells with what they showed."""
    cells = read(path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    before = os.getcwd(), list(sys.path), tempfile.tempdir
    os.chdir(folder)
    sys.path.insert(0, str(FOLDER))
    tempfile.tempdir = str(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, cell in enumerate(cells):
                if cell.kind == "code":
                    run_cell(cell, f"{path.name}:cell-{number}", namespace)
    finally:
        os.chdir(before[0])
        sys.path[:] = before[1]
        tempfile.tempdir = before[2]
    return cells


def block(cell: Cell, folder: str) -> list[str]:
    """The Markdown of a cell that ran in a folder."""
    if cell.kind == "markdown":
        return [cell.text]
    out = [f"```python\n{cell.text}\n```"]
    if cell.printed:  # an empty line would end the HTML block
        text = html.escape(cell.printed.rstrip()).replace("\n\n", "\n&#8203;\n")
        out.append(f'<div class="output"><pre>\n{text}\n</pre></div>')
    if cell.shown:
        shown = re.sub(r"\n{2,}", "\n", cell.shown)
        out.append(f'<div class="output">{shown}</div>')
    there = re.escape(folder) + r"(/headrace-\w+)?"
    return [re.sub(there, "/tmp/headrace", part) for part in out] if folder else out


def page(path: Path, cells: list[Cell], note: str, folder: str = "") -> str:
    """A page that shows cells that ran in a folder, or that did not run."""
    first, *others = cells
    head = [first.text, f"This notebook {note}. Download: {{download}}`{path.name}`."]
    return "\n\n".join([*head, *(b for cell in others for b in block(cell, folder))]) + "\n"


def pages(folder: Path) -> None:
    """Runs all notebooks and writes their pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in found():
        place, note = folder / f"{path.stem}.md", "ran when the site was built"
        place.unlink(missing_ok=True)
        if needs_torch(read(path)) and not importlib.util.find_spec("torchvision"):
            print(f"{path.name}: shown without outputs, since it needs torchvision")
            continue
        with tempfile.TemporaryDirectory() as there:
            place.write_text(page(path, run(path, Path(there)), note, there), "utf-8")


def add(folder: Path, made: Path) -> None:
    """Adds the pages to the site. A notebook whose page was not made is shown without outputs. Runs nothing."""
    folder.mkdir(parents=True)
    for path in found():
        ready = made / f"{path.stem}.md"
        if ready.is_file():
            shutil.copy(ready, folder)
        else:
            note = "is shown without outputs, which need PyTorch and torchvision"
            (folder / ready.name).write_text(page(path, read(path), note), "utf-8")
        shutil.copy(path, folder)
    shutil.copy(FOLDER / "sample_photographs.py", folder)
    lines = ["# Examples in notebooks", ""]
    lines += ["These are the notebooks of `examples/notebooks` and what they show when they run."]
    lines += ["They draw their data with {download}`sample_photographs.py`, which belongs next to them."]
    lines += ["", *(f"* [{title(read(path))}]({path.stem}.md)" for path in found())]
    names = [path.stem for path in found()]
    lines += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), "utf-8")


def main() -> int:
    if sys.argv[1:2] == ["--pages"]:
        pages(Path(sys.argv[2]))
        return 0
    failed = 0
    for path in [Path(name) for name in sys.argv[1:]] or found():
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(path.resolve(), Path(folder))
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"{path.name}: FAILED")
            else:
                print(f"{path.name}: ran")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
