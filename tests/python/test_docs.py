# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The Python examples of the documentation run, and the tools that build it notice what is wrong."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "docs"
sys.path.insert(0, str(TOOLS))
examples: Any = importlib.import_module("examples")
links: Any = importlib.import_module("links")
notebooks: Any = importlib.import_module("notebooks")


@pytest.mark.parametrize("page", examples.pages())
def test_examples(page: str, tmp_path: Path) -> None:
    """All blocks of a page run in order, or say why they are not executed."""
    text = (examples.ROOT / page).read_text("utf-8")
    if re.search(r"import torch|\.(py)?torch\b", text):
        pytest.importorskip("torchvision")
    if "as_dali.install()" in text:  # lasts as long as the process
        subprocess.run([sys.executable, TOOLS / "examples.py", page], check=True)
    else:
        examples.run_page(page, tmp_path)


def run(text: str) -> None:
    namespace: dict[str, Any] = {}
    exec("from headrace import fn, pipeline_def, types", namespace)
    for number, block in enumerate(examples.blocks(text)):
        examples.run_block(block, f"page:{number}", namespace, text)


DEFINED = """```python
@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def example():
    return fn.{}(shape=[2])
```
"""


def test_runner_notices() -> None:
    """Wrong output, wrong calls and pipelines that fail are errors, wherever the calls are."""
    run("```python\nprint(1)\n```\n\n```text\n1\n```\n")
    with pytest.raises(examples.Failed, match="printed"):
        run("```python\nprint(2)\n```\n\n```text\n1\n```\n")
    run("```python\nx = fn.random.uniform(shape=[2])\n```\n")
    with pytest.raises(RuntimeError):
        run("```python\nx = fn.random.uniform(shape=[-2])\n```\n")
    run(DEFINED.format("random.uniform"))
    with pytest.raises(AttributeError):
        run(DEFINED.format("random.nothing"))
    run("```python\n# Not executed: it fails.\nraise ValueError\n```\n")
    with pytest.raises(SyntaxError):
        run("```python\n# Not executed: but it is compiled.\n1 +\n```\n")


def test_broken_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a> <a href="https://x.org/">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="#there">x</a></p>')
    assert links.broken(tmp_path) == []
    (tmp_path / "a.html").write_text('<a href="b.html#gone">x</a> <img src="c.png">')
    links.page.cache_clear()
    assert len(links.broken(tmp_path)) == 2


def test_orphans(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="a.html#x">x</a>')
    (tmp_path / "a.html").write_text('<a href="index.html">x</a>')
    (tmp_path / "b.html").write_text('<a href="index.html">x</a>')
    links.page.cache_clear()
    assert links.orphans(tmp_path) == ["b.html: no links lead here from index.html"]


@pytest.mark.parametrize("path", notebooks.found(), ids=lambda path: path.stem)
def test_notebooks(path: Path, tmp_path: Path) -> None:
    """All cells of a notebook run in order; it was saved without outputs."""
    if notebooks.needs_torch(notebooks.read(path)):
        pytest.importorskip("torchvision")
    cells = notebooks.run(path, tmp_path)
    assert any(cell.shown or cell.printed for cell in cells)
