# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`external_source`: batches from Python, from the thread that runs the pipeline or from worker processes."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace import _core, _graph, types
from headrace.data_node import DataNode
from headrace.tensors import TensorListCPU, TensorListGPU

__all__ = ["ExternalSource", "external_source"]


# ---- what a source is ----


def _positional(function: Callable[..., Any]) -> tuple[int, int]:
    """Positional parameters without default, and all of them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0, 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [p for p in parameters if p.kind in kinds]
    return sum(p.default is inspect.Parameter.empty for p in own), len(own)


def _takes_argument(function: Callable[..., Any]) -> bool:
    required, count = _positional(function)
    if required > 1:
        raise TypeError(
            "External source callback must be a callable with 0 or 1 argument, this one needs "
            f"{required}."
        )
    return required == 1 or count == 1


def _cycling(cycle: Any) -> str:
    """One of "no", "quiet", "raise"."""
    if cycle is None or cycle is False or cycle == "no":
        return "no"
    if cycle is True or cycle == "quiet":
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise ValueError(
        f'Invalid value {cycle!r} for the argument `cycle`: None, False or "no", True or "quiet", or '
        '"raise".'
    )


class _Items:
    """An iterable or generator function as a callable without argument."""

    def __init__(self, make: Callable[[], Iterator[Any]], cycle: str) -> None:
        self._make = make
        self._cycle = cycle
        self._iterator = make()

    def __call__(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle == "no":
                raise
            self._iterator = self._make()
            if self._cycle == "raise":
                raise
            return next(self._iterator)


def _callback(source: Any, cycle: Any) -> tuple[Callable[..., Any], bool, bool]:
    """The source as a callable, whether it takes an argument, and whether it is a plain callable.

    Raises:
        TypeError: it is no source.
        ValueError: `cycle` where nothing can be cycled.
    """
    mode = _cycling(cycle)
    call = getattr(type(source), "__call__", None)  # noqa: B004 - an object whose call generates
    if inspect.isgeneratorfunction(source) or inspect.isgeneratorfunction(call):
        if _positional(source)[0]:
            raise TypeError("A generator function passed as `source` must not need an argument.")
        return _Items(source, mode), False, False
    if inspect.isgenerator(source):
        if mode != "no":
            raise TypeError(
                "Cannot cycle through a generator - if the generator is a result of calling a generator "
                "function, pass that function instead."
            )
        return _Items(lambda: source, mode), False, False
    if callable(source):
        if cycle is not None:
            raise ValueError("`cycle` argument is only valid for iterable `source`")
        return source, _takes_argument(source), True
    try:
        iter(source)
    except TypeError:
        raise TypeError(
            f"`source` must be a callable, an iterable or a generator function, not "
            f"{type(source).__name__}."
        ) from None
    return _Items(lambda: iter(source), mode), False, False


# ---- data ----

_NOT_DATA = (bool, int, float, complex, str)


def _check_sample(sample: Any) -> None:
    if isinstance(sample, (*_NOT_DATA, list, tuple, dict)) or sample is None:
        raise RuntimeError(
            f"a sample cannot be a {type(sample).__name__}: give a NumPy array or another "
            "object with the buffer protocol, __array_interface__ or DLPack."
        )


def _current_stream(data: Any) -> Any:
    """The stream that an array in GPU memory is used on, None where its library does not tell."""
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
    """A batch of what the user gave: a batch, a list of samples, or an array with the batch in dimension 0.

    Args:
        device: the GPU that it goes to, or -1.
        stream: that arrays in GPU memory are used on; None: their library's current one.
        engine: whose memory copies are made in; None: memory of their own.

    Raises:
        RuntimeError: data that are no batch, or samples of different types or numbers of dimensions; data
            on another device.
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
            for sample in data:
                _check_sample(sample)
            return _core.make_batch(made, data, layout, copy, stream, device, engine)
        _check_sample(data)
        return _core.make_batch_dense(made, data, layout, copy, stream, device, engine)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise RuntimeError(f"{label}: {error}") from error


