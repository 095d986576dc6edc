#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checks the imports of the Python package, also those in functions and for type checkers: upwards none, and no circles.

The layers of `python/headrace` are in LAYERS, the lowest first. A module imports only modules of its own layer and of
those before it. Importing a package from within it (`headrace._graph` in `headrace._graph.calls`) is a circle, because
the package imports its modules.
"""

from __future__ import annotations

import ast
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "python"
# Names below `headrace`, as in docs/architecture.md. `.` is `headrace/__init__.py`.
LAYERS = """
_core
_base
_storage
_tables
tensors
_graph
data_node
types math tfrecord backend backend_impl
_conditionals _external external_source pickling
_pipeline
pipeline
fn ops
_pack
auto_aug
plugin plugin_manager sysconfig
torch
ray
experimental
.
as_dali _as_dali_site
cli
__main__
""".strip().splitlines()
RANK = {name: rank for rank, line in enumerate(LAYERS) for name in line.split()}
Graph = dict[str, dict[str, int]]  # module -> imported module -> line


def layer(module: str) -> str:
    """The name in LAYERS of a module: "headrace._graph.calls" is in "_graph"."""
    return module.split(".")[1] if "." in module else "."


def imported(tree: ast.Module, package: str, modules: set[str]) -> dict[str, int]:
    """The modules of `modules` that a file imports, with the line of the first import.

    `package` is the package of the file, from which relative imports start.
    """
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            inner = [f"{start}.{alias.name}" for alias in node.names]
            names = [name if name in modules else start for name in inner]
        for name in names:
            if name in modules:
                found.setdefault(name, node.lineno)
    return found


def read() -> Graph:
    """The imports of all modules of the package, also those for type checkers only."""
    files = {}
    for path in sorted((ROOT / "headrace").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        files[name.removesuffix(".__init__")] = path
    modules = {*files, "headrace._core"}
    graph: Graph = {"headrace._core": {}}
    for name, path in files.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        graph[name] = imported(ast.parse(path.read_text()), package, modules)
    return graph


def upwards(graph: Graph) -> list[str]:
    """One line per import from a layer above, and per module that is in no layer."""
    out = []
    for module, targets in graph.items():
        if layer(module) not in RANK:
            out.append(f"{module} is in no layer: add it to LAYERS in tools/check/imports.py")
            continue
        for target, line in targets.items():
            if RANK.get(layer(target), -1) > RANK[layer(module)]:
                out.append(f"{module}:{line}: imports {target}, which is in a layer above")
    return out


def circles(graph: Graph) -> list[str]:
    """One line per circle that a walk along the imports finds."""
    out: list[str] = []
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> None:
        if module in path:
            out.append("circle: " + " -> ".join([*path[path.index(module) :], module]))
        elif module not in done:
            for target in graph.get(module, {}):
                walk(target, [*path, module])
            done.add(module)

    for module in graph:
        walk(module, [])
    return out


def self_test() -> None:
    """Fails if the check would miss a wrong import."""
    modules = {"headrace", "headrace.fn", "headrace._graph", "headrace._graph.calls"}
    text = "def f():\n    from headrace import fn\n    from .calls import call\n"
    found = imported(ast.parse(text), "headrace._graph", modules)
    assert found == {"headrace.fn": 2, "headrace._graph.calls": 3}, found
    assert upwards({"headrace._graph": found}) != []
    assert upwards({"headrace.fn": {"headrace._graph": 1}}) == []
    assert upwards({"headrace.unknown": {}}) != []
    ring: Graph = {"headrace.a": {"headrace.b": 1}, "headrace.b": {"headrace.c": 1}}
    assert circles(ring) == []
    assert circles({**ring, "headrace.c": {"headrace.a": 1}}) != []
    assert circles({"headrace.a": {"headrace.a": 1}}) != []
    typing = "if TYPE_CHECKING:\n    from headrace import fn\n"
    assert imported(ast.parse(typing), "headrace", modules) == {"headrace.fn": 2}


def main() -> int:
    self_test()
    graph = read()
    complaints = [*upwards(graph), *circles(graph)]
    count = sum(map(len, graph.values()))
    print(f"imports: {count} between {len(graph)} modules, {len(complaints)} upwards or in circles")
    if count == 0:
        complaints.append("imports: found no imports to check")
    print("\n".join(complaints), end="\n" if complaints else "", file=sys.stderr)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
