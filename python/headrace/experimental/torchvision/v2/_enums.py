# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`InterpolationMode`."""

from __future__ import annotations

import enum
from typing import Any

from headrace import types


class InterpolationMode(enum.Enum):
    """The filters of torchvision."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_PILLOW = ("NEAREST", "LANCZOS", "BILINEAR", "BICUBIC", "BOX", "HAMMING")  # by their numbers
_FILTERS = {
    InterpolationMode.NEAREST: types.INTERP_NN,
    InterpolationMode.BILINEAR: types.INTERP_LINEAR,
    InterpolationMode.BICUBIC: types.INTERP_CUBIC,
    InterpolationMode.LANCZOS: types.INTERP_LANCZOS3,
}


def find(interpolation: Any) -> InterpolationMode:
    """The mode of an `InterpolationMode`, also torchvision's, or of a constant of Pillow.

    Raises:
        ValueError: it is none of these.
        NotImplementedError: Headrace does not have this filter.
    """
    mode = _mode(interpolation)
    if mode is None:
        raise ValueError(
            f"`interpolation` is {interpolation!r}: it must be an InterpolationMode, or a constant "
            f"of Pillow from 0 to {len(_PILLOW) - 1}"
        )
    if mode not in _FILTERS:
        known = ", ".join(one.name for one in _FILTERS)
        raise NotImplementedError(f"`interpolation` is {mode}; there are {known}")
    return mode


def _mode(value: Any) -> InterpolationMode | None:
    if isinstance(value, InterpolationMode):
        return value
    if isinstance(value, int):
        name = _PILLOW[value] if 0 <= value < len(_PILLOW) else ""
    else:
        name = getattr(value, "name", "")
    for mode in InterpolationMode:
        if mode.name == name or mode.value == getattr(value, "value", None):
            return mode
    return None


def filter_of(mode: InterpolationMode) -> types.DALIInterpType:
    return _FILTERS[mode]
