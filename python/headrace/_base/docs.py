# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The documentation of an operator as text, from its table: for help(), stubs, `headrace ops` and Markdown.

The tables are dictionaries as `_core.schema_json()` has them. tools/make_pyi.py loads this file by its path while the
package is built, so it must not import anything of Headrace.
"""

from __future__ import annotations

import re
from typing import Any

PYTHON_TYPES = {
    "BOOL": "bool",
    "INT": "int",
    "INT64": "int",
    "FLOAT": "float",
    "STRING": "str",
    "LAYOUT": "str",
    "DTYPE": "DALIDataType",
    "IMAGE_TYPE": "DALIImageType",
    "INTERP": "DALIInterpType",
    "INTS": "list of int",
    "INT64S": "list of int",
    "FLOATS": "list of float",
    "STRINGS": "list of str",
    "JSON": "dict or list",
    "FUNCTION": "callable",
}

# A sentence ends where the next one begins, not in `0 .. n` or behind `e.g.`.
_SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[\"'(]?[A-Z`])")

_COMMON = {
    "name": ("str", "", "The name of the node, unique in the pipeline."),
    "preserve": ("bool", "False", "Keep the node even if nothing uses its outputs."),
    "bytes_per_sample_hint": ("list of int", "[0]", "Accepted for compatibility; no effect."),
}
_SEED = ("int", "-1", "Seed of the random numbers; -1 derives it from the pipeline's seed.")


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    return _SENTENCE_END.split(" ".join(text.split()), maxsplit=1)[0]


def argument_type(arg: dict[str, Any]) -> str:
    """ "float or DataNode", with range and choices."""
    text = arg.get("form") or PYTHON_TYPES.get(arg["type"], arg["type"])
    if "per_sample" in arg["flags"]:
        text += " or DataNode"
    if "min" in arg:
        text += f", {arg['min']:g} to {arg['max']:g}"
    if arg.get("choices"):
        text += ", " + " | ".join(f'"{choice}"' for choice in arg["choices"])
    return text


def argument_default(arg: dict[str, Any]) -> str:
    """The default as it is written in Python, "required", or nothing if there is none."""
    if "required" in arg["flags"]:
        return "required"
    return "" if arg["default"] is None else str(arg["default"])


def argument_doc(arg: dict[str, Any]) -> str:
    """What an argument means, and whether it is still of use."""
    text = " ".join((arg.get("doc") or "").split())
    if "ignored" in arg["flags"]:
        said = text.startswith("No effect")
        text += (
            " Accepted for compatibility." if said else " Accepted for compatibility; no effect."
        )
    if "deprecated" in arg["flags"]:
        text += f" Deprecated: use `{arg['use']}`." if arg.get("use") else " Deprecated."
    return text.strip()


def arguments(op: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, type, default and meaning of all arguments: the operator's own, then those that every operator has."""
    own = [(a["name"], argument_type(a), argument_default(a), argument_doc(a)) for a in op["args"]]
    common = dict(_COMMON)
    if op["source"] == "indexed" or "random" in op["flags"]:
        common["seed"] = _SEED
    names = {row[0] for row in own}
    return own + [(name, *rest) for name, rest in common.items() if name not in names]


def inputs(op: dict[str, Any]) -> list[str]:
    """One line per input: its name and layouts."""
    return [
        item["name"] + (f" (layouts {', '.join(item['layouts'])})" if item["layouts"] else "")
        for item in op["inputs"]
    ]


def docstring(op: dict[str, Any]) -> str:
    """The whole documentation, as a docstring."""
    lines = [op["doc"] or op["name"], ""]
    if op["inputs"]:
        lines += ["Inputs:", *(f"    {line}" for line in inputs(op)), ""]
    lines.append("Keyword arguments:")
    choices = " or ".join(f'"{device}"' for device in op["runs_on"])
    rows = arguments(op)
    rows.append(
        ("device", "str", "", f"Where it runs: {choices}. The default is where the inputs are.")
    )
    for name, kind, default, meaning in rows:
        stated = default if default in ("", "required") else f"default {default}"
        lines.append(f"    {name} ({', '.join(filter(None, [kind, stated]))}): {meaning}")
    lines += [
        "",
        "Raises:",
        "    KeyError: an argument is unknown.",
        "    ValueError, TypeError: a value is not allowed.",
        "    RuntimeError: a required argument is missing, or a sample cannot be processed.",
    ]
    return "\n".join(lines)
