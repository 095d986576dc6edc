# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline`."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace import _checkpoint, _core, _graph, _pipeline_args, _serialize, types
from headrace import tensors as _tensors  # noqa: F401 - tells _core which classes to make
from headrace._pipeline_args import OperatorConcurrency, StreamPolicy
from headrace._pipeline_facts import PipelineFacts
from headrace._pipeline_outputs import output_node, used_outputs, warn_unused
from headrace.data_node import DataNode
from headrace.types import PipelineAPIType

_FORKED = "This pipeline was built before the process forked: it cannot be used in the child. Build one there."


class Outputs(tuple):  # type: ignore[type-arg]
    """The batches of one iteration.

    Attributes:
        positions: how many positions of the reader the iteration took; with ``on_error="skip"`` more than
            samples.
        slots: at which position of its batch each sample stands; None where that is its index.
    """

    positions: int
    slots: tuple[int, ...] | None
    iteration: int


class Pipeline(PipelineFacts):
    """A graph of operators that runs ahead of whoever takes its batches.

    Args:
        batch_size: most samples in a batch.
        num_threads: workers; None: as many as this process may use CPUs.
        device_id: GPU of operators with device "gpu" or "mixed"; None: PyTorch's current one, or the first.
        seed: of all random numbers; None draws one at random (or takes the checkpoint's).
        exec_pipelined, exec_async: False keeps one iteration in flight only.
        prefetch_queue_depth: iterations in flight; or ``{"cpu_size": a, "gpu_size": b}``.
        bytes_per_sample, max_streams, default_cuda_stream_priority, enable_memory_stats, stream_policy,
            concurrency, exec_dynamic, py_num_workers, py_start_method, py_callback_pickler: accepted and
            checked; they change nothing here.
        set_affinity: pin the workers: HEADRACE_AFFINITY_MASK or DALI_AFFINITY_MASK says to which CPUs.
        enable_checkpointing: `checkpoint()` is going to be called.
        checkpoint: what `checkpoint()` gave: the pipeline goes on there.
        output_dtype, output_ndim, output_layout: what outputs must be, one for all or a list with None as
            wildcard.
        on_error: "raise"; "replace" a bad sample by another one; "skip" it, so that batches become shorter.
        fuse: False runs every operator by itself: the same bytes, slower.
        strict: damage that a decoder survives is an error.
        device_memory_limit: bytes that outputs, scratch and staging may take of the GPU's memory; 0: no limit.
        host_memory_limit: bytes that outputs and read-ahead may hold; 0: three quarters of memory.
        read_ahead_limit: bytes of files to read before they are needed; 0: 64 MiB.
        max_image_pixels: larger pictures are errors; 0: 2 ** 28.
        index_memory_limit: bytes for indices of JPEG files; 0: none; None: 4 GB or 2 % of memory, the lesser.
        index_cache: folder to keep them in, also for other processes.
        quarantine: file to which bad files are added, one a line.
        trace: file for a Chrome trace; None: HEADRACE_TRACE says.

    Raises:
        ValueError, TypeError: an argument that is not allowed.
    """

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | dict[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: bytes | str | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
        on_error: str = "raise",
        fuse: bool = True,
        strict: bool = False,
        host_memory_limit: int = 0,
        device_memory_limit: int = 0,
        read_ahead_limit: int = 0,
        max_image_pixels: int = 0,
        index_memory_limit: int | None = None,
        index_cache: str | os.PathLike[str] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        integers = _pipeline_args.check_types(locals())
        batch_size, num_threads = integers["batch_size"], integers["num_threads"]
        device_id, seed = integers["device_id"], integers["seed"]
        if experimental_exec_dynamic is not None:
            _graph.deprecated("`experimental_exec_dynamic` is deprecated, use `exec_dynamic`.")
            exec_dynamic = experimental_exec_dynamic
        if default_cuda_stream_priority is not None:
            _graph.warn("The `default_cuda_stream_priority` is deprecated and has no effect.")
        if max_streams is not None:
            _graph.warn("The `max_streams` is deprecated and has no effect.")
        if seed is not None and seed < 0:
            _graph.warn("A negative seed is deprecated: it is taken as None.")
            seed = None
        if on_error not in ("raise", "replace", "skip"):
            raise ValueError(f'on_error must be "raise", "replace" or "skip", not {on_error!r}.')
        if py_start_method not in ("fork", "spawn"):
            raise ValueError(f'py_start_method must be "fork" or "spawn", not {py_start_method!r}.')
        if py_callback_pickler is not None and py_start_method == "fork":
            raise ValueError(
                "``py_callback_pickler`` should not be set when 'fork' start method is used."
            )
        _pipeline_args.check_declared(output_dtype, output_ndim, output_layout)
        self._exec_separated, self._cpu_queue_size, self._gpu_queue_size = (
            _pipeline_args.queue_depths(prefetch_queue_depth, exec_async)
        )
        if exec_dynamic is None and exec_pipelined and exec_async and not self._exec_separated:
            exec_dynamic = True
        self._max_batch_size = batch_size
        self._num_threads = num_threads
        self._device_id = device_id
        self._seed = seed
        self._exec_pipelined = exec_pipelined
        self._exec_async = exec_async
        self._exec_dynamic = exec_dynamic
        self._prefetch_queue_depth = prefetch_queue_depth
        self._bytes_per_sample = bytes_per_sample
        self._set_affinity = set_affinity
        self._enable_memory_stats = enable_memory_stats
        self._enable_checkpointing = enable_checkpointing
        self._py_num_workers = py_num_workers
        self._py_start_method = py_start_method
        self._py_callback_pickler = py_callback_pickler
        self._output_dtype = output_dtype
        self._output_ndim = output_ndim
        self._output_layout = output_layout
        self._stream_policy = stream_policy
        self._concurrency = concurrency
        self._options = {
            "on_error": on_error,
            "fuse": fuse,
            "strict": strict,
            "host_memory_limit": integers["host_memory_limit"],
            "device_memory_limit": integers["device_memory_limit"],
            "read_ahead_limit": integers["read_ahead_limit"],
            "max_image_pixels": integers["max_image_pixels"],
            "index_memory_limit": integers["index_memory_limit"],
            "index_cache": index_cache,
            "quarantine": quarantine,
            "trace": trace,
        }
        # the graph
        self._graph = _graph.Graph()
        self._graph_out: tuple[Any, ...] = ()
        self._nodes: list[DataNode] | None = None  # outputs, once the graph is complete
        self._sinks: list[DataNode] = []
        self._output_count = 0
        # running
        self._lock = threading.RLock()  # guards building and what follows; run() holds it
        self._core: Any = None
        self._pid = 0
        self._sources: list[Any] = []
        self._inputs: dict[str, Any] = {}  # sources by name
        self._readers: dict[str, int] = {}
        self._checks: list[tuple[Any, Any, Any]] | None = None
        self._api_type: PipelineAPIType | None = None
        self._skip_api_check = False
        self._first_iter = True
        self._last_iter = False
        self._epoch_idx = 0
        self._consumer_iter = 0
        self._consumer_epoch_idx = 0
        self._batches_to_consume = 0
        self._taken = 0
        self._shared: list[Outputs] = []
        self._take_checkpoint(checkpoint)

    # ---- the current pipeline --------------------------------------------------------------------

    @staticmethod
    def current() -> Any:
        """The pipeline that is being defined in this thread, or None."""
        return _graph.current_pipeline()

    @staticmethod
    def push_current(pipeline: Pipeline) -> Any:
        """Makes `pipeline` the one that operators are added to; returns the one before."""
        return _graph.push_pipeline(pipeline)

    @staticmethod
    def pop_current() -> None:
        """Undoes the last `push_current`."""
        _graph.pop_pipeline()

    def __enter__(self) -> Pipeline:
        Pipeline.push_current(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        Pipeline.pop_current()

    # ---- building --------------------------------------------------------------------------------

    def define_graph(self) -> Any:
        """What a subclass overrides: returns the outputs.

        Raises:
            NotImplementedError: it did not, and there are no outputs.
        """
        raise NotImplementedError(
            "The pipeline has no outputs: override define_graph(), call set_outputs(), or use "
            "@pipeline_def."
        )

    def iter_setup(self) -> None:
        """What a subclass overrides to call `feed_input` before each iteration; StopIteration ends the epoch."""

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """The outputs of the pipeline; what is no node becomes a constant."""
        self._graph_out = output_data_nodes

    def add_sink(self, edge: DataNode) -> None:
        """Keeps what makes this node, though no output needs it."""
        self._sinks.append(edge)

    def _complete_graph(self, define_graph: Callable[[], Any] | None = None) -> None:
        if self._nodes is not None:
            return
        if define_graph is not None and self._graph_out:
            raise RuntimeError(
                "Duplicate graph definition - `define_graph` argument should not be specified when graph "
                "was defined with a call to `set_outputs`."
            )
        with self:
            outputs: Any = self._graph_out or (define_graph or self.define_graph)()
            if not isinstance(outputs, (tuple, list)):
                outputs = (outputs,)
            nodes = [output_node(value, i) for i, value in enumerate(outputs)]
            edges = [self._graph.edge(node) for node in nodes + self._sinks]
        self._graph.core.set_outputs(edges)
        self._nodes = nodes
        self._output_count = len(nodes)
        self._find_sources()

    def _find_sources(self) -> None:
        """External sources and readers among the nodes that something uses."""
        from headrace import _schema

        used = used_outputs(self._graph, [*(self._nodes or []), *self._sinks])
        for instance, number in self._graph.numbers.items():
            if instance not in used:
                continue
            if instance.source is not None:
                warn_unused(instance, used[instance])
                instance.source.node = number
                self._sources.append(instance.source)
                self._inputs[instance.name] = instance.source
            elif _schema.operators()[instance.op].is_reader:
                self._readers[instance.name] = number

    def build(self) -> None:
        """Compiles the graph and starts the workers. Whatever needs a built pipeline does this by itself.

        Raises:
            NotImplementedError: no outputs.
            ValueError: no batch size, or ``num_threads`` below 1.
            RuntimeError: what the graph does not allow.
        """
        if self._core is not None:  # reports come through here while another thread waits in run()
            return
        with self._lock:
            if self._core is None:
                self._build()

    def _build(self) -> None:
        if self._num_threads is None:
            self._num_threads = len(os.sched_getaffinity(0))
        if self._num_threads < 1:
            raise ValueError(
                "Pipeline created with `num_threads` < 1 can only be used for serialization."
            )
        if self._max_batch_size is None:
            raise ValueError("The pipeline has no batch_size.")
        self._complete_graph()
        self._declare_checks()
        device = self._find_device()
        for source in self._sources:
            source.device_id = max(device, 0) if source.device == "gpu" else -1
        core = _core.Pipeline(
            self._graph.core,
            self._max_batch_size,
            self._num_threads,
            prefetch_queue_depth=self._depth(),
            seed=-1 if self._seed is None else self._seed,
            set_affinity=bool(self._set_affinity),
            device_id=device,
            checkpoint=self._engine_state,
            **{name: value for name, value in self._options.items() if value is not None},
        )
        self._check_sources_resume()
        self._pid = os.getpid()
        self._core = core
        _live.add(self)

    def _find_device(self) -> int:
        """The GPU for the engine, -1 for none; from now on `device_id` says so, too."""
        if self.device_id is None and any(i.device != "cpu" for i in self._graph.numbers):
            torch = sys.modules.get("torch")
            running = torch is not None and torch.cuda.is_initialized()
            self._device_id = torch.cuda.current_device() if torch and running else 0
        return -1 if self.device_id is None else max(self.device_id, -1)

    def _require_exec_dynamic(self, message: str) -> None:
        if self._exec_dynamic:
            return
        if self._exec_separated:
            reason = "is not compatible with separated CPU/GPU queues"
        elif not self._exec_async or not self._exec_pipelined:
            reason = "requires `exec_async` and `exec_pipelined` to be enabled"
        else:
            reason = "was explicitly disabled in this pipeline"
        raise RuntimeError(f"{message}the dynamic executor, which {reason}.")

    def _depth(self) -> int:
        return max(self._cpu_queue_size, self._gpu_queue_size) if self._exec_pipelined else 1

    def _declare_checks(self) -> None:
        count = self._output_count
        columns = [
            _pipeline_args.each_output("output_dtype", self._output_dtype, count),
            _pipeline_args.each_output("output_ndim", self._output_ndim, count),
            _pipeline_args.each_output("output_layout", self._output_layout, count),
        ]
        if any(value is not None for column in columns for value in column):
            self._checks = list(zip(*columns, strict=True))

    def start_py_workers(self) -> None:
        """Nothing to do: sources are called in the thread that runs the pipeline."""
        self._complete_graph()

    # ---- running ---------------------------------------------------------------------------------

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> Any:
        """The next batch of every output.

        Args:
            pipeline_inputs: batches for external sources by name; only with ``prefetch_queue_depth=1`` or
                ``exec_pipelined=False``.

        Returns:
            A tuple of `TensorListCPU` and `TensorListGPU`.

        Raises:
            StopIteration: the data are at their end; `reset` starts the next epoch.
            IndexError: an external source was not fed.
            RuntimeError: a sample could not be processed (the next call goes on with the next batch), or held
                outputs exceed the memory limit.
        """
        if self._core is None:
            self.build()
        if self._pid != os.getpid():
            raise RuntimeError(_FORKED)
        with self._lock:
            if pipeline_inputs:
                self._feed_inputs(pipeline_inputs)
            if self._api_type is not PipelineAPIType.BASIC:
                self._check_api_type(PipelineAPIType.BASIC)
            self._schedule()
            return self._take()

    def _engine_only(self) -> bool:
        """Whether `run` does nothing but ask the engine, so that an iterator may ask it itself."""
        return (
            self._api_type is PipelineAPIType.BASIC
            and self._checks is None
            and not self._sources
            and getattr(self.run, "__func__", None) is Pipeline.run
            and getattr(self.iter_setup, "__func__", None) is Pipeline.iter_setup
        )

    def _feed_inputs(self, inputs: dict[str, Any]) -> None:
        if self._depth() > 1:
            raise RuntimeError(
                "Named inputs of run() need `prefetch_queue_depth=1` or `exec_pipelined=False`. Received: "
                f"prefetch_queue_depth={self.prefetch_queue_depth}, "
                f"exec_pipelined={self.exec_pipelined}. Otherwise use `feed_input` or `source`."
            )
        for name, data in inputs.items():
            self.feed_input(name, data)

    def _schedule(self) -> None:
        """Prepares what has to be prepared in Python: several iterations at first, then one a time."""
        count = self._depth() if self._first_iter else 1
        self._first_iter = False
        for _ in range(count):
            if self._last_iter:
                return
            try:
                if self._sources:
                    self._ask_sources()
                self.iter_setup()
            except StopIteration:
                self._last_iter = True
                return
            self._batches_to_consume += 1

    def _ask_sources(self) -> None:
        """The next batch of every source: they move on together or not at all.

        What a source gave before another one raised waits for the next call. StopIteration ends the epoch for
        all of them, but each is asked first, so that those that begin again do so together.
        """
        asked = [source for source in self._sources if source.callback is not None]
        ended = False
        for source in asked:
            try:
                source.ask(self._max_batch_size, self._epoch_idx)
            except StopIteration:
                ended = True
        answers = [source.take_answer() for source in asked]
        if ended:
            raise StopIteration
        batches = [
            source.prepare(source.columns(answer), self._max_batch_size)
            for source, answer in zip(asked, answers, strict=True)
        ]
        for source, batch in zip(asked, batches, strict=True):
            source.queue.append(batch)
        self._flush()

    def _flush(self) -> None:
        """Gives the engine what waits, as far as it has room."""
        for source in self._sources:
            while source.queue and self._core.feed_room(source.node) > 0:
                source.last = source.queue[0]
                self._core.feed(source.node, source.last)
                source.queue.popleft()
                source.fed += 1
            if source.repeat_last and source.last is not None and source.fed <= self._taken:
                self._core.feed(source.node, source.last)
                source.fed += 1

    def _take(self) -> Outputs:
        if self._batches_to_consume == 0:
            raise StopIteration
        self._batches_to_consume -= 1
        self._consumer_iter += 1
        if self._sources:
            self._flush()
        try:
            batches, iteration, positions, slots = self._core.run()
        except IndexError:
            self._consumer_iter -= 1  # nothing was taken: a source was not fed
            raise
        except StopIteration:
            self._last_iter = True
            raise
        except Exception:
            self._taken += 1  # a failed iteration is a taken one
            raise
        except BaseException:  # Ctrl-C: the iteration is still to come
            self._batches_to_consume += 1
            self._consumer_iter -= 1
            raise
        self._taken += 1
        if self._sinks:
            batches = batches[: self._output_count]
        outputs = Outputs(batches)
        outputs.iteration = iteration
        outputs.positions = positions
        outputs.slots = slots
        if self._checks is not None:
            self._check_outputs(outputs)
        return outputs

    def _check_outputs(self, outputs: Outputs) -> None:
        for i, (batch, (dtype, ndim, layout)) in enumerate(
            zip(outputs, self._checks or [], strict=True)
        ):
            if dtype is not None and batch._dtype != int(dtype):
                raise RuntimeError(
                    f"Data type on the output number {i} ({batch.dtype}) doesn't match output_dtype "
                    f"({types.DALIDataType(dtype)})."
                )
            if ndim is not None and batch.ndim() != ndim:
                raise RuntimeError(
                    f"Number of dimensions on the output number {i} ({batch.ndim()}) doesn't match "
                    f"output_ndim ({ndim})."
                )
            if layout is not None and batch.layout() != layout:
                raise RuntimeError(
                    f'Layout on the output number {i} ("{batch.layout()}") doesn\'t match output_layout '
                    f'("{layout}").'
                )

    def schedule_run(self) -> None:
        """Starts an iteration (the first time: as many as the queue holds) without taking its outputs."""
        self._scheduled()
        with self._lock:
            self._schedule()

    def share_outputs(self, cuda_stream: Any = None) -> Any:
        """The next batch of every output, of what `schedule_run` started.

        Raises:
            StopIteration: nothing is left.
        """
        self._scheduled()
        with self._lock:
            outputs = self._take()
        self._shared.append(outputs)
        return outputs

    def release_outputs(self) -> None:
        """Forgets what `share_outputs` gave; whoever holds a batch keeps it."""
        self._check_api_type(PipelineAPIType.SCHEDULED)
        if self._shared:
            self._shared.pop(0)

    def outputs(self, cuda_stream: Any = None) -> Any:
        """`release_outputs` and `share_outputs` in one."""
        self._scheduled()
        self._shared.clear()
        with self._lock:
            return self._take()

    def _scheduled(self) -> None:
        self.build()
        if self._pid != os.getpid():
            raise RuntimeError(_FORKED)
        self._check_api_type(PipelineAPIType.SCHEDULED)

    def _check_api_type(self, api_type: PipelineAPIType) -> None:
        if self._skip_api_check:
            return
        if self._api_type is None:
            self._api_type = api_type
        elif self._api_type is not api_type:
            raise RuntimeError(
                f"Mixing pipeline API type. Currently used: {self._api_type}, but trying to use {api_type}"
            )

    def enable_api_check(self, enable: bool) -> None:
        """False allows to mix `run` and `schedule_run`."""
        self._skip_api_check = not enable

    def reset(self) -> None:
        """Starts the next epoch after StopIteration; ignored before."""
        if not self._last_iter:
            return
        self._first_iter = True
        self._last_iter = False
        self._epoch_idx += 1
        if self._consumer_iter > 0:
            self._consumer_epoch_idx += 1
            self._consumer_iter = 0
        for source in self._sources:
            source.rewind()

    def empty(self) -> bool:
        """Whether no iteration waits to be taken."""
        return self._batches_to_consume == 0

    def output_stream(self) -> None:
        """The CUDA stream of the outputs: none."""
        self.build()

    # ---- external sources ------------------------------------------------------------------------

    def input_feed_count(self, input_name: str) -> int:
        """How many batches the first `run` needs of a source."""
        self.build()
        self._input(input_name)
        return self._depth()

    def _input(self, name: str) -> Any:
        source = self._inputs.get(name)
        if source is None:
            raise KeyError(f'Could not find an input operator with name "{name}"')
        return source

    def feed_input(
        self,
        data_node: str | DataNode,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Gives an external source without `source` its next batch.

        Args:
            data_node: the node, or its name.
            data: array with the batch in dimension 0, list of arrays, or `TensorListCPU`; for a source with
                device "gpu" also arrays in GPU memory and `TensorListGPU`.
            layout: of a sample; None: the node's, or the data's.
            cuda_stream: which arrays in GPU memory are used on; None: PyTorch's or CuPy's current one.
            use_copy_kernel: of no effect.

        Raises:
            KeyError: no such source.
            RuntimeError: it has a `source`; data that are no batch or not what was declared.
        """
        self.build()
        if isinstance(data_node, str):
            source = self._input(data_node)
        elif isinstance(data_node, DataNode):
            made = data_node.source
            while made.op in ("_to_gpu", "_to_cpu"):  # node.gpu() stands for the node
                made = made.inputs[0].source
            source = self._input(made.name)
        else:
            raise TypeError(f"Expected a node or its name, not {type(data_node).__name__}.")
        if source.callback is not None:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{data_node}' with a `source` argument "
                "specified."
            )
        if layout is not None:
            data = _with_layout(source, data, layout, cuda_stream)
        batches = source.prepare([data], self._max_batch_size, cuda_stream)
        with self._lock:
            source.queue.append(batches)
            self._flush()

    def close(self) -> None:
        """Stops the workers now; later calls raise RuntimeError. Dropping the pipeline does it too."""
        if self._core is not None:
            self._core.close()
            _live.discard(self)

    # ---- checkpoints -----------------------------------------------------------------------------

    def checkpoint(self, filename: str | os.PathLike[str] | None = None) -> bytes:
        """The state after the last batch taken: the `checkpoint` argument of an equal pipeline goes on there.

        Args:
            filename: also write it to this file.

        Raises:
            ValueError: the pipeline was made without `enable_checkpointing`.
        """
        if not self._enable_checkpointing:
            raise ValueError(
                "Cannot save the checkpoint: the pipeline was made without `enable_checkpointing=True`."
            )
        self.build()
        state = _checkpoint.wrap(
            self._core.checkpoint(),
            {"epoch_idx": self._consumer_epoch_idx, "iter": self._consumer_iter},
        )
        if filename is not None:
            Path(filename).write_bytes(state)
        return state

    def _take_checkpoint(self, checkpoint: bytes | str | None) -> None:
        self._engine_state: bytes | None = None
        self._restored_extra: dict[str, Any] | None = None  # of the iterator in front
        self._restored = checkpoint is not None
        if checkpoint is None:
            return
        state, extra = _checkpoint.unwrap(checkpoint)
        if extra is not None and "epochs" in extra:
            self._restored_extra = extra
            state, extra = _checkpoint.unwrap(state)
        if extra is None or not {"epoch_idx", "iter"} <= extra.keys():
            raise ValueError("The checkpoint is not one of Pipeline.checkpoint().")
        self._engine_state = state
        self._epoch_idx = self._consumer_epoch_idx = int(extra["epoch_idx"])
        self._consumer_iter = int(extra["iter"])

    def _check_sources_resume(self) -> None:
        for source in self._sources:
            if source.callback is None:
                continue
            if self._restored:
                source.iteration = self._consumer_iter
                source.sample = self._consumer_iter * (self._max_batch_size or 0)
            if self._enable_checkpointing and not source.resumable:
                _graph.warn(
                    f"Checkpointing with {source.label}: only a callable with one argument can be "
                    "resumed. Its state is not saved, and a resumed pipeline starts it from the beginning."
                )

    # ---- serialization ---------------------------------------------------------------------------

    def serialize(self, define_graph: Any = None, filename: Any = None) -> bytes:
        """The definition of the pipeline (not its state) as bytes; sources in Python become inputs to feed.

        Args:
            define_graph: used in place of the method; deprecated.
            filename: also write it to this file.
        """
        if define_graph is not None and not callable(define_graph):
            raise TypeError("Provided `define_graph` argument is not callable.")
        self._complete_graph(define_graph)
        text = _serialize.to_bytes(self)
        if filename is not None:
            Path(filename).write_bytes(text)
        return text

    @classmethod
    def deserialize(
        cls, serialized_pipeline: bytes | str | None = None, filename: Any = None, **kwargs: Any
    ) -> Pipeline:
        """A built pipeline from what `serialize` gave; arguments of the constructor replace those stored.

        Raises:
            ValueError: both or neither of the two sources.
            RuntimeError: not a serialized pipeline.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise ValueError(
                "serialized_pipeline and filename arguments are mutually exclusive. Precisely one of them "
                "should be defined."
            )
        if filename is not None:
            serialized_pipeline = Path(filename).read_bytes()
        pipeline = _serialize.from_bytes(cls, serialized_pipeline, kwargs)
        pipeline.build()
        return pipeline

    deserialize_and_build = deserialize

    def save_graph_to_dot_file(
        self,
        filename: str | os.PathLike[str],
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Writes the graph for Graphviz."""
        self.build()
        text = _serialize.to_dot(self, show_tensors, use_colors)
        Path(filename).write_text(text, encoding="utf-8")


# ---- helpers ----

_live: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Joins the workers while the interpreter is whole."""
    for pipeline in list(_live):
        pipeline.close()


def _with_layout(source: Any, data: Any, layout: str, stream: Any) -> Any:
    from headrace.external_source import make_batch

    copy = not source.no_copy
    return make_batch(data, layout, copy, source.label, source.device_id, stream)
