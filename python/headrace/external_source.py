# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`external_source`: data from Python code that runs in the pipeline's thread or in worker processes."""

from __future__ import annotations

from typing import Any, cast

from headrace import _graph
from headrace._base import messages, types
from headrace._external.feeding import Source
from headrace.data_node import DataNode

__all__ = ["ExternalSource", "external_source"]

_MOST_OUTPUTS = 64  # the limit of every operator
_OWN = "layout dtype ndim cuda_stream use_copy_kernel blocking parallel no_copy".split()
_OWN += "prefetch_queue_depth bytes_per_sample_hint batch batch_info repeat_last device".split()
_OF_WORKERS = ("parallel", "prefetch_queue_depth", "bytes_per_sample_hint")
_DECLARED = ("layout", "dtype", "ndim", "cuda_stream", "use_copy_kernel")


class ExternalSource:
    """`external_source` as a class. See `headrace.fn.external_source` for the arguments; each may be given to the
    constructor or to the call, but not to both. Without a source, ``num_outputs`` makes as many nodes, each fed
    separately.

    Raises:
        ValueError: arguments that exclude each other, an unknown argument, or one given twice.
        TypeError: `source` is not a source.
        RuntimeError: ``num_outputs`` with a name; ``source`` given twice.
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
        source = self._source if source is None else source
        cycle = self._cycle if cycle is None else cycle
        name = name or self._name
        if source is None and name is None and isinstance(self._num_outputs, int):
            _check_outputs(self._num_outputs)
            nodes = [_make_node(None, None, cycle, None, given) for _ in range(self._num_outputs)]
            return cast("list[DataNode]", nodes)
        return _make_node(source, self._num_outputs, cycle, name, given)


def _check_names(kwargs: dict[str, Any]) -> None:
    """Refuses unknown arguments; debug mode ignores them with a warning."""
    for key in kwargs:
        if key in _OWN or key in ("preserve", "seed"):  # a seed has no effect
            continue
        if _graph.in_debug_mode():
            messages.warn(
                f'The argument "{key}" of external_source is unknown. It is ignored only in debug mode.'
            )
        else:
            hint = messages.suggestion(key, [*_OWN, "preserve"])
            raise ValueError(
                f'Got an unexpected argument "{key}" for operator "ExternalSource".{hint}'
            )


def _data_types(dtype: Any) -> Any:
    try:
        return types.data_types(dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f'Argument "dtype" of operator "ExternalSource": {error}') from None


def _check_outputs(count: Any) -> None:
    if not isinstance(count, (int, type(None))):
        raise TypeError(f"``num_outputs`` of ExternalSource must be an integer, not {count!r}.")
    if count is not None and not 1 <= count <= _MOST_OUTPUTS:
        raise RuntimeError(
            f"``num_outputs`` of ExternalSource must be between 1 and {_MOST_OUTPUTS}, got {count}."
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
    """Prepares the source to run in worker processes.

    Raises:
        TypeError: the source is a callable without argument, or an iterable of single samples.
    """
    plain = feeder.plain
    if plain and not feeder.takes_argument:
        raise TypeError(
            "Callable passed to External Source in parallel mode (when `parallel=True`) must accept exactly one "
            "argument: `SampleInfo` if run with `batch=False` or either `BatchInfo` or integer that represents "
            "the index of the batch within the epoch if `batch=True`. Got a callable that does not accept "
            "arguments instead."
        )
    if not plain and not feeder.batch:
        function = callable(source) and not plain
        kind = "a generator function" if function else "an iterable"
        raise TypeError(
            f"Parallel external source with {kind} must be run in a batch mode (specify `batch=True` in the "
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
    if _graph.in_debug_mode():  # all sources run in this process
        args = {key: value for key, value in args.items() if key not in _OF_WORKERS}
    _check_parallel(source, args)
    if source is None and cycle not in (None, False):
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
    args = {**args, "dtype": _data_types(args.get("dtype"))}
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
    feeder.label = instance.text()
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
    **unknown: Any,
) -> DataNode | list[DataNode]:
    """Data from Python code.

    Args:
        source: supplies the data. It is called in the thread that runs the pipeline, unless `parallel` is set:

            * a callable without argument;
            * a callable with one argument: the number of the batch in the epoch (a `BatchInfo` with `batch_info`),
              or with ``batch=False`` a `SampleInfo`;
            * an iterable, an iterator or a generator function;
            * None: the data are passed to `Pipeline.feed_input`.

            StopIteration ends the epoch; other exceptions are raised unchanged by `Pipeline.run`.
        num_outputs: the source returns tuples of this many batches (or samples). The result is then a list of
            nodes, also for 1. Between 1 and 64.
        cycle: what happens at the end of an iterable. None, False or "no": every later epoch is empty; True or
            "quiet": start over; "raise": end the epoch, then start over.
        name: name of the node, for `feed_input`.
        device: "cpu", or "gpu". With "gpu", data in CPU memory are copied to the GPU.
        layout: layout of the samples, one letter per dimension; with `num_outputs` it may be a list.
        dtype: element type that the data must have; with `num_outputs` it may be a list.
        ndim: number of dimensions that each sample must have; with `num_outputs` it may be a list.
        batch: True: the source returns batches, each an array with the batch in dimension 0, a list of arrays, or
            a `TensorListCPU`. Fewer samples than the batch size make the batch of the whole pipeline smaller.
            False: it returns single samples.
        repeat_last: without source: use the last batch again if no new one was fed.
        parallel: run the source in the pipeline's ``py_num_workers`` worker processes, which pass batches in order
            through shared memory. The source must take an argument, or be an iterable, which runs in one process.
        cuda_stream: stream on which data in GPU memory were written. None: the current stream of PyTorch or CuPy.
        no_copy: use the caller's memory directly. The caller must not change it while the pipeline uses it.
        batch_info: pass a `BatchInfo` to the callable instead of a number.
        use_copy_kernel, blocking: no effect.
        prefetch_queue_depth: parallel sources: number of batches requested ahead of the pipeline, 1 by default.
        bytes_per_sample_hint: parallel sources: expected bytes per sample. Initially, the memory for a worker's
            share of a batch has this size per sample, but at least 1 MiB.
        preserve: keep the node even if nothing uses it.

    Returns:
        A node, or a list of nodes with `num_outputs`.

    Raises:
        ValueError: arguments that exclude each other, or, without debug mode, an unknown one.
        TypeError: `source` is not a source, or takes more than one argument.
        RuntimeError: ``num_outputs`` with a name, or out of range.
    """
    _check_names(unknown)
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
