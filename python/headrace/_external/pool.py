# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The worker processes of a pipeline, seen from the main process: it sends tasks and receives finished batches."""

from __future__ import annotations

import array
import errno
import multiprocessing
import os
import pickle
import select
import signal
import socket
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from headrace._external import pickling, worker
from headrace._external.slots import Lease, Slot, Slots

_GRACE = 1.0  # seconds for a worker to end by itself, before it is killed


class Ticket:
    """A requested batch. It consists of chunks, each in its own slot."""

    def __init__(self, number: int, source: int, chunks: int) -> None:
        self.number = number
        self.source = source
        self.slots: list[Slot | None] = [None] * chunks
        self.starts: list[list[int] | None] = [None] * chunks
        self.missing = chunks
        self.stale = False
        self.error: bytes | None = None  # of the first chunk that failed
        self.failed_chunk = chunks


class WorkerError(Exception):
    """The worker's traceback, attached as the cause of an exception raised there."""

    def __init__(self, text: str) -> None:
        super().__init__(f"in a worker process:\n\n{text}")


class Part:
    """A chunk of one output, as `_core.unpack` takes it."""

    __slots__ = ("memory", "lease", "start")

    def __init__(self, lease: Lease, start: int) -> None:
        self.memory = lease.slot.map
        self.lease = lease
        self.start = start


class _Maker:
    """Makes the copy of a source in a worker."""

    def __init__(self, source: Any, arguments: dict[str, Any], loads: Any) -> None:
        self._source = source
        self._arguments = arguments
        self._loads = loads

    def __call__(self) -> Any:
        from headrace._external.feeding import Source

        source = self._loads(self._source) if self._loads is not None else self._source
        return Source(source, **self._arguments)


def _check_fork() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise RuntimeError(
            "Workers of a parallel external_source cannot be forked once CUDA has been initialized in the "
            "process: call `start_py_workers` of all pipelines before anything uses CUDA, or make the "
            'pipelines with py_start_method="spawn".'
        )


