# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every case of every operator gives the same bytes for any number of threads, batch size and CPU level, fused or not.

Each case runs once normally, and in a few ways that change several things at once; the name of a way that differs
says where to look. Operators that depend on the whole batch keep its size. Many cases share a pipeline; if anything
differs there, each runs alone.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest

import grouped
from collection import CASES, OURS, operator_of
from harness import Engine, Failure, Output

schema = pytest.importorskip("headrace._graph.schema")

TOGETHER = 24  # cases per pipeline


@dataclasses.dataclass
class Way:
    """The options with which a pipeline runs."""

    level: str = ""
    batch: str = "as fed"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


WAYS = {
    "base, a sample at a time, unfused": Way("base", "one", {"fuse": False}),
    "3 threads, larger batch": Way("", "larger", {"num_threads": 3}),
    "v3, 3 threads, unfused": Way("v3", "as fed", {"num_threads": 3, "fuse": False}),
}


def run(engine: Engine, case: Any, way: Way, whole_batch: bool) -> list[Output] | Failure:
    """The samples of the case's batch, however they are spread over batches."""
    count = case.batch_size()
    sizes = {"as fed": (count, 1), "one": (1, count), "larger": (2 * count + 1, 1)}
    batch, iterations = sizes["as fed" if whole_batch else way.batch]
    before = os.environ.get("HEADRACE_CPU_LEVEL")
    if way.level and before is None:
        os.environ["HEADRACE_CPU_LEVEL"] = way.level
    engine.cycle = batch
    try:
        result = engine.run(batch, case.define, iterations, **way.options)
    finally:
        engine.cycle = 0
        if before is None:
            os.environ.pop("HEADRACE_CPU_LEVEL", None)
    if isinstance(result, list):
        for output in result:
            del output.samples[count:]
    return result


def difference(one: list[Output], other: list[Output] | Failure) -> str:
    """A description of the difference, or an empty text."""
    if isinstance(other, Failure):
        return f"a result became {other.kind}: {other.message}"
    if len(one) != len(other):
        return f"{len(one)} outputs became {len(other)}"
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        if (a.layout, a.dtype) != (b.layout, b.dtype):
            return f"output {k}: {a.layout} {a.dtype} became {b.layout} {b.dtype}"
        if len(a.samples) != len(b.samples):
            return f"output {k}: {len(a.samples)} samples became {len(b.samples)}"
        for i, (x, y) in enumerate(zip(a.samples, b.samples, strict=True)):
            if x.shape != y.shape:
                return f"output {k}, sample {i}: shape {x.shape} became {y.shape}"
            if x.tobytes() != y.tobytes():
                where = np.flatnonzero(x.ravel().view(np.uint8) != y.ravel().view(np.uint8))
                element = int(where[0]) // max(x.itemsize, 1)
                return f"output {k}, sample {i}: {where.size} bytes, the first in element {element}"
    return ""


WHOLE_BATCH = ("enum_permute_",)  # expressions whose meaning depends on the size of the batch


def needs_batch(case: Any) -> bool:
    """Whether the results depend on the whole batch."""
    op = schema.operators().get(operator_of(case))
    return bool(op and op.whole_batch) or str(case).startswith(WHOLE_BATCH)


@dataclasses.dataclass
class Together:
    """Cases with equal batch sizes in one pipeline."""

    cases: list[Any]

    def __str__(self) -> str:
        return f"{self.cases[0]} ... {self.cases[-1]}, together"

    def batch_size(self) -> int:
        return self.cases[0].batch_size()

    def define(self, engine: Engine) -> list[Any]:
        made = [case.define(engine) for case in self.cases]
        return [node for nodes in made for node in (nodes if isinstance(nodes, (list, tuple)) else [nodes])]


def changes(engine: Engine, case: Any, whole_batch: bool) -> list[tuple[str, str]]:
    """The case and what is wrong with it: that it does not run, or every way whose bytes differ from the normal run."""
    plain = run(engine, case, Way(), whole_batch)
    if isinstance(plain, Failure):
        return [(str(case), f"does not run: {plain.kind}: {plain.message}")]
    told = {name: difference(plain, run(engine, case, way, whole_batch)) for name, way in WAYS.items()}
    return [(str(case), f"{name}: {what}") for name, what in told.items() if what]


def differences(engine: Engine, cases: list[Any]) -> list[tuple[str, str]]:
    """Cases and what is wrong with them."""
    alike: dict[tuple[int, bool], list[Any]] = {}
    for case in cases:
        alike.setdefault((case.batch_size(), needs_batch(case)), []).append(case)
    found = []
    for (_, whole_batch), listed in alike.items():
        for k in range(0, len(listed), TOGETHER):
            some = listed[k : k + TOGETHER]
            if together := changes(engine, Together(some), whole_batch):
                alone = [what for case in some for what in changes(engine, case, whole_batch)]
                found += alone or together
    return found


@grouped.by_operator([*CASES, *OURS], most=1000)  # only some of thousands of expressions
def test_same_bytes(cases: list[Any], headrace: Engine) -> None:
    grouped.fail(differences(headrace, cases), len(cases))


class Broken:
    """An engine that refuses everything, or returns nothing."""

    def __init__(self, result: list[Output] | Failure) -> None:
        self.result = result

    def run(self, *_args: Any, **_options: Any) -> list[Output] | Failure:
        return self.result


def test_same_bytes_can_fail() -> None:
    case = next(case for case in CASES if operator_of(case) == "copy")
    ((_, said),) = differences(Broken(Failure("ValueError", "always")), [case])
    assert said.startswith("does not run")
    whole = Output("HW", "UINT8", [np.zeros((2, 3), np.uint8)])
    for other in (
        Failure("ValueError", "here"),
        [],
        [Output("HW", "UINT8", [])],
        [Output("WH", "UINT8", whole.samples)],
        [Output("HW", "UINT8", [np.zeros((3, 2), np.uint8)])],
        [Output("HW", "UINT8", [np.eye(2, 3).astype(np.uint8)])],
    ):
        assert difference([whole], other), other
    assert not difference([whole], [whole])
