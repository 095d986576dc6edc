# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Makes the pages of operators from their tables, with examples that run while the pages are made.

    operators.py NAME...    run the examples of these operators and print their outputs
"""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from paths import ROOT

import calls
import examples
import given
import make_operators_md
from headrace import fn
from headrace._base import docs
from headrace._graph import schema

# Folders of operators, in the order of the reference, with their titles. Others are appended.
FAMILIES = {
    "readers": "Readers and sources",
    "decoders": "Decoders",
    "image": "Pictures: size, window, geometry",
    "color": "Pictures: colours",
    "filter": "Pictures: filters",
    "pixels": "Pictures: pixels and effects",
    "noise": "Pictures: noise",
    "boxes": "Boxes",
    "segmentation": "Masks",
    "geometry": "Points and matrices",
    "generic": "Tensors",
    "reductions": "Reductions",
    "random": "Random numbers",
    "io": "Files",
    "function": "Python functions",
}
MOVED = {"external_source": "readers"}
REFUSED = 3  # refused calls that a page shows


def cell(text: str) -> str:
    """A text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def families() -> dict[str, list[schema.Operator]]:
    """The operators by title of their family: the folder of the file with the table."""
    readers = [("readers", file) for file in sorted((ROOT / "src/readers").rglob("*.c"))]
    files = [(file.parent.name, file) for file in sorted((ROOT / "src").glob("ops/*/*.c"))] + readers
    folders: dict[str, str] = {}
    for folder, file in files:
        for name in re.findall(r'"([a-z0-9_]+(?:\.[a-z0-9_.]+)?)"', file.read_text("utf-8")):
            if name.rpartition(".")[2] == file.stem:
                folders[name] = folder
            elif "." in name or "_" in name:
                folders.setdefault(name, folder)
    out: dict[str, list[schema.Operator]] = {title: [] for title in FAMILIES.values()}
    for name in schema.function_names():
        leaf = name.rpartition(".")[0].rpartition(".")[2]
        folder = MOVED.get(name) or folders.get(name) or (leaf if leaf in FAMILIES else "generic")
        out.setdefault(FAMILIES.get(folder, folder.capitalize()), []).append(
            schema.operators()[name]
        )
    return {title: members for title, members in out.items() if members}


def describe(batch: Any) -> str:
    """Type, shape and layout of a sample, and its values if they are few."""
    array = np.array(batch.at(0))
    text = f"{batch.dtype.name}, shape {tuple(array.shape)}"
    if batch.layout():
        text += f", layout {batch.layout()}"
    if array.size <= 16:
        text += ": `" + np.array2string(array, precision=3, separator=", ").replace("\n", "") + "`"
    return text


def shown(array: np.ndarray) -> np.ndarray | None:
    """An array as a picture, or None if it is not one."""
    if array.ndim == 4 and array.shape[-1] == 3:
        array = np.concatenate(list(array[:3]), axis=1)
    if array.ndim != 3 or array.shape[-1] not in (1, 3) or min(array.shape[:2]) < 32:
        return None
    if array.dtype != np.uint8:
        low, high = float(array.min()), float(array.max())
        array = ((array - low) / max(high - low, 1e-9) * 255).astype(np.uint8)
    return array[..., 0] if array.shape[-1] == 1 else array


def save(array: np.ndarray, path: Path) -> str:
    """Writes a picture and returns its Markdown."""
    picture = Image.fromarray(np.ascontiguousarray(array))
    picture.save(path, "PNG")
    return f"![]({path.name}){{width={picture.width}px}}"


def nodes() -> dict[str, Any]:
    def feed(array: np.ndarray, layout: str) -> Any:
        return lambda: fn.external_source(source=lambda: [array], layout=layout)

    return {name: feed(array, layout) for name, (array, layout, _) in calls.GIVEN.items()}


