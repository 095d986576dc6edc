# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`ExternalSource`: data from Python, as tensors and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.experimental.dynamic._data import Batch, Tensor


class ExternalSource:
    """Gives what a function or an iterable gives, as tensors, or as batches if `batch_size` is given.

    Args:
        source: a function without arguments, or an iterable.
        num_outputs: number of results; with more than one, the source gives tuples.
        cycle: at the end of an iterable: "no" or None ends with StopIteration; "quiet" or True begins again;
            "raise" ends and begins again in the next call.
        device: where the data are put.
        layout, dtype: of the results; one for all, or a list.
    """

    def __init__(
        self,
        source: Callable[[], Any] | Iterable[Any],
        num_outputs: int = 1,
        *,
        cycle: str | bool | None = None,
        device: Any = "cpu",
        layout: Any = None,
        dtype: Any = None,
    ) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError("The source must be a function or an iterable.")
        if callable(source) and cycle not in (None, "no", False):
            raise ValueError("`cycle` needs an iterable, not a function.")
        if cycle not in (None, False, True, "no", "quiet", "raise"):
            raise ValueError(f"cycle is {cycle!r}; allowed are no, quiet, raise.")
        self._source = source
        self._count = num_outputs
        self._cycle = cycle
        self._device = device
        self._layouts = self._each(layout)
        self._dtypes = self._each(dtype)
        self._iterator: Iterator[Any] | None = None

    def _each(self, value: Any) -> list[Any]:
        values = list(value) if isinstance(value, (list, tuple)) else [value] * self._count
        if len(values) != self._count:
            raise ValueError(
                f"Expected {self._count} values, one for each output, got {len(values)}."
            )
        return values

    def _next(self) -> Any:
        if callable(self._source):
            return self._source()
        if self._iterator is None:
            self._iterator = iter(self._source)
        try:
            return next(self._iterator)
        except StopIteration:
            self._iterator = None if self._cycle in (True, "quiet", "raise") else iter(())
            if self._cycle in (True, "quiet"):
                self._iterator = iter(self._source)
                return next(self._iterator)
            raise

    def __call__(self, *, batch_size: int | None = None) -> Any:
        """The next data."""
        data = self._next()
        items = list(data) if self._count > 1 else [data]
        if len(items) != self._count:
            raise ValueError(f"The source gave {len(items)} results, expected {self._count}.")
        made: list[Any] = []
        for item, layout, dtype in zip(items, self._layouts, self._dtypes, strict=True):
            if batch_size is None:
                made.append(Tensor(item, dtype, self._device, layout))
                continue
            batch = Batch(item, dtype, self._device, layout)
            if batch.batch_size != batch_size:
                raise ValueError(
                    f"The source gave {batch.batch_size} samples, expected {batch_size}."
                )
            made.append(batch)
        return tuple(made) if self._count > 1 else made[0]
