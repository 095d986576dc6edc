#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random invalid calls of all operators, made from their tables. Each gives a result or a documented exception, never
a crash or a hang.

    fuzz.py                          as in the test suite
    fuzz.py --calls 5000 resize pad  more calls of these operators only
    fuzz.py --seed 7                 other calls

Arguments have wrong types, shapes and element types, NaN, infinities, huge and negative values, empty lists. Inputs
have no elements, extreme shapes, layouts and types that the table does not list, several types in a batch, or no
samples. Readers find pictures, and files that are none. The calls depend only on the seed and the operator's name. They run in worker processes; calls that crash
are printed.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pool
import sweep
from cases_decoders import coded
from collection import OURS
from harness import Case, Data, Engine, Failure, Interps
from headrace import _graph, types
from headrace._graph import schema as _schema

CHUNK = 25  # calls per job
CALLS = int(os.environ.get("HEADRACE_FUZZ_CALLS", "100"))
SEED = os.environ.get("HEADRACE_FUZZ_SEED", "1")
MEMORY = 6 << 30  # address space of a worker: larger allocations raise MemoryError
OUTPUTS = 1 << 28  # bytes of outputs per call, which also limits its time
DOCUMENTED = {
    "ValueError", "TypeError", "RuntimeError", "KeyError", "IndexError", "MemoryError",
    "NotImplementedError", "StopIteration", "OverflowError", "AttributeError", "Unreadable",
}  # fmt: skip

INTEGERS: list[Any] = [0, 1, 2, 3, 4, 7, 20, 100, 255, -1, -2, -20]
EXTREMES: list[Any] = [10**9, -(10**9), 2**31 - 1, -(2**31)]
FLOATS: list[Any] = [*INTEGERS, 0.5, 0.25, 9.5, -0.5, 1e-30, 1e9, -1e9, 3.4e38, 1.0]
# By type: valid values, and invalid ones.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "BOOL": ([True, False, 0, 1], [2, "yes"]),
    "INT": (INTEGERS + EXTREMES, ["x", 0.5, 2**40]),
    "INT64": ([*INTEGERS, 2**63 - 1, -(2**63)], [2**70, "x"]),
    "FLOAT": (FLOATS, [float("nan"), float("inf"), -float("inf"), "x"]),
    "STRING": (["a", "HW", "pad", "error", "default", "mul", "round", "truncate", "stretch", "trim_to_shape"],
               ["", "x" * 5000, "\udc80", 3]),
    "LAYOUT": (["", "HWC", "CHW", "WH", "W", "H", "FHWC"], ["ABCDEFGHIJKL", "HH", 3]),
    "DTYPE": ([*range(12), types.UINT8, types.FLOAT], [-2, -1, *range(12, 30), "FLOAT"]),
    "IMAGE_TYPE": ([*range(5), types.RGB], [-1, 9]),
    "INTERP": ([*range(6), types.INTERP_CUBIC], [-1, 9]),
    "JSON": ([{}, {"a": [1.0, 2]}, {"": []}, {"x": ("fixed", [], types.INT64, 0)}, True, [[0, 1], [1]]],
             [3, "x", [1], {"x": object()}, {1: 2}]),
    "FUNCTION": ([lambda *a: a[0], lambda *a: None, lambda: np.zeros(3)], [3, "x"]),
}  # fmt: skip
NONSENSE: list[Any] = [None, object(), {}, {"a": 1}, b"x", [[1], [2]], [[[]]], "", np.zeros((2, 2)),
                       np.array(["x"]), float("nan"), 1j, [None], range(3), (), types.RGB, types.INT64,
                       -(2**31) - 1, 2**63]  # fmt: skip
