# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Sizes, windows and flips: Resize, CenterCrop, RandomResizedCrop, Pad and so on."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from headrace import fn, math, types
from headrace.torch._compile.state import State, Unsupported, call
from headrace.torch._compile.table import rule

FILTERS = {
    "nearest": types.INTERP_NN,
    "bilinear": types.INTERP_LINEAR,
    "bicubic": types.INTERP_CUBIC,
}
PILLOWS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def interpolation_name(value: Any) -> str:
    """Of an InterpolationMode, a name or a constant of Pillow."""
    value = getattr(value, "value", value)
    return str(PILLOWS.get(value, value))


def pair(size: Any) -> list[int]:
    """Height and width of a size that torchvision takes."""
    values = list(size) if isinstance(size, Sequence) else [size]
    return [int(v) for v in (values * 2 if len(values) == 1 else values)]


def of_kind(values: Any, module: str, name: str, argument: str) -> Any:
    """What is given for a kind of data, if there are several: in a dictionary by their classes.

    Raises:
        Unsupported: there is nothing for this kind.
    """
    if not isinstance(values, dict):
        return values
    for kind, value in values.items():
        if isinstance(kind, type) and kind.__name__ == name:
            if f"{kind.__module__}.".startswith(f"{module}."):
                return value
    if "others" not in values:
        raise Unsupported(f"`{argument}` has nothing for {name}")
    return values["others"]


def image_value(values: Any, state: State, argument: str) -> Any:
    """What an argument with values per kind of data has for the image."""
    if isinstance(values, dict) and not state.others:
        raise Unsupported(f"`{argument}` differs between kinds of data")
    return of_kind(values, "torchvision.tv_tensors" if state.tensor else "PIL", "Image", argument)


def mask_fill(transform: Any) -> list[float]:
    """The fill of masks."""
    fill = of_kind(getattr(transform, "fill", 0), "torchvision.tv_tensors", "Mask", "fill")
    fill = 0 if fill is None else fill
    if not isinstance(fill, numbers.Real) or fill != int(fill) or not 0 <= fill <= 255:
        raise Unsupported(f"`fill` of masks is {fill!r}")
    return [float(fill)]


def mask_value(transform: Any, state: State) -> dict[str, Any]:
    """The fill that an operator gets for masks."""
    return {"fill": mask_fill(transform)} if state.has("mask") else {}


def fill_of(transform: Any, state: State) -> list[float]:
    """The fill per channel, or one.

    Raises:
        Unsupported: it is not a number or a list of numbers.
    """
    fill = image_value(getattr(transform, "fill", 0), state, "fill")
    values = [0] if fill is None else list(fill) if isinstance(fill, Sequence) else [fill]
    if not all(isinstance(v, numbers.Real) for v in values) or len(values) not in (1, 3):
        raise Unsupported(f"`fill` is {fill!r}")
    return [float(v) for v in values]


def fill_for(transform: Any, state: State) -> list[float]:
    """The fill as a value of the node."""
    fill = fill_of(transform, state)
    if state.mean is not None or state.flushed:
        if any(fill):
            raise Unsupported("`fill` is not 0 after Normalize")
        state.flush()
    return [v / state.scale for v in fill]


def resized(state: State, size: list[int] | None, limit: int | None, transform: Any) -> None:
    """Resizes to height and width, or the shorter side to one number."""
    several = transform.interpolation
    names = [interpolation_name(one) for one in (several if type(several) is tuple else [several])]
    name = "bicubic" if "bicubic" in names else names[0].removesuffix("-exact")
    if not {*names, name} <= {*FILTERS, "nearest-exact"}:
        raise Unsupported(f"{name} interpolation; nearest, bilinear and bicubic are compiled")
    # Pillow always widens its filters.
    antialias = not state.tensor or getattr(transform, "antialias", True) is not False
    image = state.bytes()
    args: dict[str, Any] = {"interp_type": FILTERS[name], "antialias": antialias}
    if len(names) > 1:  # one of them is drawn
        values = [float(FILTERS[one].value) for one in names]
        drawn = fn.random.uniform(values=values, dtype=types.INT32)
        args["interp_type"] = fn.reinterpret(drawn, dtype=types.INTERP_TYPE)
    whole = {} if size is None else {"size": size}
    limits = {} if limit is None else {"max_size": limit}
    if name == "bicubic":
        if size is None or limits:
            raise Unsupported("bicubic interpolation with `max_size`")
        if not antialias:
            raise Unsupported("bicubic interpolation without `antialias`")
        if len(size) == 1:
            shape = call_shape(image)
            whole = {"size": fn.cast(shape * size[0] // shortest(shape), dtype=types.INT32)}
        image = call("resize", image, first_pass=True, **whole, **args)
    state.image = call("resize", image, **whole, **limits, **args)
    state.follow("resize", **({} if size is None else {"size": size}), **limits)


def call_shape(image: Any) -> Any:
    return image.shape()[:2]


def shortest(shape: Any) -> Any:
    return math.min(shape[0], shape[1])


@rule("Resize")
def resize(transform: Any, state: State) -> None:
    size = transform.size
    if size is not None:
        size = [int(v) for v in size] if isinstance(size, Sequence) else [int(size)]
    resized(state, size, transform.max_size, transform)


@rule("CenterCrop")
def center_crop(transform: Any, state: State) -> None:
    if state.mean is not None or state.flushed:
        state.flush()
    state.move("crop", size=pair(transform.size))


@rule("Pad")
def pad(transform: Any, state: State) -> None:
    constant_padding(transform)
    fill, mask = fill_for(transform, state), mask_value(transform, state)
    state.move("crop", mask, padding=padding_of(transform.padding), fill=fill)


@rule("RandomCrop")
def random_crop(transform: Any, state: State) -> None:
    constant_padding(transform)
    fill = fill_for(transform, state)
    state.move(
        "crop",
        mask_value(transform, state),
        size=pair(transform.size),
        padding=padding_of(transform.padding),
        pad_if_needed=bool(transform.pad_if_needed),
        random=True,
        fill=fill,
    )


def constant_padding(transform: Any) -> None:
    mode = transform.padding_mode
    needed = getattr(transform, "padding", None) or getattr(transform, "pad_if_needed", False)
    if mode != "constant" and needed:
        raise Unsupported(f"padding of mode {mode!r}; only 'constant' is compiled")


def padding_of(padding: Any) -> list[int]:
    """Left, top, right and bottom."""
    values = [0] if padding is None else padding
    values = [int(v) for v in (values if isinstance(values, Sequence) else [values])]
    return values * (4 // len(values))


@rule("RandomResizedCrop")
def random_resized_crop(transform: Any, state: State) -> None:
    scale, ratio = list(transform.scale), list(transform.ratio)
    state.bytes()
    state.move("area_crop", scale=scale, ratio=ratio)
    resized(state, pair(transform.size), None, transform)


@rule("RandomHorizontalFlip")
def random_horizontal_flip(transform: Any, state: State) -> None:
    coin = fn.random.coin_flip(probability=float(transform.p))
    state.flip(horizontal=coin)


@rule("RandomVerticalFlip")
def random_vertical_flip(transform: Any, state: State) -> None:
    coin = fn.random.coin_flip(probability=float(transform.p))
    state.flip(vertical=coin)
