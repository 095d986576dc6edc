# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Shared memory that workers write batches into: a slot at a time, used again when nobody holds its batch."""

from __future__ import annotations

import mmap
import os
from collections import deque

_PAGE = mmap.PAGESIZE


def round_up(size: int) -> int:
    return max(-(-size // _PAGE), 1) * _PAGE


class Slot:
    """Anonymous memory with a descriptor: it has no name that could be left behind."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = round_up(size)
        self.samples = 0  # of the last batch that lay in it
        self.fd = os.memfd_create("headrace-samples", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.size)
        self.map = mmap.mmap(self.fd, self.size)

    def grown(self, size: int) -> None:
        """A worker has made it larger."""
        if size != self.size:
            self.size = size
            self.map = mmap.mmap(self.fd, size)

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            os.close(self.fd)


class Lease:
    """Keeps a slot from being used again; the batch over it holds this."""

    __slots__ = ("slot", "_free")

    def __init__(self, slot: Slot, free: deque[Slot]) -> None:
        self.slot = slot
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.slot)


class Slots:
    """The slots of a source: as many as are held or written at once."""

    def __init__(self, hint: int) -> None:
        self._hint = hint  # bytes of a new one
        self._free: deque[Slot] = deque()
        self.all: list[Slot] = []

    def take(self) -> Slot:
        try:
            return self._free.pop()  # the last one used: it may still be in a cache
        except IndexError:
            size = max([self._hint, *(slot.size for slot in self.all[-1:])])
            self.all.append(Slot(len(self.all), size))
            return self.all[-1]

    def give(self, slot: Slot) -> None:
        """Nothing was made of it."""
        self._free.append(slot)

    def lease(self, slot: Slot) -> Lease:
        return Lease(slot, self._free)
