#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs the Python examples of Markdown pages.

    examples.py [PAGE...]    all pages of the repository, or only these

The fenced blocks ```python of a page run one after the other, in one namespace and a folder of their own with small
data (given.py). Three rules keep them short and still have them run:

* A page may use the imports of `given.PRELUDE` and the variables that `given.PAGES` states for it.
* Calls of operators outside of a pipeline run in a pipeline, for one batch.
* A pipeline definition that the page does not call, and that can be called without arguments, is called and run
  for one batch.

A block ```text that follows at once is what the block prints. A block whose first line is a comment that begins with
`# Not executed:` is only compiled; the comment states the reason.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import linecache
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOT_EXECUTED = "# Not executed: "
BLOCK = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$(?:\n+(?P=indent)```text\n(?P<text>.*?)^(?P=indent)```$)?",
    re.MULTILINE | re.DOTALL,
)


class Failed(Exception):
    """An example did not do what the page says."""


@dataclasses.dataclass
class Block:
    """A block of Python, the line where it begins, and what it has to print."""

    code: str
    line: int
    text: str | None

    @property
    def reason(self) -> str:
        """Why it is not executed, or an empty text."""
        first = self.code.partition("\n")[0]
        return first.removeprefix(NOT_EXECUTED) if first.startswith(NOT_EXECUTED) else ""


def blocks(page: str) -> list[Block]:
    """The blocks of a page."""
    return [
        Block(match["code"], page.count("\n", 0, match.start()) + 2, match["text"])
        for match in BLOCK.finditer(page)
    ]


def pages() -> list[str]:
    """The pages of the repository that have Python examples."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found if blocks(page.read_text("utf-8"))]


def _is_operator(node: ast.AST) -> bool:
    """Whether an expression is a call of `fn.something`."""
    if not isinstance(node, ast.Call):
        return False
    target: ast.AST = node.func
    while isinstance(target, ast.Attribute):
        target = target.value
    return isinstance(target, ast.Name) and target.id == "fn"


def _defines_nodes(tree: ast.Module) -> bool:
    """Whether operators are called outside of a function or a `with`."""
    return any(isinstance(s, (ast.Assign, ast.Expr)) and _is_operator(s.value) for s in tree.body)


def flat(value: Any) -> Iterator[Any]:
    """The nodes in a result of operators."""
    from headrace.data_node import DataNode

    if isinstance(value, DataNode):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from flat(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)


def run_nodes(
    tree: ast.Module, name: str, namespace: dict[str, Any], batch: int = 2
) -> list[tuple[str, Any]]:
    """Runs statements that call operators, in a pipeline of their own, for one batch.

    Returns the variables that hold nodes, with their batches.
    """
    from headrace import Pipeline

    names = []
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.Expr):
            assign = ast.Assign([ast.Name(f"_{number}", ast.Store())], statement.value)
            tree.body[number] = ast.fix_missing_locations(ast.copy_location(assign, statement))
            names.append(f"_{number}")
        elif isinstance(statement, ast.Assign):
            names += [
                x.id for t in statement.targets for x in ast.walk(t) if isinstance(x, ast.Name)
            ]
    pipe = Pipeline(batch_size=batch, num_threads=2, device_id=None, seed=7)
    with pipe:
        for key, make in namespace.get("NODES", {}).items():
            if any(isinstance(x, ast.Name) and x.id == key for x in ast.walk(tree)):
                namespace[key] = make()
        exec(compile(tree, name, "exec"), namespace)
        outputs = [(key, node) for key in names for node in flat(namespace[key])]
        if not outputs:
            raise Failed(f"{name}: calls operators, but no result is a node")
        pipe.set_outputs(*(node for _, node in outputs))
    return [(key, batch) for (key, _), batch in zip(outputs, pipe.run(), strict=True)]


def run_block(block: Block, name: str, namespace: dict[str, Any], page: str) -> None:
    """Runs a block; raises what it raises, or Failed if it prints something else than the page says."""
    linecache.cache[name] = (
        len(block.code),
        None,
        block.code.splitlines(True),
        name,
    )  # for inspect
    tree = ast.parse(block.code, name)
    if block.reason:
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if _defines_nodes(tree):
            run_nodes(tree, name, namespace)
            return
        before = dict(namespace)
        exec(compile(tree, name, "exec"), namespace)
    if block.text is not None and printed.getvalue().strip() != block.text.strip():
        raise Failed(
            f"{name}: the page says\n{block.text}\nbut the example printed\n{printed.getvalue()}"
        )
    for key, value in list(namespace.items()):
        new = value is not before.get(key) and getattr(value, "_is_pipeline_def", False)
        if new and not re.search(rf"(?<!def )\b{key}\(", page):
            with contextlib.redirect_stdout(printed):
                value(batch_size=2).run()


def run_page(name: str, folder: Path) -> int:
    """Runs the blocks of a page in a folder and returns how many were executed."""
    import given

    page = (ROOT / name).read_text("utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    given.make_data(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        exec(given.PRELUDE + given.PAGES.get(name, ""), namespace)
        for block in blocks(page):
            run_block(block, f"{name}:{block.line}", namespace, page)
    finally:
        os.chdir(before)
    return sum(not block.reason for block in blocks(page))


def main() -> int:
    failed = 0
    for name in sys.argv[1:] or pages():
        with tempfile.TemporaryDirectory() as folder:
            try:
                count = run_page(name, Path(folder))
            except Exception as error:
                failed += 1
                import traceback

                traceback.print_exc()
                print(f"{name}: FAILED: {error}")
            else:
                skipped = len(blocks((ROOT / name).read_text("utf-8"))) - count
                print(f"{name}: {count} executed, {skipped} not executed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
