# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline`: connects its parts.

`PipelineConfig` holds the arguments, `Definition` the complete graph, `_core.Pipeline` is the engine that runs it,
`Feeder` feeds the external sources, `Epoch` counts iterations.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias

from headrace import _core, _graph, _storage, types
from headrace._base import messages
from headrace._external.video import VideoSource
from headrace._graph import schema
from headrace._graph.functions import add_cause
from headrace._graph.plan import Plan
from headrace._pipeline import checkpoints
from headrace._pipeline.config import (
    NO_BATCH_SIZE,
    Argument,
    OperatorConcurrency,
    PipelineConfig,
    StreamPolicy,
    each_output,
)
from headrace._pipeline.definition import Definition, define
from headrace._pipeline.epoch import Epoch
from headrace._pipeline.feeder import Feeder, Feedings
from headrace._pipeline.observed import Observed
from headrace._pipeline.outputs import OutputChecks, OutputMemory, Outputs
from headrace._pipeline.replay import Replay, Replayed
from headrace._pipeline.shown import Shown
from headrace._pipeline.stored import Stored
from headrace.data_node import DataNode
from headrace.tensors import TensorListCPU, TensorListGPU
from headrace.types import PipelineAPIType

Batch: TypeAlias = TensorListCPU | TensorListGPU

_BAD_IN_ROW = 50_000  # samples that `run` leaves out before it gives up


