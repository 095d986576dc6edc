# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DALIDataset`: the batches of a pipeline as a `tf.data.Dataset`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator

from headrace._pipeline.iterated import Iterated
from headrace.pipeline import Pipeline
from headrace.plugin.tf._generated import generated
from headrace.plugin.tf._runner import Definition, Runner, inputs_of, tensor

Specs = tuple[tf.TensorSpec, ...]


def _renamed(value: Any, old: Any, name: str) -> Any:
    if old is None:
        return value
    if value is not None:
        raise ValueError(
            f"Usage of `{name}` is deprecated in favor of `output_{name}`. Both arguments were "
            f"provided, but only `output_{name}` should be provided."
        )
    warnings.warn(f"`{name}` is deprecated, use `output_{name}`.", stacklevel=4)
    return tuple(old) if isinstance(old, list) else old


def _specs(dtypes: Any, shapes: Any) -> Specs:
    listed = dtypes if isinstance(dtypes, tuple) else (dtypes,)
    if not all(isinstance(dtype, tf.DType) for dtype in listed):
        raise TypeError(
            "`output_dtypes` should be provided as single tf.DType value or a tuple of tf.DType "
            f"values. Got value `{dtypes}` of the type `{type(dtypes)}`."
        )
    if shapes is None:
        each: Sequence[Any] = [None] * len(listed)
    else:
        each = shapes if isinstance(dtypes, tuple) else (shapes,)
    if len(each) != len(listed):
        raise ValueError(f"`output_shapes` has {len(each)} shapes for {len(listed)} element types.")
    return tuple(tf.TensorSpec(shape, dtype) for shape, dtype in zip(each, listed))


class _Declared:
    """The batches of a pass, checked against their declaration."""

    def __init__(self, runner: Runner, specs: Specs) -> None:
        self._runner = runner
        self._specs = specs
        self._shaped = [spec.shape.rank is not None for spec in specs]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> tuple[tf.Tensor, ...]:
        outputs = next(self._runner)
        if len(outputs) != len(self._specs):
            raise _wrong(f"{len(self._specs)} outputs are declared, but there are {len(outputs)}.")
        made = [tensor(batch) for batch in outputs]
        for k, (value, spec) in enumerate(zip(made, self._specs)):
            if value.dtype is not spec.dtype and tf.as_dtype(value.dtype) != spec.dtype:
                raise _wrong(
                    f"output {k} has the element type {tf.as_dtype(value.dtype).name}, but "
                    f"`output_dtypes` says {spec.dtype.name}."
                )
            if self._shaped[k] and not spec.shape.is_compatible_with(value.shape):
                raise _wrong(
                    f"output {k} has the shape {tuple(value.shape)}, but `output_shapes` says "
                    f"{spec.shape}."
                )
        return tuple(made)


def _wrong(text: str) -> tf.errors.InvalidArgumentError:
    return tf.errors.InvalidArgumentError(None, None, f"DALIDataset: {text}")


class _Iterator(OwnedIterator):
    """Takes tensors from the pipeline in eager mode. Within `tf.function`, TensorFlow takes them."""

    def __init__(self, declared: _Declared, specs: Specs) -> None:
        self._declared = declared
        super().__init__(generated(lambda: declared, specs))

    def __next__(self) -> Any:
        return next(self._declared) if tf.executing_eagerly() else super().__next__()

    def get_next(self) -> Any:
        """As `next`; raises `tf.errors.OutOfRangeError` at the end."""
        if not tf.executing_eagerly():
            return super().get_next()
        try:
            return next(self._declared)
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "End of sequence") from None


