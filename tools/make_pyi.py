#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the type stubs of `headrace.fn` and `headrace.ops` from the operators' schemas.

    make_pyi.py --core build/_core.abi3.so OUTDIR
    make_pyi.py --schema schema.json OUTDIR

OUTDIR is the folder of the package. The stubs are written to OUTDIR/fn and OUTDIR/ops.
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import importlib.util
import json
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

BASE = Path(__file__).resolve().parents[1] / "python" / "headrace" / "_base"

HEADER = '''\
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Generated from the operators' schemas by tools/make_pyi.py."""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as _Sequence  # readers.Sequence is an operator
from typing import Any, Protocol, TypeAlias, overload

from headrace.data_node import DataNode
from headrace.tensors import TensorCPU, TensorListCPU
from headrace.types import DALIImageType, DALIInterpType, DTypeLike, ScalarConstant

class _Array(Protocol):
    def __array__(self) -> Any: ...

# The type of operator inputs: a node, or a constant that becomes one.
_Data: TypeAlias = (
    DataNode | TensorCPU | TensorListCPU | ScalarConstant | _Array | float | _Sequence[Any]
)

'''

TYPES = {
    "BOOL": "bool",
    "INT": "int",
    "INT64": "int",
    "FLOAT": "float",
    "STRING": "str",
    "LAYOUT": "str",
    "DTYPE": "DTypeLike",
    "IMAGE_TYPE": "DALIImageType",
    "INTERP": "DALIInterpType",
    "INTS": "_Sequence[int] | int",
    "INT64S": "_Sequence[int] | int",
    "FLOATS": "_Sequence[float] | float",
    "STRINGS": "_Sequence[str] | str",
    "JSON": "dict[str, Any] | _Sequence[Any]",
    "FUNCTION": "Callable[..., Any]",
}
PER_SAMPLE = " | DataNode | TensorListCPU | _Array"

# external_source is a Python function, so the schema does not contain its signature.
EXTERNAL_ARGS = """\
source: Callable[..., Any] | Iterable[Any] | None = None,
num_outputs: {outputs},
*,
cycle: bool | str | None = None,
name: str | None = None,
device: str = "cpu",
layout: str | _Sequence[str] | None = None,
dtype: DTypeLike | _Sequence[DTypeLike] | None = None,
ndim: int | _Sequence[int] | None = None,
cuda_stream: Any = None,
use_copy_kernel: bool | None = None,
blocking: bool | None = None,
batch: bool | None = True,
repeat_last: bool = False,
parallel: bool | None = None,
no_copy: bool | None = None,
prefetch_queue_depth: int | None = None,
bytes_per_sample_hint: int | _Sequence[int] | None = None,
batch_info: bool | None = None,
"""


def load_module(name: str, path: Path) -> ModuleType:
    """Imports a module from a file of any suffix."""
    if path.suffix == ".so":
        loader: Any = importlib.machinery.ExtensionFileLoader(name, str(path))
    else:
        loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


DOCS = load_module("docs", BASE / "docs.py")


def literal(arg: dict[str, Any]) -> str:
    """The default value as written in a stub."""
    if arg["default"] is None:
        return "None"
    try:
        return repr(ast.literal_eval(arg["default"]))
    except (ValueError, SyntaxError):
        return "..."  # a member of an enumeration


def parameter(arg: dict[str, Any]) -> str:
    kind = TYPES["DTYPE" if "dtypes" in arg["flags"] else arg["type"]]
    if arg["list"] and "dtypes" in arg["flags"]:
        kind = f"_Sequence[{kind}] | {kind}"
    if "per_sample" in arg["flags"]:
        kind += PER_SAMPLE
    if "required" in arg["flags"]:
        return f"{arg['name']}: {kind}"
    return f"{arg['name']}: {kind} | None = {literal(arg)}"


def parameters(op: dict[str, Any]) -> list[str]:
    """The keyword parameters: the operator's own, then those of all operators."""
    own = [parameter(arg) for arg in op["args"]]
    names = {arg["name"] for arg in op["args"]}
    common = {
        "device": "device: str | None = None",
        "name": "name: str | None = None",
        "preserve": "preserve: bool = False",
        "bytes_per_sample_hint": "bytes_per_sample_hint: _Sequence[int] | int = 0",
    }
    if op["source"] == "indexed" or "random" in op["flags"]:
        common["seed"] = "seed: int = -1"
    return own + [text for name, text in common.items() if name not in names]


def inputs(op: dict[str, Any]) -> list[str]:
    """The positional parameters."""
    named = [item["name"] for item in op["inputs"]]
    if op["in_max"] > max(len(named), 4):
        return ["*inputs: _Data"]
    texts = []
    for i in range(op["in_max"]):
        name = named[i] if i < len(named) else f"input{i}"
        texts.append(f"{name}: _Data" + ("" if i < op["in_min"] else " | None = None"))
    if not texts:
        return []
    own = {arg["name"] for arg in op["args"]}
    return [f"_{text}" if text.partition(":")[0] in own else text for text in texts] + ["/"]


def returns(op: dict[str, Any]) -> str:
    if op["out_keys"]:
        return "dict[str, DataNode]"
    if op["out_count"] == 1:
        return "DataNode"
    return "Any" if op["out_count"] is None else "list[DataNode]"


def docstring(op: dict[str, Any]) -> list[str]:
    """The lines of the docstring, wrapped but not indented."""
    lines = []
    for line in DOCS.docstring(op).splitlines():
        margin = line[: len(line) - len(line.lstrip())]
        further = margin + "    " if margin else ""
        lines += textwrap.wrap(line, 92, initial_indent="", subsequent_indent=further) or [""]
    quoted = [line.replace("\\", "\\\\").replace('"""', "'''") for line in lines]
    return [f'"""{quoted[0]}', *quoted[1:], '"""']