# These arguments determine the size of the output: a small one, or an impossible one.
AMOUNTS = {"shape", "num_classes"}
AMOUNT: list[Any] = [0, 1, 2, 3, 5, 40, -1]
FILES = ["files/a/0.jpg", "files/b/1.jpg", "files/a/1.jpg", "files/list.txt", "files/damaged.jpg", "files/none"]
# Texts that make sense for these arguments only.
TEXTS: dict[str, list[str]] = {
    "op": "add sub mul div floordiv mod pow and lshift eq neg".split(),
    "file_root": ["files", "files", ".", "none"],
    "file_list": ["files/list.txt", "files/list.txt", *FILES],
    "ext": ["jpg", "jpg;png", "cls"],
    **dict.fromkeys(("files", "filenames", "path", "paths", "annotations_file", "manifest_filepaths",
                     "index_path", "index_paths", "meta_files_path"), FILES),
}  # fmt: skip
LENGTHS = [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 70]
SHAPES: list[tuple[int, ...]] = [
    (5, 7, 3), (9, 8, 3), (1, 1, 1), (0, 4, 3), (4, 0, 3), (3, 4, 0), (2, 3, 4, 3), (64, 65, 1), (7,), (1,), (0,),
    (), (2, 2), (3, 3), (4, 1), (0, 0), (1,) * 8, (2, 1, 3, 1, 2), (1, 0, 2, 1, 3, 2), (300,), (2, 3), (3, 2),
    (1, 300, 3), (300, 1, 3), (20000, 1, 1), (1, 20000, 3), (0, 0, 3), (0, 20000, 1), (20000,), (1, 20000), (20000, 2),
]  # fmt: skip
LAYOUTS = ["HWC", "CHW", "FHWC", "DHWC", "CDHW", "FDHWC", "HW", "W", "F", "ABCDEFGH"]
DTYPES = ["uint8", "uint8", "uint8", "float32", "float32", "int32", "int64", "int16", "uint16",
          "int8", "uint32", "uint64", "float16", "float64", "bool"]  # fmt: skip


def kind_of(argument: Any) -> str:
    return argument.type.removesuffix("S") if argument.is_list else argument.type


def tensor(shape: tuple[int, ...], dtype: str, rng: random.Random) -> np.ndarray:
    """Small numbers, the ends of the type's range, or an empty tensor."""
    how = rng.random()
    with np.errstate(all="ignore"):
        if how < 0.6:
            return np.resize(np.arange(251), shape).astype(dtype)
        if how < 0.8:
            return np.full(shape, rng.choice(FLOATS)).astype(dtype)
        if np.dtype(dtype).kind == "f":
            return np.full(shape, rng.choice([np.nan, np.inf, -np.inf, 1e30])).astype(dtype)
        return np.full(shape, rng.choice([0, 1, -1, 2**31 - 1, 2**62])).astype(dtype)


def varied(argument: Any, count: int, rng: random.Random) -> Data | Interps:
    """One value per sample: often of a suitable type and shape, rarely the same for all samples."""
    kind = kind_of(argument)
    if kind == "INTERP" and rng.random() < 0.7:
        return Interps([rng.choice([0, 1, 2, 5, 9, -1]) for _ in range(count)])
    dtype = {"FLOAT": "float32", "BOOL": "bool", "INT64": "int64"}.get(kind, "int32")
    if rng.random() < 0.15:
        dtype = rng.choice(DTYPES)
    shapes = [(), (), (1,), (2,), (3,), (2,), (0,), (2, 2), (4,), (1, 1), (2, 3)]
    shape = rng.choice(shapes)
    mixed = rng.random() < 0.1
    samples = [tensor(rng.choice(shapes) if mixed else shape, dtype, rng) for _ in range(count)]
    if argument.name in AMOUNTS or rng.random() < 0.7 and dtype in ("float32", "int32"):
        pick = FLOATS if dtype == "float32" else INTEGERS + EXTREMES
        pick = AMOUNT if argument.name in AMOUNTS else pick
        samples = [np.full(s.shape, rng.choice(pick)).astype(dtype) for s in samples]
    return Data(samples, rng.choice(["", "", "", "F", "H"]) if len(shape) == 1 else "")


def value_for(argument: Any, count: int, rng: random.Random) -> Any:
    if rng.random() < 0.04:
        return rng.choice(NONSENSE)
    if rng.random() < (0.3 if argument.per_sample else 0.02):
        return varied(argument, count, rng)
    good, bad = VALUES[kind_of(argument)]
    good = argument.raw.get("choices") or TEXTS.get(argument.name, good)
    if argument.name in AMOUNTS:
        if rng.random() < 0.1:
            return [2**31 - 1] * 3
        good, bad = AMOUNT, ["x", 0.5]
    choices = bad if rng.random() < 0.05 else good
    if argument.is_list and kind_of(argument) == "INT" and rng.random() < 0.3:
        return rng.sample(range(4), rng.randint(1, 4))  # axes in random order
    if argument.is_list and rng.random() < 0.9:
        return [rng.choice(choices) for _ in range(rng.choice(LENGTHS))]
    return rng.choice(choices)


