# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Readers: iterated without a pipeline. Each class is made from the operator's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace._base import docs
from headrace._graph import calls, modules, schema
from headrace.experimental.dynamic._context import EvalContext, device
from headrace.experimental.dynamic._data import Batch, Tensor
from headrace.experimental.dynamic._operators import _located, _types
from headrace.experimental.dynamic._plans import Plan
from headrace.experimental.dynamic._rng import RNG, draw

_ITERATOR_ARGS = ("max_batch_size", "name", "device", "num_inputs", "enable_checkpointing")


class Reader:
    """Base of the readers.

    Args:
        max_batch_size: the largest `batch_size` of `next_epoch`.
        name: has no effect.
        device: "cpu" or "gpu".
        enable_checkpointing: `get_state` works.
        kwargs: arguments of the operator.
    """

    _op: schema.Operator

    def __init__(
        self,
        max_batch_size: int | None = None,
        name: str | None = None,
        device: Any = "cpu",
        num_inputs: int | None = None,
        *,
        enable_checkpointing: bool = False,
        **kwargs: Any,
    ) -> None:
        label = type(self).__name__
        plain = {
            k: _types.type_id(v) if isinstance(v, _types.DType) else v for k, v in kwargs.items()
        }
        for key in plain:
            if key not in self._op.args and key not in (
                "seed",
                "preserve",
                "bytes_per_sample_hint",
            ):
                raise TypeError(f"{label}() got an unexpected keyword argument '{key}'")
        seed = plain.pop("seed", None)
        self._constants, _ = calls.split_arguments(self._op, label, plain)
        self._seed = draw(RNG()) if seed in (None, -1) else seed & 2**63 - 1
        self._device = device
        self._max = max_batch_size
        self._name = name
        self._checkpoints = enable_checkpointing
        self._plan: Plan | None = None
        self._size: int | None = None  # of the batches; None: single samples
        self._left: int | None = None  # positions of this shard's epoch that were not taken
        self._state: bytes | None = None
        self._waiting: list[Any] = []  # samples read ahead of their epoch

    def _engine(self, size: int | None, ctx: EvalContext | None) -> Plan:
        if self._plan is not None:
            if size != self._size:
                raise RuntimeError(
                    f"This reader gives batches of {self._size or 'single samples'}: it cannot change to {size} now. "
                    "Make another reader."
                )
            return self._plan
        if size is not None and size < 1:
            raise ValueError(f"batch_size is {size}; it must be at least 1.")
        if size is not None and self._max is not None and size > self._max:
            raise ValueError(
                f"batch_size is {size}, which is more than max_batch_size, {self._max}."
            )
        place = device(self._device)
        context = ctx or EvalContext.current()
        name = place.device_type
        if name == "gpu" and "gpu" not in self._op.runs_on:
            name = "mixed" if "mixed" in self._op.runs_on else "cpu"
        number = -1 if place.device_id is None else place.device_id
        try:
            self._plan = Plan(
                self._op,
                name,
                (),
                self._constants,
                (),
                size or 1,
                context.num_threads,
                number,
                self._seed,
                self._state,
            )
        except Exception as error:
            raise _located(error, self._op) from None
        self._size = size
        return self._plan

    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: bool = False
    ) -> Iterator[tuple[Any, ...]]:
        """The samples of the next epoch: tuples of tensors, or of batches if `batch_size` is given.

        Batches all have `batch_size` samples: the last one is filled from the next epoch.

        Args:
            batch_size: samples in each batch; None: single samples.
            ctx: the context whose threads are used.
            capture: has no effect: reading runs ahead in any case.
        """
        return self._iterate(batch_size, self._engine(batch_size, ctx))

    def _iterate(self, size: int | None, plan: Plan) -> Iterator[tuple[Any, ...]]:
        step = size or 1
        meta = plan.engine.reader_meta(plan.node)
        if self._left is None:
            self._left = 0
        self._left += self._shard_size(meta)
        while self._left > 0:
            self._left -= step
            try:
                results = plan.run([], step, None)
            except StopIteration:
                return
            except Exception as error:
                raise _located(error, self._op) from None
            if size is None:
                yield tuple([Tensor._of(batch[0]) for batch in results])
            else:
                yield tuple([Batch._of(batch) for batch in results])

    def _shard_size(self, meta: dict[str, int]) -> int:
        """The items of the current epoch's shard."""
        total, shards = meta["epoch_size"], meta["number_of_shards"]
        if meta["pad_last_batch"]:
            return meta["epoch_size_padded"] // max(shards, 1)
        epoch = getattr(self, "_epoch", 0)
        self._epoch = epoch + 1
        shard = meta["shard_id"] + (0 if meta["stick_to_shard"] else epoch)
        shard %= shards
        return total * (shard + 1) // shards - total * shard // shards

    def get_metadata(self, batch_size: int | None = None) -> dict[str, int]:
        """Facts about the data: `epoch_size`, `number_of_shards` and so on."""
        plan = self._plan or self._engine(batch_size, None)
        return dict(plan.engine.reader_meta(plan.node))

    def get_state(self, *, cuda_stream: Any = None) -> Any:
        """The state, from which `set_state` of another reader with the same arguments continues."""
        if not self._checkpoints:
            raise RuntimeError(
                f"The reader '{self._op.name}' was initialized with checkpointing disabled. Pass "
                "`enable_checkpointing=True` to the reader's constructor."
            )
        if self._plan is None:
            raise RuntimeError(
                "Cannot get the reader's state before its first iteration. Call `next_epoch` once before calling "
                "`get_state`."
            )
        return ReaderState(
            self._plan.engine.checkpoint(), self._left or 0, getattr(self, "_epoch", 0), self._size
        )

    def set_state(self, state: Any) -> None:
        """Continues from a state; only before the first iteration."""
        if self._plan is not None:
            raise RuntimeError("Cannot set the reader's state after its first iteration.")
        self._state = state.data
        self._epoch = state.epoch
        self._left = state.left


class ReaderState:
    """Where a reader stands."""

    def __init__(self, data: bytes, left: int, epoch: int, size: int | None) -> None:
        self.data = data
        self.left = left
        self.epoch = epoch
        self.size = size


def make(name: str) -> Any:
    """The class of a reader, such as "readers.File"; None if there is none."""
    module, _, leaf = name.rpartition(".")
    for op in schema.operators().values():
        own, _, _ = op.name.rpartition(".")
        if op.is_reader and own == module and op.class_name == leaf and "hidden" not in op.flags:
            members = {"_op": op, "__doc__": docs.docstring(op.raw), "__module__": __name__}
            return type(leaf, (Reader,), members)
    return type(leaf, (_Missing,), {}) if schema.missing_class(name) else None


class _Missing:
    """Stands for a reader of DALI that this version lacks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(modules.missing_message(f"readers.{type(self).__name__}"))


def names() -> list[str]:
    """The names of the readers, with modules."""
    return [
        f"{op.name.rpartition('.')[0]}.{op.class_name}"
        for op in schema.operators().values()
        if op.is_reader and "hidden" not in op.flags
    ]