class Source:
    """What feeds one external_source node: the callback and its place in it, and the batches that wait.

    Args:
        source: callable, iterable, generator function or None (fed by hand).
        outputs: number of outputs of the node; the callback gives a tuple where `several`.
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
        self.resumable = True  # its place is a number: a callable with an argument, or fed by hand
        if source is not None:
            self.callback, self.takes_argument, plain = _callback(source, cycle)
            self.resumable = plain and self.takes_argument
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
        self.device_id = -1  # of the pipeline, where `device` is "gpu"
        self.cuda_stream = cuda_stream
        self.node = -1
        self.label = "external_source"
        self.iteration = 0
        self.sample = 0
        self.queue: deque[list[_core.Batch]] = deque()
        self.last: list[_core.Batch] | None = None
        self.fed = 0
        self.parallel = False
        self.depth = 1  # batches that workers are asked for ahead
        self.hint = 0  # bytes of a sample, 0 where nobody told
        self.given: tuple[Any, dict[str, Any]] | None = None  # what workers make theirs from
        self.workers: Any = None  # a ParallelSource, once they are started
        self.answer: tuple[Any] | None = None  # of the callback, not a batch yet

    def rewind(self) -> None:
        """The next batch is the first of an epoch."""
        self.iteration = 0
        self.sample = 0
        if self.workers is not None:
            self.workers.forget()

    def _call(self, max_batch: int, epoch: int) -> Any:
        assert self.callback is not None
        if self.batch:
            if not self.takes_argument:
                return self.callback()
            if self.batch_info:
                return self.callback(types.BatchInfo(self.iteration, epoch))
            return self.callback(self.iteration)
        if not self.takes_argument:
            return [self.callback() for _ in range(max_batch)]
        return [
            self.callback(types.SampleInfo(self.sample + i, i, self.iteration, epoch))
            for i in range(max_batch)
        ]

    def ask(self, max_batch: int, epoch: int) -> None:
        """Asks the callback, unless its last answer waits; what it raises passes through. StopIteration rewinds."""
        if self.answer is not None:
            return
        get = self._call if self.workers is None else self.workers.take
        try:
            self.answer = (get(max_batch, epoch),)
        except StopIteration:
            self.rewind()
            raise
        self.iteration += 1
        self.sample += max_batch
        if self.workers is not None:
            self.workers.fill(max_batch, epoch)

    def take_answer(self) -> Any:
        """What `ask` got, None where the source ended."""
        answer, self.answer = self.answer, None
        return None if answer is None else answer[0]

    def columns(self, data: Any) -> list[Any]:
        """The data of each output in an answer of the callback.

        Raises:
            RuntimeError: not as many outputs as there are.
        """
        if self.workers is not None:
            return data  # a worker did it
        if not self.several:
            return [data]
        for outputs in (data,) if self.batch else data:
            count = len(outputs) if hasattr(outputs, "__len__") else 1
            if count != self.outputs:
                raise RuntimeError(
                    f"{self.label}: the source gave {count} outputs, expected {self.outputs}."
                )
        return list(data) if self.batch else list(map(list, zip(*data, strict=True)))

    def prepare(
        self,
        columns: Sequence[Any],
        max_batch: int,
        stream: Any = None,
        engine: _core.Pipeline | None = None,
        layout: str | None = None,
    ) -> list[_core.Batch]:
        """Checked batches, one an output, for `engine`.

        Args:
            layout: of outputs that were declared without one.

        Raises:
            RuntimeError: more samples than the pipeline takes, none, or not what was declared.
        """
        stream = self.cuda_stream if stream is None else stream
        batches = [
            make_batch(
                data if self.workers is None else self._join(data),
                self.layouts[k] or layout,
                not self.no_copy,
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
                f"{self.label}: the outputs have batches of different sizes: "
                f"{[len(batch) for batch in batches]}."
            )
        return batches

    def _join(self, parts: list[Any]) -> _core.Batch:
        """The batch that workers wrote, over their memory."""
        pieces = [(part.memory, part.lease, part.start) for part in parts]
        try:
            return _core.unpack(TensorListCPU, pieces, None)
        except (TypeError, ValueError, RuntimeError) as error:
            raise RuntimeError(f"{self.label}: {error}") from error

    def _check(self, batch: _core.Batch, k: int, max_batch: int) -> None:
        if len(batch) > max_batch:
            raise RuntimeError(
                f"{self.label}: a batch of {len(batch)} samples; expected at most {max_batch} (the pipeline's "
                "batch size)."
            )
        if not batch:  # of no type, and nowhere
            return
        if batch._device != self.device_id:
            raise RuntimeError(
                f"{self.label}: data on the GPU {batch._device}; the pipeline runs on {self.device_id}."
            )
        dtype, ndim = self.dtypes[k], self.ndims[k]
        if dtype is not None and batch._dtype != int(dtype):
            raise RuntimeError(
                f"{self.label}: data of type {types.DALIDataType(batch._dtype)}, but dtype="
                f"{types.DALIDataType(dtype)} was declared."
            )
        if ndim is not None and batch.ndim() != ndim:
            raise RuntimeError(
                f"{self.label}: data of {batch.ndim()} dimensions, but ndim={ndim} was declared."
            )


def _each(value: Any, count: int, what: str) -> list[Any]:
    """One value an output."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) > count:
        raise ValueError(f"`{what}` has {len(value)} entries for {count} outputs.")
    return [*value, *[None] * (count - len(value))]


# ---- the operator ----