class _PipelineDataset(tf.data.Dataset):
    """The arguments and the methods that both classes share."""

    def __init__(
        self,
        pipeline: Pipeline,
        output_dtypes: Any = None,
        output_shapes: Any = None,
        fail_on_device_mismatch: bool = True,
        *,
        input_datasets: Any = None,
        batch_size: int = 1,
        num_threads: int = 4,
        device_id: int | None = 0,
        exec_separated: bool = False,
        exec_dynamic: bool = False,
        prefetch_queue_depth: int = 2,
        cpu_prefetch_queue_depth: int = 2,
        gpu_prefetch_queue_depth: int = 2,
        dtypes: Any = None,
        shapes: Any = None,
    ) -> None:
        del fail_on_device_mismatch, exec_separated, exec_dynamic
        del cpu_prefetch_queue_depth, gpu_prefetch_queue_depth
        specs = _specs(
            _renamed(output_dtypes, dtypes, "dtypes"), _renamed(output_shapes, shapes, "shapes")
        )
        options = {
            "batch_size": batch_size,
            "num_threads": num_threads,
            "device_id": None if pipeline.device_id is None else device_id,
            "prefetch_queue_depth": prefetch_queue_depth,
        }
        inputs = inputs_of(pipeline, {} if input_datasets is None else input_datasets)
        definition = Definition(pipeline, options, inputs)
        self._definition = definition
        self._specs = specs
        self._whole = generated(lambda: _Declared(definition.start(), specs), specs)
        super().__init__(self._whole._variant_tensor)

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._whole]

    @property
    def element_spec(self) -> Specs:
        """The declared shapes and element types."""
        return self._specs

    def __iter__(self) -> Any:
        if not tf.executing_eagerly():
            return super().__iter__()
        return _Iterator(_Declared(self._definition.start(), self._specs), self._specs)


class DALIDataset(_PipelineDataset):
    """A pipeline as a `tf.data.Dataset`. An element is a tuple with one tensor per output.

    Readers start over at the end of an epoch, so the dataset is endless: use ``take(n)`` or
    ``steps_per_epoch``. Each iterator runs a copy of the pipeline from its start.

    Args:
        pipeline: the pipeline. Its batches must be dense.
        output_dtypes: a `tf.DType`, or a tuple with one per output.
        output_shapes: the shapes of batches, as far as they are known; None: unknown.
        fail_on_device_mismatch: has no effect.
        batch_size, num_threads, device_id, prefetch_queue_depth: as in `Pipeline`; they replace
            those of `pipeline`.
        exec_separated, exec_dynamic, cpu_prefetch_queue_depth, gpu_prefetch_queue_depth: have no
            effect.
        dtypes, shapes: old names of `output_dtypes` and `output_shapes`.

    Raises:
        TypeError: `output_dtypes` are not element types.
        ValueError: the pipeline contains external sources, or `output_shapes` differs from
            `output_dtypes` in length.
        tf.errors.InvalidArgumentError: (by iterators in eager mode) a batch is not as declared.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        output_dtypes: Any = None,
        output_shapes: Any = None,
        fail_on_device_mismatch: bool = True,
        **kwargs: Any,
    ) -> None:
        if "input_datasets" in kwargs:
            raise TypeError(
                "DALIDataset got an unexpected keyword argument 'input_datasets'. Dataset inputs "
                "are allowed only in 'experimental.DALIDatasetWithInputs'."
            )
        if Iterated(pipeline).placeholders():
            raise ValueError(
                "DALIDataset got a DALI pipeline containing External Source operator nodes. Use "
                "'experimental.DALIDatasetWithInputs'."
            )
        super().__init__(pipeline, output_dtypes, output_shapes, fail_on_device_mismatch, **kwargs)


class DALIDatasetWithInputs(_PipelineDataset):
    """A `DALIDataset` whose pipeline may have external sources.

    Takes the arguments of `DALIDataset`, and:

    Args:
        input_datasets: dictionary from the names of external sources without `source` to a
            `tf.data.Dataset` of samples, or to an `Input`. The dataset ends when one of them ends;
            the last batch may have fewer samples.

    A pipeline with a `source` or with Python functions is not copied: all iterators share it.

    Raises:
        TypeError: `input_datasets` is not such a dictionary.
        ValueError: a name is unknown or missing, or `batch_size` is not that of a pipeline which
            cannot be copied.
    """
