# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The generated parts of the reference: the Python modules and the functions of the C header."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = "include/headrace/headrace.h"
DECLARATIONS = "<!-- The site shows the declarations of headrace.h here. -->"

# Module, what it is for, the names that are documented (all public ones, if there are none).
MODULES = (
    (
        "headrace",
        "Pipelines, images as shards, and credentials.",
        ["Pipeline", "pipeline_def", "pack", "storage_options"],
    ),
    ("headrace.data_node", "The results of operators while a graph is defined.", ["DataNode"]),
    ("headrace.tensors", "Batches and samples.", []),
    ("headrace.types", "Types and enumerations.", []),
    ("headrace.math", "Functions for arithmetic on nodes.", []),
    ("headrace.tfrecord", "Features of TFRecord files.", []),
    ("headrace.auto_aug.auto_augment", "AutoAugment.", []),
    ("headrace.auto_aug.rand_augment", "RandAugment.", []),
    ("headrace.auto_aug.trivial_augment", "TrivialAugment.", []),
    ("headrace.plugin.pytorch", "Iterators for PyTorch.", []),
    ("headrace.plugin_manager", "Libraries of operators.", []),
    ("headrace.sysconfig", "Flags for building plug-ins.", []),
    ("headrace.as_dali", "Scripts written for DALI.", ["install"]),
)


def python_api() -> str:
    """The page of the Python modules."""
    out = ["# Python API", "", "Operators have [pages of their own](operators/index.md).", ""]
    for module, purpose, names in MODULES:
        out += [f"## {module}", "", purpose, "", "```{eval-rst}"]
        if names:
            for name in names:
                kind = "autoclass" if name[0].isupper() else "autofunction"
                members = "\n   :members:\n" if kind == "autoclass" else ""
                out += [f".. {kind}:: {module}.{name}{members}", ""]
        else:
            out += [f".. automodule:: {module}", "   :members:", "   :undoc-members:", ""]
        out += ["```", ""]
    return "\n".join(out)


def c_api() -> str:
    """The C header, section by section."""
    text = (ROOT / HEADER).read_text("utf-8")
    parts = re.split(r"^/\* ---- (.*) ---- \*/$", text, flags=re.MULTILINE)
    end = parts[-1].index("\n#ifdef __cplusplus")
    out = []
    for title, body in zip(parts[1::2], [*parts[2:-1:2], parts[-1][:end]], strict=True):
        out += [f"### {title[0].upper()}{title[1:]}", "", "```c", body.strip(), "```", ""]
    return "\n".join(out)


def filled(text: str) -> str:
    """A page with its generated part in place of the marker."""
    return text.replace(DECLARATIONS, c_api()) if DECLARATIONS in text else text
