# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The Paddle plug-in: iterators, last batches, checkpoints, memory that is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.paddle import (  # noqa: E402
    DALIClassificationIterator,
    DALIGenericIterator,
    LastBatchPolicy,
    feed_ndarray,
    to_paddle_type,
)

SAMPLES = 7
KEYS = {"num_threads": 2, "device_id": None, "seed": 7}


@pipeline_def(batch_size=3, **KEYS)
def numbers(files: list[str], pad: bool = True, shuffle: bool = False) -> Any:
    return tuple(
        fn.readers.file(files=files, name="reader", pad_last_batch=pad, random_shuffle=shuffle)
    )


def labels(batch: Any) -> list[int]:
    (named,) = batch
    data, label = np.array(named["data"]), np.array(named["label"])
    np.testing.assert_array_equal(data, np.stack([label.ravel(), 2 * label.ravel()], axis=1))
    return label.ravel().tolist()


@pytest.mark.parametrize("policy, last", [("FILL", [[6, 6, 6]]), ("PARTIAL", [[6]]), ("DROP", [])])
def test_epochs(files: list[str], policy: str, last: list[list[int]]) -> None:
    iterator = DALIClassificationIterator(
        numbers(files), reader_name="reader", last_batch_policy=LastBatchPolicy[policy]
    )
    for _ in range(2):
        assert [labels(batch) for batch in iterator] == [[0, 1, 2], [3, 4, 5], *last]
        iterator.reset()
    assert len(iterator) == 2 + len(last)


def test_tensors_share_the_memory_of_the_batch() -> None:
    from headrace.plugin.paddle import _dense

    @pipeline_def(batch_size=3, **KEYS)
    def noise() -> Any:
        return fn.random.uniform(range=[0, 1], shape=[8, 8])

    (batch,) = noise().run()
    for keep in (None, 2):
        tensor = _dense("a", batch, keep)
        assert tensor._ptr() == batch.as_tensor().data_ptr()
        np.testing.assert_array_equal(np.array(tensor), batch.as_array()[:keep])
    assert paddle.Tensor(tensor).data_ptr() == batch.as_tensor().data_ptr()
    target = paddle.zeros([3, 8, 8], dtype=to_paddle_type(batch))
    feed_ndarray(batch, target.data_ptr())
    np.testing.assert_array_equal(target.numpy(), batch.as_array())
    iterator = DALIGenericIterator(noise(), ["a"])
    first = next(iterator)[0]["a"]
    seen = np.array(first).copy()
    for _ in range(8):
        next(iterator)
    np.testing.assert_array_equal(np.array(first), seen)  # not used again while it is held


def test_types() -> None:
    for name in ("BOOL", "UINT8", "INT8", "INT16", "INT32", "INT64", "FLOAT16", "FLOAT", "FLOAT64"):

        @pipeline_def(batch_size=2, **KEYS)
        def constant(name: str) -> Any:
            return fn.cast(types.Constant([0, 1, 2]), dtype=getattr(types, name))

        (batch,) = next(DALIGenericIterator(constant(name), ["a"]))
        expected = constant(name).run()[0].as_array()
        found = np.array(batch["a"])
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match="UINT32"):
        DALIGenericIterator(constant("UINT32"), ["a"])


def test_samples_of_several_lengths() -> None:
    values = [np.arange(2 + i, dtype=np.float32) for i in range(3)]

    @pipeline_def(batch_size=3, **KEYS)
    def ragged() -> Any:
        return fn.external_source(source=lambda: values)

    (batch,) = next(DALIGenericIterator(ragged(), [("a", 1)]))
    np.testing.assert_array_equal(np.array(batch["a"]), np.concatenate(values))
    assert batch["a"].lod() == [[0, 2, 5, 9]]
    with pytest.raises(AssertionError, match="differ in shape"):
        DALIGenericIterator(ragged(), ["a"])


def test_checkpoints(files: list[str]) -> None:
    def iterator(checkpoint: bytes | None = None) -> Any:
        pipe = numbers(files, shuffle=True, enable_checkpointing=True, checkpoint=checkpoint)
        return DALIClassificationIterator(pipe, reader_name="reader")

    first = iterator()
    next(first)
    (state,) = first.checkpoints()
    rest = [labels(batch) for batch in first]
    assert len(rest) == 2
    assert [labels(batch) for batch in iterator(state)] == rest


def test_wrong_arguments(files: list[str]) -> None:
    with pytest.raises(AssertionError, match="distinct"):
        DALIGenericIterator(numbers(files), ["a", "a"], reader_name="reader")
    with pytest.raises(KeyError, match="3 names"):
        DALIGenericIterator(numbers(files), ["a", "b", "c"], reader_name="reader")
