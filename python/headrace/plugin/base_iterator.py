# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the iterators of all frameworks share: epochs, last batches, pipelines, checkpoints."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from headrace import _checkpoint
from headrace.plugin._epochs import Action, LastBatchPolicy, ReaderEpochs, SizedEpochs, ceil_div

__all__ = ["LastBatchPolicy"]

_log = logging.getLogger(__name__)

_AUTO_RESET = {False: False, None: False, "no": False, True: True, "yes": True}

_NO_DATA = (
    "There is no data in the pipeline. This happens when the source is empty, or when "
    "`last_batch_policy` is DROP and a shard has fewer samples than a batch."
)

Item = TypeVar("Item")


class _DaliBaseIterator(Generic[Item]):
    """Runs pipelines until an epoch is over. Frameworks implement `_convert`.

    Lengths are counted in positions of the reader, not in samples, so that bad files left out with
    ``on_error="skip"`` make a batch shorter without moving the end of the epoch.

    Args:
        pipelines: one pipeline or a list of them with one batch size.
        size: samples in an epoch, all pipelines together; -1: until the pipeline raises
            StopIteration. Prefer `reader_name`.
        reader_name: the reader whose size, shards and padding rule the epochs.
        auto_reset: "yes" or True: start the next epoch when one ends; "no", False or None:
            `reset()` or `iter()` does.
        fill_last_batch: old form of `last_batch_policy`: True is FILL, False is PARTIAL.
        last_batch_padded: with `size`: the source repeats its last sample instead of going on.
        last_batch_policy: see `LastBatchPolicy`.
        prepare_first_batch: run the first batch now, so that mistakes show here.

    Raises:
        AssertionError: arguments that exclude each other.
        ValueError: values that are not allowed.
        RuntimeError: unknown reader, or no data.
    """

    def __init__(
        self,
        pipelines: Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self._pipes: list[Any] = (
            list(pipelines) if isinstance(pipelines, (list, tuple)) else [pipelines]
        )
        if not self._pipes:
            raise AssertionError("No pipelines: give one or a list of them.")
        if not isinstance(auto_reset, (str, bool, type(None))) or auto_reset not in _AUTO_RESET:
            raise ValueError(
                f"Unsupported value for `auto_reset`: {auto_reset!r}; use True, False, 'yes', 'no'."
            )
        if fill_last_batch is not None:
            warnings.warn("`fill_last_batch` is deprecated, use `last_batch_policy`.", stacklevel=3)
            last_batch_policy = LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
        if getattr(last_batch_policy, "name", None) not in LastBatchPolicy.__members__:
            raise ValueError(
                f"Wrong type for `last_batch_policy`. Expected {LastBatchPolicy}, got "
                f"{type(last_batch_policy)}"
            )
        self._auto_reset = _AUTO_RESET[auto_reset]
        self._reader_name = reader_name
        self._num_gpus = len(self._pipes)
        self._check_pipelines()
        self.batch_size: int = self._pipes[0].max_batch_size
        self._epochs = self._make_epochs(size, last_batch_padded, last_batch_policy)
        self._ended = False  # the epoch is over and not reset yet
        self._part: list[Any] = []  # outputs, or the error, of each pipeline that ran in this round
        self._held: list[Any] | None = None  # outputs that belong to the next epoch
        self._before_held: list[bytes] | None = None  # checkpoints of before they were taken
        self._may_hold = _checkpointing(self._pipes[0]) and any(
            pipe._options["on_error"] == "skip" for pipe in self._pipes
        )
        self._restored = self._restore()
        self._begun = self._epochs.taken  # where this epoch began, or where the checkpoint was taken
        self._feed: Any = None  # hands over batches that need no decision; see `_find_plain`
        self._take: Callable[[], Any] = _nothing
        self._left = 0  # batches that the feed had left when they were counted
        self._first: Item | None = None
        self._first_checkpoints: list[bytes] | None = None
        self._prepare_first_batch = prepare_first_batch
        if prepare_first_batch:
            self._prepare()

    # ---- construction ----------------------------------------------------------------------------

    def _check_pipelines(self) -> None:
        if len({pipe.max_batch_size for pipe in self._pipes}) != 1:
            raise AssertionError("All pipelines should have the same batch size set")
        if len({_checkpointing(pipe) for pipe in self._pipes}) != 1:
            raise ValueError(
                "All wrapped pipelines must have the same value for `enable_checkpointing`."
            )
        for pipe in self._pipes:
            pipe.build()

    def _make_epochs(
        self, size: int, padded: bool, policy: LastBatchPolicy
    ) -> ReaderEpochs | SizedEpochs:
        policy = LastBatchPolicy[policy.name]  # an equal enumeration of another module will do
        if self._reader_name:
            if size != -1:
                raise AssertionError("When reader_name is provided, size should not be set")
            if padded:
                raise AssertionError(
                    "When reader_name is provided, last_batch_padded should not be set"
                )
            return self._reader_epochs(policy)
        if size == 0:
            raise AssertionError("Size cannot be 0")
        if size < 0:
            if len(self._pipes) != 1:
                raise AssertionError("Negative size is supported only for a single pipeline")
            return SizedEpochs(-1, 1, self.batch_size, LastBatchPolicy.FILL, padded)
        warnings.warn(
            "Please set `reader_name` instead of `size` and `last_batch_padded` where the pipeline "
            "has a reader: with several shards a size given by hand can miss or repeat samples.",
            stacklevel=5,
        )
        return SizedEpochs(size, len(self._pipes), self.batch_size, policy, padded)

    def _reader_epochs(self, policy: LastBatchPolicy) -> ReaderEpochs:
        metas = [pipe.reader_meta(self._reader_name) for pipe in self._pipes]
        for key in (
            "epoch_size",
            "epoch_size_padded",
            "number_of_shards",
            "pad_last_batch",
            "stick_to_shard",
        ):
            if len({meta[key] for meta in metas}) != 1:
                raise AssertionError(
                    f"The readers {self._reader_name!r} of the pipelines differ in {key}: "
                    f"{[meta[key] for meta in metas]}"
                )
        meta = metas[0]
        return ReaderEpochs(
            meta["epoch_size"],
            meta["epoch_size_padded"],
            meta["number_of_shards"],
            [m["shard_id"] for m in metas],
            self.batch_size,
            policy,
            bool(meta["pad_last_batch"]),
            bool(meta["stick_to_shard"]),
        )

    def _restore(self) -> bool:
        """Takes the position that `checkpoints()` stored; all pipelines carry the same."""
        extras = [getattr(pipe, "_restored_extra", None) for pipe in self._pipes]
        if not any(extras):
            return False
        if any(extra != extras[0] for extra in extras):
            raise ValueError("The checkpoints of the pipelines were not taken together.")
        assert extras[0] is not None
        try:
            self._epochs.restore(extras[0]["epochs"])
            self._ended = bool(extras[0]["ended"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"The checkpoint does not fit this iterator: {error!r}") from None
        return True

    def _prepare(self) -> None:
        if self._ended:  # restored at the end of an epoch: the user goes on to the next one
            return
        if _checkpointing(self._pipes[0]):
            self._first_checkpoints = self._take_checkpoints()
        try:
            self._first = self._next()
        except StopIteration:
            if not self._restored:
                raise RuntimeError(_NO_DATA) from None
            # Restored where nothing was left of the epoch; `_next` has noted the end.

    # ---- running ---------------------------------------------------------------------------------

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> Any:
        """Outputs of one pipeline for the framework, the first `keep` samples (None: all)."""
        raise NotImplementedError

    def _wrap(self, converted: list[Any]) -> Item:
        """What the user gets: the outputs of all pipelines."""
        return converted  # type: ignore[return-value]

    def _end_epoch(self) -> None:
        self._ended = True
        if self._auto_reset:
            self.reset()

    def _run(self) -> list[Any]:
        """Outputs of all pipelines; notes the positions of batches that were skipped whole."""
        if self._held is not None:
            outputs, self._held = self._held, None
            return outputs
        if self._may_hold:
            self._before_held = self._take_checkpoints()
        part = self._part  # of pipelines that ran before another one was interrupted
        for pipe in self._pipes[len(part) :]:
            before = pipe._taken
            try:
                part.append(pipe.run())
            except StopIteration:
                part.clear()
                self._epochs.taken = 0  # regardless of the size, the next epoch starts afresh
                self._end_epoch()
                raise
            except Exception as error:
                if pipe._taken == before:
                    raise  # a source's: its batch is still to come, and so are the other pipelines'
                part.append(error)  # the others run, so that all stay in step
        outputs, self._part = part, []
        failures = [error for error in outputs if isinstance(error, Exception)]
        if failures:
            self._epochs.advance()  # a failed batch is a taken one
            raise failures[0]
        if self._epochs.positions >= 0:
            taken = [_positions(out) for out in outputs]
            if any(positions % self.batch_size or not positions for positions in taken):
                raise AssertionError(
                    "Variable batch size is not supported by the iterator when reader_name is "
                    "provided or iterator size is set explicitly"
                )
            for _ in range(max(taken) // self.batch_size - 1):
                self._epochs.advance()
        return outputs

    def _make_feed(self, left: int, last: int) -> Any:
        """A `_core.Feed` of the first pipeline's next batches, or None when that cannot be."""
        return None

    def _find_plain(self) -> None:
        """Lets a feed hand over the batches that come without a decision between them."""
        plain = not self._ended and self._held is None and len(self._pipes) == 1
        left, last = self._epochs.plain() if plain else (0, 0)
        self._feed = self._make_feed(left, last) if left > 0 else None
        self._take = _nothing if self._feed is None else self._feed.take
        self._left = left

    def _settle(self) -> None:
        """Counts the batches that the feed has handed over."""
        if self._feed is None:
            return
        taken, self._left = self._left - self._feed.left, self._feed.left
        self._epochs.taken += taken * self.batch_size
        self._pipes[0]._taken += taken
        self._pipes[0]._consumer_iter += taken

    def _next(self) -> Item:
        action = Action.END if self._ended else self._epochs.next_action()
        outputs: list[Any] = []
        keeps: list[int] = []
        if action is not Action.END:
            outputs = self._run()
            action = self._epochs.next_action()
            if action is Action.END:
                self._held = outputs  # the epoch ended in batches that were skipped whole
            else:
                keeps = self._epochs.advance()
        if action is not Action.TAKE:
            self._end_epoch()
            raise StopIteration
        sized = isinstance(self._epochs, SizedEpochs)
        converted = []
        for i, (out, keep) in enumerate(zip(outputs, keeps, strict=True)):
            if keep == 0 and sized:
                continue  # the user's size ends before this pipeline's turn
            cut = None if keep >= self.batch_size else _samples(out, keep)
            converted.append(self._convert(i, out, cut))
        return self._wrap(converted)

    def __next__(self) -> Item:
        return self._take() or self._look()

    def _look(self) -> Item:
        """The next batch when the feed has none, and a feed for those that follow."""
        self._settle()
        self._feed, self._take = None, _nothing
        if self._first is None:
            item = self._next()
        else:
            item, self._first = self._first, None
            self._first_checkpoints = None
        self._find_plain()
        return item

    def next(self) -> Item:
        """The next batch; StopIteration at the end of an epoch."""
        return self.__next__()

    def __iter__(self) -> Iterator[Item]:
        if self._first is None:
            if self._over():
                self.reset()
            elif self._epochs.positions >= 0 and self._epochs.taken != self._begun:
                _log.warning(
                    "The last epoch was left after %d of %d samples; this loop goes on with the rest of it.",
                    self._epochs.taken,
                    self._epochs.positions,
                )
        return self

    def _over(self) -> bool:
        self._settle()
        if self._ended or self._epochs.next_action() is not Action.TAKE:
            return True
        unknown = self._epochs.positions < 0 and self._held is None
        return unknown and self._pipes[0]._at_end()

    def reset(self) -> None:
        """Goes to the next epoch after the end of one; before that, only warns."""
        if self._first is not None or not self._over():
            _log.warning("reset() of an iterator before the end of its epoch is ignored.")
            return
        if not self._ended and self._epochs.next_action() is Action.DROP:
            self._run()  # the user counted batches and left the one to drop
            self._epochs.advance()
        self._epochs.roll()
        self._begun = self._epochs.taken
        self._ended = False
        for pipe in self._pipes:
            pipe._at_end()  # so that a source that ended with the epoch begins again with the next one
            pipe.reset()
        self._find_plain()

    # ---- facts -----------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        """Scripts of DALI's early days read it."""
        return self._epochs.positions

    @property
    def size(self) -> int:
        """Positions in the current epoch of a shard (with `reader_name`) or of all pipelines."""
        return self._epochs.positions

    def __len__(self) -> int:
        """Batches in an epoch; 0 when the length is not known."""
        positions = self._epochs.positions
        if positions < 0:
            return 0
        step = self.batch_size
        if isinstance(self._epochs, SizedEpochs):
            step *= len(self._pipes)
        if self._epochs.policy is LastBatchPolicy.DROP:
            return positions // step
        return ceil_div(positions, step)

    def checkpoints(self) -> list[bytes]:
        """One checkpoint a pipeline, with the position of this iterator.

        Give each to the `checkpoint` argument of a pipeline built in the same way, and put an
        iterator with the same arguments in front: it goes on with the batch that would have
        come next.

        Raises:
            ValueError: the pipelines were made without `enable_checkpointing`.
        """
        if not _checkpointing(self._pipes[0]):
            raise ValueError("Cannot access checkpoints with checkpointing disabled")
        if self._first_checkpoints is not None:
            return list(self._first_checkpoints)
        if self._held is not None and self._before_held is not None:
            return list(self._before_held)
        return self._take_checkpoints()

    def _take_checkpoints(self) -> list[bytes]:
        self._settle()
        extra = {"epochs": self._epochs.state(), "ended": self._ended}
        return [_checkpoint.wrap(pipe.checkpoint(), extra) for pipe in self._pipes]


def _nothing() -> None:
    """What a feed takes that has nothing left."""


def _checkpointing(pipe: Any) -> bool:
    return bool(getattr(pipe, "_enable_checkpointing", False))


def _positions(outputs: Any) -> int:
    """Positions of the reader that a run took: its samples and the bad ones left out."""
    positions = getattr(outputs, "positions", None)
    return len(outputs[0]) if positions is None else int(positions)


def _samples(outputs: Any, keep: int) -> int:
    """How many samples lie in the first `keep` positions of a run."""
    count = len(outputs[0])
    if count == _positions(outputs):
        return keep
    slots = getattr(outputs, "slots", None)  # the place of every sample among the positions
    if slots is None:
        return min(keep, count)
    return sum(slot < keep for slot in slots)
