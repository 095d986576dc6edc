# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Types and normalisation: ToTensor, ToImage, ToDtype, Normalize and so on."""

from __future__ import annotations

from typing import Any

from headrace import types
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import rule

FLOATS = {
    "torch.float32": types.FLOAT,
    "torch.float16": types.FLOAT16,
}


@rule("Identity", "ToPureTensor")
def identity(transform: Any, state: State) -> None:
    """Nothing to do."""


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
    dtype = transform.dtype
    if isinstance(dtype, dict):
        raise Unsupported("`dtype` differs between kinds of data")
    to_dtype_of(dtype, transform.scale, state)


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
