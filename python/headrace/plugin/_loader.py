# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The part of a loader that does not depend on a framework: epochs, positions, states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar, cast

from headrace._pipeline.config import integer
from headrace._pipeline.iterated import Iterated
from headrace._pipeline.pipeline import Pipeline
from headrace.plugin._epochs import Epochs, LastBatchPolicy, reader_epochs
from headrace.plugin.base_iterator import _DaliBaseIterator

Item = TypeVar("Item")  # a batch as the user gets it

MOST_EPOCHS = 2**31 - 1


class Loop(Protocol):
    """What a loader asks the iterator below it."""

    def settled(self) -> Epochs:
        """The epochs, with all batches counted that were taken so far."""

    def over(self) -> bool:
        """Whether the epoch has ended."""

    def untouched(self) -> bool:
        """Whether no batch was taken since the start of the epoch, or since it was restored."""

    def take(self) -> list[Any]:
        """The next batch, in a list; raises StopIteration at the end of the epoch."""


class LoopIterator(_DaliBaseIterator[Any]):
    """A `Loop` over pipelines. A framework's iterator comes behind it."""

    reader: str | None  # None: the user gave the size of the epochs

    def settled(self) -> Epochs:
        self._settle()
        return self._epochs

    def over(self) -> bool:
        return self._over()

    def untouched(self) -> bool:
        return self._epochs.taken == self._begun

    def take(self) -> list[Any]:
        return next(self)


class Loops(Generic[Item]):
    """Batches whose ``for`` loops are epochs, wherever they come from."""

    def __init__(self, drop_last: bool) -> None:
        self._drop_last = drop_last
        self._wanted: int | None = None  # the epoch that `set_epoch` asked for
        self._loop: object = None  # the newest loop: older ones may not go on

    def _iterator(self) -> Loop:
        """The iterator of the current epoch; between two epochs, that of the last one."""
        raise NotImplementedError

    def _go_to(self, epoch: int) -> None:
        """Makes `_iterator` begin this epoch, unless it is about to go on in it."""
        raise NotImplementedError

    def _ended_early(self) -> None:
        """Called if an epoch has ended before all of its batches came."""

    def _shown(self, batch: Any) -> Item:
        """What the user gets of a batch of the iterator."""
        return cast(Item, batch)

    def __len__(self) -> int:
        """Number of batches in the epoch of the current loop; between two loops, in the next one."""
        epochs, between = self._epochs(), self._loop is None and self._iterator().over()
        at = epochs.following() if between else epochs.at()
        return at.full if self._drop_last else at.batches

    @property
    def epoch(self) -> int:
        """Number of the current epoch; between two epochs, that of the next one."""
        return self._upcoming() if self._wanted is None else self._wanted

    def set_epoch(self, epoch: int) -> None:
        """Makes the next loop this epoch. Order and augmentation depend on the number of the epoch.

        Epochs are counted from 0, and the number increases with each loop, so the order changes
        without `set_epoch`, too. Choosing another epoch than the next one takes as long as building
        the pipeline again, if there is one. If the pipeline has an external source or a stream, the batches before
        the epoch are made and left out, and an earlier epoch cannot be chosen.

        Raises:
            ValueError: `epoch` is negative or too large.
            TypeError: it is not an integer.
        """
        self._wanted = integer("epoch", epoch, 0, MOST_EPOCHS)

    def __iter__(self) -> Iterator[Item]:
        self._go_to(self._upcoming() if self._wanted is None else self._wanted)
        self._wanted = None
        self._loop = loop = object()
        return self._batches(loop)

    def _batches(self, loop: object) -> Iterator[Item]:
        batches, at = self._iterator(), self._epochs().at()
        try:
            while loop is self._loop:
                try:
                    (batch,) = batches.take()
                except StopIteration:
                    if at.left > (at.batches - at.full if self._drop_last else 0):
                        self._ended_early()
                    return
                at = self._epochs().at()
                smaller = at.left < at.batches - at.full  # than the others of the epoch
                if not self._drop_last or not smaller:
                    yield self._shown(batch)
            raise RuntimeError("This loop cannot continue: a newer one has begun.")
        finally:  # also after `break`
            if loop is self._loop:
                self._loop = None

    def _epochs(self) -> Epochs:
        return self._iterator().settled()

    def _upcoming(self) -> int:
        """The epoch of the next loop if nobody asks for another one."""
        iterator, epochs = self._iterator(), self._epochs()
        return epochs.number + (iterator.over() or not iterator.untouched())


