# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions of arrays, compiled for whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import types as numba_types
from numba.extending import intrinsic
from numba.np.unsafe.ndarray import to_fixed_tuple

# An array: its element type and number of dimensions.
Kind = tuple[np.dtype[Any], int]


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """An integer as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = context.get_value_type(signature.return_type)
        return builder.inttoptr(arguments[0], target)

    return numba_types.voidptr(numba_types.int64), generate


def _viewer(dtype: np.dtype[Any], ndim: int) -> Any:
    """A compiled function that makes an array of an address and a shape."""
    if ndim == 0:

        @numba.njit
        def view(address: Any, shape: Any) -> Any:
            return numba.carray(_pointer(address), (), dtype)
    else:

        @numba.njit
        def view(address: Any, shape: Any) -> Any:
            return numba.carray(_pointer(address), to_fixed_tuple(shape, ndim), dtype)

    return view


def _compiled(function: Callable[..., Any]) -> Any:
    return (
        function if isinstance(function, numba.core.dispatcher.Dispatcher) else numba.njit(function)
    )


def setup(function: Callable[..., Any]) -> Any:
    """Compiles a `setup_fn`."""
    return _compiled(function)


_SAMPLES = """
def run(addresses, shapes):
    for i in range(addresses.shape[1]):
        function({each})
"""

_LISTS = """
def run(addresses, shapes):
    function({lists})
"""


def batch(function: Callable[..., Any], kinds: Sequence[Kind], lists: bool) -> Any:
    """Compiles a `run_fn`. The result takes a list of contiguous arrays per kind.

    Args:
        kinds: the kinds of the outputs and of the inputs.
        lists: the function takes lists of arrays.
    """
    views = {f"view{k}": _viewer(dtype, ndim) for k, (dtype, ndim) in enumerate(kinds)}
    each = [f"view{k}(addresses[{k}, i], shapes[{k}, i])" for k in range(len(kinds))]
    text = (
        _SAMPLES.format(each=", ".join(each))
        if not lists
        else _LISTS.format(
            lists=", ".join(f"[{e} for i in range(addresses.shape[1])]" for e in each)
        )
    )
    scope: dict[str, Any] = {"function": _compiled(function), **views}
    exec(text, scope)
    run = numba.njit(nogil=True)(scope["run"])
    width = max(1, *(ndim for _, ndim in kinds))
    # Compiled here, so that errors of the function show where the operator is made.
    run.compile((numba_types.int64[:, ::1], numba_types.int64[:, :, ::1]))

    def call(*arrays: list[np.ndarray[Any, Any]]) -> None:
        count = len(arrays[0])
        addresses = np.empty((len(kinds), count), np.int64)
        shapes = np.zeros((len(kinds), count, width), np.int64)
        for k, samples in enumerate(arrays):
            for i, sample in enumerate(samples):
                addresses[k, i] = sample.ctypes.data
                shapes[k, i, : sample.ndim] = sample.shape
        run(addresses, shapes)

    return call


# ---- on a GPU ----


def has_cuda() -> bool:
    """Whether `numba.cuda` has a GPU."""
    from numba import cuda

    return bool(cuda.is_available())


def kernel(function: Callable[..., Any], kinds: Sequence[Kind], device: int | None) -> Any:
    """Compiles a `run_fn` for a GPU, unless it is a kernel already.

    Args:
        kinds: the kinds of the outputs and of the inputs.
        device: the number of the GPU.
    """
    from numba import cuda

    if hasattr(function, "py_func"):
        return function
    arrays = [
        numba_types.Array(numba.from_dtype(dtype), ndim, "C", aligned=True) for dtype, ndim in kinds
    ]
    with cuda.gpus[device or 0]:
        return cuda.jit(numba_types.void(*arrays))(function)


def launch(
    compiled: Any, size: tuple[tuple[int, ...], tuple[int, ...]], call: Any, batches: list[Any]
) -> None:
    """Launches a kernel for each sample, on the stream of the call.

    Args:
        size: blocks, and threads per block.
        batches: the outputs and the inputs.
    """
    from numba import cuda

    with cuda.gpus[call.device]:
        configured = compiled[(*size, cuda.external_stream(call.stream))]
        for i in range(call.samples):
            configured(*[cuda.as_cuda_array(batch[i]) for batch in batches])
