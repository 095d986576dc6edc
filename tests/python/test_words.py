# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Mistakes that would be misunderstood, or go unnoticed: what the messages say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, pipeline_def
from headrace._pipeline.config import _INTEGERS, _OPTIONAL
from headrace.pipeline.experimental import pipeline_def as debug_pipeline_def
from headrace.plugin.base_iterator import _DaliBaseIterator

import headrace.experimental.dynamic as ndd


class Names(_DaliBaseIterator[Any]):
    """The smallest iterator with names."""

    def __init__(self, pipe: Any, names: list[str], **kwargs: Any) -> None:
        self.output_map = names
        super().__init__(pipe, **kwargs)

    def _convert(self, pipe_index: int, outputs: Any, keep: int | None) -> Any:
        return dict(zip(self.output_map, outputs, strict=True))


@pytest.fixture(name="file")
def make_file(tmp_path: Path) -> str:
    (tmp_path / "f").write_bytes(b"1")
    return str(tmp_path / "f")


def reader(file: str, **kwargs: Any) -> Pipeline:
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, "device_id": None, **kwargs})
    with pipe:
        pipe.set_outputs(*fn.readers.file(files=[file] * 4, name="R"))
    return pipe


# ---- integers ------------------------------------------------------------------------------------

Call = Callable[[str, Any], Any]


def calls() -> dict[str, tuple[Call, int, int, set[Any]]]:
    """Every place that takes an integer: how to give it, its limits, and what else it accepts."""
    found: dict[str, tuple[Call, int, int, set[Any]]] = {}
    base = {"batch_size": 1, "num_threads": 1, "device_id": None}
    for name, (low, high) in _INTEGERS.items():
        low = -high if low is None else low
        none = {None} if name in _OPTIONAL else set()
        found[name] = (
            lambda file, value, name=name: Pipeline(**{**base, name: value}),
            low,
            high,
            none,
        )
    found["prefetch_queue_depth"] = (
        lambda file, value: Pipeline(**base, prefetch_queue_depth=value),
        1,
        2**31 - 1,
        set(),
    )
    for key in ("cpu_size", "gpu_size"):
        found[f"prefetch_queue_depth, {key}"] = (
            lambda file, value, key=key: Pipeline(
                **base, prefetch_queue_depth={"cpu_size": 1, "gpu_size": 1, key: value}
            ),
            1,
            2**31 - 1,
            {None},  # an error of another kind
        )
    found["size"] = (
        lambda file, value: Names(reader(file), ["a", "b"], size=value, prepare_first_batch=False),
        -1,
        2**60,
        set(),
    )
    for name in ("batch_size", "seed"):
        stored = reader("f").serialize()
        found[f"deserialize, {name}"] = (
            lambda file, value, name=name, stored=stored: Pipeline.deserialize(
                stored, **{name: value}
            ),
            _INTEGERS[name][0] or -(2**63),
            _INTEGERS[name][1],
            {None},
        )
    found["batch_size of next_epoch"] = (
        lambda file, value: ndd.readers.File(files=[file]).next_epoch(batch_size=value),
        1,
        2**20,
        {None},
    )
    return found


WRONG = [2**31, 2**63, 2**70, -1, -(2**31) - 1, -(2**70), True, False, 1.5, "3", b"3", [1], None]
WRONG += [np.int64(-1), np.uint64(2**63), np.float32(1), np.bool_(True), np.int64([1, 2])]


@pytest.mark.parametrize("name", calls())
@pytest.mark.filterwarnings("ignore")
def test_integers_that_do_not_fit_are_refused_by_name(file: str, name: str) -> None:
    call, low, high, also = calls()[name]
    argument = name.split(",")[-1].split()[0] if "deserialize" in name else name.split(",")[0]
    argument = argument.split(" of ")[0]
    refused = 0
    for value in WRONG:
        if isinstance(value, (type(None), bool)) or not isinstance(value, (int, np.integer)):
            if value is None and None in also:
                continue
            with pytest.raises(TypeError, match=argument):
                call(file, value)
        elif not low <= value <= high:
            with pytest.raises(ValueError, match=argument):
                call(file, value)
        else:
            continue
        refused += 1
    assert refused >= 9


