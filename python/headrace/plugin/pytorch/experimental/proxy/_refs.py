# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""References to outputs that a pipeline has yet to make."""

from __future__ import annotations

from typing import Any

Key = tuple[bytes, int]  # a batch: the random name of who made it, and its number there


class DALIPipelineRunRef:
    """A batch of inputs on its way through the pipeline.

    Attributes:
        batch_id: the worker (the thread outside of workers) and the number of the batch there.
        call_args: the inputs by name, one per sample, until they are passed on. A worker has
            their offsets in shared memory instead.
        writer: writes them there.
        is_scheduled: the server may run the batch.
        is_complete: no sample is added to the batch any more.
        origin: a random name of the worker; unlike its number, it differs between epochs.
        outputs: the outputs, once the main process has asked for them.
        failure: why there are none.
    """

    def __init__(self, batch_id: tuple[int, int], origin: bytes = b"") -> None:
        self.batch_id = batch_id
        self.call_args: dict[str, list[Any]] = {}
        self.writer: Any = None
        self.is_scheduled = False
        self.is_complete = False
        self.origin = origin
        self.outputs: list[Any] = []
        self.failure: str | None = None

    @property
    def key(self) -> Key:
        return self.origin, self.batch_id[1]

    def __repr__(self) -> str:
        return (
            f"DALIPipelineRunRef(batch_id={self.batch_id}, inputs={list(self.call_args)}, "
            f"is_scheduled={self.is_scheduled}, is_complete={self.is_complete})"
        )


class DALIOutputSampleRef:
    """One output of one sample, as the proxy returns it."""

    __slots__ = ("output_idx", "pipe_run_ref", "proxy", "sample_idx")

    def __init__(
        self, proxy: Any, pipe_run_ref: DALIPipelineRunRef, output_idx: int, sample_idx: int
    ) -> None:
        self.proxy = proxy
        self.pipe_run_ref = pipe_run_ref
        self.output_idx = output_idx
        self.sample_idx = sample_idx

    def __repr__(self) -> str:
        return (
            f"DALIOutputSampleRef({self.pipe_run_ref}, output_idx={self.output_idx}, "
            f"sample_idx={self.sample_idx})"
        )


class DALIOutputBatchRef:
    """One output of a batch, as the collate function returns it."""

    def __init__(self, pipe_run_ref: DALIPipelineRunRef, output_idx: int) -> None:
        self.pipe_run_ref = pipe_run_ref
        self.output_idx = output_idx

    def __repr__(self) -> str:
        return f"DALIOutputBatchRef({self.pipe_run_ref}, output_idx={self.output_idx})"
