# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Feeding an external source: calls its callback and makes batches of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace import _core, types
from headrace.tensors import TensorListCPU, TensorListGPU

_NOT_DATA = (bool, int, float, complex, str)


_CHANGED = " fed to the external source has changed from"  # DALI's wording, which scripts match


def check_sample(sample: Any) -> None:
    if isinstance(sample, (*_NOT_DATA, list, tuple, dict)) or sample is None:
        raise RuntimeError(
            f"a sample cannot be of type {type(sample).__name__}. Pass a NumPy array or another object that "
            "supports the buffer protocol, __array_interface__ or DLPack."
        )


def _current_stream(data: Any) -> Any:
    """The current stream of the library that owns an array in GPU memory, or None if it is unknown."""
    array = data[0] if isinstance(data, (list, tuple)) and data else data
    library = type(array).__module__.partition(".")[0]
    if library == "torch" and array.is_cuda:
        import torch

        return torch.cuda.current_stream(array.device)
    if library == "cupy":
        import cupy

        return cupy.cuda.get_current_stream()
    return None


def make_batch(
    data: Any,
    layout: str | None,
    copy: bool,
    label: str = "external_source",
    device: int = -1,
    stream: Any = None,
    engine: _core.Pipeline | None = None,
) -> _core.Batch:
    """Makes a batch of user data: a batch, a list of samples, or an array with the batch in dimension 0.

    Args:
        device: ordinal of the target GPU, or -1 for the CPU.
        stream: stream on which arrays in GPU memory were written. None: the current stream of their library.
        engine: copies are allocated in its memory pool. None: allocated separately.

    Raises:
        RuntimeError: the data are not a batch, the samples differ in type or number of dimensions, or the data
            are on another device.
    """
    layout = layout or None
    made: type[_core.Batch] = TensorListCPU if device < 0 else TensorListGPU
    if stream is None and device >= 0:
        stream = _current_stream(data)
    try:
        if isinstance(data, _core.Batch):
            if layout is None and not copy and (data._device >= 0) == (device >= 0):
                return data
            return _core.make_batch(made, list(data), layout, copy, stream, device, engine)
        if isinstance(data, (list, tuple)):
            for sample in {type(sample): sample for sample in data}.values():
                check_sample(sample)
            return _core.make_batch(made, data, layout, copy, stream, device, engine)
        check_sample(data)
        return _core.make_batch_dense(made, data, layout, copy, stream, device, engine)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise RuntimeError(f"{label}: {error}") from error


