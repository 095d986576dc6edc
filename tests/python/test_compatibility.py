# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""docs/operators.md says what is true about every operator of DALI."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))
table: Any = importlib.import_module("make_operators_md")


def registered() -> list[Any]:
    """DALI's operators but for those of Python syntax and those that are Python functions."""
    return [entry for entry in table.theirs() if entry.kind == "-"]


def test_page_is_up_to_date() -> None:
    assert table.DOCUMENT.read_text("utf-8") == table.document()


def test_every_operator_is_listed() -> None:
    assert len([entry for entry in table.theirs() if entry.kind != "python"]) == 176
    text = table.document()
    assert [entry.name for entry in table.theirs() if f"`{entry.name}`" not in text] == []


def test_no_operator_is_missing() -> None:
    assert [entry.name for entry in table.theirs() if not table.row_of(entry).there] == []


def test_no_argument_is_missing() -> None:
    """The page says so of all operators that are there."""
    rows = [table.row_of(entry) for entry in registered()]
    assert len(rows) > 150
    assert [row for row in rows if any("lacks" in text for text in row.differences)] == []


def test_differences_are_noticed() -> None:
    """An argument that is missing, added, required or per sample only here or only there."""
    rotate = table.schema.operators()["rotate"]
    arguments = ["angle", "axis!*", "bogus", "fill_value*"]
    found = table.differences(table.Theirs("rotate", ["cpu"], "-", arguments), rotate)
    assert "lacks `bogus`" in found
    assert "`angle` is required" in found and "`angle` can be per sample" in found
    assert "`axis` is optional" in found
    assert "`fill_value` cannot be per sample" in found
    assert any(text.startswith("has also") and "`keep_size`" in text for text in found)
    assert any("DALI ignores the axis" in text for text in found)


@pytest.mark.live_dali
def test_facts_about_dali() -> None:
    """dali_operators.txt agrees with the installed DALI."""
    from nvidia.dali import backend

    compared = 0
    for entry in registered():
        module = entry.name.rpartition(".")[0]
        name = table.schema.class_name(entry.name)
        schema = backend.TryGetSchema((module.replace(".", "__") + "__" if module else "") + name)
        if entry.name == "external_source" or schema is None:
            continue
        theirs = {
            argument
            + "!" * (not schema.IsArgumentOptional(argument))
            + "*" * schema.IsTensorArgument(argument)
            for argument in schema.GetArgumentNames()
            if argument not in table.COMMON
        }
        if theirs:  # otherwise there are none, or they come from the operator that replaces it
            assert set(entry.arguments) == theirs, entry.name
            compared += 1
    assert compared > 100
