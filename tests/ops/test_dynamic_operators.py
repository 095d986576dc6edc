# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every operator in dynamic mode: the same bytes as in a pipeline, which the other tests compare with DALI."""

from __future__ import annotations

from typing import Any

import headrace.experimental.dynamic as ndd
import pytest
from headrace import types
from headrace._graph import schema

import grouped
from collection import CASES
from harness import Case, Data, Engine, Failure, Interps, Output, agree, exact

ENOUGH = 3  # cases per operator


def chosen() -> list[Case]:
    """The first cases of each operator that draws no random numbers and is no source."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        known = schema.find_function(case.op) if type(case) is Case else None
        if known is None or known[0].source or "random" in known[0].flags or case.op == "constant":
            continue
        found.setdefault(case.op, []).append(case)
    return [case for cases in found.values() for case in cases[:ENOUGH]]


def value(given: Any) -> Any:
    if isinstance(given, Data):
        return ndd.batch(list(given.samples), layout=given.layout or None)
    if isinstance(given, Interps):
        return ndd.batch([types.DALIInterpType(number) for number in given.values])
    if isinstance(given, str) and given.startswith("types."):
        return getattr(types, given[6:])
    return given


@grouped.by_operator(chosen())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_same_bytes_as_in_a_pipeline(cases: list[Case], headrace: Engine) -> None:
    grouped.run(cases, lambda case: compare(case, headrace))


def compare(case: Case, headrace: Engine) -> None:
    function: Any = ndd
    for part in case.op.split("."):
        function = getattr(function, part)
    inputs = [value(given) for given in case.inputs]
    args = {name: value(given) for name, given in case.args.items() if name != "seed"}
    if not any(isinstance(given, ndd.Batch) for given in (*inputs, *args.values())):
        args["batch_size"] = case.batch_size()
    results = function(*inputs, **args)
    results = results if isinstance(results, tuple) else (results,)
    wanted = headrace.result(case)
    assert not isinstance(wanted, Failure), wanted
    agree([Output.of(batch._storage) for batch in results], wanted, exact)


def test_most_operators_are_compared() -> None:
    assert len({case.op for case in chosen()}) >= 85
