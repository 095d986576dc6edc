# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms of timm's own, as `timm.data.create_transform` has them beside torchvision's."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

from headrace.torch._compile import convert, geometry, regions
from headrace.torch._compile.augment import Step, every, one, rotate, step
from headrace.torch._compile.geometry import FILTERS, interpolation_name
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import rule

# By operation: base, factor, whether the sign is drawn, whether it is an integer, limits. A level
# from 0 to 10 becomes base + level / 10 * factor.
_ANY = (-1e9, 1e9)
_ENHANCE, _INCREASING = (0.1, 1.8, 0, 0, *_ANY), (1.0, 0.9, 1, 0, 0.1, 1e9)
_LEVELS = {
    "Rotate": (0.0, 30.0, 1, 0, *_ANY),
    "Posterize": (0.0, 4.0, 0, 1, *_ANY),
    "PosterizeIncreasing": (4.0, -4.0, 0, 1, *_ANY),
    "PosterizeOriginal": (4.0, 4.0, 0, 1, *_ANY),
    "Solarize": (0.0, 256.0, 0, 1, -1e9, 256.0),
    "SolarizeIncreasing": (256.0, -256.0, 0, 1, 0.0, 1e9),
    "SolarizeAdd": (0.0, 110.0, 0, 1, -1e9, 128.0),
    "Color": _ENHANCE,
    "ColorIncreasing": _INCREASING,
    "Contrast": _ENHANCE,
    "ContrastIncreasing": _INCREASING,
    "Brightness": _ENHANCE,
    "BrightnessIncreasing": _INCREASING,
    "Sharpness": _ENHANCE,
    "SharpnessIncreasing": _INCREASING,
    "ShearX": (0.0, 0.3, 1, 0, *_ANY),
    "ShearY": (0.0, 0.3, 1, 0, *_ANY),
}
_PLAIN = {"AutoContrast": "autocontrast", "Equalize": "equalize", "Invert": "invert"}
_COLOURS = {"Posterize": "posterize", "Solarize": "solarize", "Color": "saturation"}
_COLOURS |= {"Contrast": "contrast", "Brightness": "brightness", "Sharpness": "sharpness"}


@rule("timm.RandomResizedCropAndInterpolation")
def random_resized_crop(transform: Any, state: State) -> None:
    if state.tensor:
        raise Unsupported("the image is a tensor here")
    geometry.random_resized_crop(transform, state)


@rule("timm.MaybeToTensor")
def maybe_to_tensor(transform: Any, state: State) -> None:
    convert.to_tensor(transform, state)


@rule("timm.MaybePILToTensor")
def maybe_pil_to_tensor(transform: Any, state: State) -> None:
    convert.to_image(transform, state)


@rule("timm.ToTensor")
def to_tensor(transform: Any, state: State) -> None:
    if state.tensor:
        raise Unsupported("the image is a tensor here")
    state.tensor = True
    convert.to_dtype_of(transform.dtype, False, state)


@rule("timm.RandomErasing")
def random_erasing(transform: Any, state: State) -> None:
    if transform.mode not in ("", "const"):
        raise Unsupported(f"`mode` is {transform.mode!r}")
    if transform.max_count != 1:
        raise Unsupported("there may be several regions")
    if not state.tensor or str(transform.device) != "cpu":
        raise Unsupported("it erases parts of tensors on the CPU only")
    given = {"value": 0, "p": transform.probability}
    given |= {"scale": (transform.min_area, transform.max_area)}
    given["ratio"] = tuple(map(math.exp, transform.log_aspect_ratio))
    regions.random_erasing(SimpleNamespace(**given), state)


def operation(op: Any, state: State) -> Step:
    """The step of an AugmentOp."""
    name, chance = str(op.name), float(op.prob)
    if name in _PLAIN:
        return [_PLAIN[name], chance]
    if name not in (*_LEVELS, "TranslateXRel", "TranslateYRel"):
        raise Unsupported(f"its operation {name}")
    return [part if i != 1 else chance for i, part in enumerate(_step(name, op))]


def _step(name: str, op: Any) -> Step:
    deviation, mean = float(op.magnitude_std), float(op.magnitude)
    if deviation < 0:
        raise Unsupported("a negative deviation of magnitudes")
    level = [mean, -1.0 if math.isinf(deviation) else deviation, float(op.magnitude_max or 10)]
    most = float(op.hparams.get("translate_pct", 0.45))
    to = _LEVELS.get(name) or (0.0, most, 1, 0, *_ANY)
    if not _known(op, to):
        raise Unsupported(f"its operation {name} differs from that of timm 1.0")
    value = {"level": level, "to": list(to)}
    colour = name.removesuffix("Increasing").removesuffix("Original")
    if name == "SolarizeAdd":
        return ["solarize_add", 1.0, value, 128.0]
    if colour in _COLOURS:
        return [_COLOURS[colour], 1.0, value]
    look = _look(op)
    if name == "Rotate":
        return rotate(look, value)
    moves = {"ShearX": 1, "ShearY": 3, "TranslateXRel": 2, "TranslateYRel": 5}
    matrix: list[Any] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    matrix[moves[name]] = value
    return ["matrix", 1.0, look[0], *matrix, *look[1:]]


def _known(op: Any, to: tuple[float, ...]) -> bool:
    """Whether levels mean what the table says: other versions of timm may have other ones."""
    base, factor, signed, whole, low, high = to
    state = random.getstate()
    try:
        for level in (0.0, 1.7, 5.0, 8.9, 10.0):
            move = level / 10 * factor
            move = float(int(move)) if whole else move
            every = [min(max(base + v, low), high) for v in ([move, -move] if signed else [move])]
            (found,) = op.level_fn(level, op.hparams)
            if not any(math.isclose(found, value, abs_tol=1e-9) for value in every):
                return False
    finally:
        random.setstate(state)
    return True


def _look(op: Any) -> Step:
    """The filter, or those from which one is drawn, and the fill."""
    given, fill = op.kwargs["resample"], op.kwargs["fillcolor"]
    names = [interpolation_name(v) for v in (given if isinstance(given, (list, tuple)) else [given])]
    if not {*names} <= {*FILTERS}:
        raise Unsupported(f"{' or '.join(names)} interpolation")
    numbers = [float(list(FILTERS).index(name)) for name in names]
    if len(fill) != 3 or any(v != int(v) or not 0 <= v <= 255 for v in fill):
        raise Unsupported(f"the fill {fill!r}")
    return [numbers[0] if len(numbers) == 1 else {"pick": numbers}, *map(float, fill)]


@step("timm.RandAugment")
def rand_augment(transform: Any, state: State) -> Step:
    if transform.choice_weights is not None:
        raise Unsupported("its operations are drawn with weights, without replacement")
    if state.channels != 3:
        raise Unsupported("the image is grey here")
    return every([one(operation(op, state) for op in transform.ops)] * transform.num_layers)


@step("timm.AutoAugment")
def auto_augment(transform: Any, state: State) -> Step:
    if state.channels != 3:
        raise Unsupported("the image is grey here")
    return one(every(operation(op, state) for op in ops) for ops in transform.policy)
