# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines as `tf.data.Dataset`.

The tensors share the memory of the batches. Where TensorFlow takes them itself (`Dataset.map`, a
loop inside `tf.function`, `Model.fit`), they are in host memory.
"""

from headrace.plugin.tf import experimental
from headrace.plugin.tf._dataset import DALIDataset
from headrace.plugin.tf._operator import (
    DALIIterator,
    DALIIteratorWrapper,
    DALIRawIterator,
    serialize_pipeline,
)

__all__ = [
    "DALIDataset",
    "DALIIterator",
    "DALIIteratorWrapper",
    "DALIRawIterator",
    "dataset_compatible_tensorflow",
    "dataset_distributed_compatible_tensorflow",
    "dataset_inputs_compatible_tensorflow",
    "experimental",
    "serialize_pipeline",
]


def dataset_compatible_tensorflow() -> bool:
    """Whether this TensorFlow can use `DALIDataset`: always."""
    return True


def dataset_inputs_compatible_tensorflow() -> bool:
    """Whether this TensorFlow can use `experimental.DALIDatasetWithInputs`: always."""
    return True


def dataset_distributed_compatible_tensorflow() -> bool:
    """Whether `DALIDataset` can be used with `tf.distribute`: always."""
    return True
