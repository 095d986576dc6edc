# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checkpoints: one JSON document with a section for each level that has a state.

The engine writes the document with its own section, which only it reads. A pipeline and an iterator add theirs.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_PIPELINE, _ITERATOR = "pipeline", "iterator"
# Version 2: the document of the engine, preceded by a header of a pipeline, and that by one of an iterator.
_FRAME = b"HRIT\x01"
_LENGTH = struct.Struct("<I")
_HEADER = len(_FRAME) + _LENGTH.size


def _with(checkpoint: bytes, level: str, section: dict[str, Any]) -> bytes:
    return json.dumps({**json.loads(checkpoint), level: section}, separators=(",", ":")).encode()


def of_pipeline(engine: bytes, epoch: int, iteration: int) -> bytes:
    """Adds the section of a pipeline to what the engine wrote."""
    return _with(engine, _PIPELINE, {"epoch_idx": epoch, "iter": iteration})


def of_iterator(checkpoint: bytes, section: dict[str, Any]) -> bytes:
    """Adds the section of an iterator to the checkpoint of its pipeline."""
    return _with(checkpoint, _ITERATOR, section)


class Restored:
    """A checkpoint that a pipeline resumes from.

    Attributes:
        engine: what the engine reads.
        epoch: the number of the epoch.
        iteration: the number of the next one in the epoch.
        iterator: the section that an iterator added, or None.
    """

    def __init__(self, engine: bytes, sections: dict[str, Any]) -> None:
        place, self.iterator = sections.get(_PIPELINE), sections.get(_ITERATOR)
        if not isinstance(place, dict) or not {"epoch_idx", "iter"} <= place.keys():
            raise RuntimeError("The checkpoint was not created by Pipeline.checkpoint().")
        if not isinstance(self.iterator, (dict, type(None))):
            raise RuntimeError(f"The checkpoint is damaged: {_ITERATOR} is not a JSON object.")
        for name in ("epoch_idx", "iter"):
            if type(place[name]) is not int or not 0 <= place[name] < 2**62:
                raise RuntimeError(f"The checkpoint is damaged: {name} is {place[name]!r}.")
        self.engine = engine
        self.epoch: int = place["epoch_idx"]
        self.iteration: int = place["iter"]


def restore(checkpoint: bytes | str) -> Restored:
    """Reads a checkpoint of a pipeline or an iterator.

    Raises:
        RuntimeError: it is damaged, or was not made by a pipeline.
        TypeError: it is neither bytes nor a string.
    """
    if not isinstance(checkpoint, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"A checkpoint must be bytes, not {type(checkpoint).__name__}.")
    if isinstance(checkpoint, str):
        checkpoint = checkpoint.encode(errors="surrogateescape")
    data = bytes(checkpoint)
    if not data.startswith(_FRAME):
        return Restored(data, _parsed(data))
    sections = {}
    while data.startswith(_FRAME):
        header, data = _framed(data)
        sections[_ITERATOR if "epochs" in header else _PIPELINE] = header
    return Restored(data, sections)


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"The checkpoint is damaged: {error}") from None
    if not isinstance(parsed, dict):
        raise RuntimeError("The checkpoint is damaged: it is not a JSON object.")
    return parsed


def _framed(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The first header of version 2, and what follows it."""
    length = _LENGTH.unpack_from(data, len(_FRAME))[0] if len(data) >= _HEADER else len(data)
    if length > len(data) - _HEADER:
        raise RuntimeError("The checkpoint is truncated.")
    return _parsed(data[_HEADER : _HEADER + length]), data[_HEADER + length :]
