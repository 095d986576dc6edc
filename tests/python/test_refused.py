# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Headrace refuses what DALI refuses, with the same exceptions, and accepts what it accepts. Each case runs with both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import headrace
import numpy as np
import pytest
from twice import ENGINES, dali

Case = tuple[Callable[[ModuleType], Any], type[Exception] | None, str]


def batches(
    d: ModuleType, source: Any, count: int = 2, feed: Any = (), **kwargs: Any
) -> list[np.ndarray]:
    """`count` batches of two samples from a source."""
    pipe = d.Pipeline(2, 1, None)
    with pipe:
        pipe.set_outputs(d.fn.external_source(source, name="x", **kwargs))
    pipe.build()
    for data, layout in feed:
        pipe.feed_input("x", data, layout=layout)
    return [[np.array(t) for t in pipe.run()[0]] for _ in range(count)]


def alternating(*shapes_and_types: tuple[tuple[int, ...], str]) -> Callable[[int], np.ndarray]:
    arrays = [np.ones(shape, dtype) for shape, dtype in shapes_and_types]
    return lambda i: arrays[i % len(arrays)]


def ones(*args: Any) -> np.ndarray:
    return np.ones((2, 1))


def keywords(**kwargs: Any) -> np.ndarray:
    return np.ones((2, 1))


def named(*, a: int = 3) -> np.ndarray:
    return np.ones((2, 1))


def two(a: int, b: int = 3) -> np.ndarray:
    return np.ones((2, 1))


class Call:
    def __call__(self, *args: Any) -> np.ndarray:
        return np.ones((2, 1))


def fed(*layouts: str) -> list[tuple[np.ndarray, str]]:
    return [(np.ones((2, 1, 1)), layout) for layout in layouts]


def list_of_nodes(d: ModuleType) -> None:
    with d.Pipeline(1, 1, None):
        d.math.max([d.fn.random.uniform(), d.fn.random.uniform()], 5)


def marked_definition(d: ModuleType) -> None:
    @d.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    @d.pipeline.do_not_convert
    def definition() -> Any:
        return d.fn.random.uniform()

    definition()


def outside(d: ModuleType, checkpointing: bool) -> None:
    node = d.fn.external_source(name="x")
    pipe = d.Pipeline(1, 1, None, enable_checkpointing=checkpointing)
    with pipe:
        pipe.set_outputs(node + 0)
    pipe.build()


def of_another_pipeline(d: ModuleType) -> None:
    with d.Pipeline(1, 1, None):
        node = d.fn.random.uniform()
    pipe = d.Pipeline(1, 1, None, enable_checkpointing=True)
    with pipe:
        pipe.set_outputs(node + 0)
    pipe.build()


def two_pipelines(d: ModuleType, before: int) -> None:
    """Adds nodes of two pipelines; `before` other operators are called first in the one that does not use them."""
    with d.Pipeline(1, 1, None):
        for _ in range(before):
            d.fn.random.uniform()
        node = d.fn.random.uniform()
    pipe = d.Pipeline(1, 1, None)
    with pipe:
        own = d.fn.random.uniform()
        assert (node.name, own.name) == (f"__Uniform_{before}", "__Uniform_0")
        pipe.set_outputs(node + own)
    pipe.build()
    pipe.run()


CHANGED = "fed to the external source has changed from"
FOREIGN = r"does not support checkpointing[\s\S]*operator[\s\S]*outside the pipeline"
SIGNATURE = "The `source` callable must accept either 0 or 1 positional arguments.*Found"

