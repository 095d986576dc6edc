# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checkpoint format: the state of a pipeline, preceded by a JSON header."""

from __future__ import annotations

import json
import struct
from typing import Any

_MAGIC = b"HRIT\x01"
_LENGTH = struct.Struct("<I")
_HEADER = len(_MAGIC) + _LENGTH.size


def wrap(pipeline_state: bytes, extra: dict[str, Any]) -> bytes:
    """Joins the state of a pipeline and a header of JSON values into one checkpoint."""
    text = json.dumps(extra, sort_keys=True, separators=(",", ":")).encode()
    return _MAGIC + _LENGTH.pack(len(text)) + text + pipeline_state


def unwrap(checkpoint: bytes | str) -> tuple[bytes, dict[str, Any] | None]:
    """Splits a checkpoint into the state of the pipeline and the header added by `wrap`.

    Returns:
        The state and the header; the header is None if the checkpoint has none.

    Raises:
        RuntimeError: the checkpoint is damaged.
        TypeError: the checkpoint is neither bytes nor a string.
    """
    if not isinstance(checkpoint, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"A checkpoint must be bytes, not {type(checkpoint).__name__}.")
    if isinstance(checkpoint, str):
        checkpoint = checkpoint.encode(errors="surrogateescape")
    data = bytes(checkpoint)
    if not data.startswith(_MAGIC):
        return data, None
    if len(data) < _HEADER:
        raise RuntimeError("The checkpoint is truncated.")
    (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
    if length > len(data) - _HEADER:
        raise RuntimeError("The checkpoint is truncated.")
    try:
        extra = json.loads(data[_HEADER : _HEADER + length])
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"The checkpoint is damaged: {error}") from None
    if not isinstance(extra, dict):
        raise RuntimeError("The checkpoint is damaged: its header is not a JSON object.")
    for name in ("epoch_idx", "iter"):
        value = extra.get(name, 0)
        if type(value) is not int or not 0 <= value < 2**62:
            raise RuntimeError(f"The checkpoint is damaged: {name} is {value!r}.")
    return data[_HEADER + length :], extra


def has_streams(checkpoint: bytes) -> bool:
    """Whether the pipeline has streams, which cannot be moved to another epoch."""
    return "cursors" in json.loads(unwrap(checkpoint)[0])


def moved(checkpoint: bytes, epoch: int, batches: int, positions: int) -> bytes:
    """Returns a checkpoint at the beginning of an epoch, made from another one of the same pipeline.

    The number of shards counts as if it had always been that of the checkpoint: an epoch depends
    on its number alone.

    Args:
        checkpoint: of a pipeline without streams.
        batches: number of batches before that epoch.
        positions: number of positions that each reader has taken before it.
    """
    engine = json.loads(unwrap(checkpoint)[0])
    engine["past"] = [[] for _ in engine["positions"]]
    engine["positions"] = [positions] * len(engine["positions"])
    engine["iteration"], engine["sample"] = batches, positions
    return wrap(json.dumps(engine).encode(), {"epoch_idx": epoch, "iter": 0})


class Restored:
    """A checkpoint that a pipeline resumes from.

    Attributes:
        engine: the state of the engine.
        iteration: the number of the next one in the epoch.
        iterator: the header that an iterator added.
    """

    def __init__(
        self, engine: bytes, epoch: int, iteration: int, iterator: dict[str, Any] | None
    ) -> None:
        self.engine = engine
        self.epoch = epoch
        self.iteration = iteration
        self.iterator = iterator


def restore(checkpoint: bytes | str) -> Restored:
    """Reads a checkpoint of a pipeline or an iterator.

    Raises:
        RuntimeError: it is damaged, or was not made by a pipeline.
        TypeError: it is neither bytes nor a string.
    """
    iterator = None
    state, extra = unwrap(checkpoint)
    if extra is not None and "epochs" in extra:
        iterator = extra
        state, extra = unwrap(state)
    if extra is None or not {"epoch_idx", "iter"} <= extra.keys():
        raise RuntimeError("The checkpoint was not created by Pipeline.checkpoint().")
    return Restored(state, int(extra["epoch_idx"]), int(extra["iter"]), iterator)
