# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every operator against DALI: values, shapes, types, layouts, exceptions."""

from __future__ import annotations

import ast
import inspect
import pathlib
from typing import Any

import numpy as np
import pytest

import grouped
from collection import CASES, ELSEWHERE, ERRORS, OURS, SHARED
from harness import Case, Data, Engine, check, check_fails
from sweep import ADDED_TO

# Operators that have tests of their own.
TESTED_ELSEWHERE = {"external_source", "readers.file", *ELSEWHERE}


@grouped.by_operator(CASES)
def test_same_as_dali(cases: list[Any], headrace: Engine, dali: Any) -> None:
    grouped.run(cases, lambda case: check(case, headrace, dali))


@grouped.by_operator(ERRORS)
def test_refused_as_by_dali(cases: list[Any], headrace: Engine, dali: Any) -> None:
    grouped.run(cases, lambda case: check_fails(case, headrace, dali))


def test_photographs(
    headrace: Engine, live_dali: Engine, photograph_files: list[pathlib.Path]
) -> None:
    """Photographs, whole and in windows."""
    data = Data([np.fromfile(path, np.uint8) for path in photograph_files])
    check(Case("decoders.image", [data], {}), headrace, live_dali)
    check(Case("decoders.image", [data], {"output_type": "types.GRAY"}), headrace, live_dali)
    window = {"crop": (50, 40), "crop_pos_x": 0.3, "crop_pos_y": 0.7}
    check(Case("decoders.image_crop", [data], window), headrace, live_dali)
    check(Case("peek_image_shape", [data], {}), headrace, live_dali)


def test_external_source(headrace: Engine, live_dali: Engine) -> None:
    data = Data([np.arange(6, dtype=np.int16).reshape(2, 3), np.zeros((4, 1), np.int16)], "AB")
    theirs = live_dali.run(2, lambda engine: engine.feed(data))
    ours = headrace.run(2, lambda engine: engine.feed(data))
    assert isinstance(ours, list) and isinstance(theirs, list)
    assert (ours[0].layout, ours[0].dtype) == (theirs[0].layout, theirs[0].dtype)
    for mine, other in zip(ours[0].samples, theirs[0].samples, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_readers_file(headrace: Engine, live_dali: Engine, tmp_path: pathlib.Path) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for i in range(3):
            (tmp_path / label / f"{i}.jpg").write_bytes(bytes([i, ord(label)]) * (i + 1))

    def define(engine: Engine) -> Any:
        return engine.fn.readers.file(file_root=str(tmp_path))

    theirs, ours = live_dali.run(6, define), headrace.run(6, define)
    assert isinstance(ours, list) and isinstance(theirs, list)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.layout, mine.dtype) == (other.layout, other.dtype)
        for a, b in zip(mine.samples, other.samples, strict=True):
            np.testing.assert_array_equal(a, b)


def registered() -> dict[str, Any]:
    """The operators of this build that users see."""
    schema = pytest.importorskip("headrace._graph.schema")
    return {name: op for name, op in schema.operators().items() if "hidden" not in op.flags}


def test_every_operator_has_cases() -> None:
    covered = {case.op for case in CASES if isinstance(case, Case)} | TESTED_ELSEWHERE
    missing = set(registered()) - covered
    assert not missing, f"add cases to tests/ops/cases_*.py, or an entry to ELSEWHERE there, for {sorted(missing)}"


def test_every_argument_has_a_case() -> None:
    used: dict[str, set[str]] = {}
    for case in [*CASES, *ERRORS]:
        if isinstance(case, Case):
            used.setdefault(case.op, set()).update(case.args)
    missing = {
        f"{name}({argument})"
        for name, op in registered().items()
        if name not in TESTED_ELSEWHERE
        for argument in op.args
        if argument not in used.get(name, set()) | ADDED_TO.get(name, set())
    }
    assert missing == set()


def test_every_per_sample_argument_has_a_case_a_sample() -> None:
    varied = {
        (case.op, key)
        for case in [*CASES, *OURS]
        if isinstance(case, Case)
        for key, value in case.args.items()
        if not isinstance(value, (str, int, float, bool, list, tuple))
    }
    missing = {
        f"{name}({argument.name})"
        for name, op in registered().items()
        for argument in op.args.values()
        if argument.per_sample and (name, argument.name) not in varied
    }
    assert missing <= SHARED


