# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Running a pipeline: schedule, feed, take."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from headrace import types
from headrace._functions import add_cause
from headrace._pipeline_facts import PipelineFacts
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


class PipelineRun(PipelineFacts):
    """The part of `Pipeline` that runs it."""

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

    def _depth(self) -> int:
        """Iterations in flight."""
        return max(self._cpu_queue_size, self._gpu_queue_size) if self._exec_pipelined else 1

    def iter_setup(self) -> None:
        """What a subclass overrides to call `feed_input` before each iteration; StopIteration ends the epoch."""

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
            and self._memory is None
            and not self._sources
            and getattr(self.run, "__func__", None) is PipelineRun.run
            and getattr(self.iter_setup, "__func__", None) is PipelineRun.iter_setup
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
        if self._source_error is not None:
            error, self._source_error = self._source_error, None
            raise error
        count = self._depth() if self._first_iter else 1
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
            source.prepare(source.columns(answer), self._max_batch_size, engine=self._core)
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
        except Exception as error:
            self._taken += 1  # a failed iteration is a taken one
            add_cause(self._graph.numbers, error)
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
        if self._memory is not None:
            self._memory.add(outputs)
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
            self._core.schedule(self._batches_to_consume)

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
        self._last_iter = self._looked_ahead = False
        self._epoch_idx += 1
        if self._consumer_iter > 0:
            self._consumer_epoch_idx += 1
            self._consumer_iter = 0
        for source in self._sources:
            source.rewind()

    def _at_end(self) -> bool:
        """Whether nothing is left of an epoch that was begun. Only the sources can tell: they are asked for one batch
        more than runs ahead, which the next call of `run` does not ask for again."""
        asks = any(source.callback is not None for source in self._sources)
        asks = asks or getattr(self.iter_setup, "__func__", None) is not PipelineRun.iter_setup
        known = self._looked_ahead or self._last_iter or self._source_error is not None
        if asks and self._consumer_iter > 0 and not known:
            with self._lock:
                restored, self._first_iter = self._first_iter, False
                try:
                    self._schedule()
                    self._looked_ahead = not self._last_iter
                except Exception as error:  # the next call of `run` raises it
                    self._source_error = error
                self._first_iter = restored
        return self._last_iter and not self._batches_to_consume

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
        batches = source.prepare(
            [data], self._max_batch_size, cuda_stream, engine=self._core, layout=layout
        )
        with self._lock:
            source.queue.append(batches)
            self._flush()
