# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DALIGenericIterator`: the batches of pipelines as `jax.Array`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from headrace.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator, passed
from headrace.plugin.jax._arrays import dense

Arrays = dict[str, jax.Array]


class DALIGenericIterator(_DaliBaseIterator[Arrays]):
    """Yields a dictionary (name -> `jax.Array`) per batch.

    With one pipeline, each array has the shape (batch, *sample shape). With several pipelines, one
    per local device, `sharding` or `pmap_compatible` says how their batches form one array.

    Args:
        pipelines: one pipeline, or a list of pipelines with the same batch size.
        output_map: one name per output of a pipeline.
        size: number of samples in an epoch, over all pipelines; -1: the epoch ends when the
            pipeline raises StopIteration. Prefer `reader_name`.
        reader_name: name of the reader whose size, shards and padding define the epoch.
        auto_reset: "yes" or True: start the next epoch when one ends; "no", False or None: wait
            for `reset()` or `iter()`.
        last_batch_padded: with `size`: the source fills the last batch by repeating its last
            sample instead of continuing with the next epoch.
        last_batch_policy: FILL or DROP; JAX functions are compiled per shape, so PARTIAL is refused.
        prepare_first_batch: run the first batch in the constructor, so that errors are raised there.
        sharding: the arrays are global ones with this sharding, made of the batches of the
            pipelines of all processes, in the order of ``sharding.addressable_devices`` for the
            pipelines of this one. A batch moves to its device if it is not there.
        pmap_compatible: the arrays have the shape (pipelines, batch, *sample shape), with one
            pipeline per device, as `jax.pmap` takes them. None: as with True if there are several
            pipelines and no `sharding`.
        devices: without `sharding`: the device of each pipeline's batch, which moves there if it is
            elsewhere. None: batches stay where their pipelines make them.

    Raises:
        AssertionError: arguments exclude each other, `output_map` repeats a name, `sharding` is not
            one, `last_batch_policy` is PARTIAL, or the batches of the pipelines differ in shape.
        IndexError: `output_map` does not have one name per output.
        ValueError: an argument has a value that is not allowed.
        RuntimeError: the reader is unknown, there is no data, or the samples of a batch differ in
            shape.
    """

    _misnamed = IndexError

    def __init__(
        self,
        pipelines: Any,
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Sharding | None = None,
        pmap_compatible: bool | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        if sharding is not None and not isinstance(sharding, Sharding):
            raise AssertionError("`sharding` should be an instance of `jax.sharding.Sharding`")
        if getattr(last_batch_policy, "name", None) == "PARTIAL":
            raise AssertionError(
                "The JAX iterator does not support LastBatchPolicy.PARTIAL; use FILL or DROP."
            )
        self.output_map = list(output_map)
        self._sharding = sharding
        self._pmap_compatible = pmap_compatible
        self._devices = devices
        super().__init__(**passed(locals(), "output_map", "sharding", "pmap_compatible", "devices"))

    def _convert(
        self, pipe_index: int, outputs: Sequence[Any], keep: int | None
    ) -> list[jax.Array]:
        return [dense(batch, self._leading) for _, batch in zip(self.output_map, outputs)]

    @property
    def _leading(self) -> bool:
        """Whether arrays have a dimension for the pipelines."""
        return self._sharding is None and (len(self._pipes) > 1 or bool(self._pmap_compatible))

    def _wrap(self, converted: list[Any]) -> Arrays:
        return dict(zip(self.output_map, map(self._join, zip(*converted))))

    def _join(self, shards: tuple[jax.Array, ...]) -> jax.Array:
        """One array of the batches of all pipelines."""
        if self._sharding is None and self._devices is not None:
            pairs = zip(shards, self._devices, strict=True)
            shards = tuple(jax.device_put(shard, device) for shard, device in pairs)
        if self._sharding is None and not self._leading:
            return shards[0]
        if any(shard.shape != shards[0].shape for shard in shards):
            raise AssertionError(
                "The batches of the pipelines differ in shape: "
                f"{', '.join(str(shard.shape[self._leading :]) for shard in shards)}."
            )
        return _stacked(shards) if self._sharding is None else _global(shards, self._sharding)


def _stacked(shards: Sequence[jax.Array]) -> jax.Array:
    """An array of the shards, whose first dimension has the extent 1, each on its device."""
    devices = [next(iter(shard.devices())) for shard in shards]
    distinct = len(set(devices))
    if distinct == 1:
        return shards[0] if len(shards) == 1 else jnp.concatenate(shards)
    if distinct != len(devices):
        raise AssertionError(
            "Pipelines must be on one device each or all on the same one, but they are on "
            f"{', '.join(map(str, devices))}."
        )
    sharding = NamedSharding(Mesh(np.array(devices), ("device",)), PartitionSpec("device"))
    return jax.make_array_from_single_device_arrays(
        (len(shards), *shards[0].shape[1:]), sharding, list(shards)
    )


def _global(shards: Sequence[jax.Array], sharding: Sharding) -> jax.Array:
    """A global array whose part in this process consists of `shards`, in the order of its devices.

    Raises:
        AssertionError: there is not one shard per local device.
    """
    everywhere = sharding.mesh.devices.flat if isinstance(sharding, NamedSharding) else None
    devices = [
        device
        for device in everywhere or sorted(sharding.device_set, key=lambda device: device.id)
        if device in sharding.addressable_devices
    ]
    if len(devices) != len(shards):
        raise AssertionError(
            f"`sharding` has {len(devices)} devices in this process, but there are {len(shards)} "
            "pipelines; it needs one pipeline per device."
        )
    present = [shard.devices() for shard in shards]
    if set().union(*present) != set(devices):
        shards = [jax.device_put(shard, device) for shard, device in zip(shards, devices)]
    shape = (len(sharding.device_set) * shards[0].shape[0], *shards[0].shape[1:])
    return jax.make_array_from_single_device_arrays(shape, sharding, list(shards))
