# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""GaussianBlur and RandomErasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn
from headrace.torch._compile.geometry import pair
from headrace.torch._compile.state import State, Unsupported, call
from headrace.torch._compile.table import rule


@rule("GaussianBlur")
def gaussian_blur(transform: Any, state: State) -> None:
    width, height = pair(transform.kernel_size)
    low, high = map(float, transform.sigma)
    sigma = low if low == high else fn.random.uniform(range=[low, high])
    state.image = fn.gaussian_blur(state.bytes(), sigma=sigma, window_size=[height, width])


@rule("RandomErasing")
def random_erasing(transform: Any, state: State) -> None:
    value = transform.value
    if value is None or isinstance(value, str):
        raise Unsupported("`value` is 'random'")
    if not state.tensor:
        raise Unsupported("torchvision erases parts of tensors only: put ToImage before it")
    values = [float(v) for v in (value if isinstance(value, Sequence) else [value])]
    if len(values) not in (1, state.channels):
        raise Unsupported("`value` must have one number, or one per channel")
    levels = [v / state.scale for v in values]
    if state.mean is not None or any(v != int(v) or not 0 <= v <= 255 for v in levels):
        state.flush()
    anchor, shape = call(
        "erasing",
        state.image,
        scale=list(transform.scale),
        ratio=list(transform.ratio),
        probability=float(transform.p),
    )
    state.image = fn.erase(
        state.image,
        anchor=anchor,
        shape=shape,
        axis_names="HW",
        fill_value=values if state.flushed else levels,
    )