@pytest.mark.parametrize("name", ["batch_size", "num_threads", "prefetch_queue_depth", "seed"])
def test_integers_of_numpy_are_integers(file: str, name: str) -> None:
    for kind in (np.int8, np.uint16, np.int64, np.uint64):
        pipe = reader(file, **{name: kind(2)})
        pipe.run()
        assert getattr(pipe, name.replace("batch", "max_batch")) == 2


def test_numbers_of_a_serialized_pipeline(file: str) -> None:
    stored = json.loads(reader(file).serialize())
    wrong: list[Any] = [2**31, 2**63, 2**70, -1, True, 1.5, "3", [1]]
    for value in wrong:
        for key in ("outputs", "sinks"):
            with pytest.raises(RuntimeError, match="Not a serialized pipeline: .* not the number"):
                Pipeline.deserialize(json.dumps({**stored, key: value}))
        for key in ("readers", "inputs"):
            with pytest.raises(RuntimeError, match="Not a serialized pipeline: .* not the number"):
                Pipeline.deserialize(json.dumps({**stored, key: {"R": value}}))
        for key in ("batch_size", "seed", "num_threads"):
            if key == "num_threads" and value == -1 or key == "seed" and value in (2**31, -1):
                continue
            text = json.dumps({**stored, "params": {**stored["params"], key: value}})
            with pytest.raises((ValueError, TypeError), match=key):
                Pipeline.deserialize(text)
            with pytest.raises((ValueError, TypeError), match=key):
                Pipeline(device_id=None).deserialize_and_build(text)


def test_no_batch_size_says_where_to_give_it(file: str) -> None:
    def pipe() -> Any:
        return fn.readers.file(files=[file])[0]

    for decorate, more in ((pipeline_def, {}), (debug_pipeline_def, {"debug": True})):
        with pytest.raises(ValueError, match=r"no batch_size: give it to Pipeline\(batch_size=\.\.\."):
            decorate(pipe)(num_threads=1, device_id=None, **more).run()


# ---- names of outputs ----------------------------------------------------------------------------


def test_there_is_one_name_per_output(file: str) -> None:
    assert set(next(iter(Names(reader(file), ["a", "b"], reader_name="R")))[0]) == {"a", "b"}
    for names in (["a"], ["a", "b", "c"], []):
        words = f"output_map has {len(names)} names .*pipeline has 2 output.*one name per output"
        with pytest.raises(KeyError, match=words):
            Names(reader(file), names, reader_name="R")
    with pytest.raises(AssertionError, match="output_map names should be distinct.*repeats 'a'"):
        Names(reader(file), ["a", "a"], reader_name="R")


@pytest.mark.parametrize("kind", ["DALIGenericIterator", "DALIRaggedIterator"])
def test_there_is_one_name_per_output_of_pytorch(file: str, kind: str) -> None:
    pytest.importorskip("torch")
    from headrace.plugin import pytorch

    make = getattr(pytorch, kind)
    (batch,) = next(iter(make(reader(file), ["a", "b"], reader_name="R")))
    assert set(batch) == {"a", "b"}
    for names in (["a"], ["a", "b", "c"]):
        with pytest.raises(KeyError, match="one name per output"):
            make(reader(file), names, reader_name="R")
    with pytest.raises(AssertionError, match="distinct"):
        make(reader(file), ["a", "a"], reader_name="R")
    with pytest.raises(KeyError, match="2 names .* 1 output"):
        pipe = Pipeline(2, 1, None)
        with pipe:
            pipe.set_outputs(fn.readers.file(files=[file], name="R")[0])
        pytorch.DALIClassificationIterator(pipe, reader_name="R")


# ---- functions of NumPy --------------------------------------------------------------------------


def numpy_functions() -> dict[str, Any]:
    """The functions of NumPy that dispatch on their arguments, and the ufuncs."""
    found = {}
    for name in dir(np):
        function = getattr(np, name)
        if isinstance(function, np.ufunc) or hasattr(function, "__wrapped__"):
            found[name] = function
    return found


