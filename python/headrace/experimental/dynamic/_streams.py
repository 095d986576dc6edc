# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""CUDA streams as DALI names them. Results are complete on every stream, so they order nothing here."""

from __future__ import annotations

from typing import Any

from headrace.experimental.dynamic._context import _local


class Stream:
    """A CUDA stream of the user."""

    def __init__(self, *, stream: Any = None, device_id: int | None = None) -> None:
        handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
        self.handle = 0 if handle is None else int(getattr(handle, "handle", handle))
        self.device_id = device_id

    def synchronize(self) -> None:
        """Returns at once: calls of operators return complete results."""


def stream(*, stream: Any = None, device_id: int | None = None) -> Stream:
    """A stream object for a stream of a framework, or for the default stream."""
    return stream if isinstance(stream, Stream) else Stream(stream=stream, device_id=device_id)


def get_current_stream() -> Any:
    """The stream that `set_current_stream` set, or None."""
    return getattr(_local, "stream", None)


def set_current_stream(cuda_stream: Any, /) -> None:
    """Sets the stream of this thread."""
    _local.stream = cuda_stream


_default: dict[int | None, Any] = {}


def get_default_stream(device_id: int | None = None) -> Any:
    """The stream that `set_default_stream` set, or None."""
    return _default.get(device_id)


def set_default_stream(cuda_stream: Any, /, device_id: int | None = None) -> None:
    """Sets the stream of all threads."""
    _default[device_id] = cuda_stream
