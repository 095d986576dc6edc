# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches as `jax.Array`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def dense(batch: Any) -> jax.Array:
    """A batch as one array that shares its memory.

    Samples of one shape that are not contiguous (for example mapped files) are copied.

    Raises:
        RuntimeError: the samples differ in shape.
    """
    try:
        return jax.dlpack.from_dlpack(batch.as_tensor())
    except RuntimeError:
        shapes = sorted(set(batch.shape()))
        if len(shapes) == 1:
            return jnp.stack([jax.dlpack.from_dlpack(sample) for sample in batch])
        shown = ", ".join(map(str, shapes[:3])) + (", ..." if len(shapes) > 3 else "")
        raise RuntimeError(
            f"The samples of a batch differ in shape ({shown}), so they cannot form one array. Give "
            "them one shape in the pipeline (resize, crop, pad)."
        ) from None
