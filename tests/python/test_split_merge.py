# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`fn._conditional.split` and `merge`: branches without `if`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import fn
from twice import dali

SIZE = 8


def outputs(package: ModuleType, program: Callable[..., Any], **kwargs: Any) -> list[list[Any]]:
    def definition() -> Any:
        x = package.fn.external_source(lambda info: np.int32([info.idx_in_batch]), batch=False)
        odd = package.fn.external_source(lambda i: np.array(i.idx_in_batch % 2 == 1), batch=False)
        high = package.fn.external_source(lambda i: np.int32(i.idx_in_batch & 4), batch=False)
        return program(package.fn._conditional, x, odd, high)

    arguments: dict[str, Any] = {"batch_size": SIZE, "num_threads": 2, "device_id": None}
    conditionals, debug = kwargs.pop("enable_conditionals", False), kwargs.pop("debug", False)
    if debug:
        pipeline_def = package.pipeline.experimental.pipeline_def
        pipe = pipeline_def(debug=True)(definition)(**arguments)
    else:
        pipeline_def = package.pipeline_def(enable_conditionals=conditionals)
        pipe = pipeline_def(definition)(**{**arguments, **kwargs})
    pipe.build()
    return [[np.array(t).item() for t in batch] for batch in pipe.run()]


def one(conditional: Any, x: Any, odd: Any, high: Any) -> Any:
    a, b = conditional.split(x, predicate=odd)
    return conditional.merge(a + 100, b * 2, predicate=odd), a * 3, b


def numbers(conditional: Any, x: Any, odd: Any, high: Any) -> Any:
    """A predicate that is not a BOOL; one output is passed on unchanged."""
    a, b = conditional.split(x, predicate=high)
    return conditional.merge(a, b + 10, predicate=high)


def nested(conditional: Any, x: Any, odd: Any, high: Any) -> Any:
    a, b = conditional.split(x, predicate=odd)
    inner, _ = conditional.split(high, predicate=odd)
    c, d = conditional.split(a, predicate=inner)
    e = conditional.merge(c + 10, d + 20, predicate=inner)
    return conditional.merge(e + 1, b, predicate=odd), c


def chosen(x: int) -> int:
    return x + 11 if x & 4 else x + 21


EXPECTED: dict[Callable[..., Any], list[list[int]]] = {
    one: [
        [x + 100 if x % 2 else 2 * x for x in range(SIZE)],
        [3 * x for x in range(SIZE) if x % 2],
        [x for x in range(SIZE) if x % 2 == 0],
    ],
    numbers: [[x if x & 4 else x + 10 for x in range(SIZE)]],
    nested: [
        [chosen(x) if x % 2 else x for x in range(SIZE)],
        [x for x in range(SIZE) if x % 2 and x & 4],
    ],
}


@pytest.mark.parametrize("program", EXPECTED)
def test_values(program: Callable[..., Any]) -> None:
    for settings in ({}, {"num_threads": 1, "prefetch_queue_depth": 1}, {"fuse": False}):
        assert outputs(headrace, program, **settings) == EXPECTED[program]
    assert outputs(headrace, program, debug=True) == EXPECTED[program]


@pytest.mark.live_dali
@pytest.mark.parametrize("program", EXPECTED)
def test_values_of_dali(program: Callable[..., Any]) -> None:
    assert outputs(dali(), program) == EXPECTED[program]


def test_inside_an_if() -> None:
    def program(conditional: Any, x: Any, odd: Any, high: Any) -> Any:
        if high != 0:
            y = one(conditional, x, odd, high)[0]
        else:
            y = -x
        return y

    found = outputs(headrace, program, enable_conditionals=True)
    expected = EXPECTED[one][0]
    assert found == [[expected[x] if x & 4 else -x for x in range(SIZE)]]


def test_operators_run_for_their_samples_only() -> None:
    asked: list[int] = []

    def note(value: Any) -> Any:
        asked.append(int(value.item()))
        return value

    def program(conditional: Any, x: Any, odd: Any, high: Any) -> Any:
        a, b = conditional.split(x, predicate=odd)
        return conditional.merge(fn.python_function(a, function=note), b, predicate=odd)

    outputs(headrace, program, prefetch_queue_depth=1, exec_async=False, exec_pipelined=False)
    assert set(asked) == {x for x in range(SIZE) if x % 2}


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda c, x, odd, high: c.split(x, predicate=odd.gpu())[0], ValueError),
        (lambda c, x, odd, high: c.split(x, predicate=True)[0], TypeError),
        (lambda c, x, odd, high: c.merge(*c.split(x, predicate=odd), predicate=high), ValueError),
    ],
    ids=["gpu", "constant", "other-predicate"],
)
def test_errors(program: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        outputs(headrace, program)