def run_example(name: str, text: str) -> list[tuple[str, Any]]:
    """Runs an example. Returns the outputs with their names."""
    namespace: dict[str, Any] = {"NODES": nodes()}
    exec(given.PRELUDE + "import io, wave, zlib", namespace)
    outputs = examples.run_nodes(ast.parse(text), f"example of {name}", namespace, 1)
    return [(key, batch) for key, batch in outputs if not isinstance(namespace[key], dict)]


def example(op: schema.Operator, folder: Path) -> list[str]:
    """The section with the example, its results and chart."""
    text = calls.CALLS.get(op.name, "")
    if not text:
        return []
    used = {x.id for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Name)}
    stored = {
        x.id
        for x in ast.walk(ast.parse(text))
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
    }
    inputs = {
        name: calls.GIVEN[name] for name in calls.GIVEN if name in used and name not in stored
    }
    out = ["## Example", "", "```python", text, "```", ""]
    pictures = []
    for name, (array, _, meaning) in inputs.items():
        out += [f"* `{name}` is given: {meaning}"]
        before = shown(array)
        if before is not None:
            pictures.append((f"`{name}`", save(before, folder / f"{op.name}-{name}.png")))
    for name, batch in run_example(op.name, text):
        out += [f"* `{name}`: {describe(batch)}"]
        after = shown(np.array(batch.at(0)))
        if after is not None:
            pictures.append((f"`{name}`", save(after, folder / f"{op.name}-{name}.png")))
    if pictures:
        out += [
            "",
            "| " + " | ".join(p[0] for p in pictures) + " |",
            "|" + " --- |" * len(pictures),
        ]
        out += ["| " + " | ".join(p[1] for p in pictures) + " |"]
    return [*out, ""]


def refused() -> dict[str, list[str]]:
    """Calls that an operator refuses, with what it says: from the cases of the tests, run now."""
    from collection import ERRORS, OUR_ERRORS
    from harness import Case, Data, Engine, Failure

    engine = Engine("headrace")
    out: dict[str, list[str]] = {}
    seen: set[tuple[str, str]] = set()
    for case in [*ERRORS, *OUR_ERRORS]:
        if not isinstance(case, Case):
            continue
        arguments = ", ".join(f"{key}={value!r}" for key, value in case.args.items())
        listed = out.setdefault(case.op, [])
        simple = not any(isinstance(v, Data) for v in case.args.values()) and len(arguments) < 70
        if not simple or len(listed) >= REFUSED or not all(d.samples for d in case.inputs):
            continue
        result = engine.result(case)
        if not isinstance(result, Failure):
            continue
        message = re.sub(r" \([^()]*harness\.py[^()]*\)", "", result.message)
        message = message.partition("\n")[0]
        if (case.op, message) in seen or len(message) > 260:
            continue
        seen.add((case.op, message))
        what = [
            f"{d.samples[0].dtype} {tuple(d.samples[0].shape)} {d.layout}".strip()
            for d in case.inputs
        ]
        call = ", ".join(filter(None, [*(f"<{w}>" for w in what), arguments]))
        listed.append(
            f"| `fn.{case.op}({call})` | {result.kind}: {cell(message)} |".replace(
                "'types.", "types."
            )
        )
    return {name: lines for name, lines in out.items() if lines}


def inputs_and_outputs(op: schema.Operator) -> list[str]:
    out = ["## Inputs and outputs", ""]
    if op.inputs:
        out += ["| input | layouts | notes |", "| --- | --- | --- |"]
        for number, item in enumerate(op.inputs):
            notes = ["optional"] if number >= op.in_min else []
            notes += ["on the CPU"] if item.get("host") else []
            out += [
                f"| `{item['name']}` | {', '.join(item['layouts'] or ['any'])} | {', '.join(notes)} |"
            ]
        if op.in_max > len(op.inputs):
            out += ["", "More inputs of the same kind may follow."]
    else:
        out += ["No inputs."]
    return [*out, "", "Outputs: " + ", ".join(code(name) for name in op.outputs) + ".", ""]


