# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline`: its arguments, and the building of its graph."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from headrace import _core, _graph
from headrace import tensors as _tensors  # noqa: F401 - tells _core which classes to make
from headrace._graph import schema
from headrace._pipeline.config import (
    OperatorConcurrency,
    PipelineConfig,
    StreamPolicy,
    each_output,
)
from headrace._pipeline.facts import PipelineFacts
from headrace._pipeline.memory import OutputMemory
from headrace._pipeline.outputs import check_names, output_node, used_outputs, warn_unused
from headrace._pipeline.run import Outputs, PipelineRun
from headrace._pipeline.state import PipelineState
from headrace.data_node import DataNode
from headrace.types import PipelineAPIType


class Pipeline(PipelineRun, PipelineState, PipelineFacts):
    """A graph of operators that prepares batches ahead of the code that takes them.

    Args:
        batch_size: maximum number of samples in a batch, at most 1,048,576.
        num_threads: number of worker threads; None: one per CPU available to this process.
        device_id: GPU of operators with device "gpu" or "mixed"; None: PyTorch's current device,
            or the first one.
        seed: seed of all random numbers; None: a random one (or that of the checkpoint).
        exec_pipelined, exec_async: False keeps only one iteration in flight.
        prefetch_queue_depth: iterations in flight; or ``{"cpu_size": a, "gpu_size": b}``.
        bytes_per_sample, max_streams, default_cuda_stream_priority, stream_policy, concurrency,
            exec_dynamic: accepted and checked, without effect on the execution.
        py_num_workers: number of processes that run external sources with ``parallel=True``.
        py_start_method: how these processes start: "fork" (before anything uses CUDA) or "spawn".
        py_callback_pickler: with "spawn": pickles the callbacks. A module with ``dumps`` and
            ``loads``, or a tuple of such a module and dictionaries with the keyword arguments of
            the two. None: a pickler that supports lambdas and local functions.
        enable_memory_stats: collect the numbers for `executor_statistics`.
        set_affinity: pin the worker threads to the CPUs in HEADRACE_AFFINITY_MASK or
            DALI_AFFINITY_MASK.
        enable_checkpointing: allow calls of `checkpoint`.
        checkpoint: result of `checkpoint` to resume from.
        output_dtype, output_ndim, output_layout: element type, number of dimensions and layout
            that the outputs must have: one value for all, or a list with None as wildcard.
        on_error: "raise"; "replace" a bad sample with another one; or "skip" it, which makes the
            batch shorter.
        fuse: False runs every operator separately, which gives the same bytes but is slower.
        strict: treat damage that a decoder can recover from as an error.
        device_memory_limit: maximum GPU memory in bytes for outputs, scratch and staging buffers;
            0: no limit.
        host_memory_limit: maximum host memory in bytes for outputs, read-ahead, and scratch
            buffers beyond 64 MiB per thread; 0: three quarters of the memory.
        read_ahead_limit: bytes of files to read before they are needed; 0: 64 MiB.
        max_image_pixels: larger images are errors; 0: 2 ** 28.
        index_memory_limit: maximum memory in bytes for indices of JPEG files; 0: no indices;
            None: 4 GB or 2 % of the memory, whichever is less.
        index_cache: folder in which the indices are stored, for this and other processes.
        quarantine: file to which the names of bad files are appended, one per line.
        trace: file for a Chrome trace; None: the value of HEADRACE_TRACE.

    Raises:
        ValueError: an argument has a value that is not allowed.
        TypeError: an argument has the wrong type.
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
        py_num_workers: int | None = 1,
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
        self._config = PipelineConfig.checked(locals())
        # the graph
        self._graph = _graph.Graph()
        self._conditionals_enabled = False  # set by `pipeline_def`
        self._graph_out: tuple[Any, ...] = ()
        self._nodes: list[DataNode] | None = None  # outputs, once the graph is complete
        self._sinks: list[DataNode] = []
        self._output_count = 0
        # running
        self._lock = threading.RLock()  # held by build() and run()
        self._core: Any = None
        self._pool: Any = None  # processes of parallel sources
        self._memory: OutputMemory | None = None
        self._pid = 0
        self._sources: list[Any] = []
        self._inputs: dict[str, Any] = {}  # sources by name
        self._readers: dict[str, int] = {}
        self._checks: list[tuple[Any, Any, Any]] | None = None
        self._api_type: PipelineAPIType | None = None
        self._skip_api_check = False
        self._first_iter = True
        self._last_iter = False
        self._looked_ahead = False
        self._source_error: Exception | None = None
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
        """Returns the pipeline that is being defined in this thread, or None."""
        return _graph.current_pipeline()

    @staticmethod
    def push_current(pipeline: Pipeline) -> Any:
        """Adds operators to `pipeline` from now on; returns the previous pipeline."""
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
        """Returns the outputs of the graph; subclasses override it.

        Raises:
            NotImplementedError: it is not overridden and no outputs were set.
        """
        raise NotImplementedError(
            "The pipeline has no outputs: override define_graph(), call set_outputs(), or use "
            "@pipeline_def."
        )

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Sets the outputs of the pipeline; numbers and arrays become constants."""
        self._graph_out = output_data_nodes

    def add_sink(self, edge: DataNode) -> None:
        """Keeps this node and its inputs in the graph even if no output needs them."""
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
        used = used_outputs(self._graph, [*nodes, *self._sinks])
        check_names(self._graph, used)
        self._graph.core.set_outputs(edges)
        self._nodes = nodes
        self._output_count = len(nodes)
        self._find_sources(used)

    def _find_sources(self, used: dict[Any, set[int]]) -> None:
        """Collects the external sources and readers among the instances in use."""
        for instance, number in self._graph.numbers.items():
            if instance not in used:
                continue
            if instance.source is not None:
                warn_unused(instance, used[instance])
                instance.source.node = number
                self._sources.append(instance.source)
                self._inputs[instance.name] = instance.source
            elif schema.operators()[instance.op].is_reader:
                self._readers[instance.name] = number

    def build(self) -> None:
        """Compiles the graph and starts the workers.

        Methods that need a built pipeline call this themselves.

        Raises:
            NotImplementedError: the pipeline has no outputs.
            ValueError: there is no batch size, or ``num_threads`` is below 1.
            RuntimeError: the graph is not valid.
        """
        if self._core is not None:  # no lock: another thread may be waiting in run()
            return
        with self._lock:
            if self._core is None:
                self._build()

    def _build(self) -> None:
        if self._config.num_threads is None:
            self._config.num_threads = len(os.sched_getaffinity(0))
        if self._config.num_threads < 1:
            raise ValueError(
                "Pipeline created with `num_threads` < 1 can only be used for serialization."
            )
        if self._config.max_batch_size is None:
            raise ValueError("The pipeline has no batch_size.")
        self.start_py_workers()  # before any thread starts: they may be forks
        self._check_resumes()
        self._declare_checks()
        if self._config.enable_memory_stats:
            self._memory = OutputMemory(self._nodes or [])
        device = self._find_device()
        for source in self._sources:
            source.device_id = max(device, 0) if source.device == "gpu" else -1
        core = _core.Pipeline(
            self._graph.core,
            self._config.max_batch_size,
            self._config.num_threads,
            prefetch_queue_depth=self._config.depth,
            seed=-1 if self._config.seed is None else self._config.seed,
            set_affinity=bool(self._config.set_affinity),
            device_id=device,
            checkpoint=self._engine_state,
            **{name: value for name, value in self._config.options.items() if value is not None},
        )
        self._check_sources_resume()
        self._pid = os.getpid()
        self._core = core
        _live.add(self)

    def _find_device(self) -> int:
        """Returns the GPU for the engine, or -1 for none; also sets `device_id`."""
        if self.device_id is None and self._on_device():
            torch = sys.modules.get("torch")
            running = torch is not None and torch.cuda.is_initialized()
            self._config.device_id = torch.cuda.current_device() if torch and running else 0
        return -1 if self.device_id is None else self.device_id

    def _on_device(self) -> bool:
        return any(i.device != "cpu" for i in self._graph.numbers)

    def _require_exec_dynamic(self, message: str) -> None:
        if self._config.exec_dynamic:
            return
        if self._config.exec_separated:
            reason = "is not compatible with separated CPU/GPU queues"
        elif not self._config.exec_async or not self._config.exec_pipelined:
            reason = "requires `exec_async` and `exec_pipelined` to be enabled"
        else:
            reason = "was explicitly disabled in this pipeline"
        raise RuntimeError(f"{message}the dynamic executor, which {reason}.")

    def _declare_checks(self) -> None:
        count = self._output_count
        columns = [
            each_output("output_dtype", self._config.output_dtype, count),
            each_output("output_ndim", self._config.output_ndim, count),
            each_output("output_layout", self._config.output_layout, count),
        ]
        if any(value is not None for column in columns for value in column):
            self._checks = list(zip(*columns, strict=True))

    def start_py_workers(self) -> None:
        """Starts the processes of parallel external sources. `build` calls it if you do not.

        Raises:
            RuntimeError: ``py_start_method="fork"``, and CUDA is already in use.
        """
        self._complete_graph()
        if self._pool is None and any(source.parallel for source in self._sources):
            from headrace._external.pool import start

            self._pool = start(
                [source for source in self._sources if source.parallel],
                self._config.max_batch_size or 1,
                self._config.py_num_workers,
                self._config.py_start_method,
                self._config.py_callback_pickler,
            )
            weakref.finalize(self, self._pool.close)  # at once: sources and pool refer to each other

    def close(self) -> None:
        """Stops the workers; later calls raise RuntimeError. Garbage collection does the same."""
        if self._pool is not None:
            self._pool.close()
        if self._core is not None:
            self._core.close()
            _live.discard(self)


# ---- helpers ----

_live: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Joins the workers before the interpreter shuts down."""
    for pipeline in list(_live):
        pipeline.close()
