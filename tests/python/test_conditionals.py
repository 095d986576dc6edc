# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Conditional mode.

A program over integers gives for each sample of a batch the same as for a number, so Python itself computes the
expected results. Live DALI confirms them, and decides which programs are errors.
"""

from __future__ import annotations

import contextlib
import functools
import random
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import headrace
import numpy as np
import pytest
from twice import dali, live

VALUES = [0, 1, 2, 3, 5, -4]
Program = Callable[..., Any]


def build(package: ModuleType, program: Program, values: list[int] = VALUES, **kwargs: Any) -> Any:
    """A pipeline of `program` over INT32 scalars."""

    def definition() -> Any:
        x = package.fn.external_source(lambda: [np.int32(v) for v in values])
        return program(x)

    arguments = {"batch_size": len(values), "num_threads": 2, "device_id": None, "seed": 3}
    return package.pipeline_def(definition, enable_conditionals=True, **{**arguments, **kwargs})()


def outputs(package: ModuleType, program: Program, **kwargs: Any) -> list[list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            [np.array(t).tolist() for t in batch]
            for batch in build(package, program, **kwargs).run()
        ]


def plainly(program: Program, values: list[int] = VALUES) -> list[list[int]]:
    """The results of the program for each number."""
    rows = [program(v) for v in values]
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    return [[int(v) for v in column] for column in zip(*rows, strict=True)]


# ---- programs that give the same for a sample as for a number ----

WEIGHT = 7
PROGRAMS: list[Program] = []
ALSO_DALI: list[Program] = []


def numbers(program: Program) -> Program:
    PROGRAMS.append(program)
    ALSO_DALI.append(program)
    return program


def numbers_here(program: Program) -> Program:
    """A program that DALI does not run."""
    PROGRAMS.append(program)
    return program


@numbers
def if_else(x: Any) -> Any:
    if x % 2 == 0:
        y = x + 10
    else:
        y = x * 100
    return y


@numbers
def without_else(x: Any) -> Any:
    y = x
    if x > 1:
        y = x + 1
    if x > 2:
        y += 10
    return y, x


@numbers
def class_inside(x: Any) -> Any:
    class Step:
        def __init__(self, by: int) -> None:
            self.by = by

        def __call__(self, value: Any) -> Any:
            if value > self.by:
                value = value - self.by
            return value

    return Step(1)(x) + Step(2)(x)


def _of_a_branch(x: Any, limit: int) -> Any:
    """An output of one branch, which has fewer samples than the other outputs."""
    found = []
    if x > limit:
        y = x + 1
        found.append(y)
    else:
        y = x - 1
    return y, found[0], x


@pytest.mark.dali
@pytest.mark.parametrize("limit", [1, -100, 100])
def test_outputs_of_a_branch(limit: int) -> None:
    def program(x: Any) -> Any:
        return _of_a_branch(x, limit)

    taken = [v + 1 for v in VALUES if v > limit]
    merged = [v + 1 if v > limit else v - 1 for v in VALUES]
    assert outputs(headrace, program) == [merged, taken, VALUES]
    assert outputs(headrace, program, fuse=False, num_threads=1) == [merged, taken, VALUES]
    if live():
        assert outputs(dali(), program) == [merged, taken, VALUES]


@numbers
def elif_chain(x: Any) -> Any:
    if x == 0:
        y = x + 100
    elif x == 1:
        y = x + 200
    elif x == 2:
        y = x + 300
    else:
        y = x + 400
    return y


@numbers
def nested(x: Any) -> Any:
    z = x
    if x > 0:
        if x > 1:
            y = x * 2
            if x > 3:
                z = y + x
        else:
            y = x * 3
    else:
        y = x * 5
        z = y - 1
    return y, z


@numbers
def numbers_in_branches(x: Any) -> Any:
    if x > 1:
        y = 1
    else:
        y = 2
    if y == 2:
        z = y
    else:
        z = 11
    return y, z


@numbers
def returns(x: Any) -> Any:
    if x > 1:
        return x + 1
    else:
        return x * 100


@numbers
def early_return(x: Any) -> Any:
    if x > 4:
        return x + 1
    y = x * 2
    if y > 2:
        return y
    return x * 100


@numbers_here
def return_in_an_inner_branch(x: Any) -> Any:
    if x > 1:
        if x > 2:
            return x + 1
        x = x * 7
    return x * 100


@numbers
def returns_several(x: Any) -> Any:
    if x > 1:
        return x, x + 1
    return x - 1, x * 2


@numbers
def continues(x: Any) -> Any:
    for _ in range(3):
        if x > 1:
            continue
        x = x + 1
    return x


@numbers
def loops(x: Any) -> Any:
    total = 0
    for i in range(3):
        if x > i:
            x = x - i
        else:
            x = x + 10
        if i == 1:
            break
        total = total + x
    k = 0
    while k < 3:
        k += 1
        if total > 5:
            total = total - k
    return x, total


@numbers
def logic(x: Any) -> Any:
    both = (x > 0) and (x < 3)
    either = (x > 2) or (x < 0) or (x == 1)
    neither = not (x > 2)
    mixed = x > 0 and (x > 2 or not x > 1)
    if both and not either:
        y = 1
    else:
        y = 2
    return both, either, neither, mixed, y


@numbers
def logic_with_values(x: Any) -> Any:
    a = (x > 1) and True
    b = True and (x > 1)
    c = False or (x > 1)
    return a, b, c, (x > 1) or False


@numbers
def chained(x: Any) -> Any:
    y = 5
    if 0 < x <= 3 < 4:
        y = 6
    return 0 < x < 3, y


@numbers
def names_of_one_branch(x: Any) -> Any:
    if x > 1:
        only_here = x + 1
        y = only_here * 2
    else:
        other = x - 5
        y = other
    return y


@numbers
def structures(x: Any) -> Any:
    if x > 1:
        y = (x, [x + 1, {"a": x}])
    else:
        y = (x * 2, [x - 1, {"a": x * 3}])
    return y[0], y[1][0], y[1][1]["a"]


class Pair(NamedTuple):
    first: Any
    second: Any


@numbers
def named_tuples(x: Any) -> Any:
    if x > 1:
        y = Pair(x, second=x + 1)
    else:
        y = Pair(second=x * 2, first=x - 1)
    return y.first, y.second


@numbers
def items(x: Any) -> Any:
    d: dict[str, Any] = {"b": x}
    if x > 1:
        d["a"] = x + 1
        d["b"] = x + 2
    else:
        d["a"] = x * 5
    return d["a"], d["b"]


class Box:
    value: Any


@numbers
def attributes(x: Any) -> Any:
    box = Box()
    if x > 1:
        box.value = x + 1
    else:
        box.value = x * 5
    return box.value


@numbers
def nothing_happens(x: Any) -> Any:
    if x > 1:
        pass
    if x > 2:
        x = x
    return x


@numbers
def python_conditions(x: Any) -> Any:
    y = x
    for flag in (True, False, None, [], "text"):
        if flag and not None:
            y = y + 1
        elif flag is None:
            y = y * 2
    z = y if WEIGHT > 3 else None
    if x is None or isinstance(x, str):
        return None
    return y, z


def helper(x: Any, by: int = 3, *, scale: int = WEIGHT) -> Any:
    if x > by:
        return x * scale
    return x - scale


@numbers
def calls(x: Any) -> Any:
    return helper(x), helper(x, 1), helper(x, scale=2), helper(by=0, x=x)


def recursive(x: Any, depth: int) -> Any:
    if depth == 0:
        return x
    if x > depth:
        x = recursive(x - 1, depth - 1)
    else:
        x = recursive(x + 2, depth - 1)
    return x


@numbers
def recursion(x: Any) -> Any:
    return recursive(x, 4)


@numbers
def closures(x: Any) -> Any:
    count = 0
    offset = 4

    def inner(v: Any) -> Any:
        nonlocal count
        count += 1
        if v > offset:
            return v
        return v + count

    first = inner(x)
    second = inner(x)
    return first, second, x + count


@numbers
def lambdas(x: Any) -> Any:
    choose = lambda v, w=2: v > 1 and v < w  # noqa: E731
    return choose(x), choose(x, 5), (lambda v: not v > 0)(x)


THIRD = [lambda x: x > 0, lambda x: not x > 1, lambda x: x > 2 and x < 4]


@numbers_here
def lambdas_of_one_line(x: Any) -> Any:
    return tuple(f(x) for f in THIRD)


class Step:
    def __init__(self, by: int) -> None:
        self.by = by
        self.__hidden = by + 1

    def method(self, x: Any) -> Any:
        if x > self.by:
            x = x + self.__hidden
        return x

    @staticmethod
    def static(x: Any) -> Any:
        if x > 1:
            return x * 3
        return x

    def __call__(self, x: Any) -> Any:
        if x < self.by:
            x = -x
        return x


class Longer(Step):
    def method(self, x: Any) -> Any:
        if x > 2:
            return super().method(x) * 2
        return super().method(x)


@numbers_here
def methods(x: Any) -> Any:
    step = Longer(1)
    return step.method(x), Step.static(x), step(x), Step(2).method(x)


@numbers
def partials(x: Any) -> Any:
    return functools.partial(helper, by=2)(x)


def doubled(function: Program) -> Program:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return wrapper


@doubled
def decorated_helper(x: Any) -> Any:
    if x > 1:
        x = x + 3
    return x


@numbers
def decorated(x: Any) -> Any:
    return decorated_helper(x)


@numbers_here
def generators(x: Any) -> Any:
    def counted() -> Any:
        for i in range(3):
            if x > i:
                y = x + i
            else:
                y = x - i
            yield y

    return tuple(counted())


@numbers
def comprehensions(x: Any) -> Any:
    parts = [x + i for i in range(4) if i != 2]
    if x > 1:
        parts = [p * 2 for p in parts]
    else:
        parts = [p + 1 for p in parts]
    return tuple(parts)


@numbers
def blocks(x: Any) -> Any:
    try:
        if x > 1:
            y = x + 1
        else:
            y = x - 1
    except KeyError:
        y = 0
    finally:
        z = x
    with contextlib.nullcontext(5) as five:
        if x > 2:
            z = z + five
    return y, z


@numbers_here
def matches(x: Any) -> Any:
    y = x
    for kind in ("a", "b", "c"):
        match kind:
            case "a" if x is not None:
                y = y + 1
            case "b":
                if x > 1:
                    y = y * 2
            case other:
                y = y + len(other)
    return y


@numbers_here
def assignment_expressions(x: Any) -> Any:
    if (double := x * 2) > 3:
        y = double
    else:
        y = double + 1
    return y, double


@numbers
def read_in_the_next_round(x: Any) -> Any:
    last = 0
    out = x
    for _ in range(3):
        out = out + last
        if x > 1:
            last = x
        else:
            last = last + 1
    return out


@numbers
def dropped_names(x: Any) -> Any:
    y = 1
    if x > 1:
        z = x + y
    else:
        z = x
    del y
    return z


SEEN = 0


@numbers_here
def global_names(x: Any) -> Any:
    global SEEN
    SEEN = 0
    if x > 1:
        SEEN = x + 1
    else:
        SEEN = x - 1
    y = SEEN
    SEEN = 0
    return y


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_python_says(program: Program) -> None:
    expected = plainly(program)
    assert outputs(headrace, program) == expected
    assert outputs(headrace, program, fuse=False, num_threads=1) == expected


@pytest.mark.live_dali
@pytest.mark.parametrize("program", ALSO_DALI, ids=lambda p: p.__name__)
def test_as_dali_says(program: Program) -> None:
    assert outputs(dali(), program) == plainly(program)


# ---- random programs ----


class Maker:
    """A random function of a number, with nested branches."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["x", "a", "b"]

    def value(self) -> str:
        return f"{self.random.choice(self.names)} {self.random.choice('+-*')} {self.random.randint(-3, 3)}"

    def condition(self, depth: int = 0) -> str:
        kind = self.random.randint(0, 6 if depth < 2 else 2)
        left, right = self.random.choice(self.names), self.random.randint(-4, 6)
        if kind <= 2:
            return f"{left} {self.random.choice(['<', '>=', '=='])} {right}"
        if kind == 3:
            return f"{right - 3} < {left} <= {right}"
        if kind == 4:
            return f"not ({self.condition(depth + 1)})"
        return f"({self.condition(depth + 1)}) {self.random.choice(['and', 'or'])} ({self.condition(depth + 1)})"

    def block(self, depth: int, loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randint(0, 9)
            if kind < 4 or depth == 3:
                lines.append(f"{self.random.choice(['a', 'b'])} = {self.value()}")
            elif kind == 4:
                lines.append(f"if {self.condition()}: return a - 1, b + 1")
            elif kind == 5 and loop:
                lines.append(f"if {self.condition()}: continue")
            elif kind == 6 and not loop:
                lines += ["for i in range(2):", *self.inside(depth, True), "    a = a + i"]
            else:
                lines += [f"if {self.condition()}:", *self.inside(depth, loop)]
                if self.random.random() < 0.4:
                    lines += [f"elif {self.condition()}:", *self.inside(depth, loop)]
                if self.random.random() < 0.6:
                    lines += ["else:", *self.inside(depth, loop)]
        if loop:  # a return cannot leave a loop
            lines = [line.replace("return a - 1, b + 1", "b = a + b") for line in lines]
        return lines

    def inside(self, depth: int, loop: bool) -> list[str]:
        return ["    " + line for line in self.block(depth + 1, loop)]

    def text(self) -> str:
        lines = [
            "a = x + 1",
            "b = x * 0 + 2",
            *self.block(0, False),
            *self.block(0, False),
            "return a, b",
        ]
        return "def program(x):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("seed", range(25))
def test_made_up_programs(seed: int, tmp_path: Any) -> None:
    path = tmp_path / f"program_{seed}.py"
    path.write_text(Maker(seed).text())
    names: dict[str, Any] = {"__name__": f"program_{seed}"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    values = list(range(-6, 8))
    got = outputs(headrace, names["program"], values=values)
    assert got == plainly(names["program"], values), path.read_text()
