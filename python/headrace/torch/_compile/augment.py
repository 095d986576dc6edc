# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Colours and warps. Each transform is a step of a program for the hidden operator
`_torchvision.augment` (`src/ops/torchvision/augment.c` says what steps look like)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

from headrace import types
from headrace.torch._compile.geometry import FILTERS, fill_of, interpolation_name, mask_fill
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import RULES, changed, name_of, owned, sequence, text, with_others

Step = list[Any]
Build = Callable[[Any, State], Step]
STEPS: dict[str, Build] = {}
PIXELS, PARTS_CUT, PARTS_ROUND = range(3)  # how a shift is given, and how it is rounded


def step(*names: str) -> Callable[[Build], Build]:
    """Decorator: how the classes of these names become steps."""

    def add(build: Build) -> Build:
        for name in names:
            STEPS[name] = build
            RULES[name] = run
        return build

    return add


def run(transform: Any, state: State) -> None:
    """The rule of all transforms that are steps."""
    state.on_cpu()
    mask = {}
    if state.has("mask"):
        mask["program"] = step_of(transform, dataclasses.replace(state, mask=True))
    state.move("augment", mask, program=step_of(transform, state))


def step_of(transform: Any, state: State) -> Step:
    """The step of a transform.

    Raises:
        Unsupported: it is not one.
    """
    if state.dtype != types.UINT8 and state.scale == 1.0:
        raise Unsupported("the image has floating-point numbers beyond 1 here")
    parts = sequence(transform)
    if parts is not None:
        return every(step_of(part, state) for part in parts)
    kind, name = type(transform), name_of(type(transform))
    if not owned(kind) or changed(transform) or name not in STEPS:
        raise Unsupported(f"{text(transform)} is not done by the operator for colours and warps")
    with_others(name, state)
    return STEPS[name](transform, state)


def every(steps: Iterable[Step], p: float = 1.0) -> Step:
    return ["all", p, list(steps)]


def order(steps: Iterable[Step]) -> Step:
    return ["order", 1.0, list(steps)]


def one(steps: Iterable[Step], weights: list[float] | None = None) -> Step:
    choices = list(steps)
    return ["one", 1.0, choices, weights or [1.0] * len(choices)]


def affine(
    look: Step,
    angle: Any = 0,
    unit: int = PIXELS,
    shift: Any = (0, 0),
    scale: Any = 1,
    shear: Any = (0, 0),
    center: Any = None,
    p: float = 1.0,
) -> Step:
    """A step; `look`: filter and fill."""
    at = [0, 0, 0] if center is None else [1, *map(float, center)]
    return ["affine", p, look[0], angle, unit, *shift, scale, *shear, *at, *look[1:]]


def rotate(look: Step, angle: Any, expand: bool = False, center: Any = None) -> Step:
    at = [0, 0, 0] if center is None else [1, *map(float, center)]
    return ["rotate", 1.0, look[0], angle, int(expand), *at, *look[1:]]


def look_of(transform: Any, state: State) -> Step:
    """The number of the filter, and the fill of three channels."""
    name = interpolation_name(transform.interpolation)
    if name not in FILTERS:
        raise Unsupported(f"{name} interpolation; nearest, bilinear and bicubic are compiled")
    if state.mask:
        return [0, *mask_fill(transform) * 3]
    fill = [v / state.scale for v in fill_of(transform, state)]
    return [list(FILTERS).index(name), *(fill * 3 if len(fill) == 1 else fill)]


def span(values: Any) -> list[float]:
    """Of a uniform distribution."""
    low, high = map(float, values)
    return [low, high]


@step("Grayscale")
def grayscale(t: Any, state: State) -> Step:
    state.channels = int(t.num_output_channels)
    return ["gray", 1.0, state.channels]


@step("RandomGrayscale")
def random_grayscale(t: Any, state: State) -> Step:
    return ["gray", t.p, state.channels]


@step("RandomInvert")
def random_invert(t: Any, state: State) -> Step:
    return ["invert", t.p]


@step("RandomPosterize")
def random_posterize(t: Any, state: State) -> Step:
    return ["posterize", t.p, t.bits]


@step("RandomSolarize")
def random_solarize(t: Any, state: State) -> Step:
    return ["solarize", t.p, t.threshold / state.scale]


@step("RandomAdjustSharpness")
def random_adjust_sharpness(t: Any, state: State) -> Step:
    return ["sharpness", t.p, t.sharpness_factor]


@step("RandomAutocontrast")
def random_autocontrast(t: Any, state: State) -> Step:
    return ["autocontrast", t.p]


@step("RandomEqualize")
def random_equalize(t: Any, state: State) -> Step:
    return ["equalize", t.p]


