# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Programs that conditional mode refuses, and programs that it leaves unchanged; the exceptions are those of live DALI.
"""

from __future__ import annotations

import json
import textwrap
import traceback
from collections.abc import Callable
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import fn, pipeline_def
from headrace.pipeline import do_not_convert
from test_conditionals import VALUES, Program, build, helper, if_else, outputs
from twice import dali

# ---- errors ----

ERRORS: list[tuple[Program, type[Exception], str]] = []


def refused(error: type[Exception], words: str) -> Callable[[Program], Program]:
    def note(program: Program) -> Program:
        ERRORS.append((program, error, words))
        return program

    return note


@refused(RuntimeError, r"in every code path \(both `if` branches\). Variable 'y' must also be initialized in the `else` branch")
def missing_in_else(x: Any) -> Any:
    if x > 1:
        y = x
    return y


@refused(RuntimeError, r"Variable 'y' must also be initialized in the `if` branch")
def missing_in_if(x: Any) -> Any:
    if x > 1:
        pass
    else:
        y = x
    return y


@refused(RuntimeError, r"Variable 'd\['a'\]' must also be initialized in the `else` branch")
def missing_item(x: Any) -> Any:
    d: dict[str, Any] = {}
    if x > 1:
        d["a"] = x
    return x


@refused(RuntimeError, r"The `else` branch must also have a return statement")
def missing_return(x: Any) -> Any:
    if x > 1:
        return x
    y = x  # noqa: F841


@refused(
    ValueError,
    r"Divergent data found in different branches of `if/else` control flow statement[\s\S]*"
    r"same nesting structure in every code path \(both `if` branches\)[\s\S]*\(\*, \*\)[\s\S]*\(\*, \*, \*\)",
)
def other_length(x: Any) -> Any:
    if x > 1:
        y = (x, x)
    else:
        y = (x, x, x)
    return y[0]


@refused(ValueError, r"(?i)divergent data[\s\S]*\(\*, \*\)[\s\S]*\[\*, \*\]")
def other_structure(x: Any) -> Any:
    if x > 1:
        y = (x, x)
    else:
        y = [x, x]
    return y[0]


@refused(ValueError, r"(?i)divergent data[\s\S]*\{'a': \*\}[\s\S]*\{'b': \*\}")
def other_keys(x: Any) -> Any:
    if x > 1:
        y = {"a": x}
    else:
        y = {"b": x}
    return y["a"]


@refused(ValueError, r"(?i)divergent data")
def none_and_node(x: Any) -> Any:
    if x > 1:
        y = None
    else:
        y = x
    return y


@refused(TypeError, r"'?y?'?.*")
def strings(x: Any) -> Any:
    if x > 1:
        y = "a"
    else:
        y = "b"
    return y


@refused(RuntimeError, r"(?i)divergent data[\s\S]*(float|int32)")
def other_type(x: Any) -> Any:
    if x > 1:
        y = x / 2
    else:
        y = x
    return y


@refused(RuntimeError, r"(?i)divergent data[\s\S]*(float|int32)")
def other_type_inside(x: Any) -> Any:
    if x > 1:
        y = x / 2
    else:
        y = x
    return (y + 1.5) * 0


@refused(RuntimeError, r"(?i)divergent data")
def other_dimensions_inside(x: Any) -> Any:
    if x > 1:
        y = x * np.array([1, 2])
    else:
        y = x
    return y.shape()


@refused(RuntimeError, r"(?i)divergent data")
def other_numbers(x: Any) -> Any:
    if x > 1:
        y = 1
    else:
        y = 2.5
    return y


@refused(
    RuntimeError,
    r"Conditions inside `if` statements are restricted to scalar \(0-d tensors\) inputs, that are placed on CPU. "
    r"Got a 1-d input as a condition of the `if` statement.",
)
def condition_of_one_dimension(x: Any) -> Any:
    y = x
    if x * np.array([1, 2]):
        y = x + 1
    return y


@refused(
    RuntimeError,
    r"Logical expression `and` is restricted to scalar \(0-d tensors\) inputs of `bool` type, that are placed on CPU. "
    r"Got an input of type `int32` as the left argument in logical expression.",
)
def and_of_numbers(x: Any) -> Any:
    return x and x > 1


@refused(RuntimeError, r"`or`[\s\S]*(?i:int32)[\s\S]*right")
def or_of_numbers(x: Any) -> Any:
    return x > 1 or x


@refused(RuntimeError, r"`and`[\s\S]*right")
def and_of_a_python_number(x: Any) -> Any:
    return (x > 1) and 1


@refused(
    RuntimeError,
    r"Logical expression `not` is restricted to scalar \(0-d tensors\) inputs, that are placed on CPU. "
    r"Got a 1-d input in logical expression.",
)
def not_of_one_dimension(x: Any) -> Any:
    return not (x * np.array([1, 2]))


@refused(TypeError, r".*")
def conditional_expression(x: Any) -> Any:
    return x + 1 if x > 1 else x * 100


@refused(TypeError, r".*")
def while_of_a_node(x: Any) -> Any:
    while x > 1:
        x = x - 1
    return x


@refused(TypeError, r".*")
def assert_of_a_node(x: Any) -> Any:
    assert x > 1
    return x


@refused(TypeError, r".*")
def break_of_a_node(x: Any) -> Any:
    for _ in range(3):
        if x > 1:
            break
        x = x + 1
    return x


@refused(RuntimeError, r"(?i)return")
def return_from_a_loop(x: Any) -> Any:
    for _ in range(3):
        if x > 1:
            return x + 1
    return x


@refused(ValueError, r"no$|no\b")
def raising(x: Any) -> Any:
    if x > 1:
        raise ValueError("no")
    return x


SAME_TEXT = {
    missing_in_else,
    missing_in_if,
    missing_return,
    condition_of_one_dimension,
    and_of_numbers,
    not_of_one_dimension,
}


@pytest.mark.parametrize(
    ("program", "error", "words"), ERRORS, ids=lambda p: getattr(p, "__name__", "")
)
def test_errors(program: Program, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        outputs(headrace, program)
    assert caught.type is error


@pytest.mark.parametrize(
    ("program", "error", "words"), ERRORS, ids=lambda p: getattr(p, "__name__", "")
)
@pytest.mark.live_dali
def test_errors_of_dali(program: Program, error: type[Exception], words: str) -> None:
    package = dali()
    match = words if program in SAME_TEXT else None
    with pytest.raises(error, match=match) as caught:
        outputs(package, program)
    assert caught.type is error


@pytest.mark.parametrize("expression", ["if", "and", "or", "not"])
def test_conditions_on_the_gpu(expression: str) -> None:
    def condition(x: Any) -> Any:
        return if_else(x.gpu())

    def left(x: Any) -> Any:
        return (x > 1).gpu() and x > 2

    def right(x: Any) -> Any:
        return x > 1 or (x > 2).gpu()

    def negated(x: Any) -> Any:
        return not x.gpu()

    programs = {"if": condition, "and": left, "or": right, "not": negated}
    sides = {"and": "as the left argument ", "or": "as the right argument ", "not": ""}
    kind = ValueError if expression == "if" else RuntimeError
    with pytest.raises(kind) as caught:
        build(headrace, programs[expression])
    if expression == "if":
        operator = "headrace.fn._conditional.split"
        wanted = f"Invalid device \"gpu\" for argument 'predicate' of operator '{operator}'."
    else:
        wanted = f"that are placed on CPU. Got a GPU input {sides[expression]}in logical expression"
    assert wanted in str(caught.value)


def line_of(program: Program, text: str) -> str:
    import inspect

    lines, first = inspect.getsourcelines(program)
    return f"test_conditional_errors.py:{first + next(i for i, s in enumerate(lines) if text in s)}"


def test_errors_name_the_users_line() -> None:
    with pytest.raises(RuntimeError) as caught:
        outputs(headrace, and_of_numbers)
    assert line_of(and_of_numbers, "return") in str(caught.value)
    with pytest.raises(RuntimeError) as caught:
        outputs(headrace, other_type)
    assert line_of(other_type, "if x") in str(caught.value)
    with pytest.raises(RuntimeError) as caught:
        outputs(headrace, missing_in_else)
    lines = [f"{f.name} {f.lineno}" for f in traceback.extract_tb(caught.value.__traceback__)]
    assert f"missing_in_else {line_of(missing_in_else, 'if x').partition(':')[2]}" in lines


def test_a_name_that_is_not_there_is_python_s_error() -> None:
    def program(x: Any) -> Any:
        if x > 1:
            z = x
        else:
            z = y  # noqa: F821
        return z

    with pytest.raises(NameError, match="'y'"):
        outputs(headrace, program)


def test_what_a_branch_made_is_not_used_outside() -> None:
    def program(x: Any) -> Any:
        found = []
        if x > 1:
            found.append(x + 1)
        return found[0] + 1

    with pytest.raises(ValueError, match="branch of a conditional"):
        outputs(headrace, program)


def test_divergent_data_are_nobodys_bad_sample() -> None:
    def program(x: Any) -> Any:
        return other_type_inside(x)

    for threads in (1, 3):
        pipe = build(headrace, program, on_error="skip", num_threads=threads)
        with pytest.raises(RuntimeError, match='FLOAT, 0-d, "" and|and FLOAT, 0-d, ""'):
            pipe.run()
        assert pipe.errors() == []


def test_without_the_flag() -> None:
    def definition() -> Any:
        return if_else(fn.external_source(lambda: [np.int32(1)]))

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        pipeline_def(definition, batch_size=1, num_threads=1, device_id=None)()
    pipe = pipeline_def(definition, batch_size=1, num_threads=1, device_id=None)(
        enable_conditionals=True
    )
    assert np.array(pipe.run()[0][0]) == 100


# ---- programs that are left unchanged ----


@do_not_convert
def left_alone(x: Any, flag: bool) -> Any:
    if flag and not isinstance(x, int):
        return x + 1
    return x


@do_not_convert
def left_alone_but_needed(x: Any) -> Any:
    return if_else(x)


def test_do_not_convert() -> None:
    assert outputs(headrace, lambda x: left_alone(x, True)) == [[v + 1 for v in VALUES]]
    with pytest.raises(TypeError, match="conditional context.*specific section of the Pipeline documentation"):
        outputs(headrace, left_alone_but_needed)
    assert do_not_convert(len)([1]) == 1

    def program(x: Any) -> Any:
        @do_not_convert
        def inner(v: Any) -> Any:
            if v > 1:
                v = v + 1
            return v

        return inner(x)

    with pytest.raises(TypeError, match="conditional context"):
        outputs(headrace, program)


def test_library_code_is_left_alone() -> None:
    from headrace._conditionals import call

    for function in (json.dumps, len, np.stack, textwrap.dedent, fn.cast, dict, pytest.raises):
        assert call(function) is function
    assert call(helper) is not helper and call(call(helper)) is call(helper)


def test_source_that_cannot_be_found() -> None:
    names: dict[str, Any] = {"__name__": "user"}
    exec("def program(x):\n    if x > 1:\n        x = x + 1\n    return x", names)
    with pytest.raises(TypeError, match="conditional context"):
        outputs(headrace, names["program"])
