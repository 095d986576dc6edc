# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DALIIterator`: the batches of a pipeline as the result of a function."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from headrace.pipeline import Pipeline
from headrace.plugin.tf._runner import array, tensor
from headrace.tensors import TensorListGPU

# In eager mode, calls with the same pipeline continue it.
_deserialized: dict[bytes, Pipeline] = {}
_running: weakref.WeakSet[Pipeline] = weakref.WeakSet()


def serialize_pipeline(pipeline: Pipeline) -> bytes:
    """Returns `pipeline.serialize()`.

    Raises:
        RuntimeError: the pipeline contains Python functions.
    """
    try:
        return pipeline.serialize()
    except RuntimeError as error:
        raise RuntimeError(
            "Error during pipeline initialization. Note that some operators (e.g. Python "
            "Operators) cannot be used with TensorFlow Dataset API and DALIIterator."
        ) from error


def DALIIteratorWrapper(
    pipeline: Pipeline | None = None,
    serialized_pipeline: bytes | None = None,
    sparse: Sequence[bool] = (),
    shapes: Sequence[Any] = (),
    dtypes: Sequence[tf.DType] = (),
    batch_size: int = -1,
    prefetch_queue_depth: Any = 2,
    exec_dynamic: bool | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Returns the next batch of a pipeline: one tensor per output.

    In a graph (`tf.function`), each execution takes the next batch. In eager mode, each call does.

    Args:
        pipeline, serialized_pipeline: one of them.
        sparse: for each output, whether it becomes a `tf.SparseTensor`.
        shapes: the shapes of the batches, as far as they are known.
        dtypes: the element types of the outputs.
        batch_size, prefetch_queue_depth, exec_dynamic, kwargs: have no effect.

    Raises:
        ValueError: there is neither a pipeline nor a serialized one, or neither `shapes` nor
            `batch_size`.
    """
    del prefetch_queue_depth, exec_dynamic, kwargs
    if not len(shapes) and batch_size == -1:
        raise ValueError("`shapes` and `batch_size` cannot both be missing.")
    pipe = _started(pipeline, serialized_pipeline)
    wide = [k < len(sparse) and bool(sparse[k]) for k in range(len(dtypes))]
    parts = _parts(pipe, wide, tensor) if tf.executing_eagerly() else _in_graph(pipe, wide, dtypes)
    taken = iter(parts)
    outputs = []
    for k, is_sparse in enumerate(wide):
        if is_sparse:
            outputs.append(tf.SparseTensor(next(taken), next(taken), next(taken)))
            continue
        made = next(taken)
        if k < len(shapes) and len(shapes[k]):
            made = tf.ensure_shape(made, shapes[k])
        outputs.append(made)
    return outputs


def _started(pipeline: Pipeline | None, text: bytes | None) -> Pipeline:
    if pipeline is None:
        if text is None:
            raise ValueError("DALIIterator needs `pipeline` or `serialized_pipeline`.")
        if text not in _deserialized:
            _deserialized[text] = Pipeline.deserialize(text)
        return _deserialized[text]
    if pipeline not in _running:
        pipeline.build()
        _running.add(pipeline)
    return pipeline


def _in_graph(pipe: Pipeline, sparse: list[bool], dtypes: Sequence[tf.DType]) -> list[Any]:
    kinds: list[tf.DType] = []
    for is_sparse, dtype in zip(sparse, dtypes):
        kinds += [tf.int64, dtype, tf.int64] if is_sparse else [dtype]
    made = tf.numpy_function(lambda: tuple(_parts(pipe, sparse, array)), [], kinds, stateful=True)
    return made if isinstance(made, list) else [made]


def _parts(pipe: Pipeline, sparse: list[bool], convert: Callable[[Any], Any]) -> list[Any]:
    """The next batch: one value per output, three for sparse ones."""
    outputs = pipe.run()
    if len(outputs) != len(sparse):
        raise ValueError(f"`dtypes` has {len(sparse)} types for {len(outputs)} outputs.")
    made: list[Any] = []
    for batch, is_sparse in zip(outputs, sparse):
        made += _coordinates(batch) if is_sparse else [convert(batch)]
    return made


def _coordinates(batch: Any) -> list[np.ndarray[Any, Any]]:
    """Indices, values and the dense shape of all elements of all samples."""
    host = batch.as_cpu() if isinstance(batch, TensorListGPU) else batch
    samples = [np.asarray(sample) for sample in host]
    places = [np.argwhere(np.ones(sample.shape, bool)) for sample in samples]
    indices = [np.insert(place, 0, i, axis=1) for i, place in enumerate(places)]
    extents = [max(extent) for extent in zip(*(sample.shape for sample in samples))]
    return [
        np.concatenate(indices).astype(np.int64),
        np.concatenate([sample.ravel() for sample in samples]),
        np.array([len(samples), *extents], np.int64),
    ]


def DALIIterator() -> Callable[..., list[Any]]:
    """Returns `DALIIteratorWrapper`."""
    return DALIIteratorWrapper


def DALIRawIterator() -> Callable[..., list[Any]]:
    """Returns `DALIIteratorWrapper`."""
    return DALIIteratorWrapper
