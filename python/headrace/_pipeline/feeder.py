# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The external sources of a pipeline."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace import _core
from headrace._base import messages
from headrace._pipeline.config import PipelineConfig
from headrace.data_node import DataNode

if TYPE_CHECKING:
    from headrace._external.feeding import Source
    from headrace._external.pool import Pool


Feedings: TypeAlias = "tuple[tuple[int, tuple[_core.Batch, ...]], ...]"  # of nodes


class Feeder:
    """Asks the sources for batches and feeds them to the engine; owns the processes of parallel ones.

    Attributes:
        sources: the external sources by name.
        pool: the processes that run those with ``parallel=True``; None before `start_workers`.
    """

    def __init__(self, config: PipelineConfig) -> None:
        self.sources: dict[str, Source] = {}
        self.pool: Pool | None = None
        self._config = config
        self._engine: Any = None
        self._asked: list[Source] = []  # those with a callback
        self._repeating: list[Source] = []
        self.round = 0  # grows with each batch that was asked for
        self.iteration = 0  # the same in this epoch
        self.called: Feedings | None = None  # fed, but not noted as the last batches yet

    def start_workers(self) -> None:
        """Starts the processes of parallel sources unless they are running."""
        parallel = [source for source in self.sources.values() if source.parallel]
        if self.pool is not None or not parallel:
            return
        from headrace._external.pool import start

        config = self._config
        self.pool = start(
            parallel,
            config.max_batch_size or 1,
            config.py_num_workers,
            config.py_start_method,
            config.py_callback_pickler,
        )
        weakref.finalize(self, self.pool.close)  # at once: sources and pool refer to each other

    def connect(self, engine: _core.Pipeline, device: int) -> None:
        """Sets the engine to feed, and its GPU."""
        self._engine = engine
        self._asked = [source for source in self.sources.values() if source.callback is not None]
        self._repeating = [source for source in self.sources.values() if source.repeat_last]
        for source in self.sources.values():
            source.device_id = max(device, 0) if source.device == "gpu" else -1

    def warn_if_not_resumable(self) -> None:
        """Warns about each source whose state a checkpoint does not hold."""
        for source in self._asked:
            if not source.resumable:
                messages.warn(
                    f"Checkpointing with {source.label}: only a callable with one argument can be resumed. "
                    f"{messages.product()} doesn't capture state of such 'source'. A resumed pipeline starts it "
                    "from the beginning."
                )

    @property
    def asks(self) -> bool:
        """Whether any source has a callback, which may end the epoch."""
        return bool(self._asked)

    def ask(self, epoch: int) -> Feedings:
        """Asks every source for its next batch: all sources advance together or not at all.

        The caller feeds the result and then adds 1 to `round` and `iteration`. Until then the answers are kept: if a
        source or a signal handler raises, the next call asks only those that did not answer. StopIteration from one
        source ends the epoch for all, but only after each was asked, so that all of them restart together.
        """
        size = self._config.max_batch_size or 0
        for source in self._asked:
            source.ask(self.round, self.iteration, size, epoch)
        if any(source.ended for source in self._asked):
            self.round += 1
            raise StopIteration
        try:
            return self._answers(size)
        except Exception:
            self._leave_out_bad_answers(size)
            raise

    def _answers(self, size: int) -> Feedings:
        return tuple(
            (source.node, source.prepare(source.columns(), size, engine=self._engine))
            for source in self._asked
        )

    def _leave_out_bad_answers(self, size: int) -> None:
        """An answer that is refused a second time is at fault itself, unlike one at which a signal handler raised: it is
        left out, with those of the other sources."""
        try:
            self._answers(size)
        except Exception:
            self.round += 1
            self.iteration += 1

    def named(self, name: str) -> Source:
        """The source of this name; raises KeyError if there is none."""
        if name not in self.sources:
            raise KeyError(f'Could not find an input operator with name "{name}"')
        return self.sources[name]

    def fed(self, data_node: str | DataNode) -> Source:
        """The source of this node or name, to which the user feeds data.

        Raises:
            KeyError: no source has this name.
            TypeError: `data_node` is neither a node nor a name.
            RuntimeError: the source has a callback.
        """
        if isinstance(data_node, DataNode):
            made = data_node.source
            while made.op in ("_to_gpu", "_to_cpu"):  # accept node.gpu() in place of the node
                made = made.inputs[0].source
            source = self.named(made.name)
        elif isinstance(data_node, str):
            source = self.named(data_node)
        else:
            raise TypeError(f"Expected a node or its name, not {type(data_node).__name__}.")
        if source.callback is not None:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{data_node}' with a `source` argument "
                "specified."
            )
        return source

    def prepare(
        self,
        source: Source,
        data: Any,
        layout: str | None = None,
        stream: Any = None,
        copy: bool = True,
    ) -> Feedings:
        """Makes batches of the user's data, for one or more iterations; raises RuntimeError if that is not possible."""
        size = self._config.max_batch_size or 0
        made = source.feedings(data, size, stream, self._engine, layout, copy)
        return tuple((source.node, batches) for batches in made)

    def repeat(self, inputs: Feedings | None) -> None:
        """Feeds the last batch of sources with ``repeat_last`` that have none for the next iteration.

        Args:
            inputs: what that iteration is fed anyway.
        """
        if not self._repeating:
            return
        self.note_called()
        given = [node for node, _ in inputs or ()]
        for source in self._repeating:
            lacks = self._engine.feed_room(source.node) == self._config.depth
            if lacks and source.node not in given and source.last is not None:
                self._engine.fed = ((source.node, source.last),)

    def note_called(self) -> None:
        """Notes that the last batches of some sources are those of `called`."""
        for node, batches in self.called or ():
            for source in self._repeating:
                if source.node == node:
                    source.last = batches
        self.called = None

    def rewind(self) -> None:
        """Returns to the start of an epoch."""
        for source in self.sources.values():
            source.rewind()
        self.iteration = 0

    def shared_memory(self) -> dict[str, list[int]]:
        """The sizes of the shared memory blocks of parallel sources, in bytes."""
        slots = [] if self.pool is None else self.pool.all_slots()
        return {
            "capacities": [slot.size for slot in slots],
            "per_sample_capacities": [slot.size // max(slot.samples, 1) for slot in slots],
        }

    def close(self) -> None:
        """Ends the processes."""
        if self.pool is not None:
            self.pool.close()
