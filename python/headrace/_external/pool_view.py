# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The worker processes under the names that they have in DALI, for scripts that look after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace._external.pool import Pool


class PoolView:
    """What `Pipeline._py_pool` is: DALI's names over a `Pool`. It does not keep the pipeline alive."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def pids(self) -> list[int]:
        """Of the processes, also once they have ended."""
        return self._pool.pids

    def close(self) -> None:
        """Ends the processes."""
        self._pool.close()

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        return self._pool.workers

    @property
    def pool(self) -> PoolView:
        """The same: DALI has two levels."""
        return self

    @property
    def _observer(self) -> _Watch:
        return _Watch(self._pool.processes)


class _Watch:
    """What DALI has a thread for that ends with the workers: here a question to the operating system."""

    def __init__(self, processes: Sequence[Any]) -> None:
        self._processes = processes

    @property
    def thread(self) -> _Watch:
        return self

    def is_alive(self) -> bool:
        """Whether a worker runs."""
        return any(process.is_alive() for process in self._processes)
