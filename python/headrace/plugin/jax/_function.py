# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`jax_function`: an operator that calls a function on `jax.Array`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, Sharding

from headrace._graph.arrays import Arrays
from headrace._graph.functions import make_function
from headrace.data_node import DataNode

_LABEL = "jax_function"


def jax_function(
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Sharding | None = None,
    device: str | None = None,
    preserve: bool = True,
) -> Any:
    """Turns a function that takes and returns `jax.Array` into an operator.

    The result is called in a pipeline definition, with one node per argument. The function gets
    one array of shape (batch, *sample shape) per input, which shares the memory of the pipeline
    and must not be kept. It may be compiled by `jax.jit` or mapped by `jax.vmap`. For example::

        @jax_function
        @jax.jit
        def flip(images):  # batch of HWC
            return images[:, :, ::-1]

    Args:
        function: the function, if the decorator is used without parentheses.
        num_outputs: number of arrays that the function returns, as a tuple if there are several.
        output_layouts: layouts of the outputs, without the batch; one string for all.
        sharding: the function gets and returns global arrays with this sharding; there must be
            one device in this process.
        device: "cpu" or "gpu"; None: where the inputs are.
        preserve: has no effect: the function is always called.

    Raises:
        ValueError: `sharding` is not one. (When run) the function returns an array of several
            devices, or one that is not on the operator's device.
        NotImplementedError: `sharding` is given, and the process has several devices.
        RuntimeError: (when run) the samples of a batch differ in shape.
    """
    del preserve
    if sharding is not None and not isinstance(sharding, Sharding):
        raise ValueError(
            f"`sharding` must be a `jax.sharding.Sharding`, not {type(sharding).__name__}."
        )
    if sharding is not None and jax.local_device_count() != 1:
        raise NotImplementedError(
            f"`jax_function` supports `sharding` with one device per process; this process has "
            f"{jax.local_device_count()}."
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., DataNode | list[DataNode]]:
        @functools.wraps(function)
        def operator(*inputs: Any) -> Any:
            kwargs = {"num_outputs": num_outputs, "device": device}
            if output_layouts is not None:
                kwargs["output_layouts"] = output_layouts
            called = _called(function, sharding)
            return make_function(
                "python_function", _LABEL, called, _Arrays, inputs, kwargs, whole=True
            )

        return operator

    return decorate if function is None else decorate(function)


class _Arrays(Arrays):
    """Arrays of JAX on the pipeline's device. JAX orders its work after that of other streams."""

    def __init__(self, device: str) -> None:
        self._platform = device

    @contextmanager
    def scope(self, call: Any) -> Iterator[None]:
        if call.device < 0:
            yield
            return
        with jax.default_device(_device(call.device)):
            yield

    def convert(self, tensor: Any) -> Any:
        return jax.dlpack.from_dlpack(tensor)

    def result(self, value: Any) -> Any:
        (device,) = value.devices()
        if device.platform != self._platform:
            raise ValueError(
                f"The function returned array residing on the device of kind `{device.platform}`, "
                f"expected `{self._platform}`."
            )
        return np.asarray(value) if self._platform == "cpu" else value


@functools.cache
def _device(number: int) -> Any:
    """The device of JAX with this CUDA number."""
    return next(d for d in jax.local_devices(backend="gpu") if d.local_hardware_id == number)


def _called(function: Callable[..., Any], sharding: Sharding | None) -> Callable[..., Any]:
    """`function` for arrays of this process; returns arrays on one device."""

    def call(*arrays: jax.Array) -> Any:
        result = function(*(arrays if sharding is None else [_whole(a, sharding) for a in arrays]))
        if isinstance(result, (tuple, list)):
            return tuple(map(_local, result))
        return None if result is None else _local(result)

    return call


def _whole(array: jax.Array, sharding: Sharding) -> jax.Array:
    """The global array that `array` is the part of this process of."""
    devices = (
        sharding.mesh.size if isinstance(sharding, NamedSharding) else len(sharding.device_set)
    )
    shape = (devices * array.shape[0], *array.shape[1:])
    return jax.make_array_from_single_device_arrays(shape, sharding, [array])


def _local(array: jax.Array) -> jax.Array:
    """The part of an array on the only device of this process."""
    shards = [shard.data for shard in array.addressable_shards]
    if len(shards) != 1:
        raise ValueError(
            f"The function returned array split across multiple devices ({len(shards)}), expected "
            "single device array."
        )
    return shards[0]
