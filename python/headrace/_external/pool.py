# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The worker processes of a pipeline, seen from the main process: it sends tasks and receives finished batches."""

from __future__ import annotations

import errno
import mmap
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
from array import array
from collections.abc import Sequence
from multiprocessing import reduction, resource_tracker
from typing import Any, TypeAlias

from headrace import _core
from headrace._external import pickling, worker
from headrace._external.slots import Lease, Slot, Slots

_GRACE = 1.0  # seconds for a worker to end by itself, before it is killed


Call: TypeAlias = "tuple[int, ...]"  # the arguments of a task


class Ticket:
    """A requested batch. It consists of chunks, each in its own slot.

    Exceptions of signal handlers may come at any call. What must happen exactly once is therefore
    done by `_core.collect`, which also notes that it was done.
    """

    def __init__(self, number: int, source: int, round_: int, calls: Sequence[Call]) -> None:
        self.number = number
        self.source = source
        self.round = round_
        self.calls = calls
        self.leases: list[Lease] = []
        self.sent: list[int] = []  # bytes of each task that was sent
        self.starts: list[list[int] | None] = [None] * len(calls)
        self.missing = len(calls)
        self.stale = False
        self.error: bytes | None = None  # of the first chunk that failed
        self.failed_chunk = len(calls)


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


