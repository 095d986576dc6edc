# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators in Python as a `tf.data.Dataset`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops.from_generator_op import _GeneratorDataset
from tensorflow.python.data.ops.map_op import _MapDataset
from tensorflow.python.ops import script_ops


class _Passes(script_ops.EagerFunc):  # type: ignore[misc]
    """The iterators that run, by number. TensorFlow calls the methods in threads of its own.

    It is a function of the operation EagerPyFunc itself. `tf.py_function` would register one that
    sets up a context and looks at each tensor again, which takes longer than all else here.
    """

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start
        self._numbers = itertools.count()
        self._running: dict[int, Iterator[Any]] = {}
        self._token = script_ops._py_funcs.insert(self)  # a weak reference

    def begin(self) -> np.int64:
        number = next(self._numbers)
        self._running[number] = self._start()
        return np.int64(number)

    def __call__(self, device: Any, token: Any, args: list[Any]) -> list[tf.Tensor]:
        """The next tensors of an iterator, in host memory."""
        return [_on_host(tensor) for tensor in next(self._running[int(args[0])])]

    def end(self, number: Any) -> np.int64:
        del self._running[int(number)]
        return np.int64(0)

    def node(self, number: tf.Tensor, specs: tuple[tf.TensorSpec, ...]) -> list[tf.Tensor]:
        """Adds a call to a graph, and returns its output tensors."""
        made: list[tf.Tensor] = tf.raw_ops.EagerPyFunc(
            input=[number], token=self._token, Tout=[s.dtype for s in specs], is_async=False
        )
        return made


def generated(start: Callable[[], Iterator[Any]], specs: tuple[tf.TensorSpec, ...]) -> Any:
    """A dataset of what `start()` iterates over: tuples of eager tensors.

    Unlike `Dataset.from_generator`, this does not copy the elements. It does not prefetch: the
    pipeline itself does that.

    Args:
        start: called by each iterator over the dataset.
        specs: shapes and element types.
    """
    passes = _Passes(start)

    def begin(_: Any) -> Any:
        return _declared(tf.numpy_function(passes.begin, [], tf.int64), tf.TensorSpec([]))

    def same(number: Any) -> Any:
        return (number,)

    def take(number: Any) -> Any:
        made = passes.node(number, specs)
        return tuple(_declared(tensor, spec) for tensor, spec in zip(made, specs))

    def end(number: Any) -> Any:
        return _declared(tf.numpy_function(passes.end, [number], tf.int64), tf.TensorSpec([]))

    # The dataset repeats the number of the pass, and a map takes its batches. Unlike the functions of
    # _GeneratorDataset, that of a map can run on the thread that asks, without waking two others.
    numbers = _GeneratorDataset(np.int64(0), begin, same, end, (tf.TensorSpec([], tf.int64),))
    batches = _MapDataset(numbers, take, use_inter_op_parallelism=False, preserve_cardinality=False)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return batches.with_options(options)


def _on_host(tensor: tf.Tensor) -> tf.Tensor:
    if tensor.backing_device.endswith("CPU:0"):
        return tensor
    with tf.init_scope(), tf.device("CPU:0"):
        return tf.identity(tensor)


def _declared(tensor: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
    """The tensor, whose shape in the graph is the declared one."""
    tensor.set_shape(spec.shape)
    return tensor
