# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What RandAugment and TrivialAugment share: their suites of augmentations, and how one is chosen per sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.auto_aug import augmentations as a
from headrace.auto_aug.core import _Augmentation, select
from headrace.auto_aug.core._args import MissingArgException
from headrace.data_node import DataNode


# Settings (mag_range, randomly_negate, mag_to_param), in the order of the suites.
_COMMON = {"shear_x": ((0, 0.3), True), "shear_y": ((0, 0.3), True), "rotate": ((0, 30), True)}
_LAST = [a.equalize, a.auto_contrast, a.identity]
MONOTONIC: dict[str, Sequence[Any]] = {
    **_COMMON,
    "brightness": ((0, 0.9), True, a.shift_enhance_range),
    "contrast": ((0, 0.9), True, a.shift_enhance_range),
    "color": ((0, 0.9), True, a.shift_enhance_range),
    "sharpness": ((0, 0.9), True, a.sharpness_kernel),
    "posterize": ((8, 4), False, a.poster_mask_uint8),
    "solarize": ((256, 0),),
}
NON_MONOTONIC: dict[str, Sequence[Any]] = {
    **_COMMON,
    "brightness": ((0.1, 1.9), False, None),
    "contrast": ((0.1, 1.9), False, None),
    "color": ((0.1, 1.9), False, None),
    "sharpness": ((0.1, 1.9), False, a.sharpness_kernel_shifted),
    "posterize": ((0, 4), False, a.poster_mask_uint8),
    "solarize": ((0, 256), False, None),
}
WIDE: dict[str, Sequence[Any]] = {
    "shear_x": ((0, 0.99), True),
    "shear_y": ((0, 0.99), True),
    "rotate": ((0, 135), True),
    "brightness": ((0.01, 0.99), True, a.shift_enhance_range),
    "contrast": ((0.01, 0.99), True, a.shift_enhance_range),
    "color": ((0.01, 0.99), True, a.shift_enhance_range),
    "sharpness": ((0.01, 0.99), True, a.sharpness_kernel),
    "posterize": ((8, 2), False, a.poster_mask_uint8),
    "solarize": ((256, 0),),
}


def suite(
    settings: dict[str, Sequence[Any]], translations: list[_Augmentation]
) -> list[_Augmentation]:
    """The 14 augmentations of a suite."""
    with_settings = [getattr(a, name).augmentation(*row) for name, row in settings.items()]
    return [*translations, *with_settings, *_LAST]


def without(
    augmentations: list[_Augmentation], excluded: Sequence[str] | None, of: str
) -> list[_Augmentation]:
    """The augmentations whose names are not excluded."""
    names = [augmentation.name for augmentation in augmentations]
    for name in excluded or ():
        if name not in names:
            raise Exception(
                f"The `{name}` was specified in `excluded`, but the {of} suite does not contain augmentation with "
                f"this name. It has {', '.join(names)}."
            )
    return [
        augmentation for augmentation in augmentations if augmentation.name not in (excluded or ())
    ]


def check_bins(num_magnitude_bins: Any) -> None:
    """Checks the number of bins."""
    if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
        raise Exception(
            f"The `num_magnitude_bins` must be a positive integer, got {num_magnitude_bins}."
        )


def check_suite(augmentations: Sequence[Any], of: str) -> None:
    """Checks that there is something to choose from."""
    if len(augmentations) == 0:
        raise Exception(f"The `augmentations` list cannot be empty; {of} got an empty one.")


def arguments(fill_value: Any, interp_type: Any, shape: Any) -> dict[str, Any]:
    """The arguments of the augmentations that a user can give. `shape` is one only if it is not None."""
    given = {"fill_value": fill_value, "interp_type": interp_type}
    return given if shape is None else {**given, "shape": shape}


def apply(
    augmentations: Sequence[_Augmentation],
    index: DataNode,
    data: DataNode,
    magnitude_bin: Any,
    num_magnitude_bins: int,
    kwargs: dict[str, Any],
    of: str,
    suite_of: str,
) -> DataNode:
    """`select`, with an explanation where the shape of the image is missing.

    `of` is the function that the user called, `suite_of` the one that makes augmentations without shapes.
    """
    try:
        return select(
            augmentations,
            index,
            data=data,
            magnitude_bin=magnitude_bin,
            num_magnitude_bins=num_magnitude_bins,
            **kwargs,
        )
    except MissingArgException as error:
        translations = (a.translate_x.op, a.translate_y.op)
        if error.missing_args != ["shape"] or error.augmentation.op not in translations:
            raise
        raise Exception(
            f"The augmentation `{error.augmentation.name}` requires `shape` argument, the height and width of the "
            f"image. Please provide it as `shape` argument to `{of}` call; `fn.peek_image_shape` gives the shape "
            f"of a coded image. With `{suite_of}(use_shape=False)` images are shifted by a number of pixels "
            "instead."
        ) from error
