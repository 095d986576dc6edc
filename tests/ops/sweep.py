# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases made from the operators' tables.

They start from the operator's first written case and change one thing: an argument takes its values (defaults,
choices, ends of its range, enumerations, lists of several lengths), as a constant and per sample; the inputs take
every element type, every layout of the table, and others. Both engines must give the same result, or both refuse
with the same type of exception. The families' cases list known differences:

* `DIFFERENT`: a regular expression that matches the text of the case ("operator: argument=value") -> the reason;
* `BASES`: an operator -> the case to start from, if the first one is unsuitable.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import pool
from collection import CASES, MODULES
from harness import Case, Compare, Data, Engine, Failure, Interps, Output, agree
from headrace._graph import schema as _schema
from recorded import Recorded, Unrecorded, oracle

DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
DTYPES += ["float16", "float32", "float64", "bool"]
TYPES = ["UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64"]
TYPES += ["FLOAT16", "FLOAT", "FLOAT64", "BOOL"]
IMAGE_TYPES = ["RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"]
INTERPS = ["NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN"]
SIZES = {"F": 2, "D": 4, "H": 9, "W": 13, "C": 3}
OTHER_LAYOUTS = ["", "HW", "HWC", "CHW", "FHWC", "DHWC", "ABC"]
NUMBERS: dict[str, list[Any]] = {
    "BOOL": [True, False],
    "INT": [0, 1, 2, 3, -1],
    "INT64": [0, 1, 2, -1],
    "FLOAT": [0.0, 0.5, 1.0, 2.5, -1.0],
}


@dataclasses.dataclass
class Swept(Case):
    """A case that both engines may also refuse."""

    what: str = ""  # the change
    number: int = -1  # in `cases()`

    def __str__(self) -> str:
        return f"{self.op}: {self.what}"


def scalars_of(argument: Any) -> list[Any]:
    """Values for one element of the argument."""
    kind = argument.type.removesuffix("S") if argument.is_list else argument.type
    if kind in NUMBERS:
        ends = [argument.raw[end] for end in ("min", "max") if end in argument.raw]
        cast = {"BOOL": bool, "FLOAT": float}.get(kind, int)
        ends = [cast(end) for end in ends if abs(end) < 1000]
        return [*NUMBERS[kind], *[end for end in ends if end not in NUMBERS[kind]]]
    if kind == "DTYPE":
        return ["types." + name for name in TYPES]
    if kind == "IMAGE_TYPE":
        return ["types." + name for name in IMAGE_TYPES]
    if kind == "INTERP":
        return ["types.INTERP_" + name for name in INTERPS]
    if kind == "LAYOUT":
        return ["HWC", "CHW", "HW", "WHC", "W", ""]
    return [*(argument.raw.get("choices") or ["a"]), "no_such_value"]


def constants_of(argument: Any) -> list[Any]:
    """Values for the whole argument as a constant."""
    values = scalars_of(argument)
    if argument.flags & {"ignored", "deprecated"}:
        values = values[:2]
    if not argument.is_list:
        return values
    lists = [[value] * n for n in (1, 2, 3) for value in values]
    mixed = [[values[i % len(values)] for i in range(1, n + 1)] for n in (2, 3, 4)]
    return [[], values[1 % len(values)], *lists, *mixed]


def per_sample_of(argument: Any, count: int) -> list[Any]:
    """Values of the argument that differ from sample to sample, in suitable and unsuitable types."""
    kind = argument.type.removesuffix("S") if argument.is_list else argument.type
    if kind == "INTERP":
        return [Interps([i % 3 for i in range(count)])]
    if kind not in NUMBERS:
        return []
    values = NUMBERS[kind]
    fitting = {"FLOAT": np.float32, "BOOL": np.bool_, "INT64": np.int64}.get(kind, np.int32)
    other = np.int32 if kind == "FLOAT" else np.float32

    def data(dtype: Any, shape: tuple[int, ...], first: int) -> Data:
        picked = [values[(first + i) % len(values)] for i in range(count)]
        return Data([np.full(shape, value).astype(dtype) for value in picked])

    shapes = [(1,), (2,), (3,)] if argument.is_list else [()]
    out = [data(fitting, shape, first) for shape in shapes for first in range(len(values))]
    out += [data(other, shapes[-1], 1), data(fitting, (), 1), data(fitting, (1,), 1)]
    return [*out, data(fitting, (2, 2), 1), data(fitting, (0,), 1)]


