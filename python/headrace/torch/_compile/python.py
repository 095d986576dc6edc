# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms that have no rule: Python calls them, once per sample.

What they draw comes from PyTorch's own generator, which the whole process shares. So the seed of
the loader does not repeat it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
# Modes of PIL images -> bands of 8 bits.
MODES = {"L": 1, "LA": 2, "RGB": 3, "HSV": 3, "LAB": 3, "YCbCr": 3, "CMYK": 4, "RGBA": 4}


def apply(transform: Any, state: State) -> None:
    """Calls the transform with what torchvision has at this point: a PIL image or a tensor."""
    if state.tensor and (state.dtype != types.UINT8 or state.flushed):
        state.flush()
    before = Before(state.tensor, state.flushed, state.mode)
    after = probe(transform, state)
    state.needs_cpu = True
    layout = "CHW" if after.dim == 3 and after.tensor and after.dtype != torch.uint8 else "HWC"
    state.image = fn.python_function(
        state.image,
        function=Function(transform, before, after),
        output_layouts=layout if after.dim == 3 else "",
    )
    state.tensor, state.channels = after.tensor, after.channels
    state.mode = None if after.mode in ("L", "RGB") else after.mode
    if after.tensor:
        state.dtype = DTYPES[after.dtype]
        state.flushed = after.dtype != torch.uint8 or after.dim != 3
    state.scale, state.mean, state.std = 1.0, None, None


class Before(NamedTuple):
    """What a transform gets; the attributes are those of `State`."""

    tensor: bool
    flushed: bool
    mode: str | None


class After:
    """What a transform returns.

    Raises:
        TypeError: nothing that can be passed on.
    """

    def __init__(self, result: Any, transform: Any) -> None:
        self.tensor = isinstance(result, torch.Tensor)
        if not self.tensor and not hasattr(result, "mode"):
            kind = type(result).__name__
            raise TypeError(f"{transform!r} returns a {kind}, neither a PIL image nor a tensor")
        self.mode = None if self.tensor else str(result.mode)
        self.dtype = result.dtype if self.tensor else torch.uint8
        self.dim = result.dim() if self.tensor else 3
        if self.mode is None:
            self.channels = int(result.shape[0]) if self.dim == 3 else 3
        elif self.mode in MODES:
            self.channels = MODES[self.mode]
        else:
            raise TypeError(
                f"{transform!r} returns a PIL image of mode {self.mode}; these are passed on: "
                + ", ".join(MODES)
            )
        if self.dtype not in DTYPES:
            raise TypeError(f"{transform!r} returns elements of type {self.dtype}")


def probe(transform: Any, state: State) -> After:
    """Calls the transform with a grey and a coloured image, to learn what kind of result it has: that
    with more channels, to which the other can be converted without loss."""
    with torch.random.fork_rng(devices=[]):
        if state.flushed:
            kinds = {to: of for of, to in DTYPES.items()}
            image = torch.zeros(state.channels, 256, 256, dtype=kinds[state.dtype])
            return After(transform(image), transform)
        before = Before(state.tensor, False, state.mode)
        grey = np.full((256, 256, state.channels), 128, np.uint8)
        coloured = np.arange(grey.size).astype(np.uint8).reshape(grey.shape)
        results = [After(transform(given(image, before)), transform) for image in (grey, coloured)]
        return max(results, key=lambda after: after.channels)


def given(array: np.ndarray, before: Before) -> Any:
    """What torchvision has for the array of a node."""
    if before.flushed:
        return torch.from_numpy(np.array(array))
    if before.tensor:
        return torch.from_numpy(np.ascontiguousarray(np.moveaxis(array, 2, 0)))
    from PIL import Image

    height, width, channels = array.shape
    mode = before.mode or ("L" if channels == 1 else "RGB")
    return Image.frombytes(mode, (width, height), array.tobytes())


class Function:
    """Calls a transform with arrays. `before`: what it gets; `after`: what it returned first."""

    def __init__(self, transform: Callable[[Any], Any], before: Before, after: After) -> None:
        self.transform, self.before, self.mode = transform, before, after.mode

    def __call__(self, array: np.ndarray) -> np.ndarray:
        result = self.transform(given(array, self.before))
        if not isinstance(result, torch.Tensor):
            values = np.asarray(self._converted(result))
            return values if values.ndim == 3 else values[:, :, np.newaxis]
        values = result.numpy()
        if values.dtype == np.uint8 and values.ndim == 3:
            values = np.moveaxis(values, 0, 2)
        return np.ascontiguousarray(values)

    def _converted(self, image: Any) -> Any:
        """The image in the mode of the first one, if that loses nothing.

        Raises:
            RuntimeError: it would lose channels, or their meaning.
        """
        if image.mode == self.mode:
            return image
        if (image.mode, self.mode) in (("L", "RGB"), ("L", "RGBA"), ("RGB", "RGBA")):
            return image.convert(self.mode)
        raise RuntimeError(
            f"{self.transform!r} returned a PIL image of mode {image.mode}, but of mode {self.mode} "
            "when it was tried: an image cannot have another number of channels than the others"
        )
