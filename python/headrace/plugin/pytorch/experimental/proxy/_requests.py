# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches between the proxies and the server: inputs that wait, and outputs that nobody has taken."""

from __future__ import annotations

import array
import mmap
import os
import pickle
import select
import socket
import threading
from collections import deque
from typing import Any, NamedTuple

from headrace.plugin.pytorch.experimental.proxy._memory import Written, columns_of
from headrace.plugin.pytorch.experimental.proxy._refs import Key

_MESSAGE = 1 << 16  # largest message, in bytes


class Request(NamedTuple):
    """A batch of inputs.

    Attributes:
        key: which batch it is.
        columns: for each input of the pipeline, samples or a batch.
        session: the iterator that it belongs to, or None.
        on_demand: it runs only when it is asked for.
        shared: the inputs are in memory that nobody changes, and need not be copied.
        failure: why there are no inputs: an error, or None.
    """

    key: Key
    columns: list[Any]
    session: int | None
    on_demand: bool
    shared: bool = False
    failure: RuntimeError | None = None


class _Inbox:
    """Receives the batches of other processes. Their shared memory is mapped once per slot."""

    def __init__(self, receiver: socket.socket) -> None:
        self._receiver = receiver
        self._maps: dict[bytes, dict[int, mmap.mmap]] = {}
        self._pids: dict[bytes, int] = {}

    def receive(self) -> Request | None:
        """The next batch, if one has arrived."""
        size = array.array("i").itemsize
        try:
            message, control, _, _ = self._receiver.recvmsg(
                _MESSAGE, socket.CMSG_SPACE(size), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        (fd,) = array.array("i", control[0][2][:size])
        try:
            key, pid, written, session, on_demand = pickle.loads(message)
            batch = Written(*written)
            memory = self._map(key[0], pid, batch.slot, fd, batch.length)
        finally:
            os.close(fd)
        try:
            return Request(key, columns_of(memory, batch), session, on_demand, shared=True)
        except RuntimeError as error:
            return Request(key, [], session, on_demand, failure=error)

    def _map(self, origin: bytes, pid: int, slot: int, fd: int, length: int) -> mmap.mmap:
        if origin not in self._maps:
            self._forget_dead()
            self._maps[origin] = {}
            self._pids[origin] = pid
        found = self._maps[origin].get(slot)
        if found is None or len(found) != length:
            found = self._maps[origin][slot] = mmap.mmap(fd, length)
        return found

    def _forget_dead(self) -> None:
        """Drops the memory of processes that have ended; batches in use keep theirs."""
        for origin, pid in list(self._pids.items()):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                del self._maps[origin], self._pids[origin]


class Requests:
    """What proxies, the server's thread and the threads that wait for outputs share.

    `changed` guards all members but the inbox, which belongs to the server's thread.
    """

    def __init__(self, receiver: socket.socket) -> None:
        self.changed = threading.Condition()
        self.running = False  # whether the server's thread runs
        self.failure: BaseException | None = None  # what ended it
        self._receiver = receiver
        self._inbox = _Inbox(receiver)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # -1 once it is closed
        self._ready: deque[Request] = deque()
        self._on_demand: dict[Key, Request] = {}  # batches that wait for `take`
        self._demanded: deque[Key] = deque()  # of these, in the order in which they run
        self._results: dict[Key, tuple[int | None, Any, BaseException | None]] = {}
        self._discarded: set[Key] = set()  # before they came or had run
        self._sessions = 0
        self._ended: set[int] = set()

    # ---- any thread ------------------------------------------------------------------------------

    def wake(self) -> None:
        """Ends `wait_for_input`.

        Raises:
            RuntimeError: the server is closed. Its descriptor may be that of another file by now.
        """
        with self.changed:
            if self._wake < 0:
                raise RuntimeError(
                    "The DALIServer of this proxy no longer exists: keep the server as long as its proxy is used."
                )
            os.eventfd_write(self._wake, 1)

    def put(self, request: Request) -> None:
        """Adds a batch.

        Raises:
            RuntimeError: the server is closed.
        """
        with self.changed:
            self.wake()
            self._add(request)

    def _add(self, request: Request) -> None:
        if request.session in self._ended:
            return
        if not request.on_demand:
            self._ready.append(request)
        elif request.key in self._discarded:
            self._discarded.remove(request.key)
        else:
            self._on_demand[request.key] = request

    def take(self, key: Key, on_demand: bool) -> tuple[Any, BaseException | None]:
        """Waits for a batch, and returns its outputs or what the pipeline raised.

        Args:
            on_demand: the batch does not run before this call.

        Raises:
            RuntimeError: the server does not run.
        """
        with self.changed:
            if on_demand:
                self.wake()
                self._demanded.append(key)
            while key not in self._results:
                if self.failure is not None:
                    raise RuntimeError(
                        f"The thread of the DALIServer has failed: {self.failure}"
                    ) from self.failure
                if not self.running:
                    raise RuntimeError(
                        "The DALIServer is not running, so this batch cannot be made: use the server in a "
                        "`with` statement, or call `start_thread`."
                    )
                self.changed.wait()
            _, outputs, error = self._results.pop(key)
        return outputs, error

    def discard(self, key: Key) -> None:
        """Forgets a batch that nobody takes. One that runs on demand does not run."""
        with self.changed:
            if self._results.pop(key, None) is None and self._on_demand.pop(key, None) is None:
                self._discarded.add(key)

    def open_session(self) -> int:
        """A number for the batches of one iterator."""
        with self.changed:
            self._sessions += 1
            return self._sessions

    def end_session(self, session: int) -> None:
        """Forgets the batches of an iterator."""
        with self.changed:
            self._ended.add(session)
            self._ready = deque(r for r in self._ready if r.session != session)
            self._on_demand = {k: r for k, r in self._on_demand.items() if r.session != session}
            self._results = {k: r for k, r in self._results.items() if r[0] != session}

    def leave(self) -> None:
        """Closes what a forked process has inherited. Another thread may have held the lock when the process was
        forked, so this does not wait for it."""
        self._receiver.close()
        wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)

    def begin(self) -> None:
        """The server's thread starts."""
        with self.changed:
            self.running, self.failure = True, None

    # ---- the server's thread ---------------------------------------------------------------------

    def next(self) -> Request | None:
        """The next batch to run, if there is one."""
        while (request := self._inbox.receive()) is not None:
            with self.changed:
                self._add(request)
        with self.changed:
            while self._demanded and self._demanded[0] in self._on_demand:
                self._ready.append(self._on_demand.pop(self._demanded.popleft()))
            return self._ready.popleft() if self._ready else None

    def wait_for_input(self) -> None:
        """Waits until `next` may have a batch, or `wake` is called."""
        poll = select.poll()
        poll.register(self._receiver, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        poll.poll()
        try:
            os.eventfd_read(self._wake)
        except BlockingIOError:
            pass

    def finish(self, request: Request, outputs: Any, error: BaseException | None) -> None:
        """Stores what the pipeline made of a batch."""
        with self.changed:
            if request.key in self._discarded:
                self._discarded.remove(request.key)
            elif request.session not in self._ended:
                self._results[request.key] = request.session, outputs, error
            self.changed.notify_all()

    def end(self, failure: BaseException | None) -> None:
        """The thread ends; those that wait for outputs get an error."""
        with self.changed:
            self.running, self.failure = False, failure
            self.changed.notify_all()

    def close(self) -> None:
        """Closes the sockets, once the thread has ended."""
        with self.changed:
            self.leave()
