# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Types and normalisation: ToTensor, ToImage, ToDtype, Normalize and so on."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from headrace import types
from headrace.torch._compile import geometry
from headrace.torch._compile.companions import Companion
from headrace.torch._compile.geometry import image_value, of_kind
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import rule

FLOATS = {
    "torch.float32": types.FLOAT,
    "torch.float16": types.FLOAT16,
}


# Types of masks.
MASKS = {
    "torch.uint8": types.UINT8,
    "torch.bool": types.BOOL,
    "torch.int32": types.INT32,
    "torch.int64": types.INT64,
    "torch.float32": types.FLOAT,
}


@rule("Identity")
def identity(transform: Any, state: State) -> None:
    """Nothing to do."""


@rule("ToPureTensor")
def to_pure_tensor(transform: Any, state: State) -> None:
    state.others = tuple(dataclasses.replace(other, pure=True) for other in state.others)
    state.pure = True


@rule("RGB")
def rgb(transform: Any, state: State) -> None:
    if state.channels != 3:
        raise Unsupported("the image is grey here")


@rule("ToImage", "PILToTensor")
def to_image(transform: Any, state: State) -> None:
    state.tensor = True


@rule("ToTensor")
def to_tensor(transform: Any, state: State) -> None:
    state.bytes()
    if not state.tensor:
        state.tensor = True
        to_float(state, types.FLOAT, True)


@rule("ConvertImageDtype")
def convert_image_dtype(transform: Any, state: State) -> None:
    to_dtype_of(transform.dtype, True, state)


@rule("ToDtype")
def to_dtype(transform: Any, state: State) -> None:
    dtype = image_value(transform.dtype, state, "dtype")
    if isinstance(transform.dtype, dict):
        state.others = tuple(other_to_dtype(other, transform.dtype) for other in state.others)
    if dtype is not None or not isinstance(transform.dtype, dict):
        to_dtype_of(dtype, transform.scale, state)


def other_to_dtype(other: Companion, dtypes: dict[Any, Any]) -> Companion:
    if other.what == "labels":
        return other
    name = "Mask" if other.what == "mask" else "BoundingBoxes"
    dtype = of_kind(dtypes, "torchvision.tv_tensors", name, "dtype")
    if dtype is None or (other.what == "boxes" and str(dtype) == "torch.float32"):
        return other
    if other.what != "mask" or str(dtype) not in MASKS:
        raise Unsupported(f"{name} of type {dtype}")
    return dataclasses.replace(other, dtype=MASKS[str(dtype)])


def to_dtype_of(dtype: Any, scale: bool, state: State) -> None:
    if not state.tensor:
        if scale or type(dtype) is not type(None):
            raise Unsupported("torchvision leaves PIL images unchanged here: put ToImage before it")
        return
    if str(dtype) == "torch.uint8" and state.dtype == types.UINT8:
        return
    if str(dtype) not in FLOATS:
        raise Unsupported(f"elements of type {dtype}; torch.float32 and torch.float16 are compiled")
    to_float(state, FLOATS[str(dtype)], scale)


def to_float(state: State, dtype: Any, scale: bool) -> None:
    if state.dtype == types.UINT8:
        state.bytes()
        state.scale = 1 / 255 if scale else 1.0
    elif state.flushed and dtype != state.dtype:
        raise Unsupported("the type changes after other work on numbers")
    state.dtype = dtype


@rule("Normalize")
def normalize(transform: Any, state: State) -> None:
    if not state.tensor or state.dtype == types.UINT8:
        raise Unsupported("the image is not a tensor of floating-point numbers here")
    if state.mean is not None or state.flushed:
        raise Unsupported("it comes after other work on floating-point numbers")
    mean, std = (tuple(map(float, values)) for values in (transform.mean, transform.std))
    if any(s == 0 for s in std) or any(len(v) not in (1, state.channels) for v in (mean, std)):
        raise Unsupported(
            "`mean` and `std` have neither one number nor one per channel, or `std` is 0"
        )
    state.mean, state.std = mean, std


@rule("ImageClassification")
def classification_preset(preset: Any, state: State) -> None:
    """The transforms of the weights of a classification model."""
    geometry.resized(state, [int(v) for v in preset.resize_size], None, preset)
    geometry.center_crop(SimpleNamespace(size=preset.crop_size), state)
    state.tensor = True
    to_float(state, types.FLOAT, True)
    normalize(preset, state)
