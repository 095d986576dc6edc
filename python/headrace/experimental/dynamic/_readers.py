# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Readers: iterated without a pipeline. Each class is made from the operator's table."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from headrace import _core
from headrace._base import docs
from headrace._graph import calls, schema
from headrace._graph.plan import Plan
from headrace._pipeline.config import integer
from headrace._pipeline.readers import Readers
from headrace.experimental.dynamic._context import EvalContext, device
from headrace.experimental.dynamic._data import Batch, Tensor
from headrace.experimental.dynamic._operators import _located, _types
from headrace.experimental.dynamic._rng import RNG, draw
from headrace.plugin._epochs import LastBatchPolicy, reader_epochs

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
        self._keys = [*plain[self._op.out_keys]] if self._op.out_keys else None
        self._seed = draw(RNG()) if seed in (None, -1) else seed & 2**63 - 1
        self._device = device
        self._max = max_batch_size
        self._name = name
        self._checkpoints = enable_checkpointing
        self._plan: Plan | None = None
        self._size: int | None = None  # of the batches; None: single samples
        self._state: bytes | None = None
        self._form = ""  # how it is used: by calls, as samples or as batches

    def _engine(self, size: int | None, ctx: EvalContext | None) -> Plan:
        if self._plan is not None:
            if size != self._size:
                raise RuntimeError(
                    f"This reader gives batches of {self._size or 'single samples'}: it cannot change to {size} now. "
                    "Make another reader."
                )
            return self._plan
        if size is not None:
            size = integer("batch_size", size, 1, 2**20)
        if size is not None and self._max is not None and size > self._max:
            raise ValueError(
                f"batch_size is {size}, which is more than max_batch_size, {self._max}."
            )
        place = device(self._device)
        context = ctx or EvalContext.current()
        name = place.device_type
        if name == "gpu" and "gpu" not in self._op.runs_on:
            name = "mixed" if "mixed" in self._op.runs_on else "cpu"
        state: dict[str, Any] = {"seed": self._seed}
        if self._state is not None:
            state = {"checkpoint": self._state}  # with its seed
        try:
            self._plan = Plan(
                self._op,
                name,
                (),
                self._constants,
                size=size or 1,
                threads=context.num_threads,
                prefetch_queue_depth=2,
                device_id=-1 if place.device_id is None else place.device_id,
                **state,
            )
        except Exception as error:
            raise _located(error, self._op) from None
        self._size = size
        return self._plan

    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: bool = False
    ) -> Iterator[Any]:
        """The samples of the next epoch: tuples of tensors, or of batches if `batch_size` is given.

        If the epoch has begun already (it was left early, or a state was set), these are those that are left of it. Readers whose outputs have names (TFRecord) give dictionaries instead of tuples. Batches all have `batch_size` samples: the last one is filled from the next epoch.

        Args:
            batch_size: samples in each batch; None: single samples.
            ctx: the context whose threads are used.
            capture: has no effect: reading runs ahead in any case.
        """
        self._use("samples" if batch_size is None else "batches")
        return self._iterate(batch_size, self._engine(batch_size, ctx))

    def __call__(self, *, batch_size: int | None = None) -> Any:
        """The next sample, or the next batch if `batch_size` is given; one epoch follows another.

        Returns:
            A tensor or a batch, and a tuple of them if the operator has several outputs.
        """
        self._use("calls")
        plan = self._engine(batch_size, None)
        results = self._next(plan, batch_size)
        if isinstance(results, tuple) and len(results) == 1:
            results = results[0]
        del plan.engine.held  # no call from here on: nothing can raise before the batch is returned
        return results

    def _use(self, form: str) -> None:
        """A reader is used in one way."""
        if self._form not in ("", form):
            raise RuntimeError(
                f"Cannot mix `samples`, `batches` and calls on the same reader: it gives {self._form}. "
                "Make another reader."
            )
        self._form = form

    def _next(self, plan: Plan, size: int | None) -> Any:
        """The results of one run: by name if the operator's outputs have names. They are the same again
        until `held` of the engine is deleted."""
        try:
            results = plan.read()
        except Exception as error:
            located = error if isinstance(error, StopIteration) else _located(error, self._op)
            if plan.engine.failed:
                del plan.engine.held
            raise located from None
        made = [Tensor._of(batch[0]) if size is None else Batch._of(batch) for batch in results]
        return tuple(made) if self._keys is None else dict(zip(self._keys, made, strict=True))

    def _iterate(self, size: int | None, plan: Plan) -> Iterator[Any]:
        epochs, number = self._epochs(plan), None
        while True:
            place = epochs.find(self._meta(plan)["position"])
            number = place[0] if number is None else number
            if place[0] != number:
                return
            try:
                results = self._next(plan, size)
            except StopIteration:
                return
            del plan.engine.held  # the batch counts as taken
            yield results

    def _epochs(self, plan: Plan) -> _core.Epochs:
        """Where the epochs end. A batch belongs to the epoch of its first sample."""
        return reader_epochs(self._meta(plan), self._size or 1, LastBatchPolicy.FILL, alone=True)

    @staticmethod
    def _meta(plan: Plan) -> dict[str, int]:
        return plan.engine.reader_meta(plan.node)

    def get_metadata(self, batch_size: int | None = None) -> dict[str, int]:
        """Facts about the data: `epoch_size`, `number_of_shards` and so on."""
        plan = self._plan or self._engine(batch_size, None)
        return Readers({"": self._meta(plan)}).meta("")

    def _enable_checkpointing(self) -> None:
        """Lets `get_state` work: a checkpoint needs it of what is registered."""
        self._checkpoints = True

    def get_state(self, *, cuda_stream: Any = None) -> ReaderState:
        """The state, from which `set_state` of another reader with the same arguments continues."""
        if self._plan is None:
            raise RuntimeError(
                "Cannot get the reader's state before its first iteration. Call `next_epoch` once before calling "
                "`get_state`."
            )
        if not self._checkpoints:
            raise RuntimeError(
                f"The reader '{self._op.name}' was initialized with checkpointing disabled. Pass "
                "`enable_checkpointing=True` to the reader's constructor."
            )
        return ReaderState(self._plan.engine.checkpoint())

    def set_state(self, state: Any) -> None:
        """Continues from a state or from its text; only before the first iteration.

        Raises:
            TypeError: it is neither a `ReaderState` nor a text.
            ValueError: it is not the text of a state.
        """
        found = ReaderState._read(state)
        if self._plan is not None:
            raise RuntimeError(
                "Cannot set the reader's state after iteration has begun. Set it before the first call of "
                "`next_epoch`."
            )
        self._enable_checkpointing()
        self._state = found.data


