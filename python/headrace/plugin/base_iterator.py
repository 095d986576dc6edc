# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The base class of the framework iterators: epochs, last batches, pipelines, checkpoints."""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from headrace import _core
from headrace._pipeline import checkpoints
from headrace._pipeline.config import integer
from headrace._pipeline.iterated import Iterated
from headrace.plugin._epochs import Action, Epochs, LastBatchPolicy

__all__ = ["LastBatchPolicy"]

_log = logging.getLogger(__name__)

_AUTO_RESET = {False: False, None: False, "no": False, True: True, "yes": True}

# The first two sentences are those that scripts for DALI match on; it is DROP that has this effect.
_NO_DATA = (
    "It seems that there is no data in the pipeline. This may happen if `last_batch_policy` is set "
    "to PARTIAL and the requested batch size is greater than the shard size. With DROP it always "
    "does. Otherwise, the source is empty."
)

Item = TypeVar("Item")


def passed(given: dict[str, Any], *own: str) -> dict[str, Any]:
    """The arguments that a constructor passes to that of its base: its `locals()` without its own arguments."""
    return {k: v for k, v in given.items() if k not in ("self", "__class__", *own)}


class _DaliBaseIterator(Generic[Item]):
    """Runs pipelines until an epoch is over. Frameworks implement `_convert`.

    Iterators written for DALI override `__next__` instead. They call `_get_outputs`,
    `_schedule_runs`, `_advance_and_check_drop_last` and `_remove_padded`, in this order. One that
    takes its first batch in the constructor sets `_ever_consumed` to False afterwards.

    Lengths are counted in positions of the reader, not in samples: bad files that
    ``on_error="skip"`` leaves out make a batch shorter but do not move the end of the epoch.

    Args:
        pipelines: one pipeline, or a list of pipelines with the same batch size.
        size: number of samples in an epoch, over all pipelines; -1: the epoch ends when the
            pipeline raises StopIteration. Prefer `reader_name`. The last batch of a single
            pipeline may be short if it has exactly the rest: it is taken as it is.
        reader_name: name of the reader whose size, shards and padding define the epoch.
        auto_reset: "yes" or True: start the next epoch when one ends; "no", False or None:
            wait for `reset()` or `iter()`.
        fill_last_batch: old form of `last_batch_policy`: True means FILL, False means PARTIAL.
        last_batch_padded: with `size`: the source fills the last batch by repeating its last
            sample instead of continuing with the next epoch.
        last_batch_policy: see `LastBatchPolicy`.
        prepare_first_batch: run the first batch in the constructor, so that errors are raised there.

    Raises:
        AssertionError: arguments exclude each other.
        ValueError: an argument has a value that is not allowed.
        RuntimeError: the reader is unknown, or there is no data.
    """

    _misnamed: type[Exception] = KeyError  # raised when names do not match outputs
    _even = False  # see `Epochs.of_reader`

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
        if not self._pipes or pipelines is None:
            raise AssertionError("No pipelines given: pass one pipeline or a list of them.")
        for pipe in self._pipes:
            if not hasattr(pipe, "max_batch_size"):
                raise TypeError(
                    f"A pipeline or a list of them is expected, not {type(pipe).__name__}."
                )
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
        self._inner = [Iterated(pipe) for pipe in self._pipes]
        self._auto_reset = _AUTO_RESET[auto_reset]
        self._reader_name = reader_name
        self._num_gpus = len(self._pipes)
        self._check_pipelines()
        self.batch_size: int = self._pipes[0].max_batch_size
        self._epochs = self._make_epochs(size, last_batch_padded, last_batch_policy)
        self._ended = False  # the epoch is over and has not been reset
        self._part: list[Any] = []  # outputs or error of each pipeline that ran in this round
        self._held: list[Any] | None = None  # outputs that belong to the next epoch
        self._before_held: list[bytes] | None = None  # checkpoints from before `_held` was run
        self._restored = self._restore()
        self._begun = self._epochs.taken  # start of this epoch, or position of the checkpoint
        self._taker: Any = None  # returns batches that need no decision; see `_find_plain`
        self._take: Callable[[], Any] = _nothing
        self._left = 0  # batches left to the taker when it was last counted
        self._first: Item | None = None
        self._first_checkpoints: list[bytes] | None = None  # from before the first batch
        self._prepare_first_batch = prepare_first_batch
        self._keeps: list[int] = []  # how many samples of the last batch are of this epoch
        self._at_start = self._epochs.state()
        self._consumed: bool | None = None  # what a subclass has set as `_ever_consumed`
        overridden = type(self)._convert is _DaliBaseIterator._convert
        if overridden and self._inner[0].checkpointing:
            self._first_checkpoints = self._take_checkpoints()
        if prepare_first_batch and not overridden:
            self._prepare()

    # ---- construction ----------------------------------------------------------------------------

    def _check_pipelines(self) -> None:
        if len({pipe.checkpointing for pipe in self._inner}) != 1:
            raise ValueError(
                "All wrapped pipelines must have the same value for `enable_checkpointing`."
            )
        self._check_sizes()
        for pipe in self._pipes:
            pipe.build()
        self._check_sizes()  # again: parts of a job may differ
        self._check_names()

    def _check_sizes(self) -> None:
        if len({pipe.max_batch_size for pipe in self._pipes}) != 1:
            raise AssertionError("All pipelines should have the same batch size set")

    def _check_names(self) -> None:
        """Refuses names that do not match the outputs of the pipelines."""
        names = getattr(self, "output_map", None)  # of iterators written for DALI, too
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return
        given = f"output_map has {len(names)} names ({', '.join(map(repr, names))})"
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise AssertionError(
                f"output_map names should be distinct, but it repeats {', '.join(map(repr, repeated))}"
            )
        for pipe in self._pipes:
            count = pipe.num_outputs
            if len(names) != count:
                raise self._misnamed(
                    f"{given}, but the pipeline has {count} output(s): give one name per output"
                )

    def _make_epochs(self, size: int, padded: bool, policy: LastBatchPolicy) -> Epochs:
        policy = LastBatchPolicy[policy.name]  # accept the same enumeration from another module
        if self._reader_name:
            if integer("size", size, -1, 2**60) != -1:
                raise AssertionError("When reader_name is provided, size should not be set")
            if padded:
                raise AssertionError(
                    "When reader_name is provided, last_batch_padded should not be set"
                )
            return self._reader_epochs(policy)
        size = integer("size", size, -1, 2**60)
        if size == 0:
            raise AssertionError("Size cannot be 0")
        if size < 0:
            if len(self._pipes) != 1:
                raise AssertionError("Negative size is supported only for a single pipeline")
            return Epochs.of_size(-1, 1, self.batch_size, LastBatchPolicy.FILL, padded)
        warnings.warn(
            "Please set `reader_name` instead of `size` and `last_batch_padded` where the pipeline "
            "has a reader: with several shards, a fixed size can miss or repeat samples.",
            stacklevel=5,
        )
        return Epochs.of_size(size, len(self._pipes), self.batch_size, policy, padded)

    def _reader_epochs(self, policy: LastBatchPolicy) -> Epochs:
        assert self._reader_name is not None
        metas = [inner.reader_meta(self._reader_name) for inner in self._inner]
        for key in (
            "epoch_size",
            "epoch_size_padded",
            "number_of_shards",
            "pad_last_batch",
            "stick_to_shard",
            "rest_size",
            "first_epoch",
            "resplit",
            "global_batch",
        ):
            if len({meta[key] for meta in metas}) != 1:
                raise AssertionError(
                    f"The readers {self._reader_name!r} of the pipelines differ in {key}: "
                    f"{[meta[key] for meta in metas]}"
                )
        lanes = [meta["shard_id"] for meta in metas]
        return Epochs.of_reader(metas[0], lanes, self.batch_size, policy, self._even)

    def _restore(self) -> bool:
        """Restores the position stored by `checkpoints()`, which all pipelines must agree on."""
        extras = [pipe.restored for pipe in self._inner]
        if not any(extras):
            return False
        if any(extra != extras[0] for extra in extras):
            raise ValueError("The checkpoints of the pipelines were not taken together.")
        assert extras[0] is not None
        try:
            self._ended = bool(extras[0]["ended"])
            self._epochs.restore(extras[0]["epochs"], self._ended)
        except (KeyError, TypeError) as error:
            raise ValueError(f"The checkpoint does not match this iterator: {error!r}") from None
        return True

    def _prepare(self) -> None:
        """Makes the first batch."""
        if self._ended:  # restored at the end of an epoch: the user starts the next one
            return
        if self._inner[0].checkpointing:
            self._first_checkpoints = self._take_checkpoints()
        try:
            self._next()
        except StopIteration:
            self._report_no_data_in_pipeline()
            # Restored at the very end of an epoch; `_next` has recorded the end.

    # ---- running ---------------------------------------------------------------------------------

    def _convert(self, pipe_index: int, outputs: Sequence[Any], keep: int | None) -> Any:
        """Converts the first `keep` samples (None: all) of one pipeline's outputs."""
        raise NotImplementedError

    def _wrap(self, converted: list[Any]) -> Item:
        """Builds the item returned to the user from the outputs of all pipelines."""
        return converted  # type: ignore[return-value]

    def _end_epoch(self) -> None:
        self._ended = True
        if self._auto_reset:
            self.reset()

    # Signal handlers run at calls, and may raise. What a batch or an epoch changes is therefore
    # computed first and then assigned, without a call in between; until then, the outputs of the
    # pipelines stay in `_part`, and the next call starts again with them.

    def _run(self, epochs: Epochs) -> list[Any]:
        """Runs all pipelines; counts the positions of batches that were skipped entirely.

        Args:
            epochs: a copy of `_epochs`.
        """
        if self._held is not None:
            return self._held
        if self._inner[0].checkpointing and any(pipe.skips for pipe in self._inner):
            self._before_held = self._take_checkpoints()
        for i in range(len(self._part), len(self._pipes)):
            pipe, epoch = self._pipes[i], self._inner[i].epoch
            before = epoch.taken
            try:
                _core.collect(self._part, pipe.run)
            except StopIteration:
                self._part = []
                self._epochs.taken = 0  # whatever the size, the next epoch starts at 0
                self._epochs.missing = 0
                self._end_epoch()
                raise
            except Exception as error:
                if epoch.taken == before or self._part[i:]:
                    raise  # a source failed, or a signal handler: that batch still comes
                self._part = [*self._part, error]  # the others still run: all stay in step
        outputs = self._part
        failures = [error for error in outputs if isinstance(error, Exception)]
        if failures:
            epochs.advance()  # a failed batch counts as taken
            failure = failures[0]
            self._epochs, self._part = epochs, []
            raise failure
        if self._epochs.positions >= 0:
            taken = [_positions(out) for out in outputs]
            odd = any(positions % self.batch_size or not positions for positions in taken)
            if odd and epochs.is_rest(taken):
                epochs.missing = self.batch_size - taken[0]
            elif odd:
                self._part = []
                raise AssertionError(
                    "Variable batch size is not supported by the iterator when reader_name is "
                    "provided or iterator size is set explicitly: it takes batches of "
                    f"{self.batch_size} samples, and of a source a last one with the rest of `size`, "
                    f"but this one has {', '.join(map(str, taken))}"
                )
            for _ in range(max(taken) // self.batch_size - 1):
                epochs.advance()
        return outputs

    # ---- for iterators that override `__next__` --------------------------------------------------

    def _get_outputs(self) -> list[Any]:
        """The outputs of each pipeline; raises StopIteration at the end of an epoch."""
        if self._ended or self._epochs.next_action() is Action.END:
            self._end_epoch()
            raise StopIteration
        epochs = copy.copy(self._epochs)
        outputs = self._run(epochs)
        self._epochs, self._part, self._held = epochs, [], None
        return outputs

    def _schedule_runs(self, release_outputs: bool = True) -> None:
        """Has no effect: `_get_outputs` runs the pipelines."""

    def _advance_and_check_drop_last(
        self, dry_run: bool = False, end_iteration: bool = True
    ) -> bool:
        """Counts the batch. Returns whether it is one to leave out.

        Args:
            dry_run: only say whether it would be left out.
            end_iteration: raise StopIteration then, because the epoch is over.
        """
        dropped = self._epochs.next_action() is Action.DROP
        if not dry_run:
            self._keeps = self._epochs.advance()
            if dropped and end_iteration:
                self._end_epoch()
                raise StopIteration
        return dropped

    def _remove_padded(self) -> tuple[Any, Any]:
        """For each pipeline, whether samples have to be removed from the end of its last batch, and
        how many are left then. With policies other than PARTIAL: False, -1."""
        if self._last_batch_policy is not LastBatchPolicy.PARTIAL:
            return False, -1
        import numpy as np

        left = np.array(self._keeps)
        return left < self.batch_size, left

    def _save_state(self) -> str:
        """The position of this iterator as JSON; `checkpoints()` contains it."""
        self._settle()
        return json.dumps({"epochs": self._epochs.state(), "ended": self._ended})

    def _report_no_data_in_pipeline(self) -> None:
        """Raises RuntimeError if there should have been a first batch."""
        if not self._restored:
            raise RuntimeError(_NO_DATA)

    @property
    def _counter(self) -> int:
        self._settle()
        return self._epochs.taken

    @property
    def _last_batch_policy(self) -> LastBatchPolicy:
        return self._epochs.policy

    @property
    def _enable_checkpointing(self) -> bool:
        return self._inner[0].checkpointing

    @property
    def _ever_consumed(self) -> bool:
        """Whether the user has received a batch. One that was only run ahead does not count."""
        if self._consumed is not None:
            return self._consumed
        self._settle()
        return self._first is None and self._epochs.state() != self._at_start

    @_ever_consumed.setter
    def _ever_consumed(self, consumed: bool) -> None:
        self._consumed = consumed

    @property
    def _shards_id(self) -> Any:
        """The shard of the reader that each pipeline reads in this epoch."""
        return self._lanes("shard_now")

    @property
    def _shard_sizes_per_gpu_initial(self) -> Any:
        """The size of each shard of the reader."""
        return self._lanes("sizes")

    @property
    def _counter_per_gpu(self) -> Any:
        """For each shard of the reader, how many of its samples the last epoch has taken already."""
        return self._lanes("carry")

    def _lanes(self, name: str) -> Any:
        if self._epochs.sized:
            raise AttributeError("only iterators with `reader_name` know the shards of a reader")
        import numpy as np

        self._settle()
        return np.array(getattr(self._epochs, name), dtype=np.int64)

    # ---- batches that need no decision -----------------------------------------------------------

    def _make_taker(self, left: int, last: int) -> Any:
        """A `_core.Taker` of the first pipeline's next batches, or None if not possible."""
        return None

    def _plain(self, epochs: Epochs, held: Any) -> tuple[Any, int]:
        """A taker of the next batches that need no decision between them, and their number."""
        left, last = epochs.plain() if held is None and len(self._pipes) == 1 else (0, 0)
        return self._make_taker(left, last) if left > 0 else None, left

    def _settle(self) -> None:
        """Counts the batches that the taker has returned."""
        if self._taker is None:
            return
        epoch, epochs = self._inner[0].epoch, self._epochs
        left = self._taker.left  # no call from here on
        taken = self._left - left
        self._left = left
        epochs.taken += taken * epochs.step
        epoch.requested += taken
        epoch.taken += taken
        epoch.iteration += taken

    def _next(self) -> None:
        """Makes `_first` of the next batch."""
        epochs = copy.copy(self._epochs)
        action = Action.END if self._ended else epochs.next_action()
        outputs: list[Any] = []
        keeps: list[int] = []
        held: list[Any] | None = None
        if action is not Action.END:
            outputs = self._run(epochs)
            action = epochs.next_action()
            if action is Action.END:
                held = outputs  # the epoch ended with batches that were skipped entirely
            else:
                keeps = epochs.advance()
        if action is not Action.TAKE:
            if outputs:
                self._epochs, self._part, self._held = epochs, [], held
            self._end_epoch()
            raise StopIteration
        converted = []
        for i, (out, keep) in enumerate(zip(outputs, keeps, strict=True)):
            if keep == 0 and self._epochs.sized:
                continue  # the epoch ends before this pipeline's samples
            cut = None if keep >= self.batch_size else _samples(out, keep)
            converted.append(self._convert(i, out, cut))
        item = self._wrap(converted)
        self._epochs, self._part, self._held, self._first = epochs, [], None, item

    def __next__(self) -> Item:
        item = self._take()
        if item is None:
            return self._look()
        del self._taker.held
        return item

    def _look(self) -> Item:
        """The next batch when the taker has none; then makes a new one."""
        self._settle()
        self._taker, self._take = None, _nothing
        if self._first is None:
            self._next()
        taker, left = self._plain(self._epochs, self._held)
        take = _nothing if taker is None else taker.take
        item = self._first
        self._first = self._first_checkpoints = None
        self._taker, self._take, self._left = taker, take, left
        return item

    def next(self) -> Item:
        """Returns the next batch; raises StopIteration at the end of an epoch."""
        return self.__next__()

    def __iter__(self) -> Iterator[Item]:
        if self._first is None and self._consumed is not False:
            if self._over():
                self.reset()
            elif self._epochs.positions >= 0 and self._epochs.taken != self._begun:
                _log.warning(
                    "The last epoch stopped after %d of %d samples; this loop takes the rest.",
                    self._epochs.taken,
                    self._epochs.positions,
                )
        return self

    def _over(self) -> bool:
        self._settle()
        if self._ended or self._epochs.next_action() is not Action.TAKE:
            return True
        unknown = self._epochs.positions < 0 and self._held is None
        return unknown and self._inner[0].at_end()

    def reset(self) -> None:
        """Starts the next epoch once one has ended; before that, only logs a warning."""
        if self._first is not None or not self._over():
            _log.warning("reset() was called before the end of the epoch and is ignored.")
            return
        epochs = copy.copy(self._epochs)
        if not self._ended and epochs.next_action() is Action.DROP:
            self._run(epochs)  # the user counted batches and did not fetch the dropped one
            epochs.advance()
            self._epochs, self._part, self._held, self._ended = epochs, [], None, True
            epochs = copy.copy(epochs)
        for inner in self._inner:
            inner.at_end()  # restarts a source that ended together with the epoch
        epochs.roll()
        for pipe in self._pipes:
            pipe.reset()
        taker, left = self._plain(epochs, self._held)
        take = _nothing if taker is None else taker.take
        self._epochs, self._begun, self._ended = epochs, epochs.taken, False
        self._taker, self._take, self._left = taker, take, left

    # ---- facts -----------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        """As `size`; old DALI scripts read this name."""
        return self._epochs.positions

    @property
    def size(self) -> int:
        """Positions in the current epoch, of one shard (`reader_name`) or of all pipelines."""
        return self._epochs.positions

    def __len__(self) -> int:
        """Number of batches in an epoch; 0 if the length is not known."""
        return self._epochs.batches

    def checkpoints(self) -> list[bytes]:
        """Returns one checkpoint per pipeline, including the position of this iterator.

        To resume, pass each one as the `checkpoint` argument of an identical pipeline and create
        an iterator with the same arguments. It continues with the batch that would have come
        next.

        Raises:
            ValueError: the pipelines were created without `enable_checkpointing`.
        """
        if not self._inner[0].checkpointing:
            raise ValueError("Cannot access checkpoints with checkpointing disabled")
        if self._first_checkpoints is not None and not self._ever_consumed:
            return list(self._first_checkpoints)
        if self._held is not None and self._before_held is not None:
            return list(self._before_held)
        return self._take_checkpoints()

    def _take_checkpoints(self) -> list[bytes]:
        self._settle()
        if self._part:
            raise RuntimeError(
                "An exception interrupted this iterator after a pipeline had made its next batch: take "
                "that batch before the checkpoint."
            )
        extra = {"epochs": self._epochs.state(), "ended": self._ended}
        return [checkpoints.of_iterator(pipe.checkpoint(), extra) for pipe in self._pipes]


def _nothing() -> None:
    """Called instead of `Taker.take` when there is no taker."""


def _positions(outputs: Any) -> int:
    """Reader positions that a run took: its samples and the bad files left out."""
    positions = getattr(outputs, "positions", None)
    return len(outputs[0]) if positions is None else int(positions)


def _samples(outputs: Any, keep: int) -> int:
    """Number of samples in the first `keep` positions of a run."""
    count = len(outputs[0])
    if count == _positions(outputs):
        return keep
    slots = getattr(outputs, "slots", None)  # the position of each sample
    if slots is None:
        return min(keep, count)
    return sum(slot < keep for slot in slots)
