# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Errors about names suggest the nearest one, and errors about inputs say how many there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, fn, ops, pipeline_def
from headrace._base import foreign
from headrace._graph import schema


def data() -> Any:
    return fn.external_source(lambda: [])


ARGUMENTS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: fn.resize(data(), resise_x=3), KeyError, '"Resize". Did you mean "resize_x"?'),
    (lambda: ops.Resize(resise_x=3), KeyError, '"Resize". Did you mean "resize_x"?'),
    (lambda: ops.Resize()(data(), resise_x=3), KeyError, 'Did you mean "resize_x"?'),
    (lambda: fn.readers.file(fileroot="x"), KeyError, '"readers__File". Did you mean "file_root"?'),
    (lambda: fn.resize(data(), devise="cpu"), KeyError, 'Did you mean "device"?'),
    (lambda: fn.cast(data(), dtyp="uint8"), KeyError, 'Did you mean "dtype"?'),
    (lambda: fn.python_function(function=len, num_output=1), KeyError, '"num_outputs"?'),
    (lambda: fn.external_source(layuot="HWC"), ValueError, 'Did you mean "layout"?'),
    (lambda: ops.ExternalSource(dtypo=1), ValueError, 'Did you mean "dtype"?'),
]


@pytest.mark.parametrize("call, kind, text", ARGUMENTS)
def test_arguments(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        with pytest.raises(kind) as caught:
            call()
    assert text in str(caught.value)


FOREIGN: list[tuple[str, str, str]] = [
    ("resize", "resize_width", "resize_x"),
    ("resize", "height", "resize_y"),
    ("resize", "interpolation", "interp_type"),
    ("resize", "output_size", "size"),
    ("crop", "size", "crop"),
    ("rotate", "degrees", "angle"),
    ("rotate", "fill", "fill_value"),
    ("gaussian_blur", "kernel_size", "window_size"),
    ("reductions.mean", "axis", "axes"),
    ("reductions.mean", "keepdims", "keep_dims"),
    ("cat", "dim", "axis"),
    ("transpose", "axes", "perm"),
    ("random_resized_crop", "scale", "random_area"),
    ("random_resized_crop", "ratio", "random_aspect_ratio"),
    ("noise.gaussian", "std", "stddev"),
    ("random.coin_flip", "p", "probability"),
    ("random.uniform", "low", "range"),
    ("spectrogram", "n_fft", "nfft"),
    ("readers.file", "shuffle", "random_shuffle"),
    ("brightness", "brightness_factor", "brightness"),
]


@pytest.mark.parametrize("op, given, meant", FOREIGN)
def test_arguments_of_other_libraries(op: str, given: str, meant: str) -> None:
    function: Any = fn
    for part in op.split("."):
        function = getattr(function, part)
    inputs = [data()] * schema.operators()[op].in_min
    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        with pytest.raises(KeyError, match=f'Argument "{given}" .* Did you mean "{meant}"'):
            function(*inputs, **{given: 3})


def test_names_of_other_libraries_lead_to_ours() -> None:
    arguments = [set(op.args) for op in schema.operators().values()]
    for name, ours in foreign.NAMES.items():
        for meant in ours:
            assert any(meant in args and name not in args for args in arguments), (name, meant)


def test_arguments_that_are_like_no_other() -> None:
    with Pipeline(batch_size=1, num_threads=1, device_id=None), pytest.raises(KeyError) as caught:
        fn.resize(data(), qqq=3)
    assert caught.value.args == ('Argument "qqq" is not defined for operator "Resize".',)


def test_arguments_of_pipelines() -> None:
    @pipeline_def(device_id=None)
    def define(root: str) -> Any:
        return data()

    with pytest.raises(TypeError, match='argument `batchsize`. Did you mean "batch_size"?'):
        define("x", batchsize=3)
    with pytest.raises(TypeError, match='pipeline_def got .*`sed`. Did you mean "seed"?'):
        pipeline_def(data, sed=3)()
    with pytest.raises(TypeError, match='argument `rot`. Did you mean "root"?'):
        define(rot="x")


@pytest.mark.parametrize(
    "module, name, text",
    [
        (fn, "resze", "headrace.fn' has no attribute 'resze'. Did you mean \"resize\"?"),
        (ops, "Resze", "headrace.ops' has no attribute 'Resze'. Did you mean \"Resize\"?"),
        (fn.readers, "fil", 'Did you mean "file"?'),
        (ops.readers, "Numpi", 'Did you mean "Numpy"?'),
        (fn, "image", 'Did you mean "decoders.image"?'),
        (ops, "CoinFlop", 'Did you mean "random.CoinFlip"?'),
    ],
)
def test_operators(module: Any, name: str, text: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert text in str(caught.value)


def test_operators_that_are_like_no_other() -> None:
    for name in ("qqqqqq", "_resize"):
        with pytest.raises(AttributeError) as caught:
            getattr(fn, name)
        assert str(caught.value) == f"module 'headrace.fn' has no attribute '{name}'."
    assert not hasattr(fn, "resze")


@pytest.mark.parametrize(
    "call, op, text",
    [
        (lambda x: fn.resize(x, x), "resize", "takes 1 input (data), got 2"),
        (lambda x: fn.resize(), "resize", "takes 1 input (data), got 0"),
        (lambda x: ops.Resize()(x, x), "resize", "takes 1 input (data), got 2"),
        (lambda x: fn.readers.file(x, file_root="x"), "readers.file", "takes no inputs, got 1"),
        (lambda x: fn.slice(x, x, x, x), "slice", "takes 1 to 3 inputs (data, anchor, shape), got 4"),
        (lambda x: fn.cat(), "cat", "takes at least 1 input, got 0"),
    ],
)
def test_number_of_inputs(call: Callable[[Any], Any], op: str, text: str) -> None:
    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        with pytest.raises(ValueError) as caught:
            call(data())
    assert re.fullmatch(rf"{op} \([^ ]*test_suggestions.py:\d+\) {re.escape(text)}", str(caught.value))
