# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Devices of nodes: where operators run and what they refuse; needs no device."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, backend, fn, ops, types


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Pipeline(2, 1, None) as pipe:
        yield pipe


def source(**kwargs: Any) -> Any:
    return fn.external_source(name="in", **kwargs)


def test_device_of_the_inputs() -> None:
    node = source()
    assert (node.device, node.gpu().device, node.gpu().cpu()) == ("cpu", "gpu", node)
    assert fn.crop(node.gpu(), crop=(2, 2)).device == "gpu"
    assert fn.crop(node, crop=(2, 2)).device == "cpu"
    on_gpu = fn.decoders.image(node, device="mixed")
    assert on_gpu.device == "gpu" and on_gpu.gpu() is on_gpu
    back = on_gpu.cpu()
    assert back.device == "cpu" and back.cpu() is back and back.gpu() is on_gpu
    assert back.name == on_gpu.name
    assert fn.external_source(name="other", device="gpu").device == "gpu"
    assert fn.random.coin_flip(device="gpu").device == "gpu"
    assert types.Constant([1, 2], device="gpu").device == "gpu"
    first, second = fn.copy([node.gpu(), node.gpu()])
    assert first.device == second.device == "gpu"


def test_devices_are_counted(module: Any) -> None:
    count = backend.GetCUDADeviceCount()
    assert count == 2 if module.fake else count >= 1


def test_arithmetic_goes_to_the_gpu() -> None:
    node = source()
    for result in (
        node.gpu() + node,
        node * node.gpu(),
        node.gpu() - np.array([1, 2]),
        -node.gpu(),
    ):
        assert result.device == "gpu" and result.source.device == "gpu"
        assert all(operand.device == "gpu" for operand in result.source.inputs)
    assert (node.gpu() + 1).device == "gpu" and (node + 1).device == "cpu"


def test_facts_are_on_the_cpu() -> None:
    node = source().gpu()
    assert node.shape().device == "cpu" and node.shape(device="gpu").device == "gpu"


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda x: fn.crop(x.gpu(), crop=(1, 1), device="cpu"),
            RuntimeError,
            'valid device is "cpu"',
        ),
        (lambda x: fn.crop(x, crop=(1, 1), device="gpu"), RuntimeError, 'valid device is "gpu"'),
        (lambda x: ops.Crop(crop=(1, 1))(x.gpu()), RuntimeError, 'valid device is "cpu"'),
        (lambda x: ops.Crop(crop=(1, 1), device="gpu")(x), RuntimeError, 'valid device is "gpu"'),
        (
            lambda x: fn.decoders.image(x.gpu(), device="mixed"),
            RuntimeError,
            'valid device is "cpu"',
        ),
        (lambda x: fn.decoders.image(x.gpu()), RuntimeError, "does not support device=.gpu.*cpu.mixed"),
        (
            lambda x: fn.crop(x, crop=(1, 1), device="mixed"),
            RuntimeError,
            "does not support device=.mixed.*cpu.gpu",
        ),
        (lambda x: fn.crop(x, crop=(1, 1), device="tpu"), ValueError, "tpu"),
        (lambda x: fn.readers.file(file_root="/", device="gpu"), RuntimeError, "does not support device=.gpu"),
        (
            lambda x: fn.crop(x.gpu(), crop=(1, 1), crop_pos_x=fn.random.uniform().gpu()),
            ValueError,
            "crop_pos_x.*must be on the CPU",
        ),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=rf"test_devices.py:\d+.*{text}|{text}"):
        call(source())


def test_classes() -> None:
    node = source()
    rotated = ops.Rotate(device="gpu", angle=10.0)(node.gpu())
    assert rotated.device == "gpu"
    chain = ops.Compose([ops.decoders.Image(device="cpu"), ops.Resize(device="gpu", size=(2, 2))])
    assert chain(node).device == "gpu"
    assert ops.decoders.Image(device="mixed")(node).device == "gpu"
    assert ops.ExternalSource(device="gpu")().device == "gpu"


def test_back_needs_the_dynamic_executor() -> None:
    with Pipeline(2, 1, None, exec_dynamic=False):
        node = source().gpu()
        with pytest.raises(RuntimeError, match="GPU to CPU.*\n.*explicitly disabled"):
            node.cpu()
    with Pipeline(2, 1, None, prefetch_queue_depth={"cpu_size": 2, "gpu_size": 2}):
        with pytest.raises(RuntimeError, match="separated CPU/GPU queues"):
            source().gpu().cpu()


def test_missing_module() -> None:
    """Defining the graph succeeds; the error of building it names operator and line."""
    code = """
import headrace
from headrace import Pipeline, fn
with Pipeline(2, 1, None) as pipe:
    files, _ = fn.readers.file(file_root=".", files=["a.jpg"], labels=[0])
    images = fn.decoders.image(files, device="mixed")
pipe.set_outputs(images)
try:
    pipe.build()
except RuntimeError as error:
    print(error)
with Pipeline(2, 1, 0) as pipe:
    pipe.set_outputs(fn.random.coin_flip())
print(len(pipe.run()[0]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HEADRACE_CUDA_MODULE": "/nowhere/module.so"},
        check=True,
        capture_output=True,
        text=True,
    )
    message, cpu = done.stdout.splitlines()
    assert "decoders.image" in message and ":6" in message and "/nowhere/module.so" in message
    assert cpu == "2"


def test_what_says_shapes_is_taken_to_the_cpu() -> None:
    """Inputs whose elements determine shapes are read on the CPU, also those that are on the GPU."""
    node = source()
    shape = fn.external_source(name="shape")
    for given in (shape, shape.gpu()):
        assert fn.reshape(node.gpu(), given).device == "gpu"
        assert fn.slice(node.gpu(), shape, given, axes=(0,)).device == "gpu"
    with pytest.raises(ValueError, match=r"use .cpu\(\)"):
        fn.slice(node.gpu(), start=shape.gpu(), end=[1], axes=(0,))
