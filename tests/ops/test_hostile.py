# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Arguments and inputs that make no sense: a result or an error that names the operator, never a crash."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from cases_decoders import coded
from harness import Data, Engine, Failure

schema = pytest.importorskip("headrace._schema")

NUMBERS: list[Any] = [0, 1, 2, 3, 4, 7, 9.5, 20, 100, 255, 0.5, 0.25, -1, -0.5, -20, 1e-30]
EXTREMES: list[Any] = [1e9, -1e9, 3.4e38, 2**31 - 1, -(2**31)]
# By type: what it takes, and what it cannot be.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "BOOL": ([True, False, 0, 1], [2, "yes", None]),
    "INT": ([v for v in NUMBERS + EXTREMES if v == int(v) and abs(v) < 2**32], ["x", 0.5]),
    "INT64": ([2**63 - 1, -(2**63), 0, 1, 5], [2**70, "x"]),
    "FLOAT": (NUMBERS + EXTREMES, [float("nan"), float("inf"), "x"]),
    "STRING": (["round", "truncate", "pad", "error", "trim_to_shape", "default", "stretch"],
               ["", "x" * 5000, "\udc80", 3]),
    "LAYOUT": (["", "HWC", "CHW", "WH", "W", "H"], ["ABCDEFGHIJKL", "HH", 3]),
    "DTYPE": (list(range(12)), [-2, -1, *range(12, 30), "FLOAT"]),
    "IMAGE_TYPE": (list(range(5)), [-1, 9]),
    "INTERP": (list(range(6)), [-1, 9]),
}  # fmt: skip
LENGTHS = [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 70]
# Of these an operator takes one.
SIZES = ["size", "resize_x", "resize_shorter", "resize_longer"]
SHAPES = [
    (5, 7, 3),
    (9, 8, 3),
    (1, 1, 1),
    (0, 4, 3),
    (4, 0, 3),
    (3, 4, 0),
    (2, 3, 4, 3),
    (64, 65, 1),
    (7,),
    (),
]
LAYOUTS = ["HWC", "CHW", "FHWC", "DHWC", "CDHW", "FDHWC", ""]
DTYPES = [
    "uint8",
    "uint8",
    "uint8",
    "float32",
    "int16",
    "uint16",
    "int32",
    "float16",
    "float64",
    "bool",
    "int64",
]


def value_for(argument: Any, rng: random.Random) -> Any:
    kind = argument.type.removesuffix("S") if argument.is_list else argument.type
    good, bad = VALUES[kind]
    if argument.name == "shape":
        good = [0, 1, 2, 3, 40]  # what is asked for is made
    choices = bad if rng.random() < 0.04 else good
    if argument.is_list and rng.random() < 0.9:
        return [rng.choice(choices) for _ in range(rng.choice(LENGTHS))]
    if argument.per_sample and kind in ("INT", "FLOAT", "BOOL") and rng.random() < 0.2:
        dtype = np.float32 if kind == "FLOAT" else np.int32
        return Data(
            [np.full(rng.choice([(), (), (1,), (2,), (3,), (0,)]), rng.choice(good), dtype)]
        )
    return rng.choice(choices)


def input_for(name: str, position: int, rng: random.Random) -> Data:
    if name.startswith(("decoders.", "peek")) and position == 0 and rng.random() < 0.9:
        content = bytearray(coded(rng.choice(["JPEG", "PNG", "BMP", "PPM", "WEBP"]), 21, 33))
        for _ in range(rng.choice([0, 0, 0, 1, 5])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        return Data([np.frombuffer(bytes(content[: rng.choice([len(content), 100])]), np.uint8)])
    shape = rng.choice(SHAPES)
    fitting = [x for x in LAYOUTS if len(x) == len(shape)] + [""]
    values = np.resize(np.arange(251), shape).astype(rng.choice(DTYPES))
    return Data([values], rng.choice(fitting))


def call(engine: Engine, name: str, rng: random.Random) -> None:
    op = schema.operators()[name]
    kept = rng.sample(sorted(op.args), min(len(op.args), rng.choice([0, 1, 1, 2, 3, 4])))
    required = [key for key, arg in op.args.items() if arg.required and rng.random() < 0.95]
    if name == "resize" and rng.random() < 0.9:
        kept = [key for key in kept if key not in SIZES] + [rng.choice(SIZES)]
    args = {key: value_for(op.args[key], rng) for key in sorted({*kept, *required})}
    many = rng.randint(op.in_min, op.in_max) if rng.random() < 0.2 else op.in_min
    inputs = [input_for(name, i, rng) for i in range(many)]

    def define(e: Engine) -> Any:
        known = {key: e.value(value) for key, value in args.items()}
        return e.operator(name)(*[e.feed(data) for data in inputs], **known)

    result = engine.run(1, define)
    if isinstance(result, Failure):
        known_kinds = ("Error", "Exception", "Iteration")
        assert result.kind.endswith(known_kinds), result
        assert result.kind != "SystemError", (args, result)
        assert result.message, (args, result)


NAMES = [
    name
    for name, op in schema.operators().items()
    if "hidden" not in op.flags and "source" not in op.flags and not op.is_reader
]


@pytest.mark.parametrize("name, seed", itertools.product(NAMES, range(4)))
def test_senseless(name: str, seed: int, headrace: Engine) -> None:
    rng = random.Random(f"{name} {seed}")
    for _ in range(50):
        call(headrace, name, rng)
