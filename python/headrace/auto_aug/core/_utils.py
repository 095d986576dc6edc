# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""How far the suites translate images."""

from __future__ import annotations

from typing import Any

from headrace.auto_aug import augmentations as a
from headrace.auto_aug.core import _Augmentation


def get_translations(
    use_shape: bool,
    default_translate_abs: Any = 250,
    default_translate_rel: Any = 1.0,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
) -> list[_Augmentation]:
    """`translate_x` and `translate_y` up to the given shift: one number, or height and width.

    Raises:
        Exception: the limit is in the wrong unit. It must be in pixels without the shape of the image, and a fraction
            of the image with it.
    """
    if not isinstance(use_shape, bool):
        raise Exception(f"The `use_shape` must be True or False, got {use_shape}.")
    limits = {"max_translate_abs": max_translate_abs, "max_translate_rel": max_translate_rel}
    wrong = limits.pop("max_translate_abs" if use_shape else "max_translate_rel")
    if wrong is not None:
        name, other = sorted(["max_translate_abs", "max_translate_rel"], reverse=not use_shape)
        raise Exception(
            f"The argument `{name}` cannot be used {'with' if use_shape else 'without'} image shapes. "
            f"You may use `{other}` instead."
        )
    (limit,) = limits.values()
    if limit is None:
        limit = default_translate_rel if use_shape else default_translate_abs
    height, width = limit if isinstance(limit, tuple | list) else (limit, limit)
    along = (
        (a.translate_x, a.translate_y)
        if use_shape
        else (a.translate_x_no_shape, a.translate_y_no_shape)
    )
    return [along[0].augmentation((0, width), True), along[1].augmentation((0, height), True)]
