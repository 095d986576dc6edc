# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`NumbaFunction`: an operator that calls a function compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import types
from headrace._graph.arrays import Arrays, NumpyArrays
from headrace._graph.functions import Function, current_pipeline, make_function
from headrace.data_node import DataNode
from headrace.plugin.numba import _compile

_LABEL = "NumbaFunction"

_NUMPY = {
    getattr(types.DALIDataType, name): np.dtype(numpy_name)
    for name, numpy_name in {
        "BOOL": "bool",
        "UINT8": "uint8",
        "UINT16": "uint16",
        "UINT32": "uint32",
        "UINT64": "uint64",
        "INT8": "int8",
        "INT16": "int16",
        "INT32": "int32",
        "INT64": "int64",
        "FLOAT": "float32",
        "FLOAT64": "float64",
    }.items()
}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _numpy_types(dtypes: Sequence[Any]) -> list[np.dtype[Any]]:
    for dtype in dtypes:
        if dtype not in _NUMPY:
            raise RuntimeError(f"{_LABEL} does not support the element type {dtype}.")
    return [_NUMPY[dtype] for dtype in dtypes]


class _Arrays(NumpyArrays):
    def convert(self, tensor: Any) -> Any:
        return np.ascontiguousarray(tensor)


class _Launching(Function):
    """Passes on the call itself: the function launches kernels that write the outputs in place."""

    def _run(self, call: Any) -> None:
        self._function(call)


def _dimensions(name: str, given: Sequence[int] | None) -> tuple[int, ...]:
    """Checks `blocks` or `threads_per_block`."""
    if given is None or len(given) != 3:
        raise AssertionError(
            f"`{name}` must contain 3 numbers; received: {0 if given is None else len(given)}."
        )
    for i, n in enumerate(given):
        if n <= 0:
            raise AssertionError(
                f"All dimensions should be positive. The value of `{name}` at index {i} is {n}."
            )
    return tuple(given)


