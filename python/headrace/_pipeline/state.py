# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Saving and restoring a pipeline: checkpoints, serialization, Graphviz output."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace._base import messages
from headrace._pipeline import checkpoints, serialize
from headrace._pipeline.facts import PipelineFacts


def _write_whole(filename: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file. If that fails, for example on a full disk, an older file of this name remains as it was."""
    path = Path(filename)
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_bytes(content)
        return
    path = path.resolve()  # a link stays a link
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(path)) from None


class PipelineState(PipelineFacts):
    """The part of `Pipeline` that saves and restores."""

    _epoch_idx: int
    _consumer_iter: int
    _consumer_epoch_idx: int
    _sources: list[Any]
    _graph: Any

    def _complete_graph(self, define_graph: Callable[[], Any] | None = None) -> None:
        raise NotImplementedError

    def checkpoint(self, filename: str | os.PathLike[str] | None = None) -> bytes:
        """Returns the state after the last batch taken.

        To resume, pass it as the `checkpoint` argument of an identical pipeline.

        Args:
            filename: also write the checkpoint to this file.

        Raises:
            RuntimeError: the pipeline was created without `enable_checkpointing`.
            OSError: the file cannot be written.
        """
        if not self._config.enable_checkpointing:
            raise RuntimeError(
                "Cannot save the checkpoint: the pipeline was made without `enable_checkpointing=True`."
            )
        self.build()
        state = checkpoints.wrap(
            self._core.checkpoint(),
            {"epoch_idx": self._consumer_epoch_idx, "iter": self._consumer_iter},
        )
        if filename is not None:
            _write_whole(filename, state)
        return state

    def _take_checkpoint(self, checkpoint: bytes | str | None) -> None:
        self._engine_state: bytes | None = None
        self._restored_extra: dict[str, Any] | None = None  # state of the iterator
        self._restored = checkpoint is not None
        if checkpoint is None:
            return
        state, extra = checkpoints.unwrap(checkpoint)
        if extra is not None and "epochs" in extra:
            self._restored_extra = extra
            state, extra = checkpoints.unwrap(state)
        if extra is None or not {"epoch_idx", "iter"} <= extra.keys():
            raise RuntimeError("The checkpoint was not created by Pipeline.checkpoint().")
        self._engine_state = state
        self._epoch_idx = self._consumer_epoch_idx = int(extra["epoch_idx"])
        self._consumer_iter = int(extra["iter"])

    def _check_resumes(self) -> None:
        """Checks that a checkpoint can be taken.

        Raises:
            RuntimeError: an operator was called outside the definition of this pipeline.
        """
        graph = self._graph
        foreign = [made.text() for made in graph.numbers if made.home() is not graph]
        if self._config.enable_checkpointing and foreign:
            raise RuntimeError(
                "The pipeline does not support checkpointing because it contains operator(s) that were defined "
                f"outside the pipeline scope: {', '.join(foreign)}. Call them while this pipeline is the current "
                "one, for example in a function decorated with `@pipeline_def`."
            )

    def _check_sources_resume(self) -> None:
        for source in self._sources:
            if source.callback is None:
                continue
            if self._restored:
                source.iteration = self._consumer_iter
                source.sample = self._consumer_iter * (self._config.max_batch_size or 0)
            if self._config.enable_checkpointing and not source.resumable:
                messages.warn(
                    f"Checkpointing with {source.label}: only a callable with one argument can be resumed. "
                    f"{messages.product()} doesn't capture state of such 'source'. A resumed pipeline starts it "
                    "from the beginning."
                )

    # ---- serialization ---------------------------------------------------------------------------

    def serialize(self, define_graph: Any = None, filename: Any = None) -> bytes:
        """Returns the definition of the pipeline (not its state) as bytes.

        External sources lose their `source` and must be fed with `feed_input`.

        Args:
            define_graph: function to call instead of the method; deprecated.
            filename: also write the bytes to this file.

        Raises:
            TypeError: `define_graph` is not callable.
        """
        if define_graph is not None and not callable(define_graph):
            raise TypeError("Provided `define_graph` argument is not callable.")
        self._complete_graph(define_graph)
        text = serialize.to_bytes(self)
        if filename is not None:
            _write_whole(filename, text)
        return text

    @classmethod
    def deserialize(
        cls, serialized_pipeline: bytes | str | None = None, filename: Any = None, **kwargs: Any
    ) -> Any:
        """Creates and builds a pipeline from the result of `serialize`.

        Args:
            serialized_pipeline: the bytes.
            filename: file to read the bytes from.
            kwargs: constructor arguments, which override those that are stored.

        Raises:
            ValueError: both or neither of `serialized_pipeline` and `filename` are given.
            TypeError: the data are neither bytes nor a string.
            RuntimeError: the data are not a serialized pipeline.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise ValueError(
                "serialized_pipeline and filename arguments are mutually exclusive. Precisely one of them "
                "should be defined."
            )
        if filename is not None:
            serialized_pipeline = Path(filename).read_bytes()
        definition = serialize.Definition(serialized_pipeline)
        pipeline = cls(**{**definition.params, **kwargs})
        definition.give_to(pipeline)
        pipeline.build()
        return pipeline

    def deserialize_and_build(self, serialized_pipeline: bytes | str) -> None:
        """Builds this pipeline, which has no graph yet, with a graph from `serialize`.

        Batch size, threads, device and seed are read from the bytes only if the constructor did
        not get them.

        Raises:
            TypeError: the data are neither bytes nor a string.
            RuntimeError: the data are not a serialized pipeline, or this one is already built.
        """
        if self._core is not None:
            raise RuntimeError("The pipeline is already built: it cannot take another graph.")
        definition = serialize.Definition(serialized_pipeline)
        for own in ("max_batch_size", "num_threads", "device_id", "seed"):
            if getattr(self._config, own) is None:
                setattr(self._config, own, definition.params.get(own.removeprefix("max_")))
        definition.give_to(self)
        self.build()

    def save_graph_to_dot_file(
        self,
        filename: str | os.PathLike[str],
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Writes the graph to a file for Graphviz.

        Args:
            filename: the file.
            show_tensors: label the edges with the names of the nodes.
            show_ids: has no effect.
            use_colors: color the nodes.
        """
        self.build()
        text = serialize.to_dot(self, show_tensors, use_colors)
        Path(filename).write_text(text, encoding="utf-8")
