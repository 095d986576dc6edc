# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The trainer's end of one actor: what was asked of it, what it has given, and its replacement."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from typing import Any

import ray
from ray import exceptions

from headrace.ray._actor import Epoch, Item, Split

_log = logging.getLogger(__name__)

DEATHS_MAX = 3  # in a row, without a batch

# The actor, its node or a batch on it is lost. What the pipeline raises is a RayTaskError.
LOST = (
    exceptions.RayActorError,
    exceptions.ObjectLostError,
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.OutOfMemoryError,
)


@dataclass(frozen=True)
class Left:
    """A batch that is left of another split."""

    split: Split
    state: bytes


class Slot:
    """Asks an actor for batches ahead of time; starts another one where it died.

    `state` is the position after the last batch that the trainer has received. Batches are a
    function of the position, so what a dead actor had not delivered is made again, exactly.
    """

    def __init__(
        self,
        actor_class: Any,
        arguments: tuple[Any, ...],
        split: Split,
        state: bytes | None,
        epoch: int | None,
        start_timeout: float,
    ) -> None:
        self._class, self._arguments = actor_class, arguments
        self.split = split
        self.state = state
        self.epoch = epoch  # the one whose end is awaited; None: as the actor says
        self.left: list[Left] = []  # to be given first
        self._given = 0  # of `left`
        self._start_timeout = start_timeout
        self._asked: deque[Future[Item]] = deque()
        self._deaths = 0
        self._begin: int | None = None  # an epoch to go to first
        self._ready = False  # `opened` was seen
        self._actor: Any = None
        self._running: Future[None]
        self._opened: Future[tuple[bytes, Epoch]]
        self._start()

    def _start(self) -> None:
        self._actor = self._class.remote(*self._arguments)
        self._running = _future(self._actor.ping.remote())
        self._open()

    def _open(self) -> None:
        self._asked.clear()
        self._ready = False
        epoch = self.epoch if self._begin is None else None
        self._opened = _future(self._actor.open.remote(self.split, self.state, epoch, self._begin))

    def go_to(self, epoch: int) -> None:
        """Begins an epoch; what was asked before is forgotten."""
        self.left, self._given = [], 0
        self.epoch = self._begin = epoch
        self._open()

    def opened(self) -> tuple[bytes, Epoch]:
        """Where the actor begins. Waits for it."""
        while True:
            try:
                self._wait_until_running()
                said = self._opened.result()
                if not self._ready:
                    self.state, self._begin, self._ready = said[0], None, True
                return said
            except LOST as error:
                self._replace(error)

    def fill(self, ahead: int) -> None:
        """Asks for batches until `ahead` of them are under way."""
        while len(self._asked) < ahead:
            next_left = self._given + len(self._asked)
            if next_left < len(self.left):
                left = self.left[next_left]
                ref = self._actor.once.remote(left.split, left.state)
            else:
                ref = self._actor.take.remote()
            self._asked.append(_future(ref))

    def take(self, ahead: int) -> Item:
        """The next item. Waits for it."""
        while True:
            self.opened()
            self.fill(ahead)
            try:
                item = self._asked[0].result()
            except LOST as error:
                self._replace(error)
                continue
            self._asked.popleft()
            self._deaths = 0
            if self._given < len(self.left):
                self._given += 1
                return item
            self.state = item.state
            if item.next is not None:
                self.epoch = item.next.number
            return item

    def _wait_until_running(self) -> None:
        try:
            self._running.result(self._start_timeout)
        except Late:
            raise RuntimeError(
                f"Ray has not started the actor of shard {self.split.shard} within "
                f"{self._start_timeout:g} s. Perhaps no node of the cluster has the resources that it asks "
                "for (`num_cpus`, `resources`); `ray status` lists what is free."
            ) from None

    def _replace(self, error: Exception) -> None:
        self.kill()
        self._deaths += 1
        if self._deaths > DEATHS_MAX:
            raise RuntimeError(
                f"The actor of shard {self.split.shard} died {self._deaths} times in a row before it gave "
                f"a batch. The last time: {error}"
            ) from error
        _log.warning("The actor of shard %d is replaced: %s", self.split.shard, error)
        self._start()

    def kill(self) -> None:
        """Ends the actor."""
        actor, self._actor = self._actor, None
        self._asked.clear()
        if actor is not None and ray.is_initialized():
            with contextlib.suppress(Exception):
                ray.kill(actor, no_restart=True)


def _future(ref: Any) -> Future[Any]:
    """Fetches an object to this node as soon as it exists."""
    future: Future[Any] = ref.future()
    return future
