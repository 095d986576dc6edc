#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs the notebooks of examples/notebooks and makes pages of them. Needs no Jupyter.

    notebooks.py [NOTEBOOK...]    run all notebooks, or only these

The cells of a notebook are plain Python and run in order, in one namespace and a folder of their own. The value of a
last line is shown as Jupyter shows it: by its `_repr_html_`, or by its `repr`.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import html
import io
import json
import linecache
import os
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
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> list[Cell]:
    """The cells of a notebook. It must have been saved without outputs."""
    document = json.loads(path.read_text("utf-8"))
    for cell in document["cells"]:
        if cell.get("outputs") or cell.get("execution_count"):
            raise ValueError(f"{path.name} has outputs: clear them before saving it")
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]


def title(cells: list[Cell]) -> str:
    return cells[0].text.partition("\n")[0].removeprefix("# ")


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


def page(path: Path) -> str:
    """A page that shows a notebook after it has run."""
    with tempfile.TemporaryDirectory() as folder:
        cells = run(path, Path(folder))
        out = []
        for number, cell in enumerate(cells):
            if cell.kind == "markdown":
                out.append(cell.text)
                if number == 0:
                    out.append(
                        f"The notebook is `{path.relative_to(ROOT)}`. It ran when this site was built."
                    )
                continue
            out.append(f"```python\n{cell.text}\n```")
            if cell.printed:
                text = html.escape(cell.printed.rstrip().replace(folder, "/tmp"))
                out.append(
                    f'<div class="output"><pre>\n{text}\n</pre></div>'.replace(
                        "\n\n", "\n&#8203;\n"
                    )
                )
            if cell.shown:
                flat = cell.shown.replace("\n\n", "\n").replace(folder, "/tmp")
                out.append(f'<div class="output">{flat}</div>')
    return "\n\n".join(out) + "\n"


def make(folder: Path) -> None:
    """Writes index.md and a page for each notebook."""
    folder.mkdir(parents=True)
    names = []
    for path in found():
        names.append(path.stem)
        (folder / f"{path.stem}.md").write_text(page(path), "utf-8")
    lines = ["# Notebooks", ""]
    lines += [
        "These are the notebooks of `examples/notebooks`, with what they showed when this site was built."
    ]
    lines += ["", *(f"* [{title(read(path))}]({path.stem}.md)" for path in found())]
    lines += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), "utf-8")


def main() -> int:
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
