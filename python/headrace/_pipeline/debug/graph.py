# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: operators run where they are called, and nodes hold their data.

Each call in the function that defines the pipeline is a step. In the first iteration a step gets a plan of its own,
which is fed the nodes that it depends on. So every operator, reader and device works as without debug mode. It draws
as its node of the whole graph, so random numbers are the same too. Later iterations run the same plans again.

In a branch of an `if` on a node, nodes hold only the samples that take the branch, and steps run on those. A merge
step combines the branches. Random numbers drawn in a branch differ from those without debug mode.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import Any, TypeAlias

from headrace import _core, _graph
from headrace._graph.node import Node
from headrace._graph.plan import SOURCE
from headrace._pipeline.debug.step import DataNodeDebug, Settings, Step, is_given, needs
from headrace.data_node import DataNode
from headrace.tensors import TensorListCPU, TensorListGPU

_MERGE = _graph.MERGE

Fed: TypeAlias = tuple[Any, Any, Any]  # data, layout, stream


class DebugGraph(_graph.Graph):
    """A graph whose nodes run as soon as they are added."""

    immediate = True

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self._epoch = self._iteration = 0
        self._number = -1  # of the iteration in all epochs; the same if it is repeated
        self.fed: dict[str, deque[Fed]] = {}  # by source name
        self.called: dict[str, Fed] = {}  # for this iteration alone
        self._taken: dict[str, tuple[int, tuple[Any, ...]]] = {}  # of `fed`, with `_number`
        self.failed = False  # an operator has failed
        self._steps: list[Step] = []
        self._surplus = (
            0  # minus the number of batches from the user that the first iteration lacked
        )
        self._giving = False  # the instance being made stands for a batch from the user
        self._complete = False  # the first iteration is over; no step may be added
        self._at = 0  # index of the next step
        self._size: int | None = None  # samples per batch of this iteration
        self._data: dict[int, list[Any]] = {}  # batches of this iteration by node number
        self._where: dict[
            int, list[int] | None
        ] = {}  # indices of a node's samples in the whole batch; None: all

    def begin(self, number: int, iteration: int, epoch: int) -> None:
        """Starts an iteration, or repeats the one with this number. `iteration`: its number in the epoch."""
        self._number, self._iteration, self._epoch = number, iteration, epoch
        self.failed = False
        self._at = 0
        self._surplus = 0
        self._size = None
        self._data.clear()
        self._where.clear()
        self.numbers.clear()
        self.branch = None

    def end(self) -> None:
        """Ends an iteration without error. Later iterations must have the same steps."""
        self._complete = True

    def close(self) -> None:
        """Ends the workers of all steps."""
        for step in self._steps:
            if step.plan is not None:
                step.plan.engine.close()

    def sources(self) -> set[str]:
        """The names of the external sources."""
        return {s.instance.name for s in self._steps if s.instance.source is not None}

    def asks(self) -> bool:
        """Whether any source has a callback, which may end the epoch."""
        sources = (step.instance.source for step in self._steps)
        return any(source is not None and source.callback is not None for source in sources)

    def readers(self) -> dict[str, Step]:
        """The readers by name."""
        return {s.instance.name: s for s in self._steps if s.plan is not None and s.reads()}

    # ---- running calls ----

    def outputs_of(self, instance: _graph.Instance) -> int:
        for node in needs(instance):
            if node.source not in self.numbers:  # made outside the function
                self.outputs_of(node.source)
                self.nodes_of(node.source)
        if self._complete:
            return self._repeat(instance)
        number = self.core.add_node(*self.description(instance))
        instance.outputs = self.core.node_outputs(number)
        self._steps.append(Step(instance, number))
        return self._take(instance)

    def _repeat(self, instance: _graph.Instance) -> int:
        """The outputs of a call that must repeat the next step. Batches from the user may be other ones until the call
        that takes them, which then says what differs."""
        rest = self._steps[self._at :]
        given = self._giving
        if given and not (rest and is_given(rest[0].instance)):
            self._surplus -= 1
            self.numbers[instance] = self._surplus
            return 1
        skipped = 0 if given else sum(1 for _ in takewhile(_is_operand, rest))
        if instance.op == "constant":
            skipped = 0
        differs = self._surplus < 0 or skipped > 0
        self._at += skipped
        if self._at < len(self._steps) and differs:
            self._steps[self._at].check(instance)
        if self._at == len(self._steps) or differs:
            raise RuntimeError(
                f"Unexpected operator '{instance.op}' ({instance.origin}). Debug mode does not support changing "
                "the order of operators executed within the pipeline."
            )
        return self._take(instance)

    def _take(self, instance: _graph.Instance) -> int:
        step = self._steps[self._at]
        step.check(instance)
        self._at += 1
        self.numbers[instance] = step.number
        instance.name = step.instance.name
        return step.instance.outputs

    def nodes_of(self, instance: _graph.Instance) -> list[DataNode]:
        number = self.numbers[instance]
        if number not in self._data:
            step = next(s for s in self._steps[: self._at][::-1] if s.number == number)
            self._where[number] = self._taking(instance.guard)
            self._data[number] = self._evaluate(step, instance, self._where[number])
        return [
            DataNodeDebug(batch, name, "gpu" if batch._device >= 0 else "cpu", instance, i)
            for i, (batch, name) in enumerate(
                zip(self._data[number], instance.names(), strict=True)
            )
        ]

    def _taking(self, guard: tuple[Node, bool] | None) -> list[int] | None:
        """The indices of the samples that take the branch; None: all."""
        if guard is None:
            return None
        predicate, when = guard
        given = self._batch(predicate)
        where = self._where[self.numbers[predicate.source]]
        indices = range(len(given)) if where is None else where
        return [i for i, value in zip(indices, given, strict=True) if bool(_scalar(value)) == when]

    def _batch(self, node: Node) -> Any:
        return self._data[self.numbers[node.source]][node.index]

    def _evaluate(
        self, step: Step, instance: _graph.Instance, where: list[int] | None
    ) -> list[Any]:
        if step.instance.source is not None:
            batches = list(self._ask(step.instance))
            self._agree(len(batches[0]), instance)
            return batches
        if instance.op == _MERGE:
            return [self._merge(instance, where)]
        if where is not None and not where:
            return [TensorListCPU([])] * instance.outputs
        fed = [self._of(node, where, instance) for node in needs(instance)]
        if step.plan is None:
            step.prepare(self, self.settings, instance)
        whole = self._size or self.settings.batch_size
        try:
            batches = step.run(fed, whole if where is None else len(where), self._number)
        except Exception:
            self.failed = step.plan.engine.failed
            raise
        if batches and where is None:
            self._agree(len(batches[0]), instance)
        return batches

    def _of(self, node: Node, where: list[int] | None, instance: _graph.Instance) -> Any:
        """The batch of a node with only the samples at the positions `where`."""
        batch, own = self._batch(node), self._where[self.numbers[node.source]]
        if where == own:
            if own is None:
                self._agree(len(batch), instance)
            return batch
        if where is None or (own is not None and not set(where) <= set(own)):
            raise RuntimeError(
                f"'{instance.name}' ({instance.origin}) takes a node that was computed inside a branch of an `if` "
                "statement, but is not inside that branch."
            )
        indices = where if own is None else [own.index(i) for i in where]
        return _kind(batch)([batch[i] for i in indices], batch.layout())

    def _merge(self, instance: _graph.Instance, where: list[int] | None) -> Any:
        """Combines the samples of both branches in one batch."""
        predicate = self._batch(instance.arg_nodes["predicate"])
        indices = list(range(len(predicate))) if where is None else where
        samples = []
        for i, value in zip(indices, predicate, strict=True):
            taken = instance.inputs[0 if bool(_scalar(value)) else 1]
            own = self._where[self.numbers[taken.source]]
            samples.append(self._batch(taken)[i if own is None else own.index(i)])
        if not samples:
            return TensorListCPU([])
        kind = TensorListGPU if isinstance(samples[0], _core.DeviceTensor) else TensorListCPU
        return kind(samples, samples[0].layout())

    def _agree(self, size: int, instance: _graph.Instance) -> None:
        """Checks that all batches of an iteration have the same size.

        Raises:
            RuntimeError: this one has a different size.
        """
        if self._size is None:
            self._size = size
        if size != self._size:
            what = f"Operator '{instance.op}' has"
            if instance.op == SOURCE:
                what = "Input of an operator has"
                if instance.source is not None:
                    what = "External Source operator returned batch size:"
            raise RuntimeError(
                f"Batch size must be uniform across an iteration. {what} {size} samples, expected {self._size} "
                f"('{instance.name}', {instance.origin}). Call external sources whose batch size varies before "
                "other operators."
            )

    def _ask(self, instance: _graph.Instance) -> tuple[Any, ...]:
        """The next batches of an external source."""
        source, name, size = instance.source, instance.name, self.settings.batch_size
        source.device_id = max(self.settings.options.get("device_id", -1), 0)
        source.device_id = source.device_id if source.device == "gpu" else -1
        if source.callback is None:
            return self._fed(source, name)
        if self.fed.get(name) or name in self.called:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{name}' with a `source` argument specified."
            )
        source.ask(self._number, self._iteration, size, self._epoch)
        if source.ended:
            raise StopIteration
        return source.prepare(source.columns(), size)

    def _fed(self, source: Any, name: str) -> tuple[Any, ...]:
        """The batches of this iteration for a source that the user feeds."""
        size = self.settings.batch_size
        if name in self.called:
            data, layout, stream = self.called[name]
            source.last = source.prepare([data], size, stream, layout=layout)
            return source.last
        number, batches = self._taken.get(name, (-1, ()))
        if number == self._number:
            return batches
        waiting = self.fed.get(name)
        if waiting:
            data, layout, stream = waiting[0]
            batches = source.prepare([data], size, stream, layout=layout)
            self._taken[name] = (self._number, batches)  # no call up to the end of the block
            source.last = batches
            del waiting[0]
        elif not source.repeat_last or source.last is None:
            raise IndexError(f"{source.label}: no data were fed. Call feed_input before run.")
        return source.last

    # ---- data passed to calls ----

    def accept(self, value: Any, place: int | str) -> Any:
        """Converts data in the arguments of a call to nodes.

        Batches and lists of tensors become nodes. So does an input array with two or more dimensions whose first
        extent is the batch size. Everything else is a constant, as without debug mode.

        Raises:
            ValueError: a batch in a branch of an `if`: it is unknown which samples it holds.
        """
        if isinstance(value, (TensorListCPU, TensorListGPU)):
            return self._given(value, place)
        if isinstance(value, (list, tuple)) and value and all(map(_has_data, value)):
            if any(isinstance(item, (DataNode, _core.Batch)) for item in value):
                return [self.accept(item, place) for item in value]
            on_gpu = any(isinstance(item, _core.DeviceTensor) for item in value)
            return self._given((TensorListGPU if on_gpu else TensorListCPU)(list(value)), place)
        array = _has_data(value) and not isinstance(value, (DataNode, _core.Tensor))
        shape = tuple(getattr(value, "shape", ())) if isinstance(place, int) and array else ()
        if len(shape) > 1 and shape[0] == self._samples():
            return self._given(TensorListCPU(value), place)
        return value

    def _samples(self) -> int:
        """The number of samples per batch at this point: in a branch, of those that take it."""
        where = self._taking(self.branch)
        return len(where) if where is not None else self._size or self.settings.batch_size

    def _given(self, batch: Any, place: int | str) -> DataNode:
        """A node that holds a batch from the user."""
        if self.branch is not None:
            raise ValueError(
                "Debug mode with conditional execution (when `enable_conditionals=True`) doesn't allow for "
                "modification of operator outputs by libraries other than DALI or using the TensorLists extracted "
                "via `.get()` as inputs. Expected `DataNodeDebug` as an input, got "
                f"`{type(batch).__name__}` at input {place}."
            )
        device = "gpu" if batch._device >= 0 else "cpu"
        self._giving = True
        instance = _graph.Instance(SOURCE, [], {}, {}, None, False, "Given", device)
        self._giving = False
        where = self._where[self.numbers[instance]] = self._taking(self.branch)
        if where is None:
            self._agree(len(batch), instance)
        self._data[self.numbers[instance]] = [batch]
        return self.nodes_of(instance)[0]


def _is_operand(step: Step) -> bool:
    return is_given(step.instance) or step.instance.op == "constant"


def _scalar(tensor: Any) -> Any:
    import numpy

    return numpy.asarray(tensor).item()


def _kind(batch: Any) -> Any:
    return TensorListGPU if batch._device >= 0 else TensorListCPU


def _has_data(value: Any) -> bool:
    """Whether `value` is a node, a batch, a tensor or an array."""
    return isinstance(value, (DataNode, _core.Batch, _core.Tensor)) or (
        hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    )
