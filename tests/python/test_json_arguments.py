# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Dictionaries and nested lists as arguments, with an operator of a plug-in that has both."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from headrace import sysconfig
from waiting import HANG_S

ROOT = Path(__file__).resolve().parents[2]
HEAD = """
import sys, warnings
import numpy as np
from headrace import fn, pipeline_def, plugin_manager, types
from headrace.pipeline import Pipeline

plugin_manager.load_library(sys.argv[1])

class Feature(tuple):
    def __new__(cls, shape, dtype, default):
        return super().__new__(cls, ("fixed", shape, dtype, default))

FIELDS = {"z": Feature((2, 3), types.INT64, 0), "label": Feature([], types.FLOAT, 0.5),
          "b\\u00e9\\n": ["var", np.array([7]), types.UINT8, [1, 2.5]]}

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipe(*arguments):
    data = fn.external_source(lambda: np.zeros((2, 1), np.uint8), name="data")
    return tuple(fn.sample.fields(data, **given) + 0 for given in arguments)

def numbers(outputs):
    return [output.at(1).tolist() for output in outputs]

def refused(error, text, **given):
    try:
        pipe(given)
    except error as found:
        assert text in str(found), str(found)
        return
    raise AssertionError(f"{given} was accepted")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("fields") / "libfields.so"
    include = Path(sysconfig.get_include_dir())
    folder = include if (include / "headrace").is_dir() else ROOT / "include"
    source = ROOT / "tests" / "plugin" / "fields.c"
    command = [compiler, "-std=c11", "-fPIC", "-shared", "-Wall", "-Werror", "-I", folder]
    subprocess.run([*command, source, "-o", library], check=True)

    def in_child(code: str) -> str:
        text = HEAD + textwrap.dedent(code)
        done = subprocess.run(
            [sys.executable, "-c", text, library], capture_output=True, text=True, timeout=HANG_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return in_child


def test_the_operator_gets_the_values(run: Callable[[str], str]) -> None:
    run(
        """
        assert numbers(pipe(dict(fields=FIELDS)).run()) == [[5, -1, 7, 3, 3]]
        assert numbers(pipe(dict(fields={}, groups=((1, 1, 1), ()))).run()) == [[3, 0]]
        assert numbers(pipe(dict(fields={}, groups=[])).run()) == [[]]
        """
    )


def test_equal_nodes_are_merged(run: Callable[[str], str]) -> None:
    run(
        """
        same = {name: list(field) for name, field in FIELDS.items()}
        other = {**same, "z": ["fixed", [2, 4], types.INT64, 0]}
        turned = dict(reversed(FIELDS.items()))
        made = pipe(*[dict(fields=fields) for fields in (FIELDS, same, other, turned)])
        assert numbers(made.run()) == [[5, -1, 7, 3, 3]] * 2 + [[6, -1, 7, 3, 3], [7, -1, 5, 3, 3]]
        assert made.describe().endswith("merged: sample.fields (<string>:19) #3 is #1\\n"), made.describe()
        """
    )


def test_serialization(run: Callable[[str], str]) -> None:
    run(
        """
        first = pipe(dict(fields=FIELDS, groups=[[10], [20, 1]]))
        expected = numbers(first.run())
        again = Pipeline.deserialize(first.serialize())
        again.feed_input("data", np.zeros((2, 1), np.uint8))
        assert numbers(again.run()) == expected == [[5, -1, 7, 10, 21]]
        """
    )


def test_errors_show_the_place_and_the_line(run: Callable[[str], str]) -> None:
    run(
        """
        here = 'sample.fields (<string>:19): argument "'
        refused(TypeError, here + 'fields", at ["a"][1][0]: must be int; got "x"',
                fields={"a": Feature(["x"], types.INT64, 0)})
        refused(TypeError, here + 'fields", at ["a"][2]: must be dtype; got 10101',
                fields={"a": Feature([], 10101, 0)})
        refused(TypeError, here + 'fields", at ["a"][0]: must be \\'fixed\\' | \\'var\\'; got "varying"',
                fields={"a": ("varying", [], types.INT64, 0)})
        refused(TypeError, here + 'fields": must be {str: ', fields=[1])
        refused(TypeError, here + 'groups", at [1]: must be [int]; got 2', fields={}, groups=[[1], 2])
        refused(TypeError, "the keys of a dictionary must be strings", fields={1: 2})
        refused(TypeError, "not JSON", fields={"a": float("nan")})
        refused(TypeError, "not JSON serializable", fields={"a": object()})
        refused(RuntimeError, 'Please specify values for arguments: "fields"', groups=[])
        nested = []
        nested.append(nested)
        refused(TypeError, 'Argument "groups"', fields={}, groups=nested)
        refused((TypeError, ValueError), 'argument "groups"', fields={}, groups=eval("[" * 90 + "]" * 90))
        """
    )


def test_documentation_and_schema(run: Callable[[str], str]) -> None:
    run(
        """
        text = fn.sample.fields.__doc__
        assert "fields ({str: ('fixed' | 'var', [int], dtype, int | float | [float])}, required)" in text
        assert "groups ([[int]], default [[1, 2], [3]])" in text
        """
    )
