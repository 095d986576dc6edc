# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""No output shares memory with another one, unless its operator is documented as a view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aliases import LARGE, VIEWS, aliased, outputs_with_inputs, overlapping
from collection import CASES
from harness import Case, Data, Engine, Failure

schema = pytest.importorskip("headrace._graph.schema")

CASES_EACH = 8  # written cases per operator, spread evenly over all of them
FRAMES = Data([np.full((4, 64, 64, 3), i, np.uint8) for i in range(3)], "FHWC")


def by_operator() -> dict[str, list[Case]]:
    """Written cases of every operator that is not a documented view."""
    found: dict[str, list[Case]] = {}
    for case in [*LARGE, *CASES]:
        if type(case) is Case and case.op not in VIEWS and case.inputs:
            found.setdefault(case.op, []).append(case)
    return {
        name: [*cases[:: 1 + len(cases) // CASES_EACH]] for name, cases in sorted(found.items())
    }


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_large_outputs_have_their_own_memory(case: Case, headrace: Engine) -> None:
    assert aliased(case, headrace) == []


@pytest.mark.parametrize("name", by_operator())
def test_outputs_have_their_own_memory(name: str, headrace: Engine) -> None:
    """Some written cases are errors; most of an operator's are not."""
    cases = by_operator()[name]
    ran = 0
    for case in cases:
        batches = outputs_with_inputs(case, headrace)
        if isinstance(batches, Failure):
            continue
        ran += 1
        assert overlapping(batches) == [], str(case)
    assert 2 * ran > len(cases)


def outputs(engine: Engine, define: Any) -> list[Any]:
    batches: list[Any] = []
    failure = engine.run(len(FRAMES.samples), define, taken=batches.extend)
    assert batches, failure
    return batches


def test_documented_views_share_memory(headrace: Engine) -> None:
    """A view of a copy shares memory with the copy, not with its source."""

    def define(engine: Engine) -> list[Any]:
        x = engine.feed(FRAMES)
        flat = engine.fn.reshape(x, shape=[-1])
        part = engine.fn.slice(x, 1, 2, axes=[0])
        return [x, flat, engine.fn.reshape(part, shape=[-1]), part, x[1], x[1:3]]

    assert overlapping(outputs(headrace, define)) == [(0, 1)]


def test_equal_outputs_are_two(headrace: Engine) -> None:
    def define(engine: Engine) -> list[Any]:
        x = engine.feed(FRAMES)
        return [engine.fn.copy(x), engine.fn.copy(x), engine.fn.flip(x), engine.fn.flip(x)]

    assert overlapping(outputs(headrace, define)) == []


@pytest.mark.parametrize("taken", [0, 1])
def test_branches_have_their_own_memory(taken: int, headrace: Engine) -> None:
    """A value that bypasses an `if` is an output with memory of its own, apart from the value that it comes from."""
    condition = Data([np.array(bool(taken))] * 3)

    def define(engine: Engine) -> list[Any]:
        x, yes = engine.feed(FRAMES), engine.feed(condition)
        if yes:
            y = engine.fn.flip(x)
        else:
            y = x
        return [x, y]

    batches: list[Any] = []
    pipe = headrace.root.pipeline_def(lambda: tuple(define(headrace)), enable_conditionals=True)(
        batch_size=3, num_threads=1, device_id=None
    )
    batches.extend(pipe.run())
    assert overlapping(batches) == []


def test_writing_into_an_output_changes_no_other(headrace: Engine) -> None:
    def define(engine: Engine) -> list[Any]:
        x = engine.feed(FRAMES)
        return [x, engine.fn.copy(x), engine.fn.slice(x, 0, 4, axes=[0]), x[0:4]]

    first, *rest = outputs(headrace, define)
    for i in range(len(first)):
        np.asarray(first[i])[...] = 200
    for batch in rest:
        for i, sample in enumerate(FRAMES.samples):
            np.testing.assert_array_equal(np.asarray(batch[i]), sample)


def test_a_view_at_an_odd_offset_is_aligned(headrace: Engine) -> None:
    """Bytes 1 .. n of a sample as FLOAT, as an input of an operator and as a pipeline output."""
    values = np.random.default_rng(1).random((3, 3000)).astype(np.float32)
    raw = Data([np.concatenate([[np.uint8(7)], v.view(np.uint8)]) for v in values])

    def define(engine: Engine) -> list[Any]:
        part = engine.fn.slice(engine.feed(raw), 1, 12000, axes=[0])
        floats = engine.fn.reinterpret(part, dtype=engine.types.FLOAT)
        return [floats, floats * 2.0]

    same, twice = outputs(headrace, define)
    for i, v in enumerate(values):
        assert same[i].data_ptr() % 4 == 0
        np.testing.assert_array_equal(np.from_dlpack(same[i]), v)
        np.testing.assert_array_equal(np.asarray(twice[i]), v * 2)