_MOST_OUTPUTS = 64  # of any operator
_OWN = "layout dtype ndim cuda_stream use_copy_kernel blocking parallel no_copy".split()
_OWN += "prefetch_queue_depth bytes_per_sample_hint batch batch_info repeat_last device".split()


_DECLARED = ("layout", "dtype", "ndim", "cuda_stream", "use_copy_kernel")


class ExternalSource:
    """`external_source` as a class: see `headrace.fn.external_source` for the arguments, which may be given here
    or to the call, not to both.

    Raises:
        ValueError: arguments that exclude each other, or one given twice.
        TypeError: `source` is none.
        RuntimeError: ``num_outputs`` with a name.
    """

    def __init__(
        self,
        source: Any = None,
        num_outputs: int | None = None,
        *,
        cycle: bool | str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        _check_names(kwargs)
        if name is not None and num_outputs is not None:
            raise ValueError("`num_outputs` is not compatible with named `ExternalSource`")
        self._source = source
        self._cycle = cycle
        self._num_outputs = num_outputs
        self._name = name
        self._args = kwargs

    def __call__(
        self,
        *,
        source: Any = None,
        cycle: bool | str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> DataNode | list[DataNode]:
        _check_names(kwargs)
        if source is not None and self._source is not None:
            raise RuntimeError("``source`` already specified in constructor.")
        for key, value in kwargs.items():
            if value is not None and self._args.get(key) is not None:
                error = RuntimeError if key in _DECLARED else ValueError  # as DALI has it
                raise error(f"The argument ``{key}`` already specified in constructor.")
        given = {**self._args, **{k: v for k, v in kwargs.items() if v is not None}}
        return _make_node(
            self._source if source is None else source,
            self._num_outputs,
            self._cycle if cycle is None else cycle,
            name or self._name,
            given,
        )


def _check_names(kwargs: dict[str, Any]) -> None:
    for key in kwargs:
        if key not in _OWN and key != "preserve":
            raise KeyError(f'Argument "{key}" is not defined for operator "ExternalSource".')


def _check_outputs(count: Any) -> None:
    if not isinstance(count, (int, type(None))):
        raise TypeError(f"``num_outputs`` of ExternalSource must be an integer, not {count!r}.")
    if count is not None and not 1 <= count <= _MOST_OUTPUTS:
        raise RuntimeError(
            f"``num_outputs`` of ExternalSource is {count}; allowed are 1 .. {_MOST_OUTPUTS}."
        )


def _check_parallel(source: Any, args: dict[str, Any]) -> None:
    parallel = args.get("parallel")
    for key in ("prefetch_queue_depth", "bytes_per_sample_hint"):
        value = args.get(key)
        if value is None:
            continue
        if not parallel and key == "prefetch_queue_depth":
            raise ValueError(f"The argument `{key}` is valid only for parallel external sources.")
        if parallel and min(value if isinstance(value, (list, tuple)) else [value]) < 1:
            raise ValueError(f"``{key}`` must be a positive integer, got {value}.")
    if not parallel:
        return
    if source is None:
        raise ValueError("``parallel=True`` needs a `source`.")
    if args.get("no_copy") is False:
        raise ValueError(
            "The argument ``no_copy`` cannot be specified to False  when used with ``parallel=True``."
        )


def _make_parallel(
    feeder: Source, source: Any, facts: dict[str, Any], args: dict[str, Any]
) -> None:
    """Lets workers run the source.

    Raises:
        TypeError: a callable that takes no argument; an iterable of samples.
    """
    plain = callable(source) and not isinstance(feeder.callback, _Items)
    if plain and not feeder.takes_argument:
        raise TypeError(
            "Callable passed to External Source in parallel mode (when `parallel=True`) must accept exactly one "
            "argument: `SampleInfo` if run with `batch=False` or either `BatchInfo` or integer that represents "
            "the index of the batch within the epoch if `batch=True`. Got a callable that does not accept "
            "arguments instead."
        )
    if not plain and not feeder.batch:
        raise TypeError(
            "Parallel external source with an iterable must be run in a batch mode (specify `batch=True` in the "
            "external source definition and make sure your source returns batches)"
        )
    hint = args.get("bytes_per_sample_hint") or 0
    feeder.parallel = True
    feeder.depth = args.get("prefetch_queue_depth") or 1
    feeder.hint = sum(hint) if isinstance(hint, (list, tuple)) else int(hint)
    feeder.given = (source, facts)


def _make_node(
    source: Any, num_outputs: int | None, cycle: Any, name: str | None, args: dict[str, Any]
) -> DataNode | list[DataNode]:
    device = args.get("device") or "cpu"
    _graph.check_device(device, "ExternalSource")
    _check_parallel(source, args)
    if source is None and cycle is not None:
        raise ValueError(
            "The argument ``cycle`` can only be specified if ``source`` is a reusable iterable or a "
            "generator function."
        )
    if source is None and num_outputs is not None:
        raise ValueError(
            "The parameter ``num_outputs`` is only valid when using ``source`` to provide data."
        )
    _check_outputs(num_outputs)
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"The name of an operator must be a string, not {type(name).__name__}.")
    if name is not None and num_outputs is not None:
        raise RuntimeError("``num_outputs`` is not compatible with named `external_source`.")
    facts = {
        "cycle": cycle,
        "several": num_outputs is not None,
        "outputs": 1 if num_outputs is None else num_outputs,
        "batch": args.get("batch") is not False,
        "batch_info": bool(args.get("batch_info")),
        "layout": args.get("layout"),
        "dtype": args.get("dtype"),
        "ndim": args.get("ndim"),
        "no_copy": bool(args.get("no_copy") or args.get("parallel")),
        "repeat_last": bool(args.get("repeat_last")),
    }
    feeder = Source(source, **facts, device=device, cuda_stream=args.get("cuda_stream"))
    if args.get("parallel"):
        _make_parallel(feeder, source, facts, args)
    constants: dict[str, Any] = {}
    if num_outputs is not None:
        constants["num_outputs"] = num_outputs
    for key in ("layout", "dtype", "ndim"):
        if args.get(key) is not None and not isinstance(args[key], (list, tuple)):
            constants[key] = args[key]
    instance = _graph.Instance(
        "external_source",
        [],
        constants,
        {},
        name,
        bool(args.get("preserve")),
        "ExternalSource",
        device,
    )
    instance.source = feeder
    feeder.label = f"external_source '{instance.name}' ({instance.origin})"
    nodes = instance.nodes()
    return nodes if num_outputs is not None else nodes[0]


def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: bool | str | None = None,
    name: str | None = None,
    device: str = "cpu",
    layout: Any = None,
    dtype: Any = None,
    ndim: Any = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool | None = None,
    blocking: bool | None = None,
    batch: bool = True,
    repeat_last: bool = False,
    parallel: bool | None = None,
    no_copy: bool | None = None,
    prefetch_queue_depth: int | None = None,
    bytes_per_sample_hint: Any = None,
    batch_info: bool | None = None,
    preserve: bool = False,
) -> DataNode | list[DataNode]:
    """Data from Python.

    Args:
        source: where batches come from, asked in the thread that runs the pipeline:

            * a callable without argument, or with one: the number of the batch in the epoch (`BatchInfo` with
              `batch_info`), or with ``batch=False`` a `SampleInfo`;
            * an iterable or iterator, or a generator function;
            * None: `Pipeline.feed_input` gives them.

            StopIteration ends the epoch; other exceptions pass through `run` unchanged.
        num_outputs: the source gives tuples of so many batches (samples); the result is a list, also for 1.
        cycle: for iterables: None, False, "no": end once; True, "quiet": start over; "raise": end the epoch,
            then start over.
        name: of the node, for `feed_input`.
        device: "cpu", or "gpu": the batches are on the GPU, or are copied there.
        layout: of a sample, one letter a dimension; with `num_outputs` also a list.
        dtype: element type that the data must have; with `num_outputs` also a list.
        ndim: number of dimensions that samples must have; with `num_outputs` also a list.
        batch: the source gives batches: an array with the batch in dimension 0, a list of arrays, or a
            `TensorListCPU`. False: single samples. Fewer samples make the batch of the whole pipeline smaller.
        repeat_last: without source: the last batch again when no other was fed.
        parallel: the pipeline's ``py_num_workers`` processes run the source, which takes an argument, or is an
            iterable (one process runs it then); batches come through shared memory, in order.
        cuda_stream: which arrays in GPU memory are used on; None: PyTorch's or CuPy's current one.
        no_copy: hold on to the user's memory instead of copying it.
        batch_info: the callable takes a `BatchInfo`.
        use_copy_kernel, blocking: no effect.
        prefetch_queue_depth: of parallel sources: how many batches are asked for ahead of the pipeline; 1 by
            default.
        bytes_per_sample_hint: of parallel sources: size of a sample, where shared memory begins.
        preserve: keep the node though nothing uses it.

    Returns:
        A node, or a list of nodes with `num_outputs`.

    Raises:
        ValueError: arguments that exclude each other.
        TypeError: `source` is none.
        RuntimeError: ``num_outputs`` with a name.
    """
    args = {
        "device": device,
        "layout": layout,
        "dtype": dtype,
        "ndim": ndim,
        "cuda_stream": cuda_stream,
        "batch": batch,
        "repeat_last": repeat_last,
        "parallel": parallel,
        "no_copy": no_copy,
        "prefetch_queue_depth": prefetch_queue_depth,
        "batch_info": batch_info,
        "bytes_per_sample_hint": bytes_per_sample_hint,
        "preserve": preserve,
    }
    return _make_node(source, num_outputs, cycle, name, args)
