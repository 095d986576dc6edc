# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches of inputs in shared memory. A worker writes them, and the server reads them."""

from __future__ import annotations

import array
import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace import _core
from headrace._external.feeding import check_sample
from headrace._external.slots import Memory, round_up
from headrace.tensors import TensorListCPU

_LEAST = 1 << 16  # initial bytes of a slot
_DATA_START = 64  # bytes at the start of a slot: the first one says whether a batch uses it


class Written(NamedTuple):
    """A batch in shared memory.

    Attributes:
        slot: number of the slot in the process that wrote it.
        length: bytes of the slot.
        list: offset of the list of offsets at which the samples of each input begin.
        inputs, samples: lengths of that list.
    """

    slot: int
    length: int
    list: int
    inputs: int
    samples: int


class Slots:
    """Shared memory for the batches of one caller. A slot is used again when its batch is released."""

    def __init__(self) -> None:
        self._all: list[Memory] = []

    def take(self) -> tuple[int, Memory]:
        """A slot that was not in use, and its number."""
        unused = (number for number, memory in enumerate(self._all) if not memory.map[0])
        number = next(unused, len(self._all))
        if number == len(self._all):
            fd = os.memfd_create("headrace-proxy", os.MFD_CLOEXEC)
            os.ftruncate(fd, _LEAST)
            self._all.append(Memory(fd, _LEAST))
        memory = self._all[number]
        memory.map[0] = 1
        return number, memory

    def close(self) -> None:
        for memory in self._all:
            fd, memory.fd = memory.fd, -1  # a writer may still refer to it
            os.close(fd)
        self._all.clear()


class Writer:
    """Writes the inputs of a batch to a slot, sample by sample.

    A sample is copied when the proxy is called, while it is still in a CPU cache; the next sample
    can then be read into the same memory.
    """

    def __init__(self, slots: Slots) -> None:
        self._number, self._memory = slots.take()
        self._end = _DATA_START

    @property
    def fd(self) -> int:
        return self._memory.fd

    def write(self, sample: Any) -> int:
        """Returns the offset in bytes at which the sample begins.

        Raises:
            RuntimeError: it is not an array.
        """
        check_sample(sample)
        start = self._end
        try:
            self._end = self._memory.append([sample], start)
        except (TypeError, ValueError, BufferError) as error:
            raise RuntimeError(f"The proxy cannot pass an input on: {error}") from error
        return start

    def finish(self, columns: Sequence[Sequence[int]]) -> Written:
        """Writes where the samples of each input begin."""
        starts = array.array("q", [start for column in columns for start in column]).tobytes()
        end = self._end + len(starts)
        self._memory.reach(round_up(end))
        self._memory.map[self._end : end] = starts
        length = len(self._memory.map)
        return Written(self._number, length, self._end, len(columns), len(columns[0]))


class _Lease:
    """Marks a slot as free when the batches in it are released."""

    __slots__ = ("_map",)

    def __init__(self, memory: mmap.mmap) -> None:
        self._map = memory

    def __del__(self) -> None:
        self._map[0] = 0


def columns_of(memory: mmap.mmap, batch: Written) -> list[TensorListCPU]:
    """Returns the inputs of a batch. They are not copied: they use the memory of the slot.

    Raises:
        RuntimeError: the samples of an input differ in type or number of dimensions.
    """
    lease = _Lease(memory)
    starts = array.array("q")
    starts.frombytes(memory[batch.list : batch.list + 8 * batch.inputs * batch.samples])
    parts = [(memory, lease, start) for start in starts]
    columns = [parts[i : i + batch.samples] for i in range(0, len(parts), batch.samples)]
    try:
        return [_core.unpack(TensorListCPU, column, None) for column in columns]
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"The inputs of a batch do not fit together: {error}") from error
