# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Loader`: the batches of pipelines that run as actors on other machines."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import ray

from headrace._pipeline.config import integer
from headrace._pipeline.pipeline import Pipeline
from headrace.plugin._loader import MOST_EPOCHS
from headrace.ray._actor import Epoch, Item, Options, Split, Worker
from headrace.ray._slot import Left, Slot

_STATE = {
    "shards": int,
    "world_size": int,
    "epoch": int,
    "taken": int,
    "before": bytes,
    "after": bytes,
}


class Loader:
    """Yields the batches of pipelines that run as Ray actors, for example ``(images, labels)``.

    Every actor reads a shard of its own. The batches are taken from the actors in turn, so the order
    is a function of the seed and of the number of actors. Each ``for`` loop is an epoch, as with
    `headrace.torch.Loader`.

    An actor that dies, alone or with its node, is replaced. The new one begins after the last batch
    that the trainer has received: no sample is lost or repeated.

    Args:
        pipeline: called in each actor with `shard_id` and `num_shards`; returns a pipeline that is
            not built and whose reader gets both, and ``pad_last_batch=True``. All pipelines must
            have the same seed.
        actors: number of actors of this trainer; 1 if the reader has a `global_batch`.
        rank: number of this trainer, if several train together.
        world_size: number of trainers. Each has its own Loader with the same number of actors.
        reader_name: the reader that determines the epochs; None: the only one.
        drop_last: leave out last batches that are smaller than the others.
        even: all shards give last batches of the same size, for which a shard with fewer samples
            repeats its last one. False: each sample comes exactly once; last batches may be smaller.
            None: only if there are several trainers, which need equal numbers of batches.
        prefetch: number of batches per actor that are asked for ahead of their use.
        prefetch_bytes: how much memory of the object store they may take in all; at least one batch
            per actor is asked for.
        framework: "numpy": arrays in shared memory, which cannot be written to; "torch": tensors
            with memory of their own.
        num_cpus: CPUs that an actor reserves. Give the pipeline as many threads.
        resources: custom resources that an actor reserves, for example ``{"preprocessing": 1}``.
        actor_options: further arguments of ``ray.remote(...).options()``. By default, actors are
            spread over the nodes.
        start_timeout: seconds to wait until Ray has started an actor.

    Raises:
        TypeError: `pipeline` is not a function.
        ValueError: an argument has a value that is not allowed.
    """

    def __init__(
        self,
        pipeline: Callable[..., Pipeline],
        actors: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        reader_name: str | None = None,
        drop_last: bool = False,
        even: bool | None = None,
        prefetch: int = 2,
        prefetch_bytes: int | None = None,
        framework: str = "numpy",
        num_cpus: float = 1,
        resources: dict[str, float] | None = None,
        actor_options: dict[str, Any] | None = None,
        start_timeout: float = 300,
    ) -> None:
        if isinstance(pipeline, Pipeline) or not callable(pipeline):
            raise TypeError(
                "Loader takes a function that makes a pipeline, such as one with @pipeline_def, not "
                f"{type(pipeline).__name__}."
            )
        for name, value in (("actors", actors), ("prefetch", prefetch), ("world_size", world_size)):
            integer(name, value, 1, 2**31 - 1)
        integer("rank", rank, 0, world_size - 1)
        if framework not in ("numpy", "torch"):
            raise ValueError(f"`framework` must be 'numpy' or 'torch', got {framework!r}.")
        evenly = world_size > 1 if even is None else even
        options = Options(reader_name, drop_last, evenly, actors)
        self._actors, self._rank, self._world = actors, rank, world_size
        self._prefetch, self._bytes = prefetch, prefetch_bytes
        self._convert = _to_torch() if framework == "torch" else tuple
        self._arguments = (pipeline, options)
        self._start_timeout = start_timeout
        self._options: dict[str, Any] = {"scheduling_strategy": "SPREAD", **(actor_options or {})}
        self._options |= {"num_cpus": num_cpus, "resources": resources, "max_restarts": 0}
        self._slots: list[Slot] = []
        self._end = weakref.finalize(self, _kill, self._slots)
        self._loaded: dict[str, Any] | None = None  # where to begin
        self._wanted: int | None = None  # the epoch that `set_epoch` asked for
        self._loop: object = None  # the newest loop: older ones may not go on
        self._reset()

    def _reset(self) -> None:
        self._epoch = Epoch(0, 0, 0)
        self._length = 0
        self._left = 0  # batches left of another split
        self._turn = 0  # the actor whose batch is next
        self._before = self._after = (
            b""  # positions of the actors from `_turn` on, and of the others
        )
        self._touched = False  # a batch of this epoch was taken
        self._largest = 0  # bytes of a batch

    # ---- facts -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of batches in an epoch. With ``even=False`` there may be fewer, never more."""
        self._start()
        return self._length + self._left

    @property
    def batch_size(self) -> int:
        """Maximum number of samples in a batch."""
        self._start()
        return self._epoch.batch_size

    @property
    def epoch(self) -> int:
        """Number of the epoch of the next loop."""
        if self._wanted is not None:
            return self._wanted
        self._start()
        return self._epoch.number + self._touched

    def set_epoch(self, epoch: int) -> None:
        """Lets the next loop be this epoch; needed only to choose one.

        Raises:
            ValueError: `epoch` is negative or too large.
            TypeError: it is not an integer.
        """
        self._wanted = integer("epoch", epoch, 0, MOST_EPOCHS)

    # ---- positions -------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that the loop has yielded.

        It is about a kilobyte. Every trainer saves its own state.
        """
        if self._wanted is not None:
            self._go_to(self._wanted)
        if self._loaded is not None and not self._slots:
            return dict(self._loaded)
        self._start()
        if self._left:
            assert self._loaded is not None
            old = self._loaded["shards"] // self._loaded["world_size"]
            return {**self._loaded, "taken": old - self._left}
        return {
            "shards": self._actors * self._world,
            "world_size": self._world,
            "epoch": self._epoch.number,
            "taken": self._turn,
            "before": self._before,
            "after": self._after if self._turn else b"",
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues at a position, with exactly the same batches.

        With another number of actors, the samples that are left of the epoch come exactly once, in
        another order. With another number of trainers, too, if the state was saved after a multiple
        of `actors` batches; each trainer may then load the state of any of the old ones.

        Raises:
            ValueError: `state` does not come from `state_dict`, or the number of trainers is another
                one and the state was saved between such multiples.
        """
        fits = isinstance(state, dict) and all(type(state.get(k)) is t for k, t in _STATE.items())
        if fits:
            fits = 1 <= state["world_size"] and 0 <= state["epoch"]
        if not fits or not 0 <= state["taken"] < state["shards"] // state["world_size"]:
            raise ValueError("This is not a state of headrace.ray.Loader.")
        if state["taken"] and state["world_size"] != self._world:
            each = state["shards"] // state["world_size"]
            raise ValueError(
                f"The state was saved by one of {state['world_size']} trainers, {state['taken']} batches "
                f"after a multiple of {each}. To continue with {self._world} trainers, it must be saved "
                f"after a multiple of {each} batches: one of each actor."
            )
        self.close()
        self._loaded = dict(state)
        self._wanted = None

    def _start(self) -> None:
        """Starts the actors where there are none."""
        if self._slots:
            return
        self._reset()
        state, actor = self._loaded, ray.remote(Worker).options(**self._options)
        shards = self._actors * self._world
        same = state is not None and state["shards"] == shards
        taken = state["taken"] if state else 0
        for i in range(self._actors):
            position = None if state is None else state["before"]
            if state is not None and taken and (i < taken or not same):
                position = state["after"]
            split = Split(self._rank * self._actors + i, shards)
            epoch = state["epoch"] if state and taken else None
            timeout = self._start_timeout
            self._slots.append(Slot(actor, self._arguments, split, position, epoch, timeout))
        if state is not None and same:
            self._turn = taken
        elif state is not None and taken:
            self._give_left(state)
        try:
            self._opened(state["epoch"] if state and taken else None)
        except BaseException:
            _kill(self._slots)
            raise
        if state is not None and same:
            self._before, self._after = state["before"], state["after"]

    def _give_left(self, state: dict[str, Any]) -> None:
        """Has the batches made that are left of a round of the other number of actors."""
        old = state["shards"] // state["world_size"]
        for i, number in enumerate(range(state["taken"], old)):
            split = Split(self._rank * old + number, state["shards"])
            self._slots[i % self._actors].left.append(Left(split, state["before"]))
        self._left = old - state["taken"]

    def _opened(self, epoch: int | None) -> None:
        """Waits for the actors to say where they are."""
        for slot in self._slots:
            slot.fill(1)
        said = [slot.opened() for slot in self._slots]
        self._before, coming = said[0]
        number = coming.number if epoch is None else epoch
        self._epoch = Epoch(number, coming.batches, coming.batch_size)
        self._length = sum(epoch.batches for _, epoch in said)
        for slot in self._slots:
            slot.epoch = number

    def _go_to(self, epoch: int) -> None:
        self._wanted = None
        self._start()
        if epoch == self._epoch.number and not self._touched and not self._turn and not self._left:
            return
        for slot in self._slots:
            slot.go_to(epoch)
        self._turn = self._left = 0
        self._touched = False
        self._opened(epoch)

    # ---- batches ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._go_to(self.epoch) if self._wanted is not None or self._touched else self._start()
        self._loop = loop = object()
        return self._batches(loop)

    def _batches(self, loop: object) -> Iterator[tuple[Any, ...]]:
        while loop is self._loop:
            item = self._next()
            if item.next is not None:
                return
            if item.arrays is not None:
                yield self._convert(item.arrays)
        raise RuntimeError("This loop cannot continue: a newer one has begun, or it was closed.")

    def _ahead(self) -> int:
        """How many batches each actor may be asked for."""
        if self._bytes is None:
            return self._prefetch
        if not self._largest:
            return 1
        return max(min(self._bytes // (self._largest * len(self._slots)), self._prefetch), 1)

    def _next(self) -> Item:
        ahead = self._ahead()
        for slot in self._slots:
            slot.fill(ahead)
        if self._left:
            item = self._take_left(ahead)
        else:
            item = self._take(ahead)
        if item.arrays is not None:
            self._largest = max(self._largest, sum(array.nbytes for array in item.arrays))
        self._touched = item.next is None
        return item

    def _take_left(self, ahead: int) -> Item:
        assert self._loaded is not None
        old = self._loaded["shards"] // self._loaded["world_size"]
        slot = self._slots[(old - self._loaded["taken"] - self._left) % self._actors]
        item: Item = slot.take(ahead)
        slot.fill(ahead)
        self._left -= 1
        return item

    def _take(self, ahead: int) -> Item:
        """The next batch. The end of an epoch comes from all actors in one round."""
        if self._turn == 0:
            self._after = b""
        while True:
            slot = self._slots[self._turn]
            item = slot.take(ahead)
            slot.fill(ahead)
            self._after = item.state
            self._turn += 1
            if self._turn == self._actors:
                self._turn, self._before = 0, self._after
            if item.next is None:
                return item
            self._length = item.next.batches + (0 if slot is self._slots[0] else self._length)
            if self._turn == 0:
                self._epoch = item.next
                return item

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the actors. The next loop starts others at the same position."""
        wanted, self._wanted = self._wanted, None
        if self._slots:
            self._loaded = self.state_dict()
        self._wanted, self._loop = wanted, None
        _kill(self._slots)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kill(slots: list[Slot]) -> None:
    for slot in slots:
        slot.kill()
    slots.clear()


def _to_torch() -> Callable[[list[Any]], tuple[Any, ...]]:
    from headrace.torch.loader import copied

    def converted(arrays: list[Any]) -> tuple[Any, ...]:
        return tuple(map(copied, arrays))

    return converted
