# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`data_iterator`: a pipeline definition that makes iterators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax.sharding import Sharding

from headrace._pipeline.config import integer
from headrace._pipeline.factory import pipeline_def
from headrace.plugin.base_iterator import LastBatchPolicy, passed
from headrace.plugin.jax._iterator import DALIGenericIterator

_THREADS = 4

Made = TypeVar("Made", bound=DALIGenericIterator)
Factory = Callable[..., Made]


def data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: Sharding | None = None,
    devices: Sequence[jax.Device] | None = None,
    pmap_compatible: bool | None = None,
) -> Any:
    """Decorates a pipeline definition: calling it makes pipelines and an iterator over them.

    The call takes the arguments of the function and those of a pipeline (see `pipeline_def`), of
    which `num_threads` is 4 by default and `device_id` is the first GPU that JAX uses, if any. It
    also takes `checkpoints`, as the iterator's `checkpoints()` returned them.

    With `sharding` or `devices` there is one pipeline per device. The function is then called with
    the arguments `shard_id` and `num_shards`, and `batch_size` is the number of samples over all
    devices.

    Args:
        pipeline_fn: the function, if the decorator is used without parentheses.
        sharding: one pipeline per local device of JAX; the arrays are global, with this sharding.
        devices: one pipeline per device of this list; the arrays are as `jax.pmap` takes them,
            unless `pmap_compatible` is False. JAX must not run in several processes.

    The other arguments are those of `DALIGenericIterator`.

    Raises:
        ValueError: both `sharding` and `devices` are given.
        RuntimeError: (when called) there is not one checkpoint per device, or JAX runs in several
            processes and `devices` is given.
    """
    options = passed(locals(), "pipeline_fn", "sharding", "devices")
    return decorator(DALIGenericIterator, pipeline_fn, sharding, devices, options)


def decorator(
    iterator: Callable[..., Made],
    pipeline_fn: Callable[..., Any] | None,
    sharding: Sharding | None,
    devices: Sequence[jax.Device] | None,
    options: dict[str, Any],
) -> Any:
    """As `data_iterator`, for any iterator. `options`: its arguments but `sharding`."""
    if sharding is not None and devices is not None:
        raise ValueError("Only one of `sharding` and `devices` arguments can be provided.")

    def decorate(function: Callable[..., Any]) -> Factory[Made]:
        @functools.wraps(function)
        def make(*args: Any, checkpoints: Sequence[bytes] | None = None, **kwargs: Any) -> Made:
            kwargs.setdefault("num_threads", _THREADS)
            factory = pipeline_def(function)
            if sharding is None and devices is None:
                kwargs.setdefault("device_id", _gpu(jax.local_devices()[0], 0))
                restored = checkpoints[0] if checkpoints else None
                return iterator(factory(*args, checkpoint=restored, **kwargs), **options)
            shards = _shards(devices, kwargs, checkpoints)
            pipelines = [factory(*args, **{**kwargs, **shard}) for shard in shards]
            if devices is None:
                return iterator(pipelines, sharding=sharding, **options)
            compatible = options["pmap_compatible"] in (None, True)
            own = {**options, "pmap_compatible": compatible, "devices": list(devices)}
            return iterator(pipelines, **own)

        return make

    return decorate(pipeline_fn) if pipeline_fn else decorate


def _shards(
    devices: Sequence[jax.Device] | None,
    kwargs: dict[str, Any],
    checkpoints: Sequence[bytes] | None,
) -> list[dict[str, Any]]:
    """The arguments of each pipeline that differ from those of the others."""
    if devices is not None and jax.process_count() != 1:
        raise RuntimeError(
            "`devices` does not support JAX in several processes. Use `sharding` instead."
        )
    local = jax.local_devices() if devices is None else list(devices)
    count = jax.device_count() if devices is None else len(local)
    if checkpoints and len(checkpoints) != len(local):
        raise RuntimeError(
            f"There are {len(checkpoints)} checkpoints for {len(local)} devices; give one per device."
        )
    if "batch_size" not in kwargs:
        raise TypeError("`batch_size` is missing: the number of samples over all devices.")
    kwargs["batch_size"] = integer("batch_size", kwargs["batch_size"], 1, 2**31 - 1)
    if kwargs["batch_size"] % count:
        raise AssertionError(
            f"`batch_size` ({kwargs['batch_size']}) must be a multiple of the number of devices ({count})."
        )
    numbers = {device: i for i, device in enumerate(jax.devices())} if devices is None else {}
    return [
        {
            "batch_size": kwargs["batch_size"] // count,
            "device_id": _gpu(device, i),
            "shard_id": numbers.get(device, i),
            "num_shards": count,
            "checkpoint": checkpoints[i] if checkpoints else None,
        }
        for i, device in enumerate(local)
    ]


def _gpu(device: jax.Device, position: int) -> int | None:
    """The number of a GPU in this process, or None for another device."""
    if device.platform not in ("gpu", "cuda"):
        return None
    number = getattr(device, "local_hardware_id", None)
    return position if number is None else int(number)
