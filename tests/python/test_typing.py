# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Type stubs: generated from the operators' tables, and complete enough for mypy to accept the examples."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import headrace
import pytest
from headrace import _core

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def make_pyi() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pyi", ROOT / "tools" / "make_pyi.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with newly generated stubs; returns the folder above it."""
    root = tmp_path_factory.mktemp("typed")
    source = Path(headrace.__file__).parent
    shutil.copytree(source, root / "headrace", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    schema = root / "schema.json"
    schema.write_text(_core.schema_json())
    command = [sys.executable, str(ROOT / "tools" / "make_pyi.py"), "--schema", str(schema)]
    subprocess.run([*command, str(root / "headrace")], check=True)
    return root


def test_every_operator_has_a_stub(package: Path) -> None:
    found = {}
    for kind in ("fn", "ops"):
        for path in (package / "headrace" / kind).rglob("*.pyi"):
            parts = path.relative_to(package / "headrace" / kind).with_suffix("").parts
            module = ".".join(p for p in parts if p != "__init__")
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    found[f"{kind}.{module}.{node.name}".replace("..", ".")] = node
    for op in json.loads(_core.schema_json())["operators"]:
        if "hidden" in op["flags"]:
            continue
        function = found[f"fn.{op['name']}"]
        assert isinstance(function, ast.FunctionDef)
        given = {arg.arg for arg in function.args.kwonlyargs}
        if op["name"] != "external_source":
            assert {arg["name"] for arg in op["args"]} <= given, op["name"]
            assert len(function.args.posonlyargs) == op["in_max"] or function.args.vararg
    for name in ("ops.Resize", "ops.readers.File", "ops.FileReader", "fn.file_reader"):
        assert name in found


def mypy(package: Path, *targets: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    env = {**os.environ, "MYPYPATH": str(package), "PYTHONPATH": ""}
    command = [sys.executable, "-m", "mypy", "--config-file", os.devnull, "--follow-imports=silent"]
    command += ["--cache-dir", str(package / "cache"), "--ignore-missing-imports"]
    return subprocess.run(
        [*command, *map(str, targets)], env=env, capture_output=True, text=True, cwd=package
    )


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("py*/*.py")), ids=lambda p: p.stem)
def test_mypy_passes_on_the_examples(package: Path, path: Path) -> None:
    done = mypy(package, path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_mistakes(package: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from headrace import fn\n"
        "def f() -> None:\n"
        "    jpegs, labels = fn.readers.file(file_rot='x')\n"
        "    fn.resize(jpegs, size='big')\n"
        "    fn.decoders.no_such_operator(jpegs)\n"
    )
    out = mypy(package, wrong).stdout
    assert "wrong.py:3" in out and "wrong.py:4" in out and "wrong.py:5" in out, out


def test_marked_as_typed() -> None:
    assert (Path(headrace.__file__).parent / "py.typed").is_file()
