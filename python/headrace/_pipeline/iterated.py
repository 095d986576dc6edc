# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the iterators of all frameworks use of a pipeline, beyond its public methods."""

from __future__ import annotations

from typing import Any

from headrace._pipeline import checkpoints
from headrace._pipeline.epoch import Epoch
from headrace._pipeline.pipeline import Pipeline
from headrace.data_node import DataNode
from headrace.types import PipelineAPIType


class Iterated:
    """A pipeline as an iterator sees it. The pipeline must be built, except for `checkpointing`.

    An iterator calls `Pipeline.run` for each batch, or takes batches from `engine` directly and
    adds their number to `epoch`.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    @property
    def checkpointing(self) -> bool:
        """Whether the pipeline was created with `enable_checkpointing`."""
        return self._pipeline._config.enable_checkpointing

    def enable_checkpointing(self) -> None:
        """Allows checkpoints; has no effect once the pipeline is built."""
        if self.engine is None:
            self._pipeline._config.enable_checkpointing = True

    def move_outputs(self, device_id: int) -> None:
        """Lets the pipeline copy its outputs to a GPU.

        Raises:
            RuntimeError: the graph is complete already.
        """
        pipe = self._pipeline
        if pipe._definition is not None:
            raise RuntimeError(
                "The outputs of a pipeline that is built cannot be moved to a GPU. End its definition with "
                "`return images.gpu(), labels.gpu()`."
            )
        if pipe._config.device_id is None:
            pipe._config.device_id = device_id
        with pipe:
            outputs = pipe._graph_out or pipe.define_graph()
            outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            pipe.set_outputs(*(o.gpu() if isinstance(o, DataNode) else o for o in outputs))

    def restart(self, checkpoint: bytes) -> None:
        """Continues at a checkpoint, which may also be one of an iterator.

        Raises:
            RuntimeError: the checkpoint is damaged, or an external source has already been asked.
        """
        self._pipeline._restart(checkpoint)

    def at_epoch(self, epoch: int, batches: int, positions: int) -> bytes | None:
        """A checkpoint at the beginning of an epoch, or None if a source has to be asked for what comes before it.

        The number of shards counts as if it had always been the present one: an epoch depends on its number alone.

        Args:
            epoch: its number.
            batches: number of batches before it.
            positions: number of positions that each reader has taken before it.
        """
        pipe = self._pipeline
        state = (
            None if pipe._feeder.sources else self.engine.checkpoint_at_epoch(batches, positions)
        )
        return state and checkpoints.of_pipeline(state, epoch, 0)

    def reader_names(self) -> list[str]:
        """The names of the readers."""
        return sorted(self._pipeline.reader_meta())

    def placeholders(self) -> dict[str, bool]:
        """The external sources by name, and whether each has to be fed because it has no `source`."""
        sources = self._pipeline._complete_graph().sources
        return {name: source.callback is None for name, source in sources.items()}

    def takes_batches(self, name: str) -> bool:
        """Whether an external source was defined for batches, not for samples."""
        return self._pipeline._complete_graph().sources[name].batch

    @property
    def depth(self) -> int:
        """How many iterations may be in flight."""
        return self._pipeline._depth

    def feed(self, data: dict[str, Any], copy: bool) -> None:
        """Feeds one batch to each source of `placeholders`, and schedules the iteration that uses them.

        Args:
            copy: copy the data unless the source has `no_copy`. False: nobody changes them.

        Raises:
            RuntimeError: the data are not batches as the sources expect them, or another source has
                ended. Nothing is fed then.
        """
        pipe = self._pipeline
        pipe._enter(PipelineAPIType.SCHEDULED)
        feeder, epoch = pipe._feeder, pipe._epoch
        feedings = tuple(
            feeding
            for name, batch in data.items()
            for feeding in feeder.prepare(feeder.fed(name), batch, copy=copy)
        )
        with pipe._lock:
            if not epoch.schedule_one(lambda: pipe._prepare(feedings)):
                raise RuntimeError("A source of the pipeline has no more data.")
            pipe._core.schedule(max(epoch.scheduled, 0))

    @property
    def skips(self) -> bool:
        """Whether bad samples or steps are left out, so that a batch can have fewer samples than positions."""
        pipe = self._pipeline
        return pipe._leaves_out or bool(pipe._config.options["on_error"] == "skip")

    @property
    def restored(self) -> dict[str, Any] | None:
        """The header that the iterator added to the checkpoint that was restored, or None."""
        restored = self._pipeline._restored
        return None if restored is None else restored.iterator

    def reader_meta(self, name: str) -> dict[str, Any]:
        """As `Pipeline.reader_meta`; also how the number of shards has changed.

        rest_size: number of samples that were left of an epoch then; 0: none. first_epoch: number
        of the whole epoch that follows. resplit: the number changed when the pipeline was restored.
        """
        return self._pipeline._readers().split(name)

    @property
    def taken(self) -> int:
        """Number of batches taken so far. A batch that failed counts, one whose source failed does not."""
        return self._pipeline._epoch.taken

    @property
    def epoch(self) -> Epoch:
        """Counts the batches. Those that were taken from `engine` have to be added to it."""
        return self._pipeline._epoch

    def at_end(self) -> bool:
        """Whether nothing is left of the current epoch. May ask the sources for one batch more."""
        return self._pipeline._at_end()

    @property
    def on_device(self) -> bool:
        """Whether any operator runs on a GPU."""
        return self._pipeline._on_device()

    @property
    def engine(self) -> Any:
        """The `_core.Pipeline`."""
        return self._pipeline._core

    @property
    def engine_only(self) -> bool:
        """Whether `Pipeline.run` would only call the engine, so that batches may be taken from `engine`."""
        return self._pipeline._engine_only()