def text_of(value: Any) -> str:
    if isinstance(value, Data):
        first = value.samples[0]
        return f"per sample {first.dtype} {[np.asarray(s).tolist() for s in value.samples]}"
    return repr(value) if not isinstance(value, Interps) else f"per sample {value.values}"


# Arguments of single operators that DALI lacks. Their tests are in tests/python.
_OF_IMAGES = ("image", "image_crop", "image_random_crop", "image_slice")
_LOOK, _LIST = {"color_space", "rotate"}, {"relative_to_list"}
ADDED_TO = {
    "readers.numpy": {"members"},
    "decoders.numpy": {"members"},
    "readers.caffe": {"shuffle_after_epoch", "shuffle_after_epoch_seed"},
    "readers.caffe2": {"shuffle_after_epoch", "shuffle_after_epoch_seed"},
    "peek_image_shape": {"page", "all_pages"},
    "audio_resample": {"lowpass"},
    "decoders.audio": {"lowpass"},
    "readers.nemo_asr": {"lowpass"} | _LIST,
    "decoders.video": _LOOK,
    "experimental.inputs.video": _LOOK,
    "experimental.readers.video": _LOOK | _LIST,
    "readers.video": _LOOK | _LIST,
    "readers.video_resize": _LOOK | _LIST,
} | {f"decoders.{name}": {"page", "all_pages"} for name in _OF_IMAGES}


def argument_cases(op: Any, base: Case) -> Iterator[Swept]:
    """Changes one argument at a time."""
    for argument in op.args.values():
        if argument.name in ADDED_TO.get(op.name, ()):
            continue
        known = [*constants_of(argument), None, "text" if argument.type != "STRING" else 5]
        varied = per_sample_of(argument, base.batch_size()) if argument.per_sample else []
        if not argument.per_sample:  # both engines refuse it
            varied = [Data([np.array(1, np.int32)] * base.batch_size())]
        for value in [*known, *varied]:
            args = {**base.args, argument.name: value}
            what = f"{argument.name}={text_of(value)}"
            yield Swept(op.name, base.inputs, args, base.compare, base.size, what)


def like(layout: str, dtype: Any, count: int) -> Data:
    rng = np.random.default_rng(len(layout))
    shapes = [tuple(SIZES.get(letter, 3) + i for letter in layout) for i in range(count)]
    if "C" in layout:  # the same number of channels in all samples
        place = layout.index("C")
        shapes = [(*s[:place], SIZES["C"], *s[place + 1 :]) for s in shapes]
    return Data([(rng.random(s) * 100).astype(dtype) for s in shapes], layout)


def input_cases(op: Any, base: Case) -> Iterator[Swept]:
    """Other element types, layouts and numbers of dimensions of the inputs."""

    if not all(isinstance(data, Data) for data in base.inputs):
        return

    def case(inputs: list[Data], what: str) -> Swept:
        return Swept(op.name, inputs, base.args, base.compare, base.size, what)

    for dtype in DTYPES:
        for k in range(len(base.inputs)):
            changed = [Data([np.asarray(s).astype(dtype) for s in d.samples], d.layout)
                       if i == k else d for i, d in enumerate(base.inputs)]  # fmt: skip
            yield case(changed, f"input {k} {dtype}")
        if len(base.inputs) > 1:
            changed = [Data([np.asarray(s).astype(dtype) for s in d.samples], d.layout)
                       for d in base.inputs]  # fmt: skip
            yield case(changed, f"inputs {dtype}")
    if not base.inputs:
        return
    count, kind = base.batch_size(), base.inputs[0].samples[0].dtype
    rest = list(base.inputs[1:])
    for layout in dict.fromkeys([*(op.inputs[0]["layouts"] or []), *OTHER_LAYOUTS]):
        data = like(layout, kind, count)
        yield case([data, *rest], f"input 0 {layout or 'scalar'} {kind}")
        yield case([Data(data.samples), *rest], f"input 0 {len(layout)} dimensions {kind}")
    empty = [np.zeros((0,) * np.ndim(s), np.asarray(s).dtype) for s in base.inputs[0].samples]
    yield case([Data(empty, base.inputs[0].layout), *rest], "input 0 empty")


