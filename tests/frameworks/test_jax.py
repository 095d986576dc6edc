# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The JAX plug-in on four devices of the CPU: iterators, sharding, peeking, checkpoints, functions."""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402

jax = pytest.importorskip("jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.jax import (  # noqa: E402
    DALIGenericIterator,
    LastBatchPolicy,
    data_iterator,
)
from headrace.plugin.jax.clu import (  # noqa: E402
    DALIGenericPeekableIterator,
    peekable_data_iterator,
)
from headrace.plugin.jax.fn import jax_function  # noqa: E402

SAMPLES = 10
KEYS = {"num_threads": 2, "device_id": None, "seed": 7}


def numbers(
    files: list[str], shard_id: int = 0, num_shards: int = 1, random_shuffle: bool = False
) -> Any:
    data, labels = fn.readers.file(
        files=files,
        name="reader",
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        random_shuffle=random_shuffle,
    )
    return data, fn.cast(labels, dtype=types.INT32)


def labels(batch: dict[str, Any]) -> list[int]:
    return np.asarray(batch["label"]).ravel().tolist()


def test_batches_are_arrays_that_share_the_memory_of_the_pipeline(files: list[str]) -> None:
    pipe = pipeline_def(numbers)(files, batch_size=4, **KEYS)
    twin = pipeline_def(numbers)(files, batch_size=4, **KEYS)
    iterator = DALIGenericIterator(pipe, ["data", "label"], reader_name="reader")
    assert len(iterator) == 3
    batches = list(iterator)
    assert [labels(batch) for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 9, 9]]
    for batch in batches:
        (data, numbered), expected = (batch["data"], batch["label"]), twin.run()
        assert isinstance(data, jax.Array) and data.dtype == np.uint8
        assert data.shape == (4, 2) and numbered.shape == (4, 1)
        np.testing.assert_array_equal(np.asarray(data), expected[0].as_array())
    iterator.reset()
    assert labels(next(iterator)) == [0, 1, 2, 3]

    @pipeline_def(batch_size=2, **KEYS)
    def pictures() -> Any:
        return fn.random.uniform(range=[0, 1], shape=[64, 64, 3])

    pipe = pictures()
    (batch,) = pipe.run()
    address = batch.as_array().__array_interface__["data"][0]
    from headrace.plugin.jax._arrays import dense

    assert dense(batch).unsafe_buffer_pointer() == address


def test_wrong_arguments(files: list[str]) -> None:
    pipe = pipeline_def(numbers)(files, batch_size=4, **KEYS)
    with pytest.raises(AssertionError, match="distinct"):
        DALIGenericIterator(pipe, ["a", "a"], reader_name="reader")
    with pytest.raises(AssertionError, match="PARTIAL"):
        DALIGenericIterator(pipe, ["a"], last_batch_policy=LastBatchPolicy.PARTIAL)
    with pytest.raises(AssertionError, match="Sharding"):
        DALIGenericIterator(pipe, ["a"], sharding="everywhere")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="3 names .* 2 output.*one name per output"):
        DALIGenericIterator(pipe, ["a", "b", "c"], reader_name="reader")
    with pytest.raises(IndexError, match="1 names .* 2 output.*one name per output"):
        DALIGenericIterator(pipe, ["a"], reader_name="reader")
    with pytest.raises(ValueError, match="Only one of"):
        data_iterator(sharding=NamedSharding(_mesh(), PartitionSpec("d")), devices=jax.devices())

    @pipeline_def(batch_size=2, **KEYS)
    def ragged() -> Any:
        return fn.external_source(lambda info: np.zeros(1 + info.idx_in_batch), batch=False)

    with pytest.raises(RuntimeError, match="differ in shape"):
        DALIGenericIterator(ragged(), ["a"])


def _mesh() -> Any:
    return Mesh(np.array(jax.devices()), ("d",))


def test_a_pipeline_per_device_and_global_arrays(files: list[str]) -> None:
    sharding = NamedSharding(_mesh(), PartitionSpec("d"))
    make = data_iterator(
        numbers, output_map=["data", "label"], reader_name="reader", sharding=sharding
    )
    iterator = make(files, batch_size=8, seed=3)
    (first, second) = list(iterator)
    assert first["label"].shape == (8, 1) and first["label"].sharding == sharding
    assert len({shard.device for shard in first["data"].addressable_shards}) == 4
    assert labels(first) == [0, 1, 2, 3, 5, 6, 7, 8]  # shards of 2, 3, 2, 3
    assert labels(second) == [1, 1, 4, 4, 6, 6, 9, 9]
    total = jax.jit(lambda x: x.sum())(first["data"])
    assert int(total) == sum(3 * i for i in labels(first))