@step("ColorJitter")
def color_jitter(t: Any, state: State) -> Step:
    names = ("brightness", "contrast", "saturation", "hue")
    spans = {name: getattr(t, name) for name in names}
    return order([name, 1.0, span(values)] for name, values in spans.items() if values is not None)


@step("RandomRotation")
def random_rotation(t: Any, state: State) -> Step:
    if t.expand and state.has("boxes"):
        raise Unsupported("`expand` with boxes")
    center = None if t.expand else t.center
    return rotate(look_of(t, state), span(t.degrees), t.expand, center)


@step("RandomAffine")
def random_affine(t: Any, state: State) -> Step:
    shift = [[-float(part), float(part)] for part in t.translate or (0, 0)]
    scale = span(t.scale) if t.scale is not None else 1
    bounds = [*map(float, t.shear or ()), 0.0, 0.0, 0.0, 0.0]
    shear = [bounds[0:2], bounds[2:4]]
    angle, look = span(t.degrees), look_of(t, state)
    return affine(look, angle, PARTS_ROUND, shift, scale, shear, t.center)


@step("RandomPerspective")
def random_perspective(t: Any, state: State) -> Step:
    look = look_of(t, state)
    return ["perspective", t.p, look[0], t.distortion_scale, *[[0, 1]] * 8, *look[1:]]


def policy_step(name: str, p: float, values: list[float], unit: int, look: Step) -> Step:
    """An operation of AutoAugment, with one of some magnitudes."""
    pick, angles = {"pick": values}, {"pick": [math.degrees(math.atan(v)) for v in values]}
    factor = {"pick": [1.0 + v for v in values]}
    steps: dict[str, Step] = {
        "Identity": every([]),
        "ShearX": affine(look, shear=(angles, 0), center=(0, 0)),
        "ShearY": affine(look, shear=(0, angles), center=(0, 0)),
        "TranslateX": affine(look, unit=unit, shift=(pick, 0)),
        "TranslateY": affine(look, unit=unit, shift=(0, pick)),
        "Rotate": rotate(look, pick),
        "Brightness": ["brightness", 1.0, factor],
        "Color": ["saturation", 1.0, factor],
        "Contrast": ["contrast", 1.0, factor],
        "Sharpness": ["sharpness", 1.0, factor],
        "Posterize": ["posterize", 1.0, pick],
        "Solarize": ["solarize", 1.0, pick],
        "AutoContrast": ["autocontrast", 1.0],
        "Equalize": ["equalize", 1.0],
        "Invert": ["invert", 1.0],
    }
    if name not in steps:
        raise Unsupported(f"its operation {name} is unknown")
    return [steps[name][0], p, *steps[name][2:]]


class Policy:
    """The operations of a transform of the AutoAugment family and their magnitudes."""

    def __init__(self, transform: Any, state: State, bins: int) -> None:
        self.look = look_of(transform, state)
        self.spaces = [self.space(transform, bins, side) for side in (1, 2)]

    @staticmethod
    def space(transform: Any, bins: int, side: int) -> dict[str, tuple[Any, bool]]:
        """By operation: the magnitudes for a square image, and whether their signs are drawn."""
        found = getattr(transform, "_AUGMENTATION_SPACE", None)
        if found is not None:
            scale = {"Solarize": 255.0}
            raw = {name: (of(bins, side, side), signed) for name, (of, signed) in found.items()}
        elif type(transform).__name__ == "TrivialAugmentWide":
            scale, raw = {}, transform._augmentation_space(bins)
        else:
            scale, raw = {}, transform._augmentation_space(bins, (side, side))
        return {
            name: ([] if v is None else (v * scale.get(name, 1)).reshape(-1).tolist(), signed)
            for name, (v, signed) in raw.items()
        }

    def step(self, name: str, p: float = 1.0, index: int | None = None) -> Step:
        """With all magnitudes, or the one of a number."""
        values, signed = self.spaces[0][name]
        unit = PIXELS if values == self.spaces[1][name][0] else PARTS_CUT
        values = [values[min(index, len(values) - 1)]] if values and index is not None else values
        values = values + [-v for v in values] if signed else values
        return policy_step(name, p, values or [0.0], unit, self.look)


@step("RandAugment")
def rand_augment(t: Any, state: State) -> Step:
    policy = Policy(t, state, t.num_magnitude_bins)
    steps = [policy.step(name, 1.0, t.magnitude) for name in policy.spaces[0]]
    return every([one(steps)] * t.num_ops)


@step("TrivialAugmentWide")
def trivial_augment_wide(t: Any, state: State) -> Step:
    policy = Policy(t, state, t.num_magnitude_bins)
    return one(policy.step(name) for name in policy.spaces[0])


@step("AutoAugment")
def auto_augment(t: Any, state: State) -> Step:
    policy = Policy(t, state, 10)
    policies = getattr(t, "_policies", None) or t.policies
    return one(every(policy.step(*operation) for operation in pair) for pair in policies)
