# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The position of a pipeline in its epochs, and what makes an epoch end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Epoch:
    """Counts the iterations that a pipeline schedules and takes.

    StopIteration from a source or from `Pipeline.iter_setup` ends the epoch: nothing more is
    scheduled, and StopIteration is raised once the scheduled iterations are taken. It may also
    come from the engine, where a stream ends the epoch at once. `reset` begins the next epoch.

    An exception may come at any call, from a signal handler. Numbers that belong together are
    therefore changed by assignments without a call between them.

    Attributes:
        index: number of the epoch that is being scheduled.
        ended: nothing more is scheduled in this epoch.
        requested: iterations scheduled in all epochs, including those that were taken.
        iteration: number of the next iteration to be delivered, in the epoch `taken_index`.
        taken: iterations delivered in all epochs. One that failed counts, one whose source failed
            does not.
        engine: counts the iterations that it gives away; None before it is built.
    """

    def __init__(self, index: int = 0, iteration: int = 0) -> None:
        self.index = self.taken_index = index
        self.iteration = iteration
        self.ended = False
        self.requested = 0
        self.taken = 0
        self.engine: Any = None
        self._filled = False  # `schedule` has filled the queue in this epoch
        self._wanted: int | None = None  # the value of `requested` at which `schedule` ends
        self._ahead = False  # `at_end` has looked whether there is another iteration
        self._error: Exception | None = None  # of a source, found by `at_end`

    @property
    def scheduled(self) -> int:
        """Iterations that wait to be taken."""
        return self.requested - (0 if self.engine is None else self.engine.taken)

    def fill(self, depth: int, prepare: Callable[[], None]) -> None:
        """Schedules iterations until `depth` of them wait.

        Args:
            prepare: does the Python part of one iteration; its last step adds 1 to `requested`.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        while not self.ended and self.scheduled < depth:
            self.schedule_one(prepare)
        self._ahead = False

    def schedule(self, depth: int, prepare: Callable[[], None]) -> None:
        """Schedules `depth` iterations at the start of an epoch, then one per call."""
        if self._wanted is None:
            count = (1 if self._filled else depth) - self._ahead
            self._wanted = self.requested + count
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        while self.requested < self._wanted and self.schedule_one(prepare):
            pass
        self._wanted, self._filled, self._ahead = None, True, False

    def schedule_one(self, prepare: Callable[[], None]) -> bool:
        """Schedules one iteration; returns False if the epoch has ended."""
        if self.ended:
            return False
        try:
            prepare()
        except StopIteration:
            self.ended = True
            return False
        return True

    def reset(self) -> bool:
        """Begins the next epoch if this one has ended; returns whether it had."""
        if not self.ended:
            return False
        self.ended = self._filled = self._ahead = False
        self._wanted = None
        self.index += 1
        self.taken_index += self.iteration > 0
        self.iteration = 0
        return True

    def at_end(self, prepare: Callable[[], None] | None) -> bool:
        """Whether nothing is left of this epoch.

        Args:
            prepare: as in `schedule`. Only the sources know whether they have ended, so they are
                asked for one more iteration than the queue holds; `schedule` takes that into
                account, and raises their error. None: no source can end.
        """
        known = self._ahead or self._error is not None
        if prepare is not None and self.iteration > 0 and not known:
            try:
                self.look_ahead(prepare)
            except Exception as error:
                self._error = error
        return self.ended and self.scheduled == 0

    def look_ahead(self, prepare: Callable[[], None]) -> None:
        """Schedules an iteration now that the next call of `schedule` then need not."""
        self.schedule_one(prepare)
        self._ahead = not self.ended
