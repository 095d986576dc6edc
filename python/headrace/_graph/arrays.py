# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The arrays that Python functions get and return, on the CPU and on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from headrace._base.types import CUDAStream

__all__ = ["Arrays", "Capsules", "CupyArrays", "NumpyArrays", "current_stream"]

_running = threading.local()


def current_stream() -> int:
    """The address of the stream of the function that runs on this thread; 0 if it has none."""
    return getattr(_running, "stream", 0)


@contextmanager
def stream_of(call: Any) -> Iterator[None]:
    """Within it, `current_stream` is the stream of this call."""
    before = current_stream()
    _running.stream = call.stream
    try:
        yield
    finally:
        _running.stream = before


class Arrays:
    """How a library sees tensors. The functions run on worker threads."""

    def scope(self, call: Any) -> AbstractContextManager[Any]:
        """Surrounds the calls of the user's function for one iteration, and the use of its results.

        On a GPU, the inputs are complete, or will be in the order of `call.stream`, and the results must be complete
        in the order of this stream when the scope has ended.
        """
        return nullcontext()

    def convert(self, tensor: Any) -> Any:
        """What the user's function takes, over the memory of `tensor`."""
        raise NotImplementedError

    def result(self, value: Any) -> Any:
        """What is stored of an array that the user's function returned."""
        return value


class NumpyArrays(Arrays):
    def convert(self, tensor: Any) -> Any:
        import numpy

        return numpy.asarray(tensor)


class CupyArrays(Arrays):
    """Arrays of CuPy. The function's current stream is that of the pipeline.

    Raises:
        ImportError: CuPy is not installed.
    """

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy

    @contextmanager
    def scope(self, call: Any) -> Iterator[None]:
        cuda = self._cupy.cuda
        with cuda.Device(call.device):
            if hasattr(cuda.Stream, "from_external"):
                stream = cuda.Stream.from_external(CUDAStream(call.stream))
            else:  # before CuPy 14
                stream = cuda.ExternalStream(call.stream, call.device)
            with stream:
                yield

    def convert(self, tensor: Any) -> Any:
        return self._cupy.asarray(tensor)


class Capsules(Arrays):
    """DLPack capsules.

    Args:
        synchronize: on a GPU, wait for the pipeline's stream before the function is called.
    """

    def __init__(self, synchronize: bool = True) -> None:
        self._synchronize = synchronize

    @contextmanager
    def scope(self, call: Any) -> Iterator[None]:
        if call.device < 0:
            yield
            return
        if self._synchronize:
            call.synchronize()
        yield
        # A capsule does not say which stream writes it. It is often the default one.
        call.wait_for(0)

    def convert(self, tensor: Any) -> Any:
        return tensor.__dlpack__()