class ReaderState:
    """Where a reader stands. `str` makes a text from which `set_state` continues, too."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @classmethod
    def _read(cls, state: Any) -> ReaderState:
        """The state itself, or the one that a text describes."""
        if isinstance(state, cls):
            return state
        if not isinstance(state, (str, bytes)):
            raise TypeError(
                f"The state must be a ReaderState, str or bytes, but it is a {type(state).__name__}."
            )
        try:
            item = json.loads(base64.b64decode(state, validate=True))
            return cls(base64.b64decode(item["data"], validate=True))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"This is not the state of a reader: {error}.") from None

    def __str__(self) -> str:
        data = base64.b64encode(self.data).decode("ascii")
        return base64.b64encode(json.dumps({"data": data}).encode()).decode("ascii")

    def __repr__(self) -> str:
        return f"ReaderState({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (ReaderState, str)) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def make(name: str) -> Any:
    """The class of a reader, such as "readers.File"; None if there is none."""
    module, _, leaf = name.rpartition(".")
    for op in schema.operators().values():
        own, _, _ = op.name.rpartition(".")
        if op.is_reader and own == module and op.class_name == leaf and "hidden" not in op.flags:
            members = {"_op": op, "__doc__": docs.docstring(op.raw), "__module__": __name__}
            return type(leaf, (Reader,), members)
    return None


def names() -> list[str]:
    """The names of the readers, with modules."""
    return [
        f"{op.name.rpartition('.')[0]}.{op.class_name}"
        for op in schema.operators().values()
        if op.is_reader and "hidden" not in op.flags
    ]
