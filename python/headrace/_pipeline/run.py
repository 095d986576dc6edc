# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Running a pipeline: scheduling iterations, feeding sources, taking outputs."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from headrace import types
from headrace._graph.functions import add_cause
from headrace._pipeline.facts import PipelineFacts
from headrace.data_node import DataNode
from headrace.types import PipelineAPIType

_FORKED = (
    "This pipeline was built before the process forked and cannot be used in the child process. "
    "Build a pipeline in the child."
)


class Outputs(tuple):  # type: ignore[type-arg]
    """The batches of one iteration.

    Attributes:
        positions: reader positions that the iteration took. With ``on_error="skip"`` this can be
            more than the number of samples.
        slots: the position of each sample in the batch; None if it equals the sample's index.
        iteration: number of the iteration.
    """

    positions: int
    slots: tuple[int, ...] | None
    iteration: int


class PipelineRun(PipelineFacts):
    """The part of `Pipeline` that runs iterations."""

    _graph: Any
    _pid: int
    _lock: threading.RLock
    _sources: list[Any]
    _inputs: dict[str, Any]
    _sinks: list[DataNode]
    _checks: list[tuple[Any, Any, Any]] | None
    _api_type: PipelineAPIType | None
    _skip_api_check: bool
    _first_iter: bool
    _last_iter: bool
    _looked_ahead: bool
    _source_error: Exception | None
    _epoch_idx: int
    _consumer_iter: int
    _consumer_epoch_idx: int
    _batches_to_consume: int
    _taken: int
    _shared: list[Outputs]

    def iter_setup(self) -> None:
        """Called before each iteration; subclasses override it to call `feed_input`.

        Raising StopIteration ends the epoch.
        """

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> Any:
        """Returns the next batch of every output.

        Args:
            cuda_stream: has no effect.
            pipeline_inputs: batches for external sources, by name. Needs
                ``prefetch_queue_depth=1`` or ``exec_pipelined=False``.

        Returns:
            A tuple with one `TensorListCPU` or `TensorListGPU` per output.

        Raises:
            StopIteration: the epoch is over; `reset` starts the next one.
            IndexError: an external source was not fed.
            RuntimeError: a sample could not be processed (the next call continues with the next
                batch), or the outputs still in use exceed the memory limit.
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
        """Whether `run` only calls the engine, so that an iterator may call the engine directly."""
        return (
            self._api_type is PipelineAPIType.BASIC
            and self._checks is None
            and self._memory is None
            and not self._sources
            and getattr(self.run, "__func__", None) is PipelineRun.run
            and getattr(self.iter_setup, "__func__", None) is PipelineRun.iter_setup
        )

    def _feed_inputs(self, inputs: dict[str, Any]) -> None:
        if self._config.depth > 1:
            raise RuntimeError(
                "Named inputs of run() need `prefetch_queue_depth=1` or `exec_pipelined=False`. Received: "
                f"prefetch_queue_depth={self.prefetch_queue_depth}, "
                f"exec_pipelined={self.exec_pipelined}. Otherwise use `feed_input` or `source`."
            )
        for name, data in inputs.items():
            self.feed_input(name, data)

    def _schedule(self) -> None:
        """Does the Python part of scheduling: fills the queue first, then one iteration per call."""
        if self._source_error is not None:
            error, self._source_error = self._source_error, None
            raise error
        count = self._config.depth if self._first_iter else 1
        if self._looked_ahead:
            count -= 1
        self._first_iter = self._looked_ahead = False
        for _ in range(count):
            if self._last_iter:
                return
            try:
                start = time.perf_counter_ns()
                if self._sources:
                    self._ask_sources()
                self.iter_setup()
                if self._sources:
                    self._core.note_feeding(time.perf_counter_ns() - start)
            except StopIteration:
                self._last_iter = True
                return
            self._batches_to_consume += 1

    def _ask_sources(self) -> None:
        """Asks every source for its next batch: all sources advance together or not at all.

        If one source raises, the answers of the others are kept for the next call. StopIteration
        from one source ends the epoch for all, but only after each was asked, so that all restart
        together.
        """
        asked = [source for source in self._sources if source.callback is not None]
        ended = False
        for source in asked:
            try:
                source.ask(self._config.max_batch_size, self._epoch_idx)
            except StopIteration:
                ended = True
        answers = [source.take_answer() for source in asked]
        if ended:
            raise StopIteration
        batches = [
            source.prepare(source.columns(answer), self._config.max_batch_size, engine=self._core)
            for source, answer in zip(asked, answers, strict=True)
        ]
        for source, batch in zip(asked, batches, strict=True):
            source.queue.append(batch)
        self._flush()

    def _flush(self) -> None:
        """Feeds queued batches to the engine while it has room."""
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
            self._consumer_iter -= 1  # a source was not fed, so nothing was taken
            raise
        except StopIteration:
            self._last_iter = True
            raise
        except Exception as error:
            self._taken += 1  # a failed iteration counts as taken
            add_cause(self._graph.numbers, error)
            raise
        except BaseException:  # Ctrl-C: the iteration was not taken
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
        if self._memory is not None:
            self._memory.add(outputs)
        return outputs

    def _check_outputs(self, outputs: Outputs) -> None:
        for i, (batch, (dtype, ndim, layout)) in enumerate(
            zip(outputs, self._checks or [], strict=True)
        ):
            if dtype is not None and batch._dtype != int(dtype):
                raise RuntimeError(
                    f"Data type in the output_idx={i} does not match. Expected: {types.DALIDataType(dtype).name}. "
                    f"Received: {batch.dtype.name}."
                )
            if ndim is not None and batch.ndim() != ndim:
                raise RuntimeError(
                    f"Number of dimensions in the output_idx={i} does not match. Expected: {ndim}. "
                    f"Received: {batch.ndim()}."
                )
            if layout is not None and batch.layout() != layout:
                raise RuntimeError(
                    f"Layout in the output_idx={i} does not match. Expected: {layout}. "
                    f"Received: {batch.layout()}."
                )

    def schedule_run(self) -> None:
        """Starts an iteration without taking its outputs; the first call fills the queue."""
        self._scheduled()
        with self._lock:
            self._schedule()
            self._core.schedule(self._batches_to_consume)

    def share_outputs(self, cuda_stream: Any = None) -> Any:
        """Returns the next batch of every output, from the iterations that `schedule_run` started.

        Raises:
            StopIteration: no iteration is left.
        """
        self._scheduled()
        with self._lock:
            outputs = self._take()
        self._shared.append(outputs)
        return outputs

    def release_outputs(self) -> None:
        """Releases the oldest result of `share_outputs`; batches still referenced stay valid."""
        self._check_api_type(PipelineAPIType.SCHEDULED)
        if self._shared:
            self._shared.pop(0)

    def outputs(self, cuda_stream: Any = None) -> Any:
        """Calls `release_outputs`, then `share_outputs`."""
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
        """`enable=False` allows mixing `run` and `schedule_run`."""
        self._skip_api_check = not enable

    def reset(self) -> None:
        """Starts the next epoch after StopIteration; before that, it has no effect."""
        if not self._last_iter:
            return
        self._first_iter = True
        self._last_iter = self._looked_ahead = False
        self._epoch_idx += 1
        if self._consumer_iter > 0:
            self._consumer_epoch_idx += 1
            self._consumer_iter = 0
        for source in self._sources:
            source.rewind()

    def _at_end(self) -> bool:
        """Whether nothing is left of the current epoch.

        Only the sources know: they are asked for one batch beyond those in flight, which the next
        call of `run` then uses.
        """
        asks = any(source.callback is not None for source in self._sources)
        asks = asks or getattr(self.iter_setup, "__func__", None) is not PipelineRun.iter_setup
        known = self._looked_ahead or self._last_iter or self._source_error is not None
        if asks and self._consumer_iter > 0 and not known:
            with self._lock:
                first, self._first_iter = self._first_iter, False
                try:
                    self._schedule()
                    self._looked_ahead = not self._last_iter
                except Exception as error:  # the next call of `run` raises it
                    self._source_error = error
                finally:  # Ctrl-C goes to the caller
                    self._first_iter = first
        return self._last_iter and not self._batches_to_consume

    def empty(self) -> bool:
        """Whether no scheduled iteration is left to take."""
        return self._batches_to_consume == 0

    def output_stream(self) -> None:
        """The CUDA stream of the outputs: None, because outputs are complete on all streams."""
        self.build()

    # ---- external sources ------------------------------------------------------------------------

    def input_feed_count(self, input_name: str) -> int:
        """Number of batches that an external source needs before the first `run`.

        Raises:
            KeyError: there is no such source.
        """
        self.build()
        self._input(input_name)
        return self._config.depth

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
        """Feeds the next batch to an external source that has no `source` argument.

        Args:
            data_node: the node or its name.
            data: array with the batch in dimension 0, list of arrays, or `TensorListCPU`; for a
                source with device "gpu" also arrays in GPU memory and `TensorListGPU`.
            layout: layout of a sample; None: that of the node or of the data.
            cuda_stream: stream on which arrays in GPU memory are used; None: the current stream
                of PyTorch or CuPy.
            use_copy_kernel: has no effect.

        Raises:
            KeyError: there is no such source.
            TypeError: `data_node` is neither a node nor a name.
            RuntimeError: the node has a `source`, or the data are not a batch of the declared
                type, number of dimensions and size.
        """
        self.build()
        if isinstance(data_node, str):
            source = self._input(data_node)
        elif isinstance(data_node, DataNode):
            made = data_node.source
            while made.op in ("_to_gpu", "_to_cpu"):  # accept node.gpu() in place of the node
                made = made.inputs[0].source
            source = self._input(made.name)
        else:
            raise TypeError(f"Expected a node or its name, not {type(data_node).__name__}.")
        if source.callback is not None:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{data_node}' with a `source` argument "
                "specified."
            )
        batches = source.prepare(
            [data], self._config.max_batch_size, cuda_stream, engine=self._core, layout=layout
        )
        with self._lock:
            source.queue.append(batches)
            self._flush()
