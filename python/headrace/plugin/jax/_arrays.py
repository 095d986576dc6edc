# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches as `jax.Array`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def dense(batch: Any, leading: bool = False) -> jax.Array:
    """A batch as one array that shares its memory.

    Samples of one shape that are not contiguous (for example the bytes of files) are copied.

    Args:
        leading: the array has one more dimension before that of the batch, of extent 1.

    Raises:
        RuntimeError: the samples differ in shape.
    """
    try:
        tensor = batch.as_tensor()
        if leading:
            tensor = tensor._view(tensor._dtype, (1, *tensor.shape()), "")
        return jax.dlpack.from_dlpack(tensor)
    except RuntimeError:
        shapes = sorted(set(batch.shape()))
        if len(shapes) == 1:
            whole = jnp.stack([jax.dlpack.from_dlpack(sample) for sample in batch])
            return whole[None] if leading else whole
        shown = ", ".join(map(str, shapes[:3])) + (", ..." if len(shapes) > 3 else "")
        raise RuntimeError(
            f"The samples of a batch differ in shape ({shown}), so they cannot form one array. Give "
            "them one shape in the pipeline (resize, crop, pad)."
        ) from None
