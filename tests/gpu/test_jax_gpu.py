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


@pytest.fixture
def numbered(tmp_path: Path) -> list[str]:
    """16 files; file i has 1,024 bytes of the value i."""
    for i in range(16):
        (tmp_path / f"{i:02}").write_bytes(bytes([i]) * 1024)
    return [str(path) for path in sorted(tmp_path.iterdir())]


def data(files: list[str], shard_id: int = 0, num_shards: int = 1) -> Any:
    data, label = fn.readers.file(
        files=files, name="reader", shard_id=shard_id, num_shards=num_shards
    )
    return fn.cast(data.gpu(), dtype=types.FLOAT), fn.cast(label.gpu(), dtype=types.INT32)


def test_arrays_share_the_memory_of_the_batch(numbered: list[str]) -> None:
    from headrace import pipeline_def
    from headrace.plugin.jax._arrays import dense

    pipe = pipeline_def(batch_size=4, num_threads=2, device_id=0)(data)(numbered)
    for i in range(4):
        batch, _ = pipe.run()
        array = dense(batch)
        assert array.unsafe_buffer_pointer() == batch.as_tensor().data_ptr()
        np.testing.assert_array_equal(np.asarray(array)[:, 5], np.arange(4) + 4 * i)


def two_devices() -> Any:
    devices = jax.local_devices()
    if len(devices) < 2:
        pytest.skip("there are no two GPUs")
    return devices[:2]


def test_global_arrays_over_two_devices(numbered: list[str]) -> None:
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from headrace.plugin.jax import data_iterator

    devices = two_devices()
    sharding = NamedSharding(Mesh(np.array(devices), ("d",)), PartitionSpec("d"))
    make = data_iterator(
        data, output_map=["data", "label"], reader_name="reader", sharding=sharding
    )
    means = jax.jit(lambda x: x.mean(axis=1), out_shardings=sharding)
    iterator = make(numbered, batch_size=8)
    seen = []
    for batch in iterator:
        assert batch["data"].shape == (8, 1024) and batch["data"].sharding == sharding
        shards = batch["data"].addressable_shards
        assert [shard.device for shard in shards] == list(devices)
        label = np.asarray(batch["label"]).ravel()
        np.testing.assert_array_equal(np.asarray(means(batch["data"])), label)
        seen += label.tolist()
    assert sorted(seen) == list(range(16))


def test_arrays_for_pmap_on_two_devices(numbered: list[str]) -> None:
    from headrace.plugin.jax import data_iterator

    devices = two_devices()
    make = data_iterator(data, output_map=["data", "label"], reader_name="reader", devices=devices)
    means = jax.pmap(lambda x: x.mean(axis=1), devices=devices)
    seen = []
    for batch in make(numbered, batch_size=8):
        assert batch["data"].shape == (2, 4, 1024)
        label = np.asarray(batch["label"]).reshape(2, 4)
        np.testing.assert_array_equal(np.asarray(means(batch["data"])), label)
        seen += label.ravel().tolist()
    assert sorted(seen) == list(range(16))
