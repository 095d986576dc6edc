# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Scripts that import the plug-ins of DALI, for the frameworks that are installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import numpy as np
from nvidia.dali import fn, pipeline_def, types

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipe():
    return types.Constant(np.int32([1, 2, 3]), device="cpu")
"""
SCRIPTS = {
    "jax": """
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator, fn as _
from nvidia.dali.plugin.jax.clu import peekable_data_iterator
print(np.asarray(next(DALIGenericIterator(pipe(), ["a"]))["a"]).tolist())
""",
    "tensorflow": """
import nvidia.dali.plugin.tf as dali_tf
import tensorflow as tf
from nvidia.dali.plugin.tf.experimental import DALIDatasetWithInputs, Input
for (a,) in dali_tf.DALIDataset(pipe(), tf.int32, (2, 3), batch_size=2).take(1):
    print(a.numpy().tolist())
""",
    "paddle": """
from nvidia.dali.plugin.paddle import DALIClassificationIterator, DALIGenericIterator
print(np.array(next(DALIGenericIterator(pipe(), ["a"]))[0]["a"]).tolist())
""",
    "numba": """
from nvidia.dali.plugin.numba.fn.experimental import numba_function
from nvidia.dali.plugin.numba.experimental import NumbaFunction

def half(out, x):
    out[:] = x[:] // 2 + 1 + (x[:] - 1) // 2

kinds = {"in_types": [types.INT32], "out_types": [types.INT32], "ins_ndim": [1], "outs_ndim": [1]}

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def halved():
    return numba_function(types.Constant(np.int32([1, 2, 3]), device="cpu"), run_fn=half, **kinds)

print(np.array(halved().run()[0].as_array()).tolist())
""",
}


@pytest.mark.parametrize("framework", SCRIPTS)
def test_script(framework: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    (tmp_path / "script.py").write_text(HEAD + SCRIPTS[framework])
    found = subprocess.run(
        [sys.executable, "-m", "headrace.as_dali", str(tmp_path / "script.py")],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split("\n")[-2] == "[[1, 2, 3], [1, 2, 3]]"