class Pool:
    """Processes that run the parallel sources of a pipeline.

    Args:
        sources: per source, the user's callback and the keyword arguments of its `Source`.
        dedicated: per source, whether it has state and must run in one worker.
        workers: number of processes; fewer are started if dedicated sources alone need fewer.
        method: start method of `multiprocessing`: "fork" or "spawn".
        pickler: for "spawn", see `pickling.functions`.

    Raises:
        RuntimeError: fewer than one worker; "fork" after CUDA was initialized.
        ValueError: `pickler` is not a pickler.
    """

    def __init__(
        self,
        sources: Sequence[tuple[Any, dict[str, Any]]],
        dedicated: Sequence[bool],
        workers: int,
        method: str,
        pickler: Any,
    ) -> None:
        if workers < 1:
            raise RuntimeError(
                "The external source cannot run in parallel mode without Python workers pool: py_num_workers is "
                f"{workers}, but must be at least 1."
            )
        if method == "fork":
            _check_fork()
        count = min(workers, sum(dedicated)) if all(dedicated) else workers
        self.slots = [Slots() for _ in sources]
        self._own_of = [i % count if alone else None for i, alone in enumerate(dedicated)]
        self._tickets: dict[int, Ticket] = {}
        self._next = 0
        self._failure: str | None = None
        self._shared, shared_end = _pair()
        results_end, self._results = _pair()
        owns = [_pair() for _ in range(count)]
        self._own = [pair[0] for pair in owns]
        self._processes: list[Any] = []
        self.close = weakref.finalize(
            self, _end, os.getpid(), self._processes, self._own, [self._shared, self._results]
        )
        context: Any = multiprocessing.get_context(method)
        dumps, loads = (None, None) if method == "fork" else pickling.functions(pickler)
        makers = [
            _Maker(dumps(source) if dumps else source, arguments, loads)
            for source, arguments in sources
        ]
        inherited = [self._shared, self._results, *self._own] if method == "fork" else []
        try:
            for i in range(count):
                process = context.Process(
                    target=worker.run,
                    name=f"headrace-worker-{i}",
                    args=(os.getpid(), inherited, owns[i][1], shared_end, results_end, makers),
                    daemon=True,
                )
                process.start()
                self._processes.append(process)
        except BaseException:
            self.close()
            raise
        finally:
            for sock in (shared_end, results_end, *(pair[1] for pair in owns)):
                sock.close()

    @property
    def workers(self) -> int:
        return len(self._processes)

    @property
    def processes(self) -> list[Any]:
        """The processes, including those that have ended."""
        return self._processes

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [process.pid for process in self._processes]

    def all_slots(self) -> list[Slot]:
        return [slot for slots in self.slots for slot in slots.all]

    def ask(self, source: int, calls: Sequence[tuple[int, ...]]) -> Ticket:
        """Requests a batch: sends one task per element of `calls`.

        Raises:
            RuntimeError: a worker has died.
        """
        self._check_failure()
        ticket = self._tickets[self._next] = Ticket(self._next, source, len(calls))
        self._next += 1
        own = self._own_of[source]
        to = self._shared if own is None else self._own[own]
        for chunk, call in enumerate(calls):
            slot = ticket.slots[chunk] = self.slots[source].take()
            slot.samples = call[2]
            task = (ticket.number, chunk, source, slot.number, slot.size, call)
            try:
                self._send(to, pickle.dumps(task), slot.fd)
            except BaseException:
                ticket.missing -= len(calls) - chunk  # these were not sent
                self.drop(ticket)
                raise
        return ticket

    def _send(self, to: socket.socket, task: bytes, fd: int) -> None:
        """Sends a task. While there is no room for it, results are received: the workers may be waiting for
        somebody to take theirs, and take no tasks meanwhile."""
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        while True:
            try:  # not socket.send_fds, which ignores its flags
                to.sendmsg([task], control, socket.MSG_DONTWAIT)
                return
            except BlockingIOError:
                self._receive(to)
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:  # descriptors on their way; workers take them
                    self._receive()
                    continue
                self._look_for_dead()
                raise

    def drop(self, ticket: Ticket) -> None:
        """Discards a request, finished or not."""
        ticket.stale = True
        if ticket.missing == 0:
            self._forget(ticket)

    def wait(self, ticket: Ticket) -> list[list[Part]]:
        """Waits for a batch and returns the parts of each output. Exceptions of the source are raised again here.

        Raises:
            RuntimeError: a worker has died.
        """
        while ticket.missing:
            self._receive()
        self._tickets.pop(ticket.number, None)
        if ticket.error is not None:
            self._give_back(ticket)
            error, text = pickle.loads(ticket.error)
            if isinstance(error, StopIteration):
                raise StopIteration
            raise error from WorkerError(text)
        leases = [self.slots[ticket.source].lease(slot) for slot in ticket.slots if slot]
        outputs = zip(*(starts or () for starts in ticket.starts), strict=True)
        return [
            [Part(lease, start) for lease, start in zip(leases, starts, strict=True)]
            for starts in outputs
        ]

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise RuntimeError(self._failure)

    def _receive(self, to: socket.socket | None = None) -> None:
        """Waits for a result and takes it, or until there is room for a task in the socket `to`."""
        self._check_failure()
        poll = select.poll()
        for source in (self._results, *(p.sentinel for p in self._processes)):
            poll.register(source, select.POLLIN)
        if to is not None:
            poll.register(to, select.POLLOUT)
        ready = dict(poll.poll())
        if self._results.fileno() in ready:
            message = self._results.recv(worker.MESSAGE)
        elif to is not None and ready.get(to.fileno()) == select.POLLOUT:
            return
        else:
            message = b""
        if message:
            self._take(message)
        else:  # also when the last worker has died, which closes the socket
            self._look_for_dead()

    def _take(self, message: bytes) -> None:
        number, chunk, size, starts, error = pickle.loads(message)
        ticket = self._tickets[number]
        slot = ticket.slots[chunk]
        assert slot is not None
        slot.grown(size)
        ticket.missing -= 1
        ticket.starts[chunk] = starts
        if error is not None and chunk < ticket.failed_chunk:
            ticket.error, ticket.failed_chunk = error, chunk
        if ticket.stale and ticket.missing == 0:
            self._forget(ticket)

    def _forget(self, ticket: Ticket) -> None:
        self._tickets.pop(ticket.number, None)
        self._give_back(ticket)

    def _give_back(self, ticket: Ticket) -> None:
        for slot in ticket.slots:
            if slot is not None:
                self.slots[ticket.source].give(slot)
        ticket.slots = []  # so that they are returned only once

    def _look_for_dead(self) -> None:
        for process in self._processes:
            code = process.exitcode
            if code is None:
                continue
            how = f"with exit status {code}" if code >= 0 else f"by signal {_signal(-code)}"
            self._failure = (
                f"external_source: worker process {process.pid} ({process.name}) ended unexpectedly {how}. "
                "Its samples are lost; create the pipeline again."
            )
            self.close()
            raise RuntimeError(self._failure)


