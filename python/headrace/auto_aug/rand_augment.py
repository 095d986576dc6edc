# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""RandAugment (https://arxiv.org/abs/1909.13719): several random augmentations of one strength."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from headrace import fn, types
from headrace.auto_aug import _suites
from headrace.auto_aug.core._utils import get_translations as _get_translations
from headrace.auto_aug.core import _Augmentation, signed_bin
from headrace.auto_aug.core._args import forbid_unused_kwargs as _forbid_unused_kwargs
from headrace.data_node import DataNode


def rand_augment(
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: Sequence[str] | None = None,
) -> DataNode:
    """Applies `n` random augmentations with the magnitude `m` to each sample.

    Args:
        data: UINT8 images (HWC) or videos (FHWC).
        n: number of augmentations that are applied to each sample.
        m: the magnitude bin, from 0 to `num_magnitude_bins` - 1.
        num_magnitude_bins: number of bins into which the range of magnitudes is divided.
        shape: height and width of the image. With it, translations are fractions of the image, otherwise pixels.
        fill_value: value of pixels from outside the image. With None, the pixels of the border are repeated.
        interp_type: interpolation of shear, translation and rotation: INTERP_LINEAR (default) or INTERP_NN.
        max_translate_abs: without `shape`, the largest translation in pixels: a number (100), or height and width.
        max_translate_rel: with `shape`, the largest translation as a fraction of the image (100 / 224).
        seed: seed of the random choices.
        monotonic_mag: whether a larger bin means a stronger change. If not, the ranges of AutoAugment are used.
        excluded: names of augmentations to leave out.

    Raises:
        Exception: an argument is not in its range.
    """
    make = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    augmentations = _suites.without(
        make(shape is not None, max_translate_abs, max_translate_rel), excluded, "RandAugment"
    )
    kwargs = _suites.arguments(fill_value, interp_type, shape)
    return apply_rand_augment(augmentations, data, n, m, num_magnitude_bins, seed, **kwargs)


def apply_rand_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Applies `n` augmentations, drawn from a list, with the magnitude `m` to each sample.

    Args:
        augmentations: what to draw from.
        data, n, m, num_magnitude_bins, seed: as in `rand_augment`.
        kwargs: arguments of the augmentations; each gets those that it has parameters for.

    Raises:
        Exception: an argument is not in its range, or no augmentation takes it.
    """
    if not isinstance(n, int) or n < 0:
        raise Exception(
            f"The number of operations to apply `n` must be a non-negative integer, got {n}."
        )
    _suites.check_bins(num_magnitude_bins)
    if not isinstance(m, int) or not 0 <= m < num_magnitude_bins:
        raise Exception(
            f"The magnitude bin `m` must be an integer from `[0, {num_magnitude_bins - 1}]` range. Got {m}."
        )
    if n == 0:
        warnings.warn(
            "The `apply_rand_augment` was called with `n=0`: no augmentation will be applied.",
            stacklevel=2,
        )
        return data
    _suites.check_suite(augmentations, "apply_rand_augment")
    _forbid_unused_kwargs([a.op for a in augmentations], kwargs, "apply_rand_augment")
    shape = () if n == 1 else (n,)
    index = fn.random.uniform(
        values=list(range(len(augmentations))), seed=seed, shape=shape, dtype=types.INT32
    )
    bins: Any = m
    if any(augmentation.randomly_negate for augmentation in augmentations):
        bins = signed_bin(m, seed=seed, shape=shape)
    for step in range(n):
        single = n == 1
        data = _suites.apply(
            augmentations,
            index if single else index[step],
            data,
            bins if single or isinstance(bins, int) else bins[step],
            num_magnitude_bins,
            kwargs,
            "apply_rand_augment",
            "get_rand_augment_suite",
        )
    return data


def get_rand_augment_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """The 14 augmentations of RandAugment. A larger bin means a stronger change.

    Args:
        use_shape: whether translations are fractions of the image, whose `shape` is then an argument, or pixels.
        max_translate_abs, max_translate_rel: as in `rand_augment`.
    """
    return _suites.suite(
        _suites.MONOTONIC,
        _get_translations(use_shape, 100, 100 / 224, max_translate_abs, max_translate_rel),
    )


def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """Like `get_rand_augment_suite`, but with AutoAugment's ranges, where a larger bin can mean a weaker change."""
    return _suites.suite(
        _suites.NON_MONOTONIC,
        _get_translations(use_shape, 100, 100 / 224, max_translate_abs, max_translate_rel),
    )
