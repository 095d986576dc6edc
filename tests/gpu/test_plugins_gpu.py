# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators of examples/plugin on a GPU, built with nvcc where there is one. The fake module runs image programs only.

Loaded operators stay for the life of a process, so they are loaded in a process of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Module

from headrace import sysconfig
from waiting import HANG_S

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin"
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")

CODE = """
import sys
import numpy as np
from headrace import fn, pipeline_def, plugin_manager, types
from headrace._graph import schema as _schema

plugin_manager.load_library(sys.argv[1])
kernels, device = sys.argv[2] == "True", sys.argv[3] == "True"
assert ("gpu" in _schema.operators()["example.scale"].runs_on) == kernels
pictures = np.random.default_rng(5).integers(0, 256, (3, 40, 50, 3), np.uint8)

@pipeline_def(batch_size=3, num_threads=2, device_id=0)
def pipe():
    there = fn.external_source(lambda: pictures, batch=True, layout="HWC").gpu()
    factor = fn.random.uniform(range=[1, 2], seed=7)
    outputs = [fn.example.invert(there), fn.example.invert(fn.flip(there)), factor]
    if kernels and device:
        numbers = fn.cast(there, dtype=types.FLOAT)
        outputs.append(fn.example.scale(numbers, factor=factor, addend=0.5))
    return tuple(outputs)

p = pipe()
for _ in range(3):
    negative, flipped, factor, *scaled = [np.asarray(o.as_cpu().as_array()) for o in p.run()]
    assert (negative == 255 - pictures).all() and (flipped == 255 - pictures[:, :, ::-1]).all()
    for numbers in scaled:
        product = pictures.astype(np.float32) * factor.reshape(3, 1, 1, 1)
        assert (numbers == product + np.float32(0.5)).all()

if not kernels:  # an operator without a GPU version is an error when the graph is built
    @pipeline_def(batch_size=1, num_threads=1, device_id=0)
    def missing():
        return fn.example.scale(fn.external_source(name="in", device="gpu"))

    try:
        missing().build()
    except NotImplementedError as error:
        assert "example.scale (<string>:" in str(error) and "no GPU version yet" in str(error)
    else:
        raise AssertionError("it was built")
"""


@pytest.mark.parametrize("kernels", [False, True])
def test_example_on_the_gpu(installed: None, module: Module, tmp_path: Path, kernels: bool):
    if kernels and not NVCC:
        pytest.skip("there is no nvcc")
    configure = ["cmake", "-S", str(EXAMPLE), "-B", "build"]
    configure.append(f"-DCMAKE_CUDA_COMPILER={NVCC if kernels else 'NOTFOUND'}")
    configure.append(f"-DCMAKE_PREFIX_PATH={sysconfig.get_cmake_dir()}")
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    library = tmp_path / "build" / "libheadrace_example.so"
    command = [sys.executable, "-c", CODE, str(library), str(kernels), str(module.fake is None)]
    environment = {**os.environ, "HEADRACE_CUDA_MODULE": module.path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
