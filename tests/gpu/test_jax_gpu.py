# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""JAX arrays on a GPU: the iterator's arrays share the memory of batches that are used again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import fn, types

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")


def test_arrays_hold_their_values_until_they_are_used(tmp_path: Path) -> None:
    """Work that is queued on an array must not see what a later batch writes into its memory."""
    from headrace.plugin.jax import data_iterator

    files = []
    for i in range(64):
        (tmp_path / f"{i}").write_bytes(bytes([i]) * 65536)
        files.append(str(tmp_path / f"{i}"))

    @data_iterator(output_map=["data", "label"], reader_name="reader")
    def batches() -> Any:
        data, label = fn.readers.file(files=files, name="reader", random_shuffle=True)
        return fn.cast(data.gpu(), dtype=types.FLOAT), fn.cast(label.gpu(), dtype=types.INT32)

    @jax.jit
    def slow(data: Any) -> Any:
        """The value of each sample, after work that takes long enough for the next batches."""
        square = jax.lax.fori_loop(
            0, 200, lambda _, x: x @ x * 0.0, data[:8, :4096].T @ data[:8, :4096]
        )
        return data.min(axis=1) + square[0, 0], data.max(axis=1) + square[0, 0]

    iterator = batches(batch_size=8, seed=3)
    for _ in range(3):
        results = []
        for batch in iterator:
            assert next(iter(batch["data"].devices())).platform == "gpu"
            results.append((*slow(batch["data"]), batch["label"]))
            del batch
        seen = []
        for least, most, label in results:
            numbered = np.asarray(label).ravel()
            np.testing.assert_array_equal(np.asarray(least), numbered)
            np.testing.assert_array_equal(np.asarray(most), numbered)
            seen += numbered.tolist()
        assert sorted(seen) == list(range(64))
        iterator.reset()
