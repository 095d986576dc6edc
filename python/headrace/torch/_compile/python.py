# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms that have no rule: Python calls them, once per sample.

What they draw comes from PyTorch's own generator, which the whole process shares. So the seed of
the loader does not repeat it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from headrace import fn, types
from headrace.torch._compile.state import State

DTYPES = {
    torch.uint8: types.UINT8,
    torch.float32: types.FLOAT,
    torch.float64: types.FLOAT64,
    torch.float16: types.FLOAT16,
}


def apply(transform: Any, state: State) -> None:
    """Calls the transform with what torchvision has at this point: a PIL image or a tensor."""
    if state.tensor and (state.dtype != types.UINT8 or state.flushed):
        state.flush()
    tensor, flushed = state.tensor, state.flushed
    after = probe(transform, state)
    state.needs_cpu = True
    layout = "CHW" if after.dim == 3 and after.tensor and after.dtype != torch.uint8 else "HWC"
    state.image = fn.python_function(
        state.image,
        function=Function(transform, tensor, flushed),
        output_layouts=layout if after.dim == 3 else "",
    )
    state.tensor, state.channels = after.tensor, after.channels
    if after.tensor:
        state.dtype = DTYPES[after.dtype]
        state.flushed = after.dtype != torch.uint8 or after.dim != 3
    state.scale, state.mean, state.std = 1.0, None, None


class After:
    """What a transform returns."""

    def __init__(self, result: Any, transform: Any) -> None:
        self.tensor = isinstance(result, torch.Tensor)
        self.dtype = result.dtype if self.tensor else torch.uint8
        self.dim = result.dim() if self.tensor else 3
        self.channels = int(result.shape[0]) if self.tensor and self.dim == 3 else 3
        if self.dtype not in DTYPES:
            raise TypeError(f"{transform!r} returns elements of type {self.dtype}")


def probe(transform: Any, state: State) -> After:
    """Calls the transform with a grey picture, to learn what kind of result it has."""
    with torch.random.fork_rng(devices=[]):
        if state.flushed:
            kinds = {to: of for of, to in DTYPES.items()}
            picture = torch.zeros(state.channels, 256, 256, dtype=kinds[state.dtype])
            return After(transform(picture), transform)
        grey = np.full((256, 256, state.channels), 128, np.uint8)
        return After(transform(given(grey, state.tensor, False)), transform)


def given(array: np.ndarray, tensor: bool, flushed: bool) -> Any:
    """What torchvision has for the array of a node."""
    if flushed:
        return torch.from_numpy(np.array(array))
    if tensor:
        return torch.from_numpy(np.ascontiguousarray(np.moveaxis(array, 2, 0)))
    from PIL import Image

    return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


class Function:
    """Calls a transform with arrays."""

    def __init__(self, transform: Callable[[Any], Any], tensor: bool, flushed: bool) -> None:
        self.transform, self.tensor, self.flushed = transform, tensor, flushed

    def __call__(self, array: np.ndarray) -> np.ndarray:
        result = self.transform(given(array, self.tensor, self.flushed))
        if not isinstance(result, torch.Tensor):
            return np.asarray(result.convert("RGB"))
        values = result.numpy()
        if values.dtype == np.uint8 and values.ndim == 3:
            values = np.moveaxis(values, 0, 2)
        return np.ascontiguousarray(values)
