# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Shared memory into which workers write batches, in slots. A slot is reused once its batch is released."""

from __future__ import annotations

import mmap
import os
from collections import deque
from collections.abc import Sequence
from typing import Any

from headrace import _core

_PAGE = mmap.PAGESIZE
_LEAST = 1 << 20  # initial bytes of a slot if the hint is smaller


def round_up(size: int) -> int:
    return max(-(-size // _PAGE), 1) * _PAGE


class Slot:
    """Anonymous shared memory with a file descriptor. It has no name in the file system that could be left behind."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = round_up(size)
        self.samples = 0  # samples of its last batch
        self.fd = os.memfd_create("headrace-samples", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.size)
        self.map = mmap.mmap(self.fd, self.size)

    def grown(self, size: int) -> None:
        """Maps the slot again after a worker enlarged it to `size` bytes."""
        if size != self.size:
            self.size = size
            self.map = mmap.mmap(self.fd, size)

    def __del__(self) -> None:
        fd, self.fd = getattr(self, "fd", -1), -1
        if fd >= 0:
            os.close(fd)


class Memory:
    """The mapping of a slot in this process."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.map = mmap.mmap(fd, size)

    def reach(self, size: int) -> None:
        """Maps at least `size` bytes, and enlarges the memory if it has fewer."""
        if size <= len(self.map):
            return
        if os.fstat(self.fd).st_size < size:
            os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)

    def write(self, columns: Sequence[Any], at: int = 0) -> list[int]:
        """Writes the samples of each output from the offset `at` on. Returns the offset in bytes at
        which each output begins."""
        starts = []
        for samples in columns:
            starts.append(at)
            at = self.append(samples, at)
        return starts

    def append(self, samples: Any, at: int) -> int:
        """Writes samples at an offset. Returns where they end."""
        end = _core.pack(samples, self.map, at)
        if end > len(self.map):
            self.reach(round_up(end + end // 4))
            end = _core.pack(samples, self.map, at)
        return end


class Lease:
    """Reserves a slot for a requested batch, and for as long as the batch uses its memory."""

    __slots__ = ("slot", "_free")

    def __init__(self, slot: Slot, free: deque[Slot]) -> None:
        self.slot = slot
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.slot)


class Slots:
    """The slots of a source. There are as many as were in use at the same time, or as were reserved."""

    def __init__(self) -> None:
        self._hint = _LEAST  # initial bytes of a slot
        self._free: deque[Slot] = deque()
        self.all: list[Slot] = []

    def reserve(self, count: int, samples: int, hint: int) -> None:
        """Makes the first slots: each holds `samples` samples of about `hint` bytes."""
        self._hint = max(samples * hint, _LEAST)
        for lease in [self.take() for _ in range(count)]:
            lease.slot.samples = samples

    def take(self) -> Lease:
        try:
            slot = self._free.pop()  # the one used last, which may still be in a CPU cache
        except IndexError:
            size = max([self._hint, *(slot.size for slot in self.all[-1:])])
            slot = Slot(len(self.all), size)
            self.all.append(slot)
        return Lease(slot, self._free)