def arguments(op: schema.Operator) -> list[str]:
    out = [
        "## Arguments",
        "",
        "| argument | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, kind, default, meaning in docs.arguments(op.raw):
        kind = kind.replace(" or DataNode", " or node")
        default = default if default in ("", "required") else code(default.replace("|", "\\|"))
        out.append(f"| `{name}` | {cell(kind)} | {default} | {cell(meaning)} |")
    choices = " or ".join(f'`"{device}"`' for device in op.runs_on)
    out.append(
        f"| `device` | str | | Where it runs: {choices}. The default is where the inputs are. |"
    )
    return [*out, "", "*or node*: the argument may have another value for each sample.", ""]


def errors(op: schema.Operator, lines: list[str]) -> list[str]:
    out = ["## Errors", ""]
    required = [code(a.name) for a in op.args.values() if a.required]
    if required:
        out += [f"* RuntimeError if {' or '.join(required)} is missing."]
    out += ["* KeyError if an argument is unknown."]
    out += [
        "* ValueError or TypeError if a value is not allowed; the types and ranges are listed above."
    ]
    out += ["* RuntimeError if a sample cannot be processed. It names the sample.", ""]
    if lines:
        out += ["For example:", "", "| call | exception |", "| --- | --- |", *lines, ""]
    return out


def page(op: schema.Operator, theirs: dict[str, list[str]], folder: Path, lines: list[str]) -> str:
    old = [name for name in op.aliases if not name.startswith("ops:")]
    facts = [f"Devices: {', '.join(op.runs_on)}"]
    known = theirs.get(op.name)
    facts.append(f"in DALI: {', '.join(known)}" if known else "not in DALI")
    module = op.name.rpartition(".")[0]
    facts.append(f"as a class: `ops.{module + '.' if module else ''}{op.class_name}`")
    if old:
        facts.append("old names: " + ", ".join(code(name) for name in old))
    if "random" in op.flags:
        facts.append("draws random numbers")
    if op.whole_batch:
        facts.append("sees the whole batch")
    if "deprecated" in op.flags:
        facts.append("deprecated")
    out = [f"# fn.{op.name}", "", cell(op.doc), "", "; ".join(facts) + ".", ""]
    out += example(op, folder) + inputs_and_outputs(op) + arguments(op) + errors(op, lines)
    return "\n".join(out)


def make(folder: Path) -> None:
    """Writes index.md and a page for each operator."""
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True)
    theirs = {entry.name: entry.devices for entry in make_operators_md.theirs()}
    lines = refused()
    index = [
        "# Operators",
        "",
        "Generated from the operators' tables. The examples ran when this site was built.",
    ]
    index += [
        "[Compatibility with DALI](../operators.md) says how they differ from those of DALI.",
        "",
    ]
    before = os.getcwd()
    os.chdir(given.prepared())
    try:
        for title, members in families().items():
            index += [
                f"## {title}",
                "",
                "| operator | devices | what it does |",
                "| --- | --- | --- |",
            ]
            for op in members:
                (folder / f"{op.name}.md").write_text(
                    page(op, theirs, folder, lines.get(op.name, [])), "utf-8"
                )
                link = f"[`{op.name}`]({op.name}.md)"
                index += [
                    f"| {link} | {', '.join(op.runs_on)} | {cell(docs.first_sentence(op.doc))} |"
                ]
            toctree = [
                "```{toctree}",
                ":hidden:",
                "",
                *(f"{op.name} <{op.name}>" for op in members),
                "```",
            ]
            index += ["", *toctree, ""]
    finally:
        os.chdir(before)
    (folder / "index.md").write_text("\n".join(index), "utf-8")


def main() -> None:
    os.chdir(given.prepared())
    for name in sys.argv[1:]:
        for key, batch in run_example(name, calls.CALLS[name]):
            print(f"{name}: {key}: {describe(batch)}")


if __name__ == "__main__":
    main()
