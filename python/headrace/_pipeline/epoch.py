# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The position of a pipeline in its epochs, and what makes an epoch end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Epoch:
    """Counts the iterations that a pipeline schedules and takes.

    StopIteration from a source or from `Pipeline.iter_setup` ends the epoch: nothing more is
    scheduled, and StopIteration is raised once the scheduled iterations are taken. It may also
    come from the engine, where a stream ends the epoch at once. `reset` begins the next epoch.

    Attributes:
        index: number of the epoch that is being scheduled.
        ended: nothing more is scheduled in this epoch.
        scheduled: iterations that wait to be taken.
        iteration: number of the next iteration to be taken, in the epoch `taken_index`.
        taken: iterations taken in all epochs. One that failed counts, one whose source failed does
            not.
    """

    def __init__(self, index: int = 0, iteration: int = 0) -> None:
        self.index = self.taken_index = index
        self.iteration = iteration
        self.ended = False
        self.scheduled = 0
        self.taken = 0
        self._filled = False  # the queue was filled once in this epoch
        self._ahead = False  # `at_end` has scheduled an iteration
        self._error: Exception | None = None  # of a source, found by `at_end`

    def schedule(self, depth: int, prepare: Callable[[], None]) -> None:
        """Schedules iterations: `depth` of them at the start of an epoch, then one per call.

        Args:
            prepare: does the Python part of one iteration.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        count = (1 if self._filled else depth) - self._ahead
        self._filled, self._ahead = True, False
        for _ in range(count):
            self.schedule_one(prepare)

    def schedule_one(self, prepare: Callable[[], None]) -> bool:
        """Schedules one iteration; returns False if the epoch has ended."""
        if self.ended:
            return False
        try:
            prepare()
        except StopIteration:
            self.ended = True
            return False
        self.scheduled += 1
        return True

    def take(self, run: Callable[[], Result]) -> Result:
        """Takes the result of `run`, which waits for the oldest scheduled iteration.

        Raises:
            StopIteration: nothing is scheduled.
        """
        if self.scheduled == 0:
            raise StopIteration
        try:
            result = run()
        except IndexError:  # a source was not fed, so nothing was taken
            self.scheduled -= 1
            raise
        except StopIteration:  # the engine says so: what it does next belongs to the next epoch
            self.scheduled = 0
            self.iteration += 1
            self.ended = True
            raise
        except Exception:
            self.scheduled -= 1
            self.count_taken(1)
            raise
        self.scheduled -= 1
        self.count_taken(1)
        return result

    def count_taken(self, batches: int) -> None:
        """Counts iterations as taken."""
        self.taken += batches
        self.iteration += batches

    def reset(self) -> bool:
        """Begins the next epoch if this one has ended; returns whether it had."""
        if not self.ended:
            return False
        self.ended = self._filled = self._ahead = False
        self.index += 1
        if self.iteration > 0:
            self.taken_index += 1
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