class _Packed:
    """The makers of all sources for a spawned process, in memory with a file descriptor.

    `multiprocessing` sends the arguments of a process through a pipe of which it also keeps the other end: with more
    than fits into it, it waits forever if the process ends before it has read them.
    """

    def __init__(self, makers: list[_Maker]) -> None:
        self._fd = os.memfd_create("headrace-sources", os.MFD_CLOEXEC)
        with open(self._fd, "wb", closefd=False) as file:
            file.write(reduction.ForkingPickler.dumps(makers))

    def __getstate__(self) -> Any:
        return reduction.DupFd(self._fd)

    def __setstate__(self, state: Any) -> None:
        self._fd = state.detach()

    def __del__(self) -> None:
        os.close(self._fd)

    def unpack(self) -> list[_Maker]:
        with mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ) as data:
            return list(pickle.loads(data))


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
        self._messages: list[bytes] = []  # received, but not processed yet; at most one
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
        given = makers if method == "fork" else _Packed(makers)
        if method == "spawn":
            resource_tracker.ensure_running()  # it lets SIGINT through again when it starts
        inherited = [self._shared, self._results, *self._own] if method == "fork" else []
        try:
            for i in range(count):
                process = context.Process(
                    target=worker.run,
                    name=f"headrace-worker-{i}",
                    args=(os.getpid(), inherited, owns[i][1], shared_end, results_end, given),
                    daemon=True,
                )
                # Ctrl-C must not end a worker before it can say that it ignores SIGINT.
                mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                try:
                    process.start()
                    self._processes.append(process)
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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

    @property
    def failed(self) -> bool:
        """Whether a worker has died."""
        return self._failure is not None

    def all_slots(self) -> list[Slot]:
        return [slot for slots in self.slots for slot in slots.all]

    def ticket(self, source: int, round_: int, calls: Sequence[Call]) -> Ticket:
        """A request for a batch, with one task per element of `calls`; `send` sends it."""
        ticket = Ticket(self._next, source, round_, calls)
        self._next += 1
        return ticket

    def send(self, ticket: Ticket) -> None:
        """Sends the tasks that were not sent yet.

        Raises:
            RuntimeError: a worker has died.
        """
        if len(ticket.sent) == len(ticket.calls):
            return
        self._check_failure()
        self._tickets[ticket.number] = ticket
        own = self._own_of[ticket.source]
        to = self._shared if own is None else self._own[own]
        while len(ticket.sent) < len(ticket.calls):
            chunk = len(ticket.sent)
            if len(ticket.leases) == chunk:
                _core.collect(ticket.leases, self.slots[ticket.source].take)
            slot, call = ticket.leases[chunk].slot, ticket.calls[chunk]
            slot.samples = call[2]
            task = (ticket.number, chunk, ticket.source, slot.number, slot.size, call)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [slot.fd]))
            try:
                self._send(to, ticket.sent, pickle.dumps(task), rights)
            except OSError:
                self._look_for_dead()
                raise

    def _send(
        self, to: socket.socket, sent: list[Any], task: bytes, rights: tuple[int, int, array[int]]
    ) -> None:
        """Sends a task. While there is no room for it, results are received: the workers may be waiting for
        somebody to take theirs, and take no tasks meanwhile."""
        while True:
            try:
                _core.collect(sent, to.sendmsg, [task], [rights], socket.MSG_DONTWAIT)
                return
            except BlockingIOError:
                self._receive(to)
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:  # descriptors on their way; workers take them
                    raise
                self._receive()

    def drop(self, ticket: Ticket) -> None:
        """Discards a request, finished or not."""
        ticket.stale = True
        if ticket.missing == len(ticket.calls) - len(ticket.sent):
            self._tickets.pop(ticket.number, None)

    def wait(self, ticket: Ticket) -> list[list[Part]]:
        """Waits for a batch and returns the parts of each output. Exceptions of the source are raised again here.

        Raises:
            RuntimeError: a worker has died.
        """
        while ticket.missing:
            self._receive()
        self._tickets.pop(ticket.number, None)
        if ticket.error is not None:
            error, text = pickle.loads(ticket.error)
            if isinstance(error, StopIteration):
                raise StopIteration
            raise error from WorkerError(text)
        outputs = zip(*(starts or () for starts in ticket.starts), strict=True)
        return [
            [Part(lease, start) for lease, start in zip(ticket.leases, starts, strict=True)]
            for starts in outputs
        ]

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise RuntimeError(self._failure)

    def _receive(self, to: socket.socket | None = None) -> None:
        """Waits for a result and takes it, or until there is room for a task in the socket `to`."""
        self._check_failure()
        if not self._messages:
            poll = select.poll()
            for source in (self._results, *(p.sentinel for p in self._processes)):
                poll.register(source, select.POLLIN)
            if to is not None:
                poll.register(to, select.POLLOUT)
            ready = dict(poll.poll())
            if self._results.fileno() in ready:
                _core.collect(self._messages, self._results.recv, worker.MESSAGE)
            elif to is not None and ready.get(to.fileno()) == select.POLLOUT:
                return
        if self._messages and self._messages[0]:
            self._take(self._messages[0])
        else:  # also when the last worker has died, which closes the socket
            self._messages = []
            self._look_for_dead()

    def _take(self, message: bytes) -> None:
        number, chunk, size, starts, error = pickle.loads(message)
        ticket = self._tickets[number]
        ticket.leases[chunk].slot.grown(size)
        if ticket.stale and ticket.missing == 1 + len(ticket.calls) - len(ticket.sent):
            del self._tickets[number]
        if error is not None and chunk < ticket.failed_chunk:
            ticket.error, ticket.failed_chunk = error, chunk
        ticket.starts[chunk] = starts
        ticket.missing -= 1
        self._messages = []  # no call since the first of these changes

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
        self._pending: list[Ticket] = []
        self._round = 0  # grows when requests are dropped

    def reserve(self, max_batch: int) -> None:
        """Makes the slots of the batches that are requested ahead."""
        chunks = self._chunks(max_batch)
        slots = self._pool.slots[self._number]
        slots.reserve(chunks * self._depth, -(-max_batch // chunks), self._source.hint)

    def _chunks(self, max_batch: int) -> int:
        """The number of tasks, each with its slot, that a batch is split into."""
        return 1 if self._source.batch else min(self._pool.workers, max_batch)

    def _calls(self, iteration: int, max_batch: int, epoch: int) -> list[Call]:
        first = iteration * max_batch
        if self._source.batch:
            return [(first, 0, max_batch, iteration, epoch, self._round)]
        chunks = self._chunks(max_batch)
        bounds = [max_batch * k // chunks for k in range(chunks + 1)]
        return [
            (first + a, a, b - a, iteration, epoch, self._round)
            for a, b in zip(bounds[:-1], bounds[1:], strict=True)
        ]

    def fill(self, round_: int, iteration: int, max_batch: int, epoch: int) -> None:
        """Requests batches until `depth` are pending, of which the first is for `round_`, number `iteration`."""
        while self._pending and self._pending[0].round < round_:
            self._pending = self._pending[1:]
        while True:
            for ticket in self._pending:
                self._pool.send(ticket)
            lead = len(self._pending)
            if lead == self._depth:
                return
            calls = self._calls(iteration + lead, max_batch, epoch)
            ticket = self._pool.ticket(self._number, round_ + lead, calls)
            self._pending = [*self._pending, ticket]

    def take(self, round_: int, iteration: int, max_batch: int, epoch: int) -> list[list[Part]]:
        """Waits for the batch of `round_`. After an exception of the source, all pending requests are dropped; the
        next call repeats them."""
        self.fill(round_, iteration, max_batch, epoch)
        ticket = self._pending[0]
        try:
            return self._pool.wait(ticket)
        except BaseException:
            if ticket.error is not None or self._pool.failed:
                self._forget()
            raise

    def rewind(self) -> None:
        """Drops all pending requests, whose arguments are those of the old epoch. What an iterator has given is
        kept: it goes on where it is, also if another source has ended the epoch."""
        if self._source.takes_argument:
            self._forget()

    def _forget(self) -> None:
        self._round += 1
        for ticket in self._pending:
            self._pool.drop(ticket)
        self._pending = []


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
