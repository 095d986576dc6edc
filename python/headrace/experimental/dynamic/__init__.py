# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Dynamic mode: operators run where they are called, on tensors and batches, without a pipeline.

    import headrace.experimental.dynamic as ndd

    image = ndd.decoders.image(numpy.fromfile("dog.jpg", numpy.uint8))
    small = ndd.resize(image, size=[224, 224])

Functions are made from the operators' tables, as those of `headrace.fn` are.
"""

from __future__ import annotations

import sys
from typing import Any

from headrace._graph import modules
from headrace.experimental.dynamic import _operators, _readers, capture, checkpoint, math, pytorch
from headrace.experimental.dynamic._context import (
    Device,
    EvalContext,
    EvalMode,
    ThreadPool,
    device,
    get_num_threads,
    set_num_threads,
)
from headrace.experimental.dynamic._data import Batch, Tensor, as_batch, as_tensor, batch, tensor
from headrace.experimental.dynamic._operators import get_default_rng, set_seed
from headrace.experimental.dynamic._rng import RNG
from headrace.experimental.dynamic._sources import ExternalSource
from headrace.experimental.dynamic._streams import (
    Stream,
    get_current_stream,
    get_default_stream,
    set_current_stream,
    set_default_stream,
    stream,
)
from headrace.experimental.dynamic._types import (
    DataType,
    DType,
    ImageType,
    InterpType,
    bfloat16,
    bool,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    type_id,
    uint8,
    uint16,
    uint32,
    uint64,
)

DeviceLike = Device | str  # also devices of PyTorch

__all__ = [
    "Batch", "DType", "DataType", "Device", "DeviceLike", "EvalContext", "EvalMode",
    "ExternalSource", "ImageType", "InterpType", "Stream", "Tensor", "ThreadPool", "as_batch",
    "as_tensor", "batch", "bfloat16", "bool", "capture", "checkpoint", "device", "dtype", "float16",
    "float32", "float64", "get_current_stream", "get_default_stream", "get_num_threads", "imread",
    "int16", "int32", "int64", "int8", "math", "pytorch", "set_current_stream",
    "set_default_stream", "set_num_threads", "stream", "tensor", "type_id", "uint16", "uint32",
    "uint64", "uint8",
]  # fmt: skip


def _make(name: str) -> Any:
    return _operators.make(name) or _readers.make(name)


def _names() -> list[str]:
    return _operators.names() + _readers.names()


def imread(filepaths: Any, /, *, device: Any = "cpu", **kwargs: Any) -> Any:
    """Reads and decodes image files: a tensor for one path, a batch for a list of paths.

    Args:
        filepaths: a path, or a list of paths.
        device: "cpu" or "gpu": where the images are decoded.
        kwargs: arguments of `decoders.image`.
    """
    import os

    import numpy

    many = isinstance(filepaths, (list, tuple))
    files = [
        numpy.fromfile(os.fspath(path), numpy.uint8)
        for path in (filepaths if many else [filepaths])
    ]
    encoded = Batch(files) if many else Tensor(files[0])
    return __getattr__("decoders").image(encoded, device=device, **kwargs)


def __getattr__(name: str) -> Any:
    return modules.attribute(__name__, "", name, _make, globals(), _names)


def __dir__() -> list[str]:
    return sorted({*__all__, *modules.listing("", _names)})


modules.register(__name__, _make, _names)
_random = sys.modules[f"{__name__}.random"]
for _thing in (RNG, get_default_rng, set_seed):
    setattr(_random, _thing.__name__, _thing)