def nothing(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Does not compare: the results are random."""


def base_of(name: str) -> Case | None:
    """The case from which an operator's others are made: its first plain one."""
    for module in MODULES:
        if name in getattr(module, "BASES", {}):
            return module.BASES[name]
    return next((case for case in CASES if type(case) is Case and case.op == name), None)


@functools.cache
def cases() -> list[Swept]:
    """All cases, in an order that is the same in every process."""
    out: list[Swept] = []
    for op in _schema.operators().values():
        base = base_of(op.name)
        if base is not None and "hidden" not in op.flags:
            out += [*argument_cases(op, base), *input_cases(op, base)]
    for number, case in enumerate(out):
        case.number = number
    return out


@functools.cache
def engines() -> tuple[Engine, Engine | Recorded]:
    """Headrace and DALI: live DALI in the workers of a run with --dali, otherwise its recorded results."""
    return Engine("headrace"), oracle(os.environ.get("HEADRACE_TEST_DALI") == "live")


BOTH_REFUSE = "both refuse"


def verdict(
    ours: list[Output] | Failure, theirs: list[Output] | Failure, compare: Compare, random: bool
) -> str:
    """Empty if the results agree, BOTH_REFUSE, or the kind of difference: "values", "stricter", "wider", "exception"."""
    if isinstance(theirs, Failure) and theirs.kind == "Unreadable":
        return BOTH_REFUSE
    if isinstance(ours, Failure) or isinstance(theirs, Failure):
        said = [x.message.splitlines() for x in (ours, theirs) if isinstance(x, Failure)]
        text = " / ".join(lines[0][:200] for lines in said if lines)
        if not isinstance(ours, Failure):
            return f"wider: {text}"
        if not isinstance(theirs, Failure):
            return f"stricter: {ours.kind}: {text}"
        if ours.kind == theirs.kind:
            return BOTH_REFUSE
        return f"exception: {ours.kind}, {theirs.kind}: {text}"
    if random:
        named = [[(x.layout, x.dtype) for x in result] for result in (ours, theirs)]
        return "" if named[0] == named[1] else f"values: {named[0]}, in DALI {named[1]}"
    results = (ours, theirs)
    try:
        agree(ours, theirs, compare)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        shapes = [[(x.layout, x.dtype, *x.all_shapes()) for x in r] for r in results]
        return "values: " + " ".join(lines[:6])[:300] + f" {shapes[0]} {shapes[1]}"[:300]
    return ""


def run(number: int) -> str | None:
    """A job: runs case `number` in both engines. None: DALI's result is not recorded."""
    case = cases()[number]
    results = []
    for engine in engines():
        pool.stage(engine.name)
        try:
            results.append(engine.result(case))
        except Unrecorded:
            return None
    random = _schema.operators()[case.op].has_seed
    return verdict(results[0], results[1], case.compare, random)


# Differences that any operator may have: Headrace checks arguments completely against the table.
EVERYWHERE = {
    r"='text'$": "a text is refused as a truth value",
    r"=5$": "a number is refused as a text",
    r"image_type=per sample": "arguments without effect are checked, too",
}


def known() -> dict[str, str]:
    """Known differences, with their reasons."""
    theirs = {k: why for m in MODULES for k, why in getattr(m, "DIFFERENT", {}).items()}
    return EVERYWHERE | theirs


@dataclasses.dataclass
class Result:
    """The result of a case."""

    op: str
    case: str
    said: str  # see verdict
    excused: bool  # a known difference

    @property
    def agrees(self) -> bool:
        """Both engines give the same values."""
        return not self.said

    @property
    def failed(self) -> bool:
        """The engines differ, and it is not a known difference. Accepting more than DALI is not a failure."""
        return (
            not self.excused
            and not self.said.startswith(("wider", BOTH_REFUSE))
            and not self.agrees
        )


def results(chosen: list[Swept], run: pool.Run = pool.run) -> list[Result]:
    """The results of cases, without those that crash DALI or are not recorded."""
    answers = run("sweep:run", [case.number for case in chosen])
    out: list[Result] = []
    patterns = [re.compile(pattern) for pattern in known()]
    for case in chosen:
        answer = answers[case.number]
        if answer is None:
            continue
        if isinstance(answer, dict):
            if answer["stage"] == "nvidia.dali":
                continue
            answer = f"ended by {answer['ended']}: {answer['words'][-500:]}"
        excused = any(pattern.search(str(case)) for pattern in patterns)
        out.append(Result(case.op, str(case), answer, excused))
    return out
