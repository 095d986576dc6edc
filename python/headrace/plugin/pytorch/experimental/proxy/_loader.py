# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DataLoader`: PyTorch's, with the outputs of a pipeline in its batches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any

from torch.utils import data
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from headrace.plugin.pytorch.experimental.proxy._produce import Replacer
from headrace.plugin.pytorch.experimental.proxy._proxy import Proxy
from headrace.plugin.pytorch.experimental.proxy._server import DALIServer
from headrace.plugin.pytorch.experimental.proxy._small import pickle_small_tensors

_CHECK = 0.5  # seconds between two looks at the workers
_GRACE = 1.0  # seconds for workers to end by themselves


class _WorkerInit:
    """The first thing that a worker does."""

    def __init__(self, proxy: Proxy, session: int, then: Callable[[int], None] | None) -> None:
        self._proxy = proxy
        self._session = session
        self._then = then

    def __call__(self, worker: int) -> None:
        self._proxy.start_worker(self._session)
        pickle_small_tensors()
        if self._then is not None:
            self._then(worker)


class _Start:
    """Starts the server, and stops it in the end. The loader and its iterators share it."""

    def __init__(self, server: DALIServer) -> None:
        self._server = server
        self._owner = os.getpid()
        self.started = False

    def __call__(self) -> None:
        if not self._server._is_thread_running():
            self._server.start_thread()
            self.started = True

    def __del__(self) -> None:
        if self.started and os.getpid() == self._owner:
            self._server.stop_thread()


class _Iter(_MultiProcessingDataLoaderIter):
    """One pass over a `DataLoader`."""

    def __init__(self, loader: DataLoader) -> None:
        self._start = loader._start
        self._server = loader.dali_server
        self._owner = os.getpid()
        self._requests = loader.dali_server._requests
        self._session = self._requests.open_session()
        given = loader.worker_init_fn
        loader.worker_init_fn = _WorkerInit(loader.dali_server.proxy, self._session, given)
        try:
            super().__init__(loader)
        finally:
            loader.worker_init_fn = given

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        self._leaving = not first_iter
        for _, *fetched in getattr(self, "_task_info", {}).values():
            self._discard(fetched)
        super()._reset(loader, first_iter)
        self._leaving = False

    def _discard(self, batch: Any) -> None:
        """Forgets the outputs of a batch that belongs to an epoch which was left early."""
        Replacer(lambda ref: self._requests.discard(ref.pipe_run_ref.key)).replace(batch)

    def _get_data(self) -> Any:
        batch = super()._get_data()
        if self._leaving:
            self._discard(batch)
        return batch

    def _try_get_data(self, timeout: float = _CHECK) -> Any:
        try:
            return super()._try_get_data(timeout)
        except (OSError, EOFError) as error:  # a worker died while it passed a tensor
            connection.wait([worker.sentinel for worker in self._workers], _CHECK)
            running = zip(self._workers_status, self._workers)
            dead = [worker.pid for active, worker in running if active and not worker.is_alive()]
            if not dead:
                raise
            raise RuntimeError(f"The worker process {dead[0]} ended unexpectedly.") from error

    def _next_data(self) -> Any:
        self._start()
        return self._server.produce_data(super()._next_data())

    def _shutdown_workers(self) -> None:
        # In a forked process this is a copy; when Python ends, PyTorch does nothing either, and no
        # thread can be started.
        if os.getpid() != self._owner or sys.is_finalizing():
            return
        if not hasattr(self, "_shutdown"):  # PyTorch refused the loader
            return
        # PyTorch waits 5 seconds for each worker that does not hear that it should end, as happens
        # when the garbage collector has taken the queues first.
        late = threading.Timer(_GRACE, _terminate, args=(getattr(self, "_workers", ()),))
        late.daemon = True
        late.start()
        try:
            super()._shutdown_workers()
        finally:
            late.cancel()
        self._requests.end_session(self._session)


def _terminate(processes: Sequence[Any]) -> None:
    for process in processes:
        process.terminate()


class DataLoader(data.DataLoader[Any]):
    """A `torch.utils.data.DataLoader` that puts the outputs of a pipeline in its batches.

    Args:
        dali_server: the server, whose `proxy` the data set calls. If it is not running, the loader
            starts it, and stops it when the loader is freed.
        args, kwargs: as for `torch.utils.data.DataLoader`, with `num_workers` of at least 1.

    Raises:
        AssertionError: (when it is iterated) `num_workers` is 0.
    """

    def __init__(self, dali_server: DALIServer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self._start = _Start(dali_server)

    @property
    def server_started_by_loader(self) -> bool:
        """Whether the loader has started the server."""
        return self._start.started

    def ensure_server_listening(self) -> None:
        """Starts the server if it is not running."""
        self._start()

    def _get_iterator(self) -> Any:
        return _Iter(self)
