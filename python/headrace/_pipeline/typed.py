# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What type checkers see of `pipeline_def`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypedDict, overload

from headrace._pipeline.config import OperatorConcurrency, StreamPolicy
from headrace.types import DTypeLike

if TYPE_CHECKING:
    from typing import Unpack

    from headrace._pipeline.pipeline import Pipeline

P = ParamSpec("P")
_Path: TypeAlias = "str | os.PathLike[str]"


class PipelineOptions(TypedDict, total=False):
    """The arguments of `Pipeline`, which `pipeline_def` and its factories take as well."""

    batch_size: int | None
    num_threads: int | None
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    prefetch_queue_depth: int | dict[str, int]
    exec_async: bool
    bytes_per_sample: int
    set_affinity: bool
    max_streams: int | None
    default_cuda_stream_priority: int | None
    enable_memory_stats: bool
    enable_checkpointing: bool
    checkpoint: bytes | str | None
    py_num_workers: int | None
    py_start_method: str
    py_callback_pickler: Any
    output_dtype: DTypeLike | None | list[DTypeLike | None] | tuple[DTypeLike | None, ...]
    output_ndim: int | None | list[int | None] | tuple[int | None, ...]
    output_layout: str | None | list[str | None] | tuple[str | None, ...]
    exec_dynamic: bool | None
    experimental_exec_dynamic: bool | None
    stream_policy: StreamPolicy | None
    concurrency: OperatorConcurrency | None
    on_error: str
    fuse: bool
    strict: bool
    host_memory_limit: int
    device_memory_limit: int
    read_ahead_limit: int
    max_image_pixels: int
    index_memory_limit: int | None
    index_cache: _Path | None
    quarantine: _Path | None
    trace: _Path | None
    storage_options: Mapping[str, Any] | None
    enable_conditionals: bool


class Factory(Protocol[P]):
    """A function decorated with `pipeline_def`: takes its own arguments, and those of `Pipeline`.

    The type system cannot say "the arguments P, and these as well". A call with arguments of the
    function alone, or with options alone, is checked completely. A call with both is checked only for
    the option that the overload names.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Pipeline: ...
    @overload
    def __call__(self, **options: Unpack[PipelineOptions]) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, batch_size: int, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, num_threads: int, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, device_id: int | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, seed: int | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, checkpoint: bytes | str | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, enable_checkpointing: bool, **both: Any) -> Pipeline: ...
    @overload
    def __call__(
        self, *args: Any, prefetch_queue_depth: int | dict[str, int], **both: Any
    ) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, on_error: str, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, index_cache: _Path | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, quarantine: _Path | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, trace: _Path | None, **both: Any) -> Pipeline: ...
    @overload
    def __call__(
        self, *args: Any, storage_options: Mapping[str, Any] | None, **both: Any
    ) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, py_num_workers: int, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, exec_dynamic: bool, **both: Any) -> Pipeline: ...
    @overload
    def __call__(self, *args: Any, enable_conditionals: bool, **both: Any) -> Pipeline: ...
