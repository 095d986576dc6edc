# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Type stubs: generated from the operators' tables, and complete enough for mypy to accept the examples."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import headrace
import pytest
from headrace import _core

ROOT = Path(__file__).resolve().parents[2]
Checker = Callable[..., subprocess.CompletedProcess[str]]


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
    command += ["--strict", "--untyped-calls-exclude=torch", "--ignore-missing-imports"]
    command += ["--cache-dir", str(package / "cache")]
    return subprocess.run(
        [*command, *map(str, targets)], env=env, capture_output=True, text=True, cwd=package
    )


def pyright(package: Path, *targets: Path) -> subprocess.CompletedProcess[str]:
    """Runs basedpyright with pyright's own rules: unlike pyright, all of it comes from PyPI."""
    pytest.importorskip("basedpyright")
    settings = package / "pyrightconfig.json"
    site = site_packages(sys.path)
    rules = {"typeCheckingMode": "standard", "reportMissingImports": "none"}
    settings.write_text(json.dumps({"extraPaths": [str(package), *site], **rules}))
    command = [sys.executable, "-m", "basedpyright", "-p", str(settings)]
    return subprocess.run([*command, *map(str, targets)], capture_output=True, text=True, cwd=package)


def site_packages(paths: list[str]) -> list[str]:
    return [path for path in paths if path.endswith("-packages")]


CHECKERS = [mypy, pyright]
USER = """
import numpy
import torch
from headrace import Pipeline, fn, pipeline_def, types
from headrace.experimental.torchvision import Compose, Resize
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIGenericIterator
from headrace.torch import Loader

@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def train(root: str, size: int = 224, shard_id: int = 0) -> tuple[DataNode, DataNode]:
    jpegs, labels = fn.readers.file(file_root=root, shard_id=shard_id, name="Reader")
    return fn.resize(fn.decoders.image(jpegs), size=[size, size]), labels

@pipeline_def
def plain() -> DataNode:
    return fn.random.uniform(range=[0.0, 1.0])

@pipeline_def(output_dtype=["float32", None])
def typed() -> tuple[DataNode, DataNode, DataNode]:
    data = fn.external_source(dtype="uint8")
    given = fn.cast(data, dtype=numpy.dtype("int8")), fn.cast(data, dtype=types.INT8)
    return (fn.cast(fn.cast(data, dtype=numpy.float32), dtype=torch.float32), *given)

plain(batch_size=8, num_threads=1)
other: Pipeline = train("x", 3, batch_size=8, quarantine="bad.txt")
both = train("x", size=3, shard_id=1, batch_size=8, enable_conditionals=True)
pipe = train("x")
images, labels = pipe.run()
array = images.as_cpu().as_array()
print(array.shape, images.shape(), images.dtype, len(labels), images[0].layout())
for batch in DALIGenericIterator(pipe, ["a", "b"], reader_name="Reader"):
    mean: torch.Tensor = batch[0]["a"].mean()
size: torch.Tensor = Compose([Resize(8)], batch_size=2)(torch.zeros(3, 9, 9))
for pictures, numbers in Loader(train("x")):
    print(pictures.shape, numbers.dtype)
"""
MISTAKES = [
    "train(3)",
    "train('x', wrong=1)",
    "train('x', batch_size='many')",
    "train('x', batchsize=4)",
    "pipeline_def(batch_sise=4)",
    "pipe.run()[0].as_cpu().as_arrray()",
    "pipe.run().images",
    "next(DALIGenericIterator(pipe, ['a']))['a']",
    "next(DALIGenericIterator(pipe, ['a']))[0]['a'].widths",
    "DALIGenericIterator(pipe, ['a'], size='b')",
    "Loader(pipe, drop='x')",
    "next(iter(Loader(pipe)))[0].widths",
    "fn.readers.file(file_rot='x')",
    "fn.resize(fn.random.coin_flip(), size='big')",
    "fn.decoders.no_such_operator(1)",
    "fn.cast(fn.random.coin_flip(), dtype=2.5)",
    "Resize('big')",
]


@pytest.mark.typing_tools
@pytest.mark.parametrize("check", CHECKERS)
def test_checkers_find_mistakes_and_nothing_else(
    package: Path, tmp_path: Path, check: Checker
) -> None:
    """One run, because most of its time is for PyTorch: the examples and USER are correct."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("\n".join([USER.lstrip(), *MISTAKES, ""]))
    examples = sorted((ROOT / "examples").glob("py*/*.py"))
    assert len(examples) > 10
    done = check(package, wrong, *examples)
    out = done.stdout
    first = len(USER.lstrip().split("\n")) + 1
    errors = re.findall(r"(\S+\.py):(\d+):.*error", out)
    found = {(Path(file).name, int(line)) for file, line in errors}
    assert found == {("wrong.py", first + k) for k in range(len(MISTAKES))}, out + done.stderr
    assert f"{len(examples) + 1} source files" in out or check is pyright, out


def test_marked_as_typed() -> None:
    assert (Path(headrace.__file__).parent / "py.typed").is_file()
