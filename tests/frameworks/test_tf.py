# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The TensorFlow plug-in: datasets in eager mode and in graphs, inputs, declared shapes, operators."""

from __future__ import annotations

import os
import threading
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

tf = pytest.importorskip("tensorflow")

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.tf import DALIDataset, DALIIterator, serialize_pipeline  # noqa: E402
from headrace.plugin.tf.experimental import DALIDatasetWithInputs, Input  # noqa: E402

KEYS = {"num_threads": 2, "device_id": None, "seed": 7}
DTYPES = (tf.uint8, tf.int32)

# two devices for tf.distribute: this is only possible before TensorFlow uses the first one
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files with the bytes i, 2 i; sample i has the label i."""
    root = tmp_path_factory.mktemp("files")
    for i in range(6):
        (root / f"{i:02}").write_bytes(bytes([i, 2 * i]))
    return [str(path) for path in sorted(root.iterdir())]


@pipeline_def(batch_size=3, **KEYS)
def numbers(files: list[str]) -> Any:
    return tuple(fn.readers.file(files=files))


@pipeline_def(batch_size=3, **KEYS)
def shard_of_numbers(files: list[str], shard: int, shards: int) -> Any:
    return tuple(
        fn.readers.file(files=files, shard_id=shard, num_shards=shards, stick_to_shard=True)
    )


def labels(batch: Any) -> list[int]:
    data, label = (np.asarray(tensor) for tensor in batch)
    np.testing.assert_array_equal(data, np.stack([label.ravel(), 2 * label.ravel()], axis=1))
    return label.ravel().tolist()


def test_eager_loops_and_graphs_see_the_same_batches(files: list[str]) -> None:
    dataset = DALIDataset(numbers(files), DTYPES, ((2, 2), (2, None)), batch_size=2)
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == (
        tf.TensorSpec((2, 2), tf.uint8),
        tf.TensorSpec((2, None), tf.int32),
    )
    expected = [[0, 1], [2, 3], [4, 5], [0, 1]]
    for _ in range(2):  # each iterator begins at the start
        assert [labels(batch) for batch, _ in zip(dataset, range(4))] == expected
    assert [labels(batch) for batch in dataset.take(4)] == expected
    sums = dataset.map(lambda data, label: tf.reduce_sum(tf.cast(data, tf.int32))).take(4)
    assert [int(value) for value in sums] == [3 * sum(batch) for batch in expected]

    @tf.function
    def step(iterator: Any) -> Any:
        return next(iterator)

    iterator = iter(dataset)
    mixed = [next(iterator), step(iterator), step(iterator), iterator.get_next()]
    assert [labels(batch) for batch in mixed] == expected


def test_replicas_have_shards_of_their_own(files: list[str]) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def dataset(context: Any) -> Any:
        shard, shards = context.input_pipeline_id, context.num_input_pipelines
        pipe = shard_of_numbers(files, shard, shards)
        return DALIDataset(pipe, DTYPES, ((3, 2), (3, None)), batch_size=3)

    per_replica = tf.distribute.InputOptions(
        experimental_place_dataset_on_device=True,
        experimental_fetch_to_device=False,
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA,
    )
    batches = iter(strategy.distribute_datasets_from_function(dataset, per_replica))

    @tf.function
    def step(batch: Any) -> Any:
        return strategy.run(lambda data, label: (data, label), args=batch)

    for _ in range(2):
        data, label = map(strategy.experimental_local_results, step(next(batches)))
        assert [labels(pair) for pair in zip(data, label)] == [[0, 1, 2], [3, 4, 5]]


def test_tensors_share_the_memory_of_the_batch() -> None:
    from headrace.plugin.tf._runner import tensor

    @pipeline_def(batch_size=2, **KEYS)
    def noise() -> Any:
        return fn.random.uniform(range=[0, 1], shape=[8, 8])

    (batch,) = noise().run()
    made = tensor(batch)
    assert made._numpy().__array_interface__["data"][0] == batch.as_tensor().data_ptr()
    np.testing.assert_array_equal(made.numpy(), batch.as_array())
    iterator = iter(DALIDataset(noise(), tf.float32, batch_size=2))
    (first,) = next(iterator)
    seen = first.numpy()
    np.testing.assert_array_equal(seen, made.numpy())
    for _ in range(8):
        next(iterator)
    np.testing.assert_array_equal(first.numpy(), seen)  # not used again while it is held


def test_transformations_share_the_memory_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.plugin.tf import _dataset

    @pipeline_def(batch_size=2, **KEYS)
    def noise() -> Any:
        return fn.random.uniform(range=[0, 1], shape=[64, 64]), fn.constant(fdata=[1.0])

    made, own = [], _dataset.tensor

    def noted(batch: Any) -> Any:
        made.append((batch.as_tensor().data_ptr(), batch.as_array().copy()))
        return own(batch)

    monkeypatch.setattr(_dataset, "tensor", noted)

    def address(array: Any) -> Any:
        return np.int64(array.__array_interface__["data"][0])

    def look(*batch: Any) -> Any:
        where = [tf.numpy_function(address, [tensor], tf.int64) for tensor in batch]
        with tf.control_dependencies(where):  # the sums must not be made in the batch's memory
            changed = tuple(tensor + 1.0 for tensor in batch)
        return tuple(where), batch, changed

    dataset = DALIDataset(noise(), (tf.float32, tf.float32), ((2, 64, 64), (2, 1)), batch_size=2)
    for i, (where, batch, changed) in enumerate(dataset.map(look).take(5)):
        for k, (pointer, expected) in enumerate(made[2 * i : 2 * i + 2]):
            assert int(where[k]) == pointer
            np.testing.assert_array_equal(batch[k], expected)
            np.testing.assert_array_equal(changed[k], expected + 1)
    assert not np.array_equal(made[0][1], made[2][1]) and np.all(made[-1][1] == 1)


def test_no_other_thread_is_woken_for_a_batch() -> None:
    from headrace.plugin.tf._generated import generated

    class Threads:
        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            return (tf.constant(threading.get_native_id(), tf.int64),)

    dataset = generated(Threads, (tf.TensorSpec([], tf.int64),))
    assert len({int(element[0]) for element in dataset.take(1000)}) == 1


@pipeline_def(batch_size=2, **KEYS)
def doubled() -> Any:
    return fn.external_source(name="a", batch=False) * types.Constant(2, dtype=types.INT32)


def values(dataset: Any) -> list[Any]:
    return [batch[0].numpy().tolist() for batch in dataset]


def test_inputs() -> None:
    samples = tf.data.Dataset.from_tensor_slices(np.arange(5, dtype=np.int32))
    dataset = DALIDatasetWithInputs(
        doubled(), tf.int32, input_datasets={"a": samples}, batch_size=2
    )
    for _ in range(2):
        assert values(dataset) == [[0, 2], [4, 6], [8]]
    assert values(dataset.prefetch(1)) == [[0, 2], [4, 6], [8]]
    assert len(values(DALIDatasetWithInputs(
        doubled(), tf.int32, input_datasets={"a": Input(samples, batch=None)}, batch_size=3
    ))) == 2  # fmt: skip
    batches = samples.batch(2, drop_remainder=True)
    dataset = DALIDatasetWithInputs(
        doubled(), tf.int32, input_datasets={"a": Input(batches, batch=True)}, batch_size=2
    )
    assert values(dataset) == [[0, 2], [4, 6]]


def test_sources_and_python_functions() -> None:
    @pipeline_def(batch_size=2, **KEYS)
    def sourced() -> Any:
        data = fn.external_source(source=lambda info: np.int32(info.idx_in_epoch), batch=False)
        return fn.python_function(data, function=lambda x: x + np.int32(1))

    dataset = DALIDatasetWithInputs(sourced(), tf.int32, batch_size=2)
    assert values(dataset.take(2)) == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="batch size"):
        DALIDatasetWithInputs(sourced(), tf.int32, batch_size=3)
    with pytest.raises(RuntimeError, match="Python Operators"):
        serialize_pipeline(sourced())


def test_wrong_arguments(files: list[str]) -> None:
    with pytest.raises(TypeError, match="tf.DType"):
        DALIDataset(numbers(files), ("uint8", "int32"))
    with pytest.raises(ValueError, match="1 shapes for 2"):
        DALIDataset(numbers(files), DTYPES, ((2, 2),))
    with pytest.raises(ValueError, match="External Source"):
        DALIDataset(doubled(), tf.int32)
    with pytest.raises(TypeError, match="input_datasets"):
        DALIDataset(numbers(files), DTYPES, input_datasets={})
    with pytest.raises(ValueError, match="not assigned any inputs: 'a'"):
        DALIDatasetWithInputs(doubled(), tf.int32)
    samples = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="named 'b'"):
        DALIDatasetWithInputs(doubled(), tf.int32, input_datasets={"b": samples})
    with pytest.raises(TypeError, match="dictionary"):
        DALIDatasetWithInputs(doubled(), tf.int32, input_datasets={"a": 3})
    for dtypes, shapes, text in [
        ((tf.uint8, tf.int64), None, "int32"),
        (DTYPES, ((3, 3), None), "shape"),
        (tf.uint8, None, "1 outputs"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            next(iter(DALIDataset(numbers(files), dtypes, shapes, batch_size=3)))
    with pytest.warns(Warning, match="deprecated"):
        DALIDataset(numbers(files), dtypes=[tf.uint8, tf.int32])


def test_batches_of_a_function(files: list[str]) -> None:
    take = DALIIterator()
    pipe = numbers(files)
    eager = [take(pipe, shapes=[(3, 2), (3, 1)], dtypes=DTYPES) for _ in range(2)]
    assert [labels(batch) for batch in eager] == [[0, 1, 2], [3, 4, 5]]
    again = numbers(files)

    @tf.function
    def step() -> Any:
        return take(again, shapes=[(3, 2), (3, 1)], dtypes=DTYPES)

    assert [labels(step()) for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]

    @pipeline_def(batch_size=2, **KEYS)
    def ragged() -> Any:
        return fn.external_source(source=lambda: [np.arange(1 + i, dtype=np.int32) for i in (0, 2)])

    (sparse,) = take(ragged(), sparse=[True], dtypes=[tf.int32], batch_size=2)
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[0, 0, 0], [0, 1, 2]]
    assert sparse.indices.numpy().tolist() == [[0, 0], [1, 0], [1, 1], [1, 2]]