class LoaderBase(Loops[Item]):
    """A pipeline whose ``for`` loops are epochs. Frameworks implement `_make` and `_shown`."""

    def __init__(
        self,
        pipeline: Pipeline,
        reader_name: str | None,
        drop_last: bool,
        size: int | None = None,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"Loader takes a pipeline, not {type(pipeline).__name__}.")
        super().__init__(drop_last)
        self.pipeline = pipeline
        self._inner = Iterated(pipeline)
        if size is not None and reader_name is not None:
            raise ValueError(
                "Give a Loader the size of its epochs or the name of a reader, not both."
            )
        self._reader = reader_name
        self._size = None if size is None else integer("size", size, 1, 2**60)
        self._made: LoopIterator | None = None
        self._inner.enable_checkpointing()

    def _make(self, outputs: list[str], reader: str | None) -> LoopIterator:
        """The iterator of the pipeline, with one name per output, and the name of the reader.

        Without a reader, `_size` is the number of samples in an epoch.
        """
        raise NotImplementedError

    @property
    def batch_size(self) -> int:
        """Maximum number of samples in a batch."""
        return int(self.pipeline.max_batch_size or 0)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of this loader, after the last batch that was taken.

        The size does not depend on the data set. Every process saves its own state.
        """
        if self._wanted is not None:
            self._go_to(self._wanted)
        return {"pipeline": self._iterator().checkpoints()[0]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues at the position that `state_dict` returned, with exactly the same batches.

        The pipeline must be the same, but the number of shards may differ (docs/pytorch.md).

        Raises:
            ValueError: `state` does not come from `state_dict`.
            RuntimeError: the state is damaged, or belongs to another pipeline.
        """
        if not isinstance(state, dict) or not isinstance(state.get("pipeline"), bytes):
            raise ValueError("This is not a state of a Loader: it has no bytes as 'pipeline'.")
        self._restart(state["pipeline"])
        self._wanted = None

    def skip(self, steps: Iterable[int]) -> None:
        """Leaves out steps that were not taken yet, as `Pipeline.skip` does.

        Steps are batches, counted from the beginning of the run over all epochs. The epochs have
        fewer batches then; `state_dict` contains the list.
        """
        self.pipeline.skip(steps)

    # ---- epochs ----------------------------------------------------------------------------------

    def _iterator(self) -> LoopIterator:
        if self._made is None:
            self.pipeline.build()
            outputs = [str(i) for i in range(self.pipeline.num_outputs)]
            self._made = self._make(outputs, None if self._size is not None else self._name())
        return self._made

    def _ended_early(self) -> None:
        if self._size is not None and not self.pipeline._leaves_out:
            raise RuntimeError(
                f"The pipeline ended before the {self._size} samples of an epoch came (`size`). If an external "
                'source goes through its data only once, give it `cycle="raise"`.'
            )

    def _name(self) -> str:
        """The name of the reader that determines the epochs."""
        names = self._inner.reader_names()
        if self._reader is None and len(names) != 1:
            known = ", ".join(map(repr, names)) or "none"
            raise RuntimeError(
                "A Loader needs one reader that determines its epochs. Readers of this pipeline: "
                f"{known}. Say which one with `reader_name`, or how many samples an epoch has with `size`."
            )
        name = names[0] if self._reader is None else self._reader
        if not self._inner.reader_meta(name)["pad_last_batch"]:
            raise RuntimeError(
                f"The reader {name!r} needs `pad_last_batch=True`: without it, epochs do not begin at "
                "the beginning of a batch."
            )
        return name

    def _go_to(self, epoch: int) -> None:
        iterator, epochs = self._iterator(), self._epochs()
        if iterator.over() and epoch == epochs.number + 1:
            iterator.reset()
        elif iterator.over() or not iterator.untouched() or epoch != epochs.number:
            if not self._move_to(epoch):
                self._run_to(epoch)

    def _move_to(self, epoch: int) -> bool:
        reader = self._iterator().reader
        if reader is None:
            return False
        meta = self._inner.reader_meta(reader)
        whole = {**meta, "rest_size": 0, "first_epoch": 0}
        core = reader_epochs(whole, self.batch_size, LastBatchPolicy.PARTIAL)
        _, position, _ = core.start(epoch)
        batches = position // (meta["global_batch"] or self.batch_size)
        checkpoint = self._inner.at_epoch(epoch, batches, position)
        if checkpoint is None:
            return False
        self._restart(checkpoint)
        epochs = self._epochs()
        epochs.number, epochs.begin = epoch, position
        return True

    def _run_to(self, epoch: int) -> None:
        """Takes all batches before an epoch, because a source of the pipeline has to be asked for them."""
        iterator, epochs = self._iterator(), self._epochs()
        if epoch < epochs.number or (epoch == epochs.number and not iterator.untouched()):
            self._wanted = None
            raise RuntimeError(
                f"This loader cannot go back to epoch {epoch}: its pipeline has an external source or a "
                "stream, which only goes forward. Make a new pipeline."
            )
        while self._epochs().number < epoch:  # the iterator replaces its epochs
            while not iterator.over():
                next(iterator, None)
            iterator.reset()

    def _restart(self, checkpoint: bytes) -> None:
        self._inner.restart(checkpoint)
        self._made = None
        self._loop = None