class Pipeline(Observed, Replayed, Shown, Stored):
    """A graph of operators that prepares batches ahead of the code that takes them.

    Args:
        batch_size: maximum number of samples in a batch, at most 1,048,576. With readers that have a
            `global_batch`, it may be left out: a batch is then this process's part of it.
        num_threads: number of worker threads; None: one per CPU available to this process.
        device_id: GPU of operators with device "gpu" or "mixed"; None: PyTorch's current device,
            or the first one.
        seed: seed of all random numbers; None: a random one (or that of the checkpoint).
        exec_pipelined, exec_async: False keeps only one iteration in flight.
        prefetch_queue_depth: iterations in flight; or ``{"cpu_size": a, "gpu_size": b}``.
        bytes_per_sample, max_streams, exec_dynamic: accepted and checked; no effect.
        default_cuda_stream_priority, stream_policy, concurrency: the same.
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
        read_ahead_limit: bytes of files to read before they are needed, at most a quarter of
            host_memory_limit; 0: 64 MiB.
        max_image_pixels: larger images are errors; 0: 2 ** 28.
        index_memory_limit: maximum memory in bytes for indices of JPEG files; 0: no indices;
            None: 4 GB or 2 % of the memory, whichever is less.
        index_cache: folder in which the indices are stored, for this and other processes.
        quarantine: file to which the names of bad files are appended, one per line.
        trace: file for a Chrome trace; None: the value of HEADRACE_TRACE.
        storage_options: credentials for object storage, by scheme: see `headrace.storage_options`.
            They are those of the process, and no part of the pipeline when it is serialized.

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
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if storage_options is not None:
            _storage.storage_options(storage_options)
        self._config = PipelineConfig.checked(locals())
        self._graph = _graph.Graph()
        self._conditionals_enabled = False  # set by `pipeline_def`
        self._graph_out: tuple[Any, ...] = ()
        self._sinks: list[DataNode] = []
        self._definition: Definition | None = None  # once the graph is complete
        self._restored = None if checkpoint is None else checkpoints.restore(checkpoint)
        start = (self._restored.epoch, self._restored.iteration) if self._restored else ()
        self._epoch = Epoch(*start)
        self._feeder = Feeder(self._config)
        self._lock = threading.RLock()  # held by build() and run()
        self._core: Any = None  # the engine, once it is built
        self._pid = 0  # the process that built it
        self._checks: OutputChecks | None = None
        self._memory: OutputMemory | None = None
        self._api_type: PipelineAPIType | None = None
        self._skip_api_check = False
        self._shared: list[Outputs] = []
        self._in_setup: list[Any] | None = None  # what `iter_setup` feeds
        self._replays: dict[bool, Replay] = {}  # on the CPU; by `batch`
        self._leaves_out = False  # steps, by `skip` or as the checkpoint says
        self._left_out = 0  # positions of batches without good samples before the next one

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

    def __enter__(self) -> Self:
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

    def _complete_graph(self, define_graph: Callable[[], Any] | None = None) -> Definition:
        if self._definition is not None:
            return self._definition
        if define_graph is not None and self._graph_out:
            raise RuntimeError(
                "Duplicate graph definition - `define_graph` argument should not be specified when graph "
                "was defined with a call to `set_outputs`."
            )
        with self:
            outputs: Any = self._graph_out or (define_graph or self.define_graph)()
            if not isinstance(outputs, (tuple, list)):
                outputs = (outputs,)
            self._declare_outputs(len(outputs))
            definition = define(self._graph, outputs, self._sinks)
        self._take_definition(definition)
        return definition

    def _take_definition(self, definition: Definition) -> None:
        self._definition = definition
        self._graph = definition.graph
        self._feeder.sources = definition.sources

    def build(self) -> None:
        """Compiles the graph and starts the workers.

        Methods that need a built pipeline call this themselves.

        Raises:
            NotImplementedError: the pipeline has no outputs.
            ValueError: no batch size is given, or ``num_threads`` is below 1.
            RuntimeError: the graph is not valid.
        """
        if self._core is not None:  # no lock: another thread may be waiting in run()
            return
        with self._lock:
            if self._core is None:
                self._build()

    def _build(self) -> None:
        config = self._config
        if config.num_threads is None:
            config.num_threads = len(os.sched_getaffinity(0))
        if config.num_threads < 1:
            raise ValueError(
                "Pipeline created with `num_threads` < 1 can only be used for serialization."
            )
        if config.max_batch_size is None and not self._complete_graph().in_job:
            raise ValueError(NO_BATCH_SIZE)
        self.start_py_workers()  # before any thread starts: they may be forks
        definition = self._complete_graph()
        if config.enable_checkpointing:
            definition.check_resumes()
        self._declare_outputs(definition.output_count)
        if config.enable_memory_stats:
            self._memory = OutputMemory(definition.outputs)
        device = self._find_device()
        core = self._engine(
            prefetch_queue_depth=config.depth,
            set_affinity=bool(config.set_affinity),
            device_id=device,
            checkpoint=self._restored.engine if self._restored else None,
        )
        config.max_batch_size = core.batch_size
        self._feeder.connect(core, device)
        if self._restored:
            self._feeder.iteration = self._restored.iteration
            self._leaves_out = b'"left_out"' in self._restored.engine
        if config.enable_checkpointing:
            self._feeder.warn_if_not_resumable()
        self._pid = os.getpid()
        self._epoch.engine = core
        self._core = core
        _live.add(self)

    def _engine(self, graph: _core.Graph | None = None, **more: Any) -> _core.Pipeline:
        """An engine for this graph. `more`: options that the pipeline does not have, or not with this value."""
        config = self._config
        threads = config.num_threads or len(os.sched_getaffinity(0))
        options = {"seed": config.seed, "batch_size": config.max_batch_size or 0, **config.options}
        given = {name: value for name, value in {**options, **more}.items() if value is not None}
        return _core.Pipeline(graph or self._graph.core, num_threads=threads, **given)

    def _declare_outputs(self, count: int) -> None:
        checks = OutputChecks(self._config, count)
        self._checks = checks if checks.any else None

    def _find_device(self) -> int:
        """Returns the GPU for the engine, or -1 for none; also sets `device_id`."""
        if self.device_id is None and self._on_device():
            torch = sys.modules.get("torch")
            running = torch is not None and torch.cuda.is_initialized()
            self._config.device_id = torch.cuda.current_device() if torch and running else 0
        return -1 if self.device_id is None else self.device_id

    def _on_device(self) -> bool:
        return any(i.device != "cpu" for i in self._graph.numbers)

    def start_py_workers(self) -> None:
        """Starts the processes of parallel external sources. `build` calls it if you do not.

        Raises:
            RuntimeError: ``py_start_method="fork"``, and CUDA is already in use.
        """
        self._complete_graph()
        self._feeder.start_workers()

    def _restart(self, checkpoint: bytes) -> None:
        """Continues at a checkpoint. A pipeline that is built gets a new engine for the same graph."""
        restored = checkpoints.restore(checkpoint)
        with self._lock:
            if self._core is not None:
                if self._feeder.sources:
                    raise RuntimeError(
                        "A pipeline with external sources can be moved to a checkpoint only before its "
                        "first batch."
                    )
                self.close()
                self._core = None
            self._restored = restored
            self._epoch = Epoch(restored.epoch, restored.iteration)
            self._shared.clear()

    def close(self) -> None:
        """Stops the workers; later calls raise RuntimeError. Garbage collection does the same."""
        self._feeder.close()
        while self._replays:
            self._replays.popitem()[1].close()
        if self._core is not None:
            self._core.close()
            _live.discard(self)

    _shutdown = close  # scripts written for DALI call it

    # ---- running ---------------------------------------------------------------------------------

    def iter_setup(self) -> None:
        """Called before each iteration; subclasses override it to call `feed_input`.

        Raising StopIteration ends the epoch.
        """

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> tuple[Batch, ...]:
        """Returns the next batch of every output.

        Args:
            cuda_stream: has no effect.
            pipeline_inputs: batches for external sources, by name. Needs
                ``prefetch_queue_depth=1`` or ``exec_pipelined=False``.

        Returns:
            A tuple with one `TensorListCPU` or `TensorListGPU` per output. They are empty if
            ``on_error="skip"`` left out all samples and batches are fed, or readers have a
            `global_batch`.

        Raises:
            StopIteration: the epoch is over; `reset` starts the next one.
            IndexError: an external source was not fed.
            MemoryError: memory is used up, for example by outputs that are still in use
                (``host_memory_limit``). The next call tries to make the same batch again.
            RuntimeError: a sample could not be processed (the next call continues with the next
                batch), or ``on_error="skip"`` found no good sample for very long.

        Whatever else is raised, also by a signal handler, the next call returns the batch that this
        one would have returned.
        """
        self._enter(PipelineAPIType.BASIC)
        epoch = self._epoch
        with self._lock:
            inputs = self._named_inputs(pipeline_inputs) if pipeline_inputs else None
            epoch.fill(self._depth, self._prepare)
            outputs = self._take(inputs)
            if outputs.all_bad or self._left_out:
                outputs = self._next_good(outputs)
        # Signal handlers run at calls. There is none from here on, so the batch is delivered, or
        # an exception has come before and the next call returns it.
        epoch.taken += 1
        epoch.iteration += 1
        self._left_out = 0
        if inputs is not None:
            self._feeder.called = inputs
        del self._core.held
        return outputs

    def _next_good(self, outputs: Outputs) -> Outputs:
        """What `run` returns after a batch whose samples were all left out.

        If all sources are asked for batches, that is the next batch that has samples. If one is fed
        by the caller, who expects one result per batch, it is the empty batch, and so it is in a job,
        whose processes have to stay in step.
        """
        fed = any(source.callback is None for source in self._feeder.sources.values())
        if self._complete_graph().in_job or (fed and not self._own_setup):
            return outputs
        epoch = self._epoch
        while outputs.all_bad:
            self._left_out += outputs.positions
            epoch.taken += 1
            epoch.iteration += 1
            del self._core.held
            bad = self._left_out
            if bad > _BAD_IN_ROW:
                self._left_out = 0
                raise RuntimeError(f'on_error="skip": each of the last {bad} samples was bad')
            epoch.fill(self._depth, self._prepare)
            outputs = self._take()
        outputs.positions += self._left_out
        return outputs

    def _enter(self, api_type: PipelineAPIType) -> None:
        """Builds the pipeline, and checks that the caller may run it."""
        if self._core is None:
            self.build()
        self._check_process()
        if self._api_type is not api_type:
            self._check_api_type(api_type)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(
                "This pipeline was built before the process forked and cannot be used in the child process. "
                "Build a pipeline in the child."
            )

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
        """`enable=False` allows mixing `run` and `schedule_run`."""
        self._skip_api_check = not enable

    @property
    def _depth(self) -> int:
        """Number of iterations in flight."""
        return self._config.depth

    def _named_inputs(self, inputs: dict[str, Any]) -> Feedings:
        if self._depth > 1:
            raise RuntimeError(
                "Named inputs of run() need `prefetch_queue_depth=1` or `exec_pipelined=False`. Received: "
                f"prefetch_queue_depth={self.prefetch_queue_depth}, "
                f"exec_pipelined={self.exec_pipelined}. Otherwise use `feed_input` or `source`."
            )
        return tuple(
            feeding for name, data in inputs.items() for feeding in self._feedings(name, data)
        )

    def _prepare(self, more: Feedings = ()) -> None:
        """The Python part of an iteration; feeds `more`, too."""
        epoch, feeder = self._epoch, self._feeder
        if not feeder.sources:
            self.iter_setup()
            epoch.requested += 1
            return
        start = time.perf_counter_ns()
        self._in_setup = []
        try:
            asked = feeder.ask(epoch.index)
            self.iter_setup()
            given = (*self._in_setup, *more)
        finally:
            self._in_setup = None
        feeder.note_called()
        self._core.note_feeding(time.perf_counter_ns() - start)
        self._core.fed = (*asked, *given)  # all or nothing; no call from here on (see `run`)
        feeder.called = given
        feeder.round += 1
        feeder.iteration += 1
        epoch.requested += 1

    def _take(self, inputs: Feedings | None = None) -> Outputs:
        """The next outputs, checked. They are delivered when `held` of the engine is deleted.

        Args:
            inputs: what to feed for this iteration; None: nothing.
        """
        core, epoch = self._core, self._epoch
        if not core.held:
            if epoch.scheduled <= 0:
                self._left_out = 0
                raise StopIteration
            self._feeder.repeat(inputs)
        outputs = self._next(inputs)
        if self._checks is not None and not outputs.all_bad:
            self._checks.check(outputs)
        if self._memory is not None:
            self._memory.add(outputs)
        return outputs

    def _next(self, inputs: Feedings | None) -> Outputs:
        """The outputs of the oldest iteration in flight."""
        core, epoch = self._core, self._epoch
        definition = self._complete_graph()
        try:
            if inputs is None:
                batches, iteration, positions, slots = core.run()
            else:
                batches, iteration, positions, slots = core.call(inputs, -1, -1, True)
        except Exception as error:
            if not core.failed:  # a signal handler
                raise
            if core.held:  # an iteration was taken, and failed
                if not isinstance(error, StopIteration):
                    add_cause(self._graph.numbers, error)
                    epoch.taken += 1
                else:  # what the engine does next belongs to the next epoch
                    epoch.requested = core.taken
                    epoch.ended = True
                epoch.iteration += 1
                del core.held
                raise
            if isinstance(error, IndexError):  # a source was not fed
                self._explain_videos(error)
                epoch.requested -= 1
            raise
        if definition.sink_count:
            batches = batches[: definition.output_count]
        return Outputs.of(batches, iteration, positions, slots)

    def _explain_videos(self, error: IndexError) -> None:
        """Raises what DALI raises where a source of videos has no data."""
        videos = [s for s in self._feeder.sources.values() if isinstance(s, VideoSource)]
        if not videos:
            return
        text = str(error)
        for source in videos:
            text = text.replace(source.node_text, source.label)
        self._epoch.requested -= 1
        raise RuntimeError(text) from None

    @property
    def _own_setup(self) -> bool:
        """Whether a subclass overrides `iter_setup`."""
        return getattr(self.iter_setup, "__func__", None) is not Pipeline.iter_setup

    def _engine_only(self) -> bool:
        """Whether `run` only calls the engine, so that an iterator may call the engine directly."""
        return (
            isinstance(self._core, _core.Pipeline)
            and self._api_type is PipelineAPIType.BASIC
            and self._checks is None
            and self._memory is None
            and not self._feeder.sources
            and getattr(self.run, "__func__", None) is Pipeline.run
            and not self._own_setup
        )

    def schedule_run(self) -> None:
        """Starts an iteration without taking its outputs; the first call fills the queue."""
        self._enter(PipelineAPIType.SCHEDULED)
        with self._lock:
            self._epoch.schedule(self._depth, self._prepare)
            self._core.schedule(max(self._epoch.scheduled, 0))

    def share_outputs(self, cuda_stream: Any = None) -> tuple[Batch, ...]:
        """Returns the next batch of every output, from the iterations that `schedule_run` started.

        Raises:
            StopIteration: no iteration is left.
        """
        self._enter(PipelineAPIType.SCHEDULED)
        with self._lock:
            outputs = self._take()
        self._shared = [*self._shared, outputs]  # no call from here on (see `run`)
        self._epoch.taken += 1
        self._epoch.iteration += 1
        del self._core.held
        return outputs

    def release_outputs(self) -> None:
        """Releases the oldest result of `share_outputs`; batches still referenced stay valid."""
        self._check_api_type(PipelineAPIType.SCHEDULED)
        if self._shared:
            self._shared.pop(0)

    def outputs(self, cuda_stream: Any = None) -> tuple[Batch, ...]:
        """Calls `release_outputs`, then `share_outputs`."""
        self._enter(PipelineAPIType.SCHEDULED)
        self._shared.clear()
        with self._lock:
            outputs = self._take()
        self._epoch.taken += 1  # no call from here on (see `run`)
        self._epoch.iteration += 1
        del self._core.held
        return outputs

    def reset(self) -> None:
        """Starts the next epoch after StopIteration; before that, it has no effect."""
        if self._core is not None:
            self._check_process()
        if self._epoch.ended:
            self._feeder.rewind()
            self._epoch.reset()

    def _at_end(self) -> bool:
        """Whether nothing is left of the current epoch. May ask the sources for one batch more."""
        with self._lock:
            return self._epoch.at_end(self._prepare if self._can_end() else None)

    def _can_end(self) -> bool:
        """Whether anything outside the engine may end an epoch."""
        return self._feeder.asks or self._own_setup

    def empty(self) -> bool:
        """Whether no scheduled iteration is left to take."""
        return self._epoch.scheduled <= 0

    def output_stream(self) -> None:
        """The CUDA stream of the outputs: None, because outputs are complete on all streams."""
        self.build()

    # ---- external sources ------------------------------------------------------------------------

    def input_feed_count(self, input_name: str) -> int:
        """Number of batches that an external source needs before the first `run`.

        Raises:
            KeyError: no source has this name.
        """
        self.build()
        self._feeder.named(input_name)
        return self._depth

    def feed_input(
        self,
        data_node: str | DataNode,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Feeds the next batch to an external source that has no `source` argument, or a file to
        `experimental.inputs.video`, for as many batches as it has.

        Args:
            data_node: the node or its name.
            data: array with the batch in dimension 0, list of arrays, or `TensorListCPU`; for a
                source with device "gpu" also arrays in GPU memory and `TensorListGPU`.
            layout: layout of a sample; None: that of the node or of the data.
            cuda_stream: stream on which arrays in GPU memory are used; None: the current stream
                of PyTorch or CuPy.
            use_copy_kernel: has no effect.

        Raises:
            KeyError: no source has this name.
            TypeError: `data_node` is neither a node nor a name.
            RuntimeError: the node has a `source`, or the data are not a batch of the declared
                type, number of dimensions and size.
        """
        self.build()
        feedings = self._feedings(data_node, data, layout, cuda_stream)
        if self._in_setup is not None:
            self._in_setup.extend(feedings)
            return
        source = self._feeder.fed(data_node)
        self._feeder.note_called()
        last = feedings[-1][1] if feedings else source.last
        self._core.fed = feedings  # no call from here on (see `run`)
        source.last = last

    def _feedings(
        self, data_node: str | DataNode, data: Any, layout: str | None = None, stream: Any = None
    ) -> Feedings:
        source = self._feeder.fed(data_node)
        if isinstance(source, VideoSource):
            source.scan = _scan_video
        return self._feeder.prepare(source, data, layout, stream)

    # ---- arguments -------------------------------------------------------------------------------

    max_batch_size = Argument[int | None]("Maximum number of samples in a batch.")
    num_threads = Argument[int | None]("Number of worker threads.")
    seed = Argument[int | None]("Seed of all random numbers, or None.")
    exec_pipelined = Argument[bool]("Whether iterations overlap.")
    exec_async = Argument[bool]("Whether iterations run while Python does other work.")
    exec_dynamic = Argument[bool | None]("As given to the constructor; True by default.")
    exec_separated = Argument[bool](
        "Whether `prefetch_queue_depth` was given separately for CPU and GPU."
    )
    stream_policy = Argument[StreamPolicy | None]("As given to the constructor.")
    concurrency = Argument[OperatorConcurrency | None]("As given to the constructor.")
    set_affinity = Argument[bool]("Whether workers are pinned to CPUs.")
    prefetch_queue_depth = Argument[int | dict[str, int]]("As given to the constructor.")
    cpu_queue_size = Argument[int]("Number of iterations in flight on the CPU.")
    gpu_queue_size = Argument[int]("Number of iterations in flight on the GPU.")
    enable_memory_stats = Argument[bool]("As given to the constructor.")
    py_num_workers = Argument[int | None]("As given to the constructor.")
    py_start_method = Argument[str]("As given to the constructor.")

    @property
    def batch_size(self) -> int | None:
        """Old name of `max_batch_size`."""
        messages.deprecated("`batch_size` is deprecated, use `max_batch_size`.")
        return self._config.max_batch_size

    @property
    def device_id(self) -> int | None:
        """The GPU as given to the constructor; None: CPU only."""
        return (
            None if self._config.device_id == types.CPU_ONLY_DEVICE_ID else self._config.device_id
        )

    @property
    def max_streams(self) -> int:
        """Always -1."""
        return -1

    @property
    def default_cuda_stream_priority(self) -> int:
        """Always 0."""
        return 0

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was restored from a checkpoint."""
        return self._core is not None and self._restored is not None

    # ---- outputs, parallel sources ---------------------------------------------------------------

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        self.build()
        return self._complete_graph().output_count

    def output_dtype(self) -> list[Any]:
        """Declared element types of the outputs; None is a wildcard."""
        return each_output("output_dtype", self._config.output_dtype, self.num_outputs)

    def output_ndim(self) -> list[Any]:
        """Declared numbers of dimensions of the outputs; None is a wildcard."""
        return each_output("output_ndim", self._config.output_ndim, self.num_outputs)

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Returns the sizes in bytes of the shared memory blocks of parallel sources.

        "capacities" has one entry per block, "per_sample_capacities" the same per sample.
        """
        return self._feeder.shared_memory()

    @property
    def _py_pool(self) -> Any:
        """The workers as an object with DALI's `pids` and `close`, None where there are none."""
        if self._feeder.pool is None:
            return None
        from headrace._external.pool_view import PoolView

        return PoolView(self._feeder.pool)


_live: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Joins the workers before the interpreter shuts down."""
    for pipeline in list(_live):
        pipeline.close()


def _scan_video(file: bytes) -> tuple[bytes, int]:
    """The table of packets of a video file, and the number of its frames.

    Raises:
        RuntimeError: it is not a video file.
    """
    plan = Plan(schema.operators()["_video_table"], "cpu", ("cpu",), {})
    table, frames = plan.run([TensorListCPU([file])], 1)
    return bytes(memoryview(table[0])), int(memoryview(frames[0]).tolist())