def indent(lines: list[str], depth: int) -> list[str]:
    return [" " * 4 * depth + line if line else "" for line in lines]


def signature(head: str, params: list[str], result: str) -> list[str]:
    return [f"{head}(", *(f"    {param}," for param in params), f") -> {result}:"]


def keyword_only(params: list[str], *, varargs: bool = False) -> list[str]:
    return params if varargs or not params else ["*", *params]


def function_stub(name: str, op: dict[str, Any]) -> str:
    if op["name"] == "external_source":
        return external_function(name)
    positional = inputs(op)
    varargs = positional[:1] == ["*inputs: _Data"]
    params = positional + keyword_only(parameters(op), varargs=varargs)
    lines = signature(f"def {name}", params, returns(op))
    return "\n".join(lines + indent(docstring(op), 1) + ["    ..."]) + "\n"


def external_function(name: str) -> str:
    texts = []
    for outputs, result in (("None = None", "DataNode"), ("int", "list[DataNode]")):
        body = EXTERNAL_ARGS.format(outputs=outputs)
        if outputs == "int":  # no default, so it must be keyword-only
            body = body.replace("source: Callable[..., Any] | Iterable[Any] | None = None,\n", "")
            body = body.replace("num_outputs: int,\n*,", "*,\nnum_outputs: int,")
            source = "source: Callable[..., Any] | Iterable[Any] | None = None,\n"
            body = source + body
        lines = [line for line in body.splitlines() if line]
        texts.append(
            "\n".join(["@overload", f"def {name}(", *indent(lines, 1), f") -> {result}: ..."])
        )
    return "\n".join(texts) + "\n"


def class_stub(name: str, op: dict[str, Any]) -> str:
    lines = [f"class {name}:", *indent(docstring(op), 1)]
    if op["name"] == "external_source":
        lines += ["    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
        lines += ["    def __call__(self, *args: Any, **kwargs: Any) -> Any: ..."]
        return "\n".join(lines) + "\n"
    # Arguments may also be passed to the call, so none is required in the constructor.
    relaxed = {
        **op,
        "args": [{**a, "flags": [f for f in a["flags"] if f != "required"]} for a in op["args"]],
    }
    init = ["self", *keyword_only(parameters(relaxed))]
    lines += indent(signature("def __init__", init, "None"), 1) + ["        ..."]
    call = [*inputs(op), "**arguments: Any"]
    call = [p for p in call if p != "/"] if call[0] == "/" else call
    lines += indent(signature("def __call__", ["self", *call], returns(op)), 1) + ["        ..."]
    return "\n".join(lines) + "\n"


def class_name(function: str, names: ModuleType) -> str:
    known: str | None = names.CLASSES.get(function)
    leaf = function.rpartition(".")[2]
    return known or "".join(part[:1].upper() + part[1:] for part in leaf.split("_"))


def collect(
    operators: list[dict[str, Any]], names: ModuleType, kind: str
) -> dict[str, dict[str, str]]:
    """The stubs by module ("", "readers") and name, including old names. `kind` is "fn" or "ops"."""
    by_name = {op["name"]: op for op in operators}
    functions = {old: by_name[new] for old, new in names.RENAMED.items() if new in by_name}
    classes: dict[str, dict[str, Any]] = {}
    for op in operators:
        for alias in op["aliases"]:
            if alias.startswith("ops:"):
                classes[alias[4:]] = op
            else:
                functions[alias] = op
    functions.update((op["name"], op) for op in operators if "hidden" not in op["flags"])
    modules: dict[str, dict[str, str]] = {"": {}}
    if kind == "fn":
        for full, op in functions.items():
            module, _, leaf = full.rpartition(".")
            modules.setdefault(module, {})[leaf] = function_stub(leaf, op)
        return modules
    for full, op in functions.items():
        module = full.rpartition(".")[0]
        classes.setdefault(".".join(filter(None, [module, class_name(full, names)])), op)
    for full, op in classes.items():
        module, _, leaf = full.rpartition(".")
        modules.setdefault(module, {})[leaf] = class_stub(leaf, op)
    return modules


def write(modules: dict[str, dict[str, str]], folder: Path) -> None:
    """Writes one file per module. A module gets a folder only if it has submodules, because a folder without code
    would be a namespace package at run time."""
    for name in list(modules):
        parts = name.split(".")
        for i in range(1, len(parts)):
            modules.setdefault(".".join(parts[:i]), {})
    for name, stubs in modules.items():
        children = sorted(
            {
                other[len(name) :].lstrip(".").split(".")[0]
                for other in modules
                if other != name and (not name or other.startswith(name + "."))
            }
        )
        path = folder.joinpath(*filter(None, name.split(".")))
        path = path / "__init__.pyi" if children else path.with_suffix(".pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        imports = "".join(f"from . import {child} as {child}\n" for child in children)
        text = HEADER + imports + "\n" + "\n".join(stubs[leaf] for leaf in sorted(stubs))
        path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--core", type=Path, help="the built extension, _core.abi3.so")
    given.add_argument("--schema", type=Path, help="the operators' schemas as JSON")
    parser.add_argument("outdir", type=Path, metavar="OUTDIR", help="folder of the package")
    args = parser.parse_args()
    if args.core:
        text = load_module("_core", args.core).schema_json()
    else:
        text = args.schema.read_text(encoding="utf-8")
    operators = json.loads(text)["operators"]
    names = load_module("dali_names", BASE / "dali_names.py")
    for kind in ("fn", "ops"):
        write(collect(operators, names, kind), args.outdir / kind)


if __name__ == "__main__":
    main()
