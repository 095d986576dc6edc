# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""TrivialAugment (https://arxiv.org/abs/2103.10158): one random augmentation of random strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import fn, types
from headrace.auto_aug import _suites
from headrace.auto_aug.core._utils import get_translations as _get_translations
from headrace.auto_aug.core import _Augmentation, signed_bin
from headrace.auto_aug.core._args import forbid_unused_kwargs as _forbid_unused_kwargs
from headrace.data_node import DataNode


def trivial_augment_wide(
    data: DataNode,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    excluded: Sequence[str] | None = None,
) -> DataNode:
    """Applies one random augmentation of the wide suite, with a random magnitude, to each sample.

    Args:
        data: UINT8 images (HWC) or videos (FHWC).
        num_magnitude_bins: number of bins into which the range of magnitudes is divided.
        shape: height and width of the image. With it, translations are fractions of the image, otherwise pixels.
        fill_value: value of pixels from outside the image. With None, the pixels of the border are repeated.
        interp_type: interpolation of shear, translation and rotation: INTERP_LINEAR (default) or INTERP_NN.
        max_translate_abs: without `shape`, the largest translation in pixels: a number (32), or height and width.
        max_translate_rel: with `shape`, the largest translation as a fraction of the image (1).
        seed: seed of the random choices.
        excluded: names of augmentations to leave out.

    Raises:
        Exception: an argument is not in its range.
    """
    suite = get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel)
    augmentations = _suites.without(suite, excluded, "TrivialAugmentWide")
    kwargs = _suites.arguments(fill_value, interp_type, shape)
    return apply_trivial_augment(augmentations, data, num_magnitude_bins, seed, **kwargs)


def apply_trivial_augment(
    augmentations: Sequence[_Augmentation],
    data: DataNode,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Applies one augmentation, drawn from a list, with a random magnitude to each sample.

    Args:
        augmentations: what to draw from.
        data, num_magnitude_bins, seed: as in `trivial_augment_wide`.
        kwargs: arguments of the augmentations; each gets those that it has parameters for.

    Raises:
        Exception: an argument is not in its range, or no augmentation takes it.
    """
    _suites.check_bins(num_magnitude_bins)
    _suites.check_suite(augmentations, "apply_trivial_augment")
    _forbid_unused_kwargs([a.op for a in augmentations], kwargs, "apply_trivial_augment")
    bins: Any = fn.random.uniform(
        values=list(range(num_magnitude_bins)), dtype=types.INT32, seed=seed
    )
    if any(augmentation.randomly_negate for augmentation in augmentations):
        bins = signed_bin(bins, seed=seed)
    index = fn.random.uniform(values=list(range(len(augmentations))), seed=seed, dtype=types.INT32)
    return _suites.apply(
        augmentations,
        index,
        data,
        bins,
        num_magnitude_bins,
        kwargs,
        "apply_trivial_augment",
        "get_trivial_augment_wide_suite",
    )


def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[_Augmentation]:
    """The 14 augmentations of the wide suite.

    Args:
        use_shape: whether translations are fractions of the image, whose `shape` is then an argument, or pixels.
        max_translate_abs, max_translate_rel: as in `trivial_augment_wide`.
    """
    return _suites.suite(
        _suites.WIDE, _get_translations(use_shape, 32, 1.0, max_translate_abs, max_translate_rel)
    )