CASES: dict[str, Case] = {
    "type-changes": (
        lambda d: batches(d, alternating(((2, 1), "i4"), ((2, 1), "f4"))),
        RuntimeError,
        f"Type of the data {CHANGED}.*was int32 and the current type is float",
    ),
    "dimensions-change": (
        lambda d: batches(d, alternating(((2, 1), "i4"), ((2, 1, 1), "i4"))),
        RuntimeError,
        f"Number of dimensions of the data {CHANGED}.*was 1 and the current is 2",
    ),
    "layout-changes": (
        lambda d: batches(d, None, feed=fed("HW", "WH")),
        RuntimeError,
        f'Layout of the data {CHANGED}.*was "HW" and the current is "WH"',
    ),
    "extents-change": (lambda d: batches(d, alternating(((2, 1), "i4"), ((2, 3), "i4"))), None, ""),
    "args": (lambda d: batches(d, ones), TypeError, SIGNATURE + r" var-positional argument `\*args`"),
    "kwargs": (
        lambda d: batches(d, keywords),
        TypeError,
        SIGNATURE + r" var-keyword argument `\*\*kwargs`",
    ),
    "keyword-only": (lambda d: batches(d, named), TypeError, SIGNATURE + " keyword-only argument `a`"),
    "two-arguments": (lambda d: batches(d, two), TypeError, SIGNATURE + " more than one positional"),
    "call-args": (lambda d: batches(d, Call()), TypeError, SIGNATURE + " var-positional"),
    "unknown-argument": (
        lambda d: batches(d, None, foo=3),
        ValueError,
        'Got an unexpected argument "foo"',
    ),
    "fed-cycle-false": (lambda d: batches(d, None, cycle=False, feed=fed("HW", "HW")), None, ""),
    "fed-cycle-no": (lambda d: batches(d, None, cycle="no"), ValueError, "cycle"),
    "fed-cycle-quiet": (lambda d: batches(d, None, cycle="quiet"), ValueError, "cycle"),
    "list-of-nodes": (
        list_of_nodes,
        TypeError,
        r"input 0 of operator `max` must be[\s\S]*Got a `list` with nested.*DataNode",
    ),
    "marked-definition": (marked_definition, ValueError, "cannot be marked with @do_not_convert"),
    "outside": (lambda d: outside(d, False), None, ""),
    "outside-checkpointing": (lambda d: outside(d, True), RuntimeError, FOREIGN),
    "another-pipeline-checkpointing": (of_another_pipeline, RuntimeError, FOREIGN),
    "another-pipeline": (
        lambda d: two_pipelines(d, 0),
        RuntimeError,
        r"non-unique names[\s\S]*(another|a different) pipeline was",
    ),
    "another-pipeline-other-names": (lambda d: two_pipelines(d, 2), None, ""),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_as_dali(name: str, engine: str) -> None:
    package = headrace if engine == "headrace" else dali()
    run, error, words = CASES[name]
    if error is None:
        run(package)
        return
    with pytest.raises(error, match=words) as caught:
        run(package)
    assert caught.type is error


def test_messages_name_nodes_by_operator_and_line() -> None:
    with pytest.raises(RuntimeError, match=r"^external_source \(\S*test_refused.py:\d+") as caught:
        pipe = headrace.Pipeline(2, 1, None)
        with pipe:
            pipe.set_outputs(headrace.fn.external_source(lambda: 3))
        pipe.run()
    assert "__ExternalSource" not in str(caught.value)


def test_partial_functions_are_sources() -> None:
    """DALI refuses every functools.partial; Headrace accepts them, because their remaining signature is known."""
    for source in (functools.partial(two, 1), functools.partial(two, b=3)):
        assert len(batches(headrace, source, 1)[0]) == 2
    with pytest.raises(TypeError, match="more than one"):
        batches(headrace, functools.partial(two))


def test_an_argument_under_its_old_and_new_name() -> None:
    from headrace import fn
    from headrace._graph import schema as _schema

    for op in _schema.operators().values():
        for arg in op.args.values():
            if "deprecated" not in arg.flags or not arg.use or "hidden" in op.flags or op.in_min > 1:
                continue
            function: Any = fn
            for part in op.name.split("."):
                function = getattr(function, part)
            inputs = [fn.external_source(name="x")] * op.in_min
            with pytest.raises(TypeError, match=f"'{arg.name}' deprecated argument when '{arg.use}'"):
                function(*inputs, **{arg.name: 1, arg.use: 1})
            return
    pytest.fail("no operator has an argument with an old name")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_batch(engine: str) -> None:
    d = headrace if engine == "headrace" else dali()
    batch = d.tensors.TensorListCPU([])
    assert len(batch) == 0 and batch.shape() == [] and batch.layout() == ""
    assert batch.is_dense_tensor() and batch.as_array().size == 0
    with pytest.raises(RuntimeError):
        batch.as_tensor()  # its number of dimensions is not known


@pytest.mark.parametrize("engine", ENGINES)
def test_a_deserialized_pipeline_keeps_its_executor(engine: str) -> None:
    d = headrace if engine == "headrace" else dali()
    chosen = {"stream_policy": d.StreamPolicy.PER_OPERATOR, "concurrency": d.OperatorConcurrency.FULL}
    pipe = d.Pipeline(2, 1, None, exec_dynamic=True, **chosen)
    with pipe:
        pipe.set_outputs(d.fn.random.uniform())
    again = d.Pipeline.deserialize(pipe.serialize())
    assert (again.stream_policy, again.concurrency) == tuple(chosen.values())
    other = d.Pipeline.deserialize(pipe.serialize(), stream_policy=d.StreamPolicy.SINGLE)
    assert other.stream_policy == d.StreamPolicy.SINGLE


@pytest.mark.parametrize("engine", ENGINES)
def test_registered_operators(engine: str) -> None:
    d = headrace if engine == "headrace" else dali()
    assert {"readers__File", "Resize", "decoders__Image"} <= d.ops.cpu_ops()
    assert "Resize" in d.ops.gpu_ops() and "readers__File" not in d.ops.gpu_ops()
    assert "decoders__Image" in d.ops.mixed_ops() and "Resize" not in d.ops.mixed_ops()
    assert d.backend.GetNvjpegVersion() == -1 and d.backend.__cuda_version__ >= 12000


INPUT_DEVICES = [
    ("decoders__Image", None, "cpu", "cpu"),
    ("Resize", "gpu", "gpu", "gpu"),
    ("Resize", "cpu", "gpu", "gpu"),
    ("Resize", None, "gpu", "gpu"),
    ("Shapes", "gpu", "cpu", "gpu"),
    ("Shapes", None, "cpu", "cpu"),
    ("GetProperty", "gpu", "cpu", "gpu"),
    ("Copy", "cpu", "mixed", "cpu"),
    ("Copy", "gpu", "cpu", "gpu"),
    ("Copy", "cpu", None, "cpu"),
    ("Copy", None, "gpu", "gpu"),
    ("FullLike", "gpu", "cpu", "gpu"),
    ("random__Uniform", "cpu", "gpu", "cpu"),
    ("GetProperty", "gpu", "mixed", "gpu"),
    ("Resize", "cpu", "mixed", "mixed"),
    ("Resize", "gpu", None, None),
    ("Slice", "cpu", "gpu", "gpu"),
    ("Slice", "gpu", None, None),
    ("Shapes", "gpu", None, "gpu"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "actual", "operator", "expected"), INPUT_DEVICES)
def test_input_devices(engine: str, name: str, actual: Any, operator: str, expected: str) -> None:
    d = headrace if engine == "headrace" else dali()
    schema = d.backend.TryGetSchema(name)
    if schema is None:
        pytest.skip(f"{engine} has no operator {name}")
    assert schema.GetInputDevice(0, actual, operator) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_devices_of_arguments_given_as_inputs(engine: str) -> None:
    """The window of `slice` may stay on the CPU; what is on a GPU is copied for a CPU operator."""
    d = headrace if engine == "headrace" else dali()
    found = [
        d.backend.GetSchema("Slice").GetInputDevice(1, actual, operator)
        for actual in (None, "cpu", "gpu")
        for operator in (None, "cpu", "gpu", "mixed")
    ]
    on_cpu = ["cpu", "cpu", "cpu", "cpu"]
    assert found == [None, "cpu", "gpu", "mixed", *on_cpu, "gpu", "cpu", "gpu", "cpu"]


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_name_their_schema(engine: str) -> None:
    d = headrace if engine == "headrace" else dali()
    fn, schema = d.fn, d.backend.GetSchema
    stateful = [fn.external_source, fn.readers.tfrecord, fn.python_function, fn.random.beta]
    others = [fn.resize, fn.decoders.image, fn.transforms.crop]
    names = [schema(f._schema_name).Name() for f in (*stateful, *others)]
    assert names[1] == "readers__TFRecord" and names[4:] == [
        "Resize",
        "decoders__Image",
        "transforms__Crop",
    ]
    assert all(schema(f._schema_name).IsStateful() for f in stateful)
    assert not any(schema(f._schema_name).IsStateful() for f in others)
