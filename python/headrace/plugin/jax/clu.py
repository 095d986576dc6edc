# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterators that can be peeked at, as `clu.data.PeekableIterator` of CLU has them."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from headrace.plugin.base_iterator import LastBatchPolicy, passed
from headrace.plugin.jax._decorator import decorator
from headrace.plugin.jax._iterator import Arrays, DALIGenericIterator

try:
    from clu.data.dataset_iterator import ArraySpec
except ImportError:

    @dataclasses.dataclass(frozen=True)
    class ArraySpec:  # type: ignore[no-redef]
        """Shape and element type of an array, as in CLU."""

        dtype: Any
        shape: tuple[int, ...]


__all__ = ["ArraySpec", "DALIGenericPeekableIterator", "peekable_data_iterator"]


class DALIGenericPeekableIterator(DALIGenericIterator):
    """A `DALIGenericIterator` that can show its next batch without taking it.

    Takes the same arguments. All batches must have the same shapes and element types. Methods may
    be called from several threads.

    Raises:
        ValueError: (by `next`, `peek`) a batch differs from the first one in shape or type.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._lock = threading.RLock()  # guards all of the iterator
        self._peeked: Arrays | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._spec: dict[str, ArraySpec] | None = None
        super().__init__(*args, **kwargs)

    def __next__(self) -> Arrays:
        with self._lock:
            batch, self._peeked = self.peek(), None
            return batch

    def __iter__(self) -> Iterator[Arrays]:
        with self._lock:
            return self if self._peeked is not None else super().__iter__()

    def peek(self) -> Arrays:
        """Returns the next batch, which the next call returns again.

        Raises:
            StopIteration: the epoch is over.
        """
        with self._lock:
            if self._peeked is None:
                self._peeked = self._checked(super().__next__())
            return self._peeked

    def peek_async(self) -> Future[Arrays]:
        """As `peek`, on another thread. Wait for the result before you call `next`, so that it is the same batch."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1)
            return self._pool.submit(self.peek)

    def checkpoints(self) -> list[bytes]:
        """As `DALIGenericIterator.checkpoints`.

        Raises:
            RuntimeError: a batch was peeked at and has not been taken.
        """
        with self._lock:
            if self._peeked is not None:
                raise RuntimeError(
                    "A checkpoint cannot be taken between `peek` and `next`: take the batch first."
                )
            return super().checkpoints()

    @property
    def element_spec(self) -> dict[str, ArraySpec]:
        """Shape and type of each array of a batch; peeks at the first batch if there was none."""
        with self._lock:
            if self._spec is None:
                self.peek()
            assert self._spec is not None
            return self._spec

    @property
    def is_nonpadding(self) -> jax.Array | np.ndarray[Any, Any]:
        """For each sample of the last batch that was taken: False if it only fills the batch.

        Shape (samples of all pipelines), with the sharding of the batch.
        """
        with self._lock:
            self._settle()
            ahead = int(self._first is not None or self._peeked is not None)
            kept = [np.arange(self.batch_size) < real for real in self._epochs.real(ahead)]
        whole = np.concatenate(kept)
        return (
            whole if self._sharding is None else jax.device_put(jnp.asarray(whole), self._sharding)
        )

    def _checked(self, batch: Arrays) -> Arrays:
        spec = {name: ArraySpec(array.dtype, array.shape) for name, array in batch.items()}
        if self._spec is None:
            self._spec = spec
        for name, expected in self._spec.items():
            if spec[name] != expected:
                raise ValueError(
                    f"The shape or type of {name!r} changed from {expected} to {spec[name]}. All "
                    "batches of a peekable iterator must have the same shapes and types."
                )
        return batch


def peekable_data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: Sharding | None = None,
    devices: Sequence[jax.Device] | None = None,
    pmap_compatible: bool | None = None,
) -> Any:
    """As `headrace.plugin.jax.data_iterator`, but makes a `DALIGenericPeekableIterator`."""
    options = passed(locals(), "pipeline_fn", "sharding", "devices")
    return decorator(DALIGenericPeekableIterator, pipeline_fn, sharding, devices, options)