def _signal(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _pair() -> tuple[socket.socket, socket.socket]:
    """A pair of sockets that keep message boundaries. Each message reaches exactly one of several receivers."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _end(
    owner: int, processes: list[Any], own: list[socket.socket], others: list[socket.socket]
) -> None:
    """Ends the workers. Busy ones are killed after `_GRACE` seconds."""
    if os.getpid() != owner:  # a fork of the owner
        return
    for sock in own:
        try:
            sock.send(worker.STOP, socket.MSG_DONTWAIT)
        except OSError:
            pass
    for sock in (*own, *others):
        sock.close()
    until = time.monotonic() + _GRACE
    for process in processes:
        process.join(max(until - time.monotonic(), 0.0))
        if process.exitcode is None:
            process.kill()
            process.join()


class ParallelSource:
    """Requests batches of one source from the workers ahead of time.

    Args:
        number: index of the source in the pool.
        source: a `Source` of external_source.
        depth: number of batches requested ahead.
    """

    def __init__(self, pool: Pool, number: int, source: Any, depth: int) -> None:
        self._pool = pool
        self._number = number
        self._source = source
        self._depth = depth
        self._pending: deque[Ticket] = deque()
        self._round = 0  # grows when requests are dropped

    def reserve(self, max_batch: int) -> None:
        """Makes the slots of the batches that are requested ahead."""
        chunks = self._chunks(max_batch)
        slots = self._pool.slots[self._number]
        slots.reserve(chunks * self._depth, -(-max_batch // chunks), self._source.hint)

    def _chunks(self, max_batch: int) -> int:
        """The number of tasks, each with its slot, that a batch is split into."""
        return 1 if self._source.batch else min(self._pool.workers, max_batch)

    def _calls(self, lead: int, max_batch: int, epoch: int) -> list[tuple[int, ...]]:
        source = self._source
        iteration, first = source.iteration + lead, source.sample + lead * max_batch
        if source.batch:
            return [(first, 0, max_batch, iteration, epoch, self._round)]
        chunks = self._chunks(max_batch)
        bounds = [max_batch * k // chunks for k in range(chunks + 1)]
        return [
            (first + a, a, b - a, iteration, epoch, self._round)
            for a, b in zip(bounds[:-1], bounds[1:], strict=True)
        ]

    def fill(self, max_batch: int, epoch: int) -> None:
        """Requests batches until `depth` are pending."""
        while len(self._pending) < self._depth:
            calls = self._calls(len(self._pending), max_batch, epoch)
            self._pending.append(self._pool.ask(self._number, calls))

    def take(self, max_batch: int, epoch: int) -> list[list[Part]]:
        """Waits for the next batch. After an exception, all pending requests are dropped; the next call repeats
        them."""
        self.fill(max_batch, epoch)
        try:
            parts = self._pool.wait(self._pending[0])
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._forget()
            raise
        self._pending.popleft()
        return parts

    def rewind(self) -> None:
        """Drops all pending requests, whose arguments are those of the old epoch. What an iterator has given is
        kept: it goes on where it is, also if another source has ended the epoch."""
        if self._source.takes_argument:
            self._forget()

    def _forget(self) -> None:
        self._round += 1
        for ticket in self._pending:
            self._pool.drop(ticket)
        self._pending.clear()


def start(
    sources: Sequence[Any], max_batch: int, workers: int | None, method: str, pickler: Any
) -> Pool:
    """Starts the processes for parallel sources and sets `workers` of each source."""
    pool = Pool(
        [source.given for source in sources],
        [not source.resumable for source in sources],
        workers or 0,
        method,
        pickler,
    )
    if workers is not None and pool.workers < workers:
        warnings.warn(
            f"There will be run only {pool.workers} python worker(s), even though {workers} were specified to "
            "run: a source that is an iterable runs in one.",
            stacklevel=2,
        )
    for number, source in enumerate(sources):
        source.workers = ParallelSource(pool, number, source, source.depth)
        source.workers.reserve(max_batch)
    return pool
