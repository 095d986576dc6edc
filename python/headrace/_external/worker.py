# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The worker process: waits for a task, calls the source and writes the samples into the task's slot."""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import struct
import threading
import traceback
from collections.abc import Callable
from typing import Any

from headrace import _core, types
from headrace._external.slots import Memory

STOP = b"stop"
_FD = struct.Struct("i")  # a file descriptor in a control message
MESSAGE = 1 << 16  # largest message, in bytes
_MOST = MESSAGE // 4  # longest text of an error, in characters
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt, from malloc.h
_KEPT, _LARGE = 1 << 26, 1 << 25  # bytes; larger blocks than _LARGE are unmapped when freed


class _Runner:
    """A source that runs in this process."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._source: Any = None
        self._ended_round: int | None = (
            None  # an iterator that has ended is not called again in that round
        )

    def columns(
        self, first: int, base: int, count: int, iteration: int, epoch: int, round_: int
    ) -> list[Any]:
        if self._source is None:
            self._source = self._make()
        source = self._source
        if self._ended_round == round_:
            raise StopIteration
        if source.batch:
            try:
                data = source.callback(*source.arguments(0, iteration, 0, epoch))
            except StopIteration:
                if not source.takes_argument:
                    self._ended_round = round_
                raise
        else:
            data = [
                source.callback(types.SampleInfo(first + i, base + i, iteration, epoch))
                for i in range(count)
            ]
        return [_samples(column) for column in source.split(data)]


def _samples(data: Any) -> list[Any]:
    from headrace._external.feeding import check_sample

    if not isinstance(data, (list, tuple)):
        if not isinstance(data, _core.Batch):
            check_sample(data)
        return list(data)
    for sample in data:
        check_sample(sample)
    return list(data)


def _pack_error(error: BaseException) -> bytes:
    """Pickles the exception with its traceback. An exception that does not pickle becomes a RuntimeError."""
    text = "".join(traceback.format_exception(error))[-_MOST:]
    try:
        packed = pickle.dumps((error, text))
        pickle.loads(packed)
        if len(packed) < MESSAGE // 2:
            return packed
    except Exception:  # user-defined classes can raise anything here
        pass
    plain = (
        StopIteration()
        if isinstance(error, StopIteration)
        else RuntimeError(f"{type(error).__name__}: {error}"[:_MOST])
    )
    return pickle.dumps((plain, text))


def end_with(process: int) -> None:
    """Waits until another process ends, then ends this one, even while a callback runs."""
    try:
        poll = select.poll()
        poll.register(os.pidfd_open(process), select.POLLIN)
        poll.poll()
    except ProcessLookupError:  # it has ended
        pass
    except OSError:  # the kernel lacks pidfd_open
        while os.path.exists(f"/proc/{process}"):
            threading.Event().wait(1.0)
    os._exit(1)


def _keep_memory() -> None:
    """Makes glibc keep freed memory. A callback allocates the same amount for the next batch, and page faults on
    returned memory take longer than filling it."""
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return
    mallopt(_TRIM_THRESHOLD, _KEPT)
    mallopt(_MMAP_THRESHOLD, _LARGE)


def _next_task(own: socket.socket, shared: socket.socket) -> tuple[bytes, int] | None:
    """Waits for a task. Returns it with the file descriptor of its slot, or None to stop."""
    poll = select.poll()
    poll.register(own, select.POLLIN)
    poll.register(shared, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        for sock in (own, shared):
            if sock.fileno() not in ready:
                continue
            try:
                # Not socket.recv_fds, which ignores its flags: it would wait for a shared task forever
                # when another worker took this one, and never see the tasks of this worker alone.
                data, control, _, _ = sock.recvmsg(
                    MESSAGE, socket.CMSG_LEN(_FD.size), socket.MSG_DONTWAIT
                )
            except BlockingIOError:  # another worker took it
                continue
            if data in (b"", STOP):
                return None
            return data, _FD.unpack(control[0][2][: _FD.size])[0]


def run(
    parent: int,
    inherited: list[socket.socket],
    own: socket.socket,
    shared: socket.socket,
    results: socket.socket,
    given: Any,
) -> None:
    """The main function of the process.

    Args:
        parent: process id of the parent.
        inherited: the parent's ends of the sockets, which a forked process closes.
        own, shared: sockets with tasks for this worker, and for any worker.
        results: socket for results.
        given: one function per source, which makes it; or an object whose `unpack` returns them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    for sock in inherited:
        sock.close()
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    _keep_memory()
    makers = given if isinstance(given, list) else given.unpack()
    runners = [_Runner(make) for make in makers]
    memory: dict[tuple[int, int], Memory] = {}
    while (task := _next_task(own, shared)) is not None:
        ticket, chunk, number, slot, size, call = pickle.loads(task[0])
        key = number, slot
        if key in memory:
            os.close(task[1])
            memory[key].reach(size)
        else:
            memory[key] = Memory(task[1], size)
        starts, error = [], None
        try:
            starts = memory[key].write(runners[number].columns(*call))
        except BaseException as raised:
            error = _pack_error(raised)
        answer = pickle.dumps((ticket, chunk, os.fstat(memory[key].fd).st_size, starts, error))
        try:
            results.send(answer)
        except OSError:  # the parent has closed
            return