def test_arrays_for_pmap(files: list[str]) -> None:
    devices = jax.devices()[:2]
    make = data_iterator(
        numbers, output_map=["data", "label"], reader_name="reader", devices=devices
    )
    batch = next(make(files, batch_size=4, seed=3))
    assert batch["data"].shape == (2, 2, 2)
    assert labels(batch) == [0, 1, 5, 6]
    assert [shard.device for shard in batch["data"].addressable_shards] == devices
    with pytest.raises(AssertionError, match="multiple"):
        make(files, batch_size=5)
    with pytest.raises(TypeError, match="batch_size must be an integer, not '4'"):
        make(files, batch_size="4")
    with pytest.raises(RuntimeError, match="one per device"):
        make(files, batch_size=4, checkpoints=[b""])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_pmap_takes_the_arrays(files: list[str], count: int) -> None:
    """Also on devices that pipelines cannot make batches on."""
    devices = jax.devices()[4 - count :]
    names = ["data", "label"]
    make = data_iterator(numbers, output_map=names, reader_name="reader", devices=devices)
    twice = jax.pmap(lambda x: 2 * x, devices=devices)
    for batch in make(files, batch_size=4, seed=3):
        assert batch["label"].shape == (count, 4 // count, 1)
        np.testing.assert_array_equal(twice(batch["label"]), 2 * np.asarray(batch["label"]))


def test_checkpoints(files: list[str]) -> None:
    make = data_iterator(numbers, output_map=["data", "label"], reader_name="reader")
    options = {"batch_size": 3, "seed": 5, "enable_checkpointing": True, "random_shuffle": True}
    iterator = make(files, **options)
    next(iterator)
    state = iterator.checkpoints()
    rest = [labels(batch) for batch in iterator]
    assert len(rest) == 3
    assert [labels(batch) for batch in make(files, checkpoints=state, **options)] == rest


def test_peeking(files: list[str]) -> None:
    make = peekable_data_iterator(numbers, output_map=["data", "label"], reader_name="reader")
    iterator = make(files, batch_size=4, enable_checkpointing=True)
    assert isinstance(iterator, DALIGenericPeekableIterator)
    spec = iterator.element_spec
    assert spec["data"].shape == (4, 2) and spec["label"].dtype == np.int32
    assert labels(iterator.peek()) == labels(iterator.peek_async().result()) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="peek"):
        iterator.checkpoints()
    assert labels(next(iterator)) == [0, 1, 2, 3]
    assert iterator.is_nonpadding.all()
    assert [labels(batch) for batch in iterator] == [[4, 5, 6, 7], [8, 9, 9, 9]]
    assert iterator.is_nonpadding.tolist() == [True, True, False, False]
    with pytest.raises(StopIteration):
        iterator.peek()

    @pipeline_def(batch_size=1, **KEYS)
    def growing() -> Any:
        return fn.external_source(lambda info: np.zeros(1 + info.iteration), batch=False)

    grown = DALIGenericPeekableIterator(growing(), ["a"])
    next(grown)
    with pytest.raises(ValueError, match="changed"):
        next(grown)


def test_functions(files: list[str]) -> None:
    @jax_function(num_outputs=2)
    @jax.jit
    def turn(data: Any, label: Any) -> Any:
        return data[:, ::-1] + label.astype(np.uint8), label.sum(axis=1)

    @pipeline_def(batch_size=4, **KEYS)
    def turned() -> Any:
        data, label = numbers(files)
        return data, label, *turn(data, label)

    data, label, reversed_, sums = (batch.as_array() for batch in turned().run())
    np.testing.assert_array_equal(reversed_, data[:, ::-1] + label.astype(np.uint8))
    np.testing.assert_array_equal(sums, label[:, 0])

    @pipeline_def(batch_size=4, **KEYS)
    def split() -> Any:
        spread = NamedSharding(_mesh(), PartitionSpec("d"))
        return jax_function(lambda x: jax.device_put(x, spread))(numbers(files)[0])

    with pytest.raises(RuntimeError, match="multiple devices"):
        split().run()
    with pytest.raises(NotImplementedError, match="one device"):
        jax_function(lambda x: x, sharding=NamedSharding(_mesh(), PartitionSpec("d")))


def test_files_of_several_sizes_are_named(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}").write_bytes(bytes(1 + i))

    @pipeline_def(batch_size=2, **KEYS)
    def sizes() -> Any:
        files = [str(tmp_path / f"{i}") for i in range(2)]
        return jax_function(lambda x: x)(fn.readers.file(files=files)[0])

    with pytest.raises(RuntimeError, match="differ in shape"):
        sizes().run()