class NumbaFunction:
    """Calls a function that Numba compiles. On the CPU it runs in nopython mode, without the GIL.

    For example::

        def invert(out, image):
            out[:] = 255 - image[:]

        inverted = numba_function(
            images, run_fn=invert, in_types=[types.UINT8], ins_ndim=[3],
            out_types=[types.UINT8], outs_ndim=[3],
        )

    On a GPU it is a kernel of `numba.cuda`, which is launched once per sample::

        def invert(out, image):
            y, x = cuda.grid(2)
            if y < image.shape[0] and x < image.shape[1]:
                for c in range(3):
                    out[y, x, c] = 255 - image[y, x, c]

        inverted = numba_function(
            images, run_fn=invert, in_types=[types.UINT8], ins_ndim=[3],
            out_types=[types.UINT8], outs_ndim=[3],
            device="gpu", blocks=[20, 20, 1], threads_per_block=[16, 16, 1],
        )

    Args:
        run_fn: takes one array per output, which it fills, and then one array per input; with
            `batch_processing`, lists with one array per sample.
        out_types: element types of the outputs.
        in_types: element types of the inputs.
        outs_ndim: numbers of dimensions of the outputs.
        ins_ndim: numbers of dimensions of the inputs.
        setup_fn: sets the shapes of the outputs of a batch. It takes two tuples, of the outputs
            and of the inputs, with one array of shape (samples, dimensions) each, and fills those
            of the outputs. It is compiled, too, for the CPU. None: output i has the shape of input
            i.
        device: "cpu" or "gpu".
        batch_processing: call `run_fn` once per batch, with lists; on the CPU only.
        blocks, threads_per_block: three numbers each, the size of a launch on a GPU.

    Raises:
        AssertionError: the numbers of types and of dimensions differ. With a GPU: `blocks` or
            `threads_per_block` are not three positive numbers; `batch_processing` is set.
        RuntimeError: an element type is not supported, or `setup_fn` is needed. (When run) an input
            differs from `in_types` or `ins_ndim`. With a GPU: `numba.cuda` finds none.
    """

    def __init__(
        self,
        run_fn: Callable[..., Any],
        out_types: Any,
        in_types: Any,
        outs_ndim: Any,
        ins_ndim: Any,
        setup_fn: Callable[..., Any] | None = None,
        device: str = "cpu",
        batch_processing: bool = False,
        blocks: Sequence[int] | None = None,
        threads_per_block: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        self._device = device
        if device == "gpu":
            self._check_cuda_compatibility()
            if batch_processing:
                raise AssertionError("Currently batch processing for GPU is not supported.")
            self._size = (
                _dimensions("blocks", blocks),
                _dimensions("threads_per_block", threads_per_block),
            )
        ins, outs = _listed(in_types), _listed(out_types)
        self._in_ndim, self._out_ndim = _listed(ins_ndim), _listed(outs_ndim)
        if len(ins) != len(self._in_ndim):
            raise AssertionError("Number of input types and input dimensions should match.")
        if len(outs) != len(self._out_ndim):
            raise AssertionError("Number of output types and output dimensions should match.")
        self._in_types, self._out_types = _numpy_types(ins), _numpy_types(outs)
        if setup_fn is None and self._out_ndim != self._in_ndim[: len(outs)]:
            raise RuntimeError(
                f"{_LABEL}: without `setup_fn`, output i has the shape of input i, so their numbers "
                f"of dimensions must agree: {self._out_ndim} and {self._in_ndim}."
            )
        self._kwargs = kwargs
        self._dtypes = outs
        self._setup = None if setup_fn is None else _compile.setup(setup_fn)
        kinds = list(zip(self._out_types + self._in_types, self._out_ndim + self._in_ndim))
        if device == "gpu":
            self._run = _compile.kernel(run_fn, kinds, getattr(current_pipeline(), "device_id", 0))
        else:
            self._run = _compile.batch(run_fn, kinds, batch_processing)

    @staticmethod
    def _check_minimal_numba_version(throw: bool = True) -> bool:
        """Whether the operator runs on a GPU, as scripts ask. With `throw`, an error says why not."""
        if _compile.has_cuda():
            return True
        if throw:
            raise RuntimeError(
                f'{_LABEL} with device="gpu" needs numba.cuda (the package numba-cuda) and a GPU '
                "that it can use; numba.cuda.is_available() is False."
            )
        return False

    _check_cuda_compatibility = _check_minimal_numba_version

    @property
    def device(self) -> str:
        return self._device

    def __call__(self, *inputs: Any, **kwargs: Any) -> DataNode | list[DataNode]:
        if len(inputs) != len(self._in_types):
            raise RuntimeError(
                f"{_LABEL}: `in_types` describes {len(self._in_types)} input(s), but there are "
                f"{len(inputs)}."
            )
        given = {
            **self._kwargs,
            **kwargs,
            "num_outputs": len(self._out_types),
            "batch_processing": True,
            "device": self._device,
        }
        given.pop("bytes_per_sample_hint", None)
        gpu = self._device == "gpu"
        nodes: DataNode | list[DataNode] = make_function(
            "python_function",
            _LABEL,
            self._launch if gpu else self._called,
            _arrays,
            inputs,
            given,
            make=_Launching if gpu else Function,
        )
        return nodes

    def _launch(self, call: Any) -> None:
        """Launches the kernel for each sample. It writes the outputs in place."""
        inputs = call.inputs()
        for k, batch in enumerate(inputs):
            if len(batch):
                self._check_kind(k, _NUMPY.get(batch.dtype), batch.ndim())
        shapes = [
            np.array(batch.shape(), np.int64).reshape(call.samples, ndim)
            for batch, ndim in zip(inputs, self._in_ndim)
        ]
        outputs = [
            call.make(k, int(dtype), extents.tolist())
            for k, (dtype, extents) in enumerate(
                zip(self._dtypes, self._shapes(shapes, call.samples))
            )
        ]
        _compile.launch(self._run, self._size, call, [*outputs, *inputs])

    def _called(self, *inputs: list[np.ndarray[Any, Any]]) -> tuple[list[Any], ...]:
        """The outputs of a batch: a list of arrays each."""
        inputs = tuple(
            [array.reshape(()) if ndim == 0 else array for array in arrays]
            for arrays, ndim in zip(inputs, self._in_ndim)
        )
        for k, arrays in enumerate(inputs):
            self._check(k, arrays)
        count = len(inputs[0])
        shapes = [
            np.array([a.shape for a in arrays], np.int64).reshape(count, ndim)
            for arrays, ndim in zip(inputs, self._in_ndim)
        ]
        outputs = tuple(
            [np.empty(tuple(shape), dtype) for shape in extents]
            for extents, dtype in zip(self._shapes(shapes, count), self._out_types)
        )
        self._run(*outputs, *inputs)
        return outputs

    def _check(self, k: int, arrays: list[np.ndarray[Any, Any]]) -> None:
        for array in arrays:
            self._check_kind(k, array.dtype, array.ndim)

    def _check_kind(self, k: int, dtype: np.dtype[Any] | None, ndim: int) -> None:
        if dtype != self._in_types[k]:
            raise RuntimeError(
                f"Input {k} has the element type {dtype}, but `in_types` says {self._in_types[k]}."
            )
        if ndim != self._in_ndim[k]:
            raise RuntimeError(
                f"Input {k} has {ndim} dimensions, but `ins_ndim` says {self._in_ndim[k]}."
            )

    def _shapes(self, ins: list[np.ndarray[Any, Any]], count: int) -> list[np.ndarray[Any, Any]]:
        """One array of shape (samples, dimensions) per output."""
        if self._setup is None:
            return ins[: len(self._out_types)]
        outs = [np.zeros((count, ndim), np.int64) for ndim in self._out_ndim]
        self._setup(tuple(outs), tuple(ins))
        for k, shape in enumerate(outs):
            if (shape < 0).any():
                raise RuntimeError(f"`setup_fn` set a negative extent for output {k}.")
        return outs


def _arrays(device: str) -> Arrays:
    return Arrays() if device == "gpu" else _Arrays()


def numba_function(*inputs: Any, **kwargs: Any) -> DataNode | list[DataNode]:
    """Calls `NumbaFunction` as a function; takes the same arguments."""
    own = {key: kwargs.pop(key) for key in ("name", "preserve") if key in kwargs}
    return NumbaFunction(**kwargs)(*inputs, **own)