class Source:
    """The state of one external_source node: its callback, the position in the epoch, and the batches not yet used.

    Args:
        source: a callable, iterable or generator function, or None for `feed_input`.
        several: the callback returns a tuple with one item per output.
        outputs: number of outputs of the node.
    """

    def __init__(
        self,
        source: Any,
        cycle: Any,
        several: bool,
        outputs: int,
        batch: bool,
        batch_info: bool,
        layout: Any,
        dtype: Any,
        ndim: Any,
        no_copy: bool,
        repeat_last: bool,
        device: str = "cpu",
        cuda_stream: Any = None,
    ) -> None:
        self.callback: Callable[..., Any] | None = None
        self.takes_argument = False
        self.plain = False  # the source itself is the callable
        self.source = source
        self.resumable = (
            True  # a checkpoint needs only a number: a callable with an argument, or feed_input
        )
        if source is not None:
            from headrace._external.callback import callback_of  # loads `inspect`

            self.callback, self.takes_argument, self.plain = callback_of(source, cycle)
            self.resumable = self.plain and self.takes_argument
        self.several = several
        self.outputs = outputs
        self.batch = batch
        self.batch_info = batch_info
        self.layouts = _each(layout, outputs, "layout")
        self.dtypes = _each(dtype, outputs, "dtype")
        self.ndims = _each(ndim, outputs, "ndim")
        self.no_copy = no_copy
        self.repeat_last = repeat_last
        self.device = device
        self.device_id = -1  # the pipeline's GPU if `device` is "gpu"
        self.cuda_stream = cuda_stream
        self.node = -1
        self.label = "external_source"
        self.last: tuple[_core.Batch, ...] | None = None  # fed last
        self.parallel = False
        self.depth = 1  # batches requested ahead from workers
        self.hint = 0  # expected bytes per sample; 0: unknown
        self.given: tuple[Any, dict[str, Any]] | None = (
            None  # arguments with which workers make a copy
        )
        self.workers: Any = None  # a ParallelSource, once the workers are started
        self.round = -1  # of the next two
        self.parts: list[Any] = []  # what the callback has returned
        self.ended = False
        self.before: dict[int, tuple[int, int, str]] = {}  # per output: type, dimensions, layout

    def rewind(self) -> None:
        """Returns to the start of an epoch."""
        if self.workers is not None:
            self.workers.rewind()

    def arguments(self, i: int, iteration: int, max_batch: int, epoch: int) -> tuple[Any, ...]:
        """The arguments of the callback, for sample `i` of the batch if it returns samples."""
        if not self.takes_argument:
            return ()
        if not self.batch:
            return (types.SampleInfo(iteration * max_batch + i, i, iteration, epoch),)
        return (types.BatchInfo(iteration, epoch) if self.batch_info else iteration,)

    def ask(self, round_: int, iteration: int, max_batch: int, epoch: int) -> None:
        """Calls the callback for a batch, which `parts` then contains; `ended` if it raises StopIteration.

        Other exceptions propagate unchanged. Whatever raises, also a signal handler: with the same `round_`, the next
        call continues with what is missing.
        """
        if self.round != round_:
            self.parts, self.ended, self.round = [], False, round_
        if self.ended:
            return
        at = (iteration, max_batch, epoch)
        try:
            if self.workers is not None:
                if not self.parts:
                    _core.collect(self.parts, self.workers.take, round_, *at)
                self.workers.fill(round_ + 1, iteration + 1, max_batch, epoch)
            while len(self.parts) < (max_batch if not self.batch and self.workers is None else 1):
                _core.collect(self.parts, self.callback, *self.arguments(len(self.parts), *at))
        except StopIteration:
            self.ended = True

    def columns(self) -> list[Any]:
        """The data of each output in `parts`.

        Raises:
            RuntimeError: the number of outputs is wrong.
        """
        if self.workers is not None:
            return list(self.parts[0])  # the worker has split it already
        return self.split(self.parts[0] if self.batch else self.parts)

    def split(self, data: Any) -> list[Any]:
        """The data of each output in what the callback returned for a batch."""
        if not self.several:
            return [data]
        for outputs in (data,) if self.batch else data:
            count = len(outputs) if hasattr(outputs, "__len__") else 1
            if count != self.outputs:
                raise RuntimeError(
                    f"{self.label}: the source returned {count} outputs, expected {self.outputs}."
                )
        return list(data) if self.batch else list(map(list, zip(*data, strict=True)))

    def prepare(
        self,
        columns: Sequence[Any],
        max_batch: int,
        stream: Any = None,
        engine: _core.Pipeline | None = None,
        layout: str | None = None,
        copy: bool = True,
    ) -> tuple[_core.Batch, ...]:
        """Makes and checks one batch per output.

        Args:
            columns: the data of each output.
            max_batch: the largest number of samples.
            stream, engine: as in `make_batch`.
            layout: layout of outputs that were declared without one.
            copy: copy the data, unless the source has `no_copy`.

        Raises:
            RuntimeError: too many samples, batches of different sizes, or data that differ from the declared type,
                number of dimensions, layout or device.
        """
        for declared in self.layouts:
            if declared and layout and declared != layout:
                raise RuntimeError(
                    f'{self.label}: Expected data with layout: "{declared}" and got: "{layout}"'
                )
        stream = self.cuda_stream if stream is None else stream
        batches = [
            make_batch(
                data if self.workers is None else self._join(data),
                self.layouts[k] or layout,
                copy and not self.no_copy,
                self.label,
                self.device_id,
                stream,
                engine,
            )
            for k, data in enumerate(columns)
        ]
        for k, batch in enumerate(batches):
            self._check(batch, k, max_batch)
        if len({len(batch) for batch in batches}) > 1:
            raise RuntimeError(
                f"{self.label}: External source must return outputs with consistent batch size. Got "
                f"{[len(batch) for batch in batches]}."
            )
        return tuple(batches)

    def feedings(
        self,
        data: Any,
        max_batch: int,
        stream: Any = None,
        engine: _core.Pipeline | None = None,
        layout: str | None = None,
        copy: bool = True,
    ) -> list[tuple[_core.Batch, ...]]:
        """The batches of `prepare` for each of the iterations that `data` is for, which `feed_input` got."""
        return [self.prepare([data], max_batch, stream, engine, layout, copy)]

    def _join(self, parts: list[Any]) -> _core.Batch:
        """The batch that workers wrote. It uses their shared memory without copying."""
        pieces = [(part.memory, part.lease, part.start) for part in parts]
        try:
            return _core.unpack(TensorListCPU, pieces, None)
        except (TypeError, ValueError, RuntimeError) as error:
            raise RuntimeError(f"{self.label}: {error}") from error

    def _check(self, batch: _core.Batch, k: int, max_batch: int) -> None:
        if len(batch) > max_batch:
            raise RuntimeError(
                f"{self.label}: got a batch of {len(batch)} samples, expected at most {max_batch} (the pipeline's "
                "batch size)."
            )
        if not batch:  # an empty batch has no type and no device
            return
        if batch._device != self.device_id:
            raise RuntimeError(
                f"{self.label}: the data are on GPU {batch._device}, but the pipeline runs on GPU {self.device_id}."
            )
        dtype, ndim = self.dtypes[k], self.ndims[k]
        if dtype is not None and batch._dtype != int(dtype):
            want, got = (types.name_in_messages(kind) for kind in (dtype, batch._dtype))
            raise RuntimeError(
                f"{self.label}: ExternalSource expected data of type {want} and got: {got}"
            )
        if ndim is not None and batch.ndim() != ndim:
            raise RuntimeError(
                f"{self.label}: ExternalSource expected data with {ndim} dimensions and got "
                f"{batch.ndim()} dimensions"
            )
        self._check_unchanged(batch, k)

    def _check_unchanged(self, batch: _core.Batch, k: int) -> None:
        """Raises RuntimeError if type, number of dimensions or layout differ from the output's first batch."""
        now = (batch._dtype, batch.ndim(), batch.layout())
        before = self.before.setdefault(k, now)
        if now == before:
            return
        if now[0] != before[0]:
            old, new = (types.name_in_messages(kind) for kind in (before[0], now[0]))
            what = f"Type of the data{_CHANGED} the previous iteration. Type in the previous iteration was {old} "
            what += f"and the current type is {new}."
        elif now[1] != before[1]:
            what = f"Number of dimensions of the data{_CHANGED} previous iteration. Dimensionality in the previous "
            what += f"iteration was {before[1]} and the current is {now[1]}."
        else:
            what = f"Layout of the data{_CHANGED} previous iteration. Layout in the previous iteration was "
            what += f'"{before[2]}" and the current is "{now[2]}".'
        raise RuntimeError(f"{self.label}: {what}")


def _each(value: Any, count: int, what: str) -> list[Any]:
    """One value per output."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) > count:
        raise ValueError(f"`{what}` has {len(value)} entries for {count} outputs.")
    return [*value, *[None] * (count - len(value))]
