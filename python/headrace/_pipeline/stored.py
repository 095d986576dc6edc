# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A pipeline as bytes and files: checkpoints, its serialized definition, its graph for Graphviz."""

from __future__ import annotations

import os
from typing import Any

from headrace._base.files import write_whole
from headrace._pipeline import checkpoints, serialize
from headrace._pipeline.config import PipelineConfig, checked
from headrace._pipeline.epoch import Epoch


class Stored:
    """The part of `Pipeline` that is written to bytes and files, and read from them."""

    _config: PipelineConfig
    _core: Any
    _epoch: Epoch
    _graph: Any
    _complete_graph: Any
    _take_definition: Any
    build: Any

    def checkpoint(self, filename: str | os.PathLike[str] | None = None) -> bytes:
        """Returns the state after the last batch taken.

        To resume, pass it as the `checkpoint` argument of an identical pipeline. `num_shards` and
        `shard_id` of its readers may be others.

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
        epoch = self._epoch
        state = checkpoints.of_pipeline(self._core.checkpoint(), epoch.taken_index, epoch.iteration)
        if filename is not None:
            write_whole(filename, state)
        return state

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
        text = serialize.to_bytes(self._config, self._complete_graph(define_graph))
        if filename is not None:
            write_whole(filename, text)
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
        arguments, definition = serialize.from_bytes_or_file(serialized_pipeline, filename)
        pipeline = cls(**{**arguments, **kwargs})
        pipeline._take_definition(definition)
        pipeline.build()
        return pipeline

    def deserialize_and_build(self, serialized_pipeline: bytes | str) -> None:
        """Builds this pipeline, which has no graph yet, with a graph from `serialize`.

        Batch size, threads, device and seed are read from the bytes only if the constructor did
        not get them.

        Raises:
            TypeError: the data are neither bytes nor a string.
            ValueError: a number in the data is out of range.
            RuntimeError: the data are not a serialized pipeline, or this one is already built.
        """
        if self._core is not None:
            raise RuntimeError("The pipeline is already built: it cannot take another graph.")
        arguments, definition = serialize.from_bytes(serialized_pipeline)
        for own in ("max_batch_size", "num_threads", "device_id", "seed"):
            if getattr(self._config, own) is None:
                name = own.removeprefix("max_")
                setattr(self._config, own, checked(name, arguments.get(name)))
        self._take_definition(definition)
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
        text = serialize.to_dot(self._graph, show_tensors, use_colors)
        with open(filename, "w", encoding="utf-8") as file:
            file.write(text)
