# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DALIServer`: a thread that runs a pipeline for proxies in other processes."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections import deque
from types import TracebackType
from typing import Any

import torch

from headrace._pipeline.iterated import Iterated
from headrace.pipeline import Pipeline
from headrace.plugin.pytorch._tensors import dense
from headrace.plugin.pytorch.experimental.proxy._produce import Replacer
from headrace.plugin.pytorch.experimental.proxy._proxy import Proxy
from headrace.plugin.pytorch.experimental.proxy._refs import DALIOutputBatchRef
from headrace.plugin.pytorch.experimental.proxy._requests import Request, Requests


class DALIServer:
    """Runs a pipeline on inputs that come from elsewhere, usually from workers of a `DataLoader`.

    ::

        pipe = train_pipeline(batch_size=64, num_threads=8, device_id=0)
        with DALIServer(pipe) as server:
            dataset = ImageFolder(root, transform=server.proxy, loader=read_path)
            for images, labels in DataLoader(server, dataset, batch_size=64, num_workers=8):
                step(images, labels)

    Args:
        pipeline: a pipeline with one or more external sources without `source`. The server builds
            it when it starts; nothing else may run it.
        deterministic: run a batch only when its outputs are asked for, so that random numbers repeat
            from run to run. Batches then do not overlap.

    Raises:
        TypeError: `pipeline` is not a pipeline.
        RuntimeError: it has no external sources to feed.
    """

    def __init__(self, pipeline: Pipeline, deterministic: bool = False) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"DALIServer takes a pipeline, got {pipeline!r}.")
        names = [name for name, fed in Iterated(pipeline).placeholders().items() if fed]
        if not names:
            raise RuntimeError(
                "The provided pipeline doesn't have any inputs: it needs an `external_source` without `source`."
            )
        receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests = Requests(receiver)
        self._runner = _Runner(pipeline, names, self._requests)
        self._proxy = Proxy(names, pipeline.num_outputs, self._requests, sender, deterministic)
        self._close = weakref.finalize(self, _close, os.getpid(), self._runner, sender)

    @property
    def proxy(self) -> Proxy:
        """A callable that takes the inputs of a sample and returns references to the outputs.

        A pipeline with one input takes it as a positional or as a named argument, one with several
        takes named ones. Workers of a `DataLoader` use it as a transform.
        """
        return self._proxy

    @property
    def _thread(self) -> threading.Thread | None:
        return self._runner.thread

    def _is_thread_running(self) -> bool:
        return self._runner.thread is not None

    def start_thread(self) -> None:
        """Builds the pipeline and starts the thread, if it is not running. `with` does this."""
        self._runner.start()

    def stop_thread(self) -> None:
        """Stops the thread after the current batch. The end of `with` does this."""
        self._runner.stop()

    def __enter__(self) -> DALIServer:
        self.start_thread()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_thread()

    def produce_data(self, obj: Any) -> Any:
        """Replaces all references within `obj` by the outputs of the pipeline.

        Lists, dictionaries and the attributes of objects are changed where they are; tuples are
        replaced.

        Args:
            obj: a batch of a `DataLoader`, or anything else.

        Returns:
            `obj`, or what replaces it.

        Raises:
            RuntimeError: the server is not running, the pipeline failed, or the samples of an output
                differ in shape.
        """
        return Replacer(self._output).replace(obj)

    def _output(self, ref: DALIOutputBatchRef) -> Any:
        run, i = ref.pipe_run_ref, ref.output_idx
        if run.failure is not None:
            raise RuntimeError(f"This batch has failed before: {run.failure}")
        if not run.outputs:
            outputs, error = self._requests.take(run.key, on_demand=not run.is_scheduled)
            run.is_scheduled = True
            if error is not None:
                run.failure = str(error)  # not the error, whose traceback refers to the batch
                raise error
            run.outputs = list(outputs)
        if not isinstance(run.outputs[i], torch.Tensor):
            run.outputs[i] = dense(run.outputs[i])
        return run.outputs[i]


class _Runner:
    """The thread and what it works on. It does not keep the server alive."""

    def __init__(self, pipeline: Pipeline, names: list[str], requests: Requests) -> None:
        self.thread: threading.Thread | None = None
        self.requests = requests
        self._pipeline = pipeline
        self._inner = Iterated(pipeline)
        self._names = names
        self._stopping = False
        self._running: deque[Request] = deque()  # batches in the pipeline

    def start(self) -> None:
        if self.thread is not None:
            return
        self._pipeline.build()
        self._stopping = False
        self.requests.begin()
        self.thread = threading.Thread(target=self._run, name="headrace-proxy", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        thread = self.thread
        if thread is None:
            return
        self._stopping = True
        self.requests.wake()
        if thread is not threading.current_thread():
            thread.join()
        self.thread = None

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._step()
            self.requests.end(None)
        except BaseException as error:
            self.requests.end(error)

    def _step(self) -> None:
        """Keeps the pipeline full and takes a batch, or waits for inputs."""
        depth = self._inner.depth
        while len(self._running) < depth and (request := self.requests.next()) is not None:
            self._feed(request)
        if self._running:
            self._take()
        else:
            self.requests.wait_for_input()

    def _feed(self, request: Request) -> None:
        try:
            if request.failure is not None:
                raise request.failure
            self._inner.feed(dict(zip(self._names, request.columns)), copy=not request.shared)
        except Exception as error:
            self.requests.finish(request, (), error)
        else:
            self._running.append(request)

    def _take(self) -> None:
        outputs: Any = ()
        failed: Exception | None = None
        try:
            outputs = self._pipeline.outputs()
        except StopIteration:
            failed = RuntimeError("The pipeline has ended: one of its sources has no more data.")
        except Exception as error:
            failed = error
        self.requests.finish(self._running.popleft(), outputs, failed)


def _close(owner: int, runner: _Runner, sender: socket.socket) -> None:
    if os.getpid() != owner:  # a fork of the owner
        return
    runner.stop()
    runner.requests.close()
    sender.close()