def file_bytes(rng: random.Random) -> np.ndarray:
    content = bytearray(coded(rng.choice(["JPEG", "PNG", "BMP", "PPM", "WEBP"]), 21, 33))
    for _ in range(rng.choice([0, 0, 0, 1, 5])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return np.frombuffer(bytes(content[: rng.choice([len(content), 100, 0])]), np.uint8)


def input_for(op: Any, position: int, count: int, rng: random.Random) -> Data:
    """A batch of `count` samples, usually of one type and number of dimensions."""
    if op.name.startswith(("decoders.", "peek")) and position == 0 and rng.random() < 0.9:
        return Data([file_bytes(rng) for _ in range(count)])
    layouts = op.inputs[min(position, len(op.inputs) - 1)]["layouts"] if op.inputs else None
    shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
    layout = rng.choice([x for x in LAYOUTS if len(x) == len(shape)] + [""])
    if layouts and rng.random() < 0.7:
        layout = rng.choice(layouts)
        shape = tuple(rng.choice([0, 1, 2, 3, 3, 8, 21]) for _ in layout)
        if "C" in layout and len(layout) == 3 and rng.random() < 0.1:  # a line
            shape = rng.choice([(1, 9000), (9000, 2), (0, 9000)])
            shape = shape + (3,) if layout[-1] == "C" else (3, *shape)
    samples = []
    for _ in range(count):
        if rng.random() < 0.3:
            shape = tuple(rng.choice([n, n, n + 1, 1, 0]) for n in shape)
        if rng.random() < 0.03:
            shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
        samples.append(tensor(shape, dtype, rng))
    return Data(samples, layout)


def text(value: Any) -> str:
    """An input or an argument as readable text."""
    if isinstance(value, Data):
        return f"Data({value.layout!r}, {[f'{s.dtype}{s.shape}' for s in value.samples]})"
    return repr(value)[:200]


@functools.cache
def base_of(name: str) -> Case | None:
    """A written case of an operator."""
    if name == "dump_image":  # all its written cases are refused
        return Case(name, [Data([np.zeros((5, 7, 3), np.uint8)], "HWC")], {})
    ours = (case for case in OURS if type(case) is Case and case.op == name)
    return sweep.base_of(name) or next(ours, None)


class Call:
    """One call, drawn at random."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.op = op = _schema.operators()[name]
        self.count = rng.choice([1, 1, 2, 3])
        kept = rng.sample(sorted(op.args), min(len(op.args), rng.choice([0, 1, 1, 2, 3, 4])))
        required = [key for key, arg in op.args.items() if arg.required and rng.random() < 0.95]
        keys = sorted({*kept, *required})
        self.args = {key: value_for(op.args[key], self.count, rng) for key in keys}
        most = min(op.in_max, op.in_min + 3)
        many = rng.randint(op.in_min, most) if rng.random() < 0.5 else op.in_min
        many += rng.choice([-1, 1]) if rng.random() < 0.02 else 0
        counts = [self.count if rng.random() < 0.98 else rng.choice([0, 1, 4])] * max(many, 0)
        if rng.random() < 0.03:
            counts = [0] * len(counts)
        self.inputs = [input_for(op, i, n, rng) for i, n in enumerate(counts)]
        if rng.random() < 0.25 and (base := base_of(name)):
            self.change(base, rng)
        self.gave = False  # whether the call gave a result
        self.options = {"num_threads": rng.choice([1, 1, 1, 3]), "fuse": rng.random() < 0.8}
        depth = rng.choice([1, 1, 2])
        self.options |= {"prefetch_queue_depth": depth, "iterations": depth}

    def change(self, base: Any, rng: random.Random) -> None:
        """Makes it a written case with at most one of the random arguments."""
        key = rng.choice([*self.args, ""])
        drawn = {key: self.args[key]} if key else {}
        self.count = base.batch_size()
        self.inputs, self.args = list(base.inputs), {**base.args, **drawn}

    def __str__(self) -> str:
        """Enough to repeat the call."""
        parts = [*map(text, self.inputs), *(f"{k}={text(v)}" for k, v in self.args.items())]
        return f"{self.op.name}({', '.join(parts)}) {self.options}"

    def run(self, engine: Engine) -> str:
        """Runs the call. Returns an empty text, or what went wrong."""

        def define(e: Engine) -> Any:
            known = {key: e.value(value) for key, value in self.args.items()}
            fed = [e.feed(data) for data in self.inputs]
            if "hidden" in self.op.flags:  # there is no function: expressions and conditions call it
                return _graph.call(self.op, self.op.name, fed, known)
            return e.operator(self.op.name)(*fed, **known)

        result = engine.run(self.count, define, host_memory_limit=OUTPUTS, **self.options)
        self.gave = not isinstance(result, Failure)
        if isinstance(result, Failure):
            if result.kind not in DOCUMENTED:
                return f"{result.kind}: {result.message[:300]}"
            if "SystemError" in result.message:
                return result.message[:300]
            if not result.message and result.kind not in ("StopIteration", "MemoryError"):
                return f"a {result.kind} without a message"
        return ""


FED_FILES = ("experimental.inputs.video",)  # a function without inputs; files are fed to it


def names() -> list[str]:
    """Operators that are called: all whose inputs are nodes."""
    return [name for name in _schema.operators() if name != "external_source"]


def usable() -> list[str]:
    """Operators some of whose calls give results: those that users call on the CPU, on data that we can make."""
    return [
        name
        for name, op in _schema.operators().items()
        if "hidden" not in op.flags and "cpu" in op.runs_on
        if op.source is None and name not in FED_FILES or name == "readers.file"
    ]


@functools.cache
def engine() -> Engine:
    """The engine of a worker process, with limited memory."""
    if "asan" not in os.environ.get(
        "LD_PRELOAD", ""
    ):  # AddressSanitizer reserves terabytes of address space
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    write_files()
    return Engine("headrace")


def write_files() -> None:
    """Files for readers, in the current folder, where a worker that ended may have left some."""
    for label in ("a", "b"):
        folder = Path("files") / label
        folder.mkdir(parents=True, exist_ok=True)
        for k in range(3):
            (folder / f"{k}.jpg").write_bytes(coded("JPEG", 21 + k, 33))
    Path("files/damaged.jpg").write_bytes(coded("JPEG", 21, 33)[:100])
    Path("files/list.txt").write_text("a/0.jpg 0\nb/1.jpg 1\n", encoding="utf-8")


def jobs(calls: int) -> list[tuple[str, int]]:
    """(operator, chunk) of every job."""
    return [(name, chunk) for name in names() for chunk in range(-(-calls // CHUNK))]


def run(number: int) -> list[Any]:
    """A job: the number of calls of a chunk that gave a result, and those that failed."""
    name, chunk = jobs(CALLS)[number]
    rng = random.Random(f"{SEED} {name} {chunk}")
    gave, wrong = 0, []
    for _ in range(CHUNK):
        call = Call(name, rng)
        pool.stage(str(call))
        what = call.run(engine())
        gave += call.gave
        if what:
            wrong.append(f"{call}: {what}")
    return [gave, wrong]


def results(
    chosen: list[str], calls: int = CALLS, run: pool.Run = pool.run
) -> dict[str, list[str]]:
    """The failed calls by operator. A usable operator none of whose calls gave a result has failed, too."""
    environment = {"HEADRACE_FUZZ_CALLS": str(calls), "HEADRACE_FUZZ_SEED": SEED}
    listed = jobs(calls)
    numbers = [i for i, (name, _) in enumerate(listed) if name in chosen]
    out: dict[str, list[str]] = {name: [] for name in chosen}
    gave = dict.fromkeys(chosen, 0)
    for number, answer in run("fuzz:run", numbers, 60.0, environment).items():
        name = listed[number][0]
        if isinstance(answer, dict):
            answer = [0, [f"{answer['stage']}: {answer['ended']}: {answer['words'][-600:]}"]]
        gave[name] += answer[0]
        out[name] += answer[1]
    for name in usable():
        if name in gave and not gave[name]:
            out[name].append(f"none of {calls} calls gave a result")
    return out


def main() -> int:
    global SEED
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--calls", type=int, default=CALLS, help="per operator")
    parser.add_argument("--seed", default=SEED)
    args = parser.parse_args()
    SEED = args.seed
    found = results(args.operators or names(), args.calls)
    for name, wrong in found.items():
        for what in wrong:
            print(f"{name}: {what}")
    print(f"{args.calls} calls of {len(found)} operators, {sum(map(len, found.values()))} wrong")
    return any(found.values())


if __name__ == "__main__":
    sys.exit(main())