ARITHMETIC = """add subtract multiply divide true_divide floor_divide remainder mod power pow bitwise_and
    bitwise_or bitwise_xor left_shift bitwise_left_shift right_shift bitwise_right_shift equal not_equal
    less less_equal greater greater_equal negative positive absolute abs""".split()


@pytest.mark.filterwarnings("ignore:Passing more than 2 positional")
def test_no_function_of_numpy_takes_a_node(file: str) -> None:
    functions = numpy_functions()
    assert len(functions) > 250 and {"mean", "sqrt", "stack", "where"} <= functions.keys()
    named = 0
    with Pipeline(1, 1, None):
        node = fn.readers.file(files=[file])[0]
        for name, function in functions.items():
            if name in ARITHMETIC:
                continue
            refusals = []
            for arguments in ((node,), (node, node), (node, 1, 2), ([node, node],), (2, node)):
                try:
                    result = function(*arguments)
                except Exception as error:  # also errors about the number of arguments
                    refusals.append(str(error))
                else:
                    assert not holds(result, node), (name, arguments)
            named += any("was called with a DataNode, which has no data" in r for r in refusals)
        for make in (np.array, np.asarray, np.float32, np.int64, np.ascontiguousarray, list_of):
            with pytest.raises(TypeError, match="DataNode, which has no data"):
                make(node)
    assert named > 250


def list_of(node: Any) -> Any:
    return np.array([node, node])


def holds(result: Any, node: Any) -> bool:
    """Whether a result is a node, or an array of such."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return True
    return isinstance(result, type(node))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.mean(x), r"numpy.mean .* use fn.reductions.mean"),
        (lambda x: np.add.reduce(x), r"numpy.add.reduce .* use fn.reductions.sum"),
        (lambda x: np.std(x, axis=0), r"use fn.reductions.std_dev"),
        (lambda x: np.sqrt(x), r"numpy.sqrt .* use math.sqrt"),
        (lambda x: np.stack([x, x]), r"use fn.stack"),
        (lambda x: np.clip(x, 0, 1), r"use math.clamp"),
        (lambda x: np.linalg.norm(x), r"use an operator of headrace.fn, or let fn.python_function"),
        (lambda x: np.multiply(x, 2, dtype=np.float32), r"numpy.multiply"),
    ],
)
def test_the_message_says_what_to_use(file: str, call: Any, words: str) -> None:
    with Pipeline(1, 1, None):
        with pytest.raises(TypeError, match=words):
            call(fn.readers.file(files=[file])[0])


def test_arithmetic_of_numpy_and_nodes(file: str) -> None:
    """As that of Python; an array on the left does not become an array of nodes."""
    pipe = Pipeline(1, 1, None)
    array, number = np.int32([1, 2, 3]), np.int32(7)
    with pipe:
        node = fn.cast(fn.readers.file(files=[file], labels=[5])[1], dtype=np.int32)
        nodes = [array + node, node - array, array - node, number - node, node % number]
        nodes += [array // node, array < node, node < array, number >= node, array == node]
        nodes += [np.subtract(array, node), np.multiply(number, node), np.greater(array, node)]
        nodes += [np.negative(node), np.abs(-node), 2 ** np.int32([1, 2]) * node]
        pipe.set_outputs(*nodes)
    five = np.int32([5])
    expected = [array + five, five - array, array - five, number - five, five % number]
    expected += [array // five, array < five, five < array, number >= five, array == five]
    expected += [array - five, number * five, array > five, -five, five, np.int32([10, 20])]
    for got, right in zip(pipe.run(), expected, strict=True):
        np.testing.assert_array_equal(got.as_array()[0], right)


def test_nodes_of_a_debug_pipeline_have_data(file: str) -> None:
    found = []

    @debug_pipeline_def(batch_size=2, num_threads=1, device_id=None, debug=True)
    def pipe() -> Any:
        node = fn.readers.file(files=[file] * 2, labels=[3, 4])[1]
        found.append((np.mean(node), np.stack([node, node]).shape))
        return node + 1

    assert pipe().run()[0].as_array().tolist() == [[4], [5]]
    assert found == [(3.5, (2, 2, 1))]
