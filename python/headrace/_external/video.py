# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`experimental.inputs.video`: an external source of the sequences of a video, and the operator that decodes them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from headrace import _core, _graph
from headrace._external.feeding import Source
from headrace._graph import schema
from headrace.data_node import DataNode

NAME = "experimental.inputs.video"


class VideoSource(Source):
    """Makes batches of sequences of the file that is fed.

    Args:
        length: frames of a sequence.
        pad: the last sequence is filled up with -1, which stands for a black frame.

    Attributes:
        scan: returns the table of packets of a file and the number of its frames. The pipeline sets it.
        node_text: what the engine calls the source; `label` is what the user knows.
    """

    def __init__(self, length: int, pad: bool) -> None:
        super().__init__(None, None, False, 3, True, False, None, None, None, True, False)
        self.resumable = False
        self.node_text = self.label
        self.scan: Callable[[bytes], tuple[bytes, int]] | None = None
        self._length = length
        self._pad = pad

    def feedings(
        self,
        data: Any,
        max_batch: int,
        stream: Any = None,
        engine: _core.Pipeline | None = None,
        layout: str | None = None,
        copy: bool = True,
    ) -> list[tuple[_core.Batch, ...]]:
        file = _file_of(data, self.label)
        assert self.scan is not None
        try:
            table, count = self.scan(file)
        except RuntimeError as error:  # it names the operator and the sample of the scan
            reason = str(error).partition("sample 0 of the batch: ")[2] or str(error)
            raise RuntimeError(f"{self.label}: {reason}") from None
        numbers = [self._numbers(start, count) for start in range(0, count, self._length)]
        batches = []
        for first in range(0, len(numbers), max_batch):
            part = numbers[first : first + max_batch]
            n = len(part)  # samples share the file and its table
            batches.append(self.prepare([[file] * n, [table] * n, part], max_batch, engine=engine))
        return batches

    def _numbers(self, start: int, count: int) -> Sequence[int]:
        frames = array("i", range(start, min(start + self._length, count)))
        if self._pad:
            frames.extend([-1] * (self._length - len(frames)))
        return frames


def _file_of(data: Any, label: str) -> bytes:
    """A copy of the file."""
    if len(data) != 1:
        raise RuntimeError(f"{label}: expected a list with one file, got {len(data)} items")
    try:
        view = memoryview(data[0])
    except TypeError as error:
        raise RuntimeError(f"{label}: a file must be an array of bytes: {error}") from error
    if view.ndim != 1 or view.itemsize != 1:
        raise RuntimeError(f"{label}: a file must be a one-dimensional array of bytes")
    return view.tobytes()


def video(*, name: str | None = None, preserve: bool = False, **kwargs: Any) -> DataNode:
    """Adds the source and the decoder to the graph."""
    op = schema.operators()[NAME]
    length = kwargs.get("sequence_length")
    source = VideoSource(
        length if isinstance(length, int) and length > 0 else 1,
        kwargs.get("last_sequence_policy") == "pad",
    )
    instance = _graph.Instance(
        "external_source", [], {"num_outputs": 3}, {}, name, preserve, "ExternalSource", "cpu"
    )
    instance.source = source
    source.node_text = instance.text()
    source.label = source.node_text.replace("external_source", NAME, 1)
    return _graph.call(op, op.class_name, tuple(instance.nodes()), kwargs)


class Video:
    """`experimental.inputs.video` as a class. Arguments are given to the constructor, to the call, or to both."""

    def __init__(self, **kwargs: Any) -> None:
        self._args = kwargs

    def __call__(self, **kwargs: Any) -> DataNode:
        return video(**{**self._args, **kwargs})
