# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Where and when operators run: `Device`, `EvalMode`, `EvalContext`, numbers of threads."""

from __future__ import annotations

import enum
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Self

_local = threading.local()


def _stack(name: str) -> list[Any]:
    found = getattr(_local, name, None)
    if found is None:
        found = []
        setattr(_local, name, found)
    return found


class Device:
    """A place for data: "cpu", or "gpu" with a number, as in "gpu:1". As a context manager it sets the current device.

    Raises:
        ValueError: the kind of device is unknown, or a CPU has a number.
    """

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: int | None = None) -> None:
        kind, _, number = str(name).partition(":")
        kind = "gpu" if kind == "cuda" else kind
        if kind not in ("cpu", "gpu"):
            raise ValueError(f"Invalid device type: {kind}")
        if number:
            if device_id is not None:
                raise ValueError(f"The device {name} has two numbers: {number} and {device_id}.")
            device_id = int(number)
        if kind == "cpu" and device_id is not None:
            raise ValueError(f"Invalid device id: {device_id} for device type: cpu. Must be `None`")
        self.device_type = kind
        self.device_id = (device_id or 0) if kind == "gpu" else None

    @staticmethod
    def current() -> Device:
        """The device of the innermost `with`, or the CPU."""
        stack = _stack("devices")
        return stack[-1] if stack else Device.CPU

    @staticmethod
    def default_device_id(device_type: str) -> int | None:
        """The number of a device that is given without one."""
        return 0 if device_type == "gpu" else None

    @staticmethod
    def from_dlpack(dlpack_device: tuple[int, int]) -> Device:
        """The device that `__dlpack_device__` returned."""
        kind = Device.type_from_dlpack(dlpack_device[0])
        return Device(kind, dlpack_device[1] if kind == "gpu" else None)

    @staticmethod
    def type_from_dlpack(dev_type: int) -> str:
        """The kind of device with DLPack's number."""
        if int(dev_type) in (1, 3):
            return "cpu"
        if int(dev_type) in (2, 13):
            return "gpu"
        raise ValueError(f"Unsupported DLPack device type: {dev_type}")

    def __enter__(self) -> Self:
        _stack("devices").append(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        _stack("devices").pop()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __str__(self) -> str:
        return self.device_type if self.device_id is None else f"gpu:{self.device_id}"

    def __repr__(self) -> str:
        text = f"Device(device_type='{self.device_type}'"
        return text + (")" if self.device_id is None else f", device_id={self.device_id})")


Device.CPU = Device("cpu")


def device(obj: Any, id: int | None = None) -> Device:
    """The device that a Device, a name, or a device of PyTorch stands for."""
    if isinstance(obj, Device):
        return obj
    if hasattr(obj, "type") and hasattr(obj, "index"):
        return Device(obj.type, obj.index if obj.type != "cpu" else None)
    return Device(obj, id)


class EvalMode(enum.Enum):
    """When operators run. Used as a context manager.

    `deferred`: when the result is needed. All others: in the call. (DALI starts the work in the call
    and reports failures later, except in the modes whose names begin with "sync".)
    """

    deferred = 1
    eager = 2
    sync_cpu = 3
    sync_full = 4

    @staticmethod
    def current() -> EvalMode:
        """The mode of the innermost `with`, or `eager`."""
        stack = getattr(_local, "modes", None)
        return stack[-1] if stack else EvalMode.eager

    def __enter__(self) -> Self:
        _stack("modes").append(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        _stack("modes").pop()


class ThreadPool:
    """A number of threads under DALI's name: contexts with one number share their threads in any case."""

    def __init__(self, num_threads: int | None = None, *, device_id: int | None = -1) -> None:
        self.num_threads = get_num_threads() if num_threads is None else int(num_threads)
        self.device_id = None if device_id in (None, -1) else device_id


_threads: int | None = None


def get_num_threads() -> int:
    """The number of threads of contexts that are made without one."""
    if _threads is not None:
        return _threads
    given = os.environ.get("DALI_NUM_THREADS", "")
    return int(given) if given.isdigit() and int(given) else len(os.sched_getaffinity(0))


def set_num_threads(n: int) -> None:
    """Sets the number of threads of contexts that are made without one.

    Raises:
        ValueError: `n` is less than 1.
    """
    global _threads
    if n is not None and n < 1:
        raise ValueError("Number of threads must be at least 1.")
    _threads = n


class EvalContext:
    """Threads and a device for operators. As a context manager it is the current one.

    Args:
        num_threads: threads for batches; by default `get_num_threads()`.
        device_id: the GPU; by default that of the current device, if it is a GPU.
        cuda_stream: has no effect: results are complete on every stream.
        thread_pool: gives the number of threads instead of `num_threads`.
    """

    _make_checkpoint: ClassVar[Callable[[], Any]]  # a class that a later module sets

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
        thread_pool: ThreadPool | None = None,
    ) -> None:
        if thread_pool is not None and num_threads is not None:
            raise ValueError("`num_threads` and `thread_pool` cannot be given together.")
        if num_threads is not None and num_threads < 1:
            raise ValueError("Number of threads must be at least 1.")
        self._given = thread_pool.num_threads if thread_pool else num_threads
        self._pool = thread_pool
        self.device_id = Device.current().device_id if device_id is None else device_id
        self.cuda_stream = cuda_stream
        self._checkpoint: Any = None
        self._lock = threading.Lock()  # guards _thread and _entered, until the thread is inside
        self._thread = 0  # that is inside
        self._entered = 0  # how often that thread has entered it
        self._waiting: list[Any] = []  # weak references to calls that were not evaluated

    @property
    def num_threads(self) -> int:
        """Threads for batches."""
        return self._given or get_num_threads()

    @property
    def thread_pool(self) -> ThreadPool:
        """The threads, to be shared with other contexts."""
        if self._pool is None or self._pool.num_threads != self.num_threads:
            self._pool = ThreadPool(self.num_threads)
        return self._pool

    @property
    def checkpoint(self) -> Any:
        """The `Checkpoint` of this context, made when it is first asked for."""
        if self._checkpoint is None:
            self._checkpoint = self._make_checkpoint()
        return self._checkpoint

    @staticmethod
    def current() -> EvalContext:
        """The context of the innermost `with`, or the thread's default one."""
        stack = getattr(_local, "contexts", None)
        return stack[-1] if stack else EvalContext.default()

    @staticmethod
    def default() -> EvalContext:
        """The default context of this thread."""
        found = getattr(_local, "default", None)
        if found is None:
            found = _local.default = EvalContext()
        return found

    def wait_for(self, call: Any) -> None:
        """Notes a call that `evaluate_all` must evaluate."""
        self._waiting = [ref for ref in self._waiting if ref() is not None]
        self._waiting.append(weakref.ref(call))

    def evaluate_all(self) -> None:
        """Runs all calls that were deferred and whose results still exist."""
        waiting, self._waiting = self._waiting, []
        for ref in waiting:
            call: Callable[[], Any] | None = ref()
            if call is not None:
                call()

    def __enter__(self) -> Self:
        here = threading.get_ident()
        with self._lock:
            if self._entered and self._thread != here:
                raise RuntimeError(
                    "Another thread is inside this EvalContext: each thread needs one of its own. They can share the "
                    "`thread_pool`."
                )
            self._thread = here
            self._entered += 1
        _stack("contexts").append(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        try:
            self.evaluate_all()
        finally:
            _stack("contexts").pop()
            self._entered -= 1
