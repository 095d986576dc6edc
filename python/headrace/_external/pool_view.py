# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The worker processes under DALI's names, for scripts that monitor them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace._external.pool import Pool


class PoolView:
    """The value of `Pipeline._py_pool`: a `Pool` with DALI's names. It does not keep the pipeline alive."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def pids(self) -> list[int]:
        """The process ids of the workers, including those that have ended."""
        return self._pool.pids

    def close(self) -> None:
        """Ends the processes."""
        self._pool.close()

    @property
    def num_workers(self) -> int:
        """The number of processes."""
        return self._pool.workers

    @property
    def pool(self) -> PoolView:
        """This object; DALI has two nested ones."""
        return self

    @property
    def _observer(self) -> _Watch:
        return _Watch(self._pool.processes)


class _Watch:
    """Stands for DALI's observer thread, which ends with the workers. Asks the operating system instead."""

    def __init__(self, processes: Sequence[Any]) -> None:
        self._processes = processes

    @property
    def thread(self) -> _Watch:
        return self

    def is_alive(self) -> bool:
        """Whether any worker runs."""
        return any(process.is_alive() for process in self._processes)