def dali_schema(name: str) -> Any:
    from nvidia.dali import backend

    module, _, leaf = name.rpartition(".")
    schema = pytest.importorskip("headrace._graph.schema")
    registered_name = (module.replace(".", "__") + "__" if module else "") + schema.class_name(name)
    return backend.TryGetSchema(registered_name)


def ours_only(op: Any) -> bool:
    """Whether DALI has no such operator. Its description says so."""
    return "Not in DALI." in op.doc


# Arguments of readers that DALI lacks, or that only some of its readers have.
ADDED = {"cache_size", "check_crc", "even", "fill_missing", "global_batch", "sampler", "use_o_direct"}
DALI_HAS = {("readers.numpy", "use_o_direct"), ("readers.tfrecord", "use_o_direct")}
# Arguments that DALI requires.
NOT_REQUIRED = {("readers.tfrecord", "index_path")}
# The sequences of a reader are listed before there are samples.
NOT_PER_SAMPLE = {("experimental.readers.video", "pad_mode")}
COMMON = {"bytes_per_sample_hint", "preserve", "seed", "device", "name"}


def added(name: str) -> set[str]:
    ours = {argument for argument in ADDED if (name, argument) not in DALI_HAS}
    return (ours if registered()[name].is_reader else set()) | ADDED_TO.get(name, set())


@pytest.mark.live_dali
def test_arguments_are_dalis() -> None:
    """Names of arguments, and which of them can be per sample."""
    for name, op in registered().items():
        schema = dali_schema(name)
        assert (schema is None) == ours_only(op), name
        if name == "external_source" or ours_only(op):
            continue  # arguments of external_source are Python's, see tests/python
        theirs = set(schema.GetArgumentNames()) - COMMON
        ours = set(op.args) - COMMON - added(name)
        assert ours == theirs, name
        for argument in sorted(ours):
            if (name, argument) not in NOT_PER_SAMPLE:
                assert op.args[argument].per_sample == schema.IsTensorArgument(argument), (
                    name,
                    argument,
                )
            required = not schema.IsArgumentOptional(argument)
            if (name, argument) not in NOT_REQUIRED:
                assert op.args[argument].required == required, (name, argument)


# Arguments whose default is set by DALI's Python code, whatever the schema says.
PYTHONS_DEFAULTS = {("dl_tensor_python_function", "batch_processing")}
# Arguments whose absence means DALI's default.
ABSENT = {("readers.video_resize", "dtype")}


@pytest.mark.live_dali
def test_defaults_are_dalis() -> None:
    """Defaults that DALI's schema can express."""
    for name, op in registered().items():
        schema = dali_schema(name)
        for argument in op.args.values():
            if name == "external_source" or ours_only(op) or argument.name in added(name):
                continue
            if not schema.HasArgumentDefaultValue(argument.name):
                continue
            if (name, argument.name) in PYTHONS_DEFAULTS | ABSENT:
                continue
            theirs = schema.GetArgumentDefaultValueString(argument.name)
            ours = argument.default
            value = ast.literal_eval(theirs)
            # Floats are printed there with six digits.
            if isinstance(value, (int, float)):  # enumerations are numbers there
                number = int(ours) if hasattr(ours, "name") else ours
                np.testing.assert_allclose(number, value, rtol=1e-5)
            elif isinstance(value, list) and value and isinstance(value[0], float):
                np.testing.assert_allclose(ours, value, rtol=1e-5)
            else:
                assert ours == value, (name, argument.name)


def test_documented() -> None:
    """Every operator and every argument has a description."""
    for name, op in registered().items():
        assert len(op.doc) > 20, name
        for argument in op.args.values():
            assert len(argument.doc) > 10 or argument.raw.get("use") or argument.since, (
                name,
                argument.name,
            )


def test_functions_exist(headrace: Engine) -> None:
    for name in registered():
        assert inspect.getdoc(headrace.operator(name)), name
