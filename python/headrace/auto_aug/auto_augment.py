# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""AutoAugment (https://arxiv.org/abs/1805.09501): a random sequence of augmentations from a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import fn, types
from headrace.auto_aug import _suites
from headrace.auto_aug import augmentations as a
from headrace.auto_aug.core._utils import get_translations as _get_translations
from headrace.auto_aug.core import Policy, _Augmentation, signed_bin
from headrace.auto_aug.core._args import forbid_unused_kwargs as _forbid_unused_kwargs
from headrace.data_node import DataNode

# The policies of the paper and its code, with magnitudes in 11 bins. A line is a sub-policy; its steps are the name of
# the augmentation, the probability and the magnitude bin.
_IMAGE_NET = """
equalize 0.8; shear_y 0.8 4
color 0.4 9; equalize 0.6
color 0.4 1; rotate 0.6 8
solarize 0.8 3; equalize 0.4
solarize 0.4 2; solarize 0.6 2
color 0.2 0; equalize 0.8
equalize 0.4; solarize_add 0.8 3
shear_x 0.2 9; rotate 0.6 8
color 0.6 1; equalize 1
invert 0.4; rotate 0.6 0
equalize 1; shear_y 0.6 3
color 0.4 7; equalize 0.6
posterize 0.4 6; auto_contrast 0.4
solarize 0.6 8; color 0.6 9
solarize 0.2 4; rotate 0.8 9
rotate 1 7; translate_y 0.8 9
solarize 0.8 4
shear_y 0.8 0; color 0.6 4
color 1 0; rotate 0.6 2
equalize 0.8
equalize 1; auto_contrast 0.6
shear_y 0.4 7; solarize_add 0.6 7
posterize 0.8 2; solarize 0.6 10
solarize 0.6 8; equalize 0.6
color 0.8 6; rotate 0.4 5
"""
_REDUCED_IMAGE_NET = """
posterize 0.4 8; rotate 0.6 9
solarize 0.6 5; auto_contrast 0.6
equalize 0.8; equalize 0.6
posterize 0.6 7; posterize 0.6 6
equalize 0.4; solarize 0.2 4
equalize 0.4; rotate 0.8 8
solarize 0.6 3; equalize 0.6
posterize 0.8 5; equalize 1
rotate 0.2 3; solarize 0.6 8
equalize 0.6; posterize 0.4 6
rotate 0.8 8; color 0.4 0
rotate 0.4 9; equalize 0.6
equalize 0.8
invert 0.6; equalize 1
color 0.6 4; contrast 1 8
rotate 0.8 8; color 1 2
color 0.8 8; solarize 0.8 7
sharpness 0.4 7; invert 0.6
shear_x 0.6 5; equalize 1
color 0.4 0; equalize 0.6
equalize 0.4; solarize 0.2 4
solarize 0.6 5; auto_contrast 0.6
invert 0.6; equalize 1
color 0.6 4; contrast 1 8
equalize 0.8; equalize 0.6
"""
_SVHN = """
shear_x 0.9 4; invert 0.2
shear_y 0.9 8; invert 0.7
equalize 0.6; solarize 0.6 6
invert 0.9; equalize 0.6
equalize 0.6; rotate 0.9 3
shear_x 0.9 4; auto_contrast 0.8
shear_y 0.9 8; invert 0.4
shear_y 0.9 5; solarize 0.2 6
invert 0.9; auto_contrast 0.8
equalize 0.6; rotate 0.9 3
shear_x 0.9 4; solarize 0.3 3
shear_y 0.8 8; invert 0.7
equalize 0.9; translate_y 0.6 6
invert 0.9; equalize 0.6
contrast 0.3 3; rotate 0.8 4
invert 0.8
shear_y 0.7 6; solarize 0.4 8
invert 0.6; rotate 0.8 4
shear_y 0.3 7; translate_x 0.9 3
shear_x 0.1 6; invert 0.6
solarize 0.7 2; translate_y 0.6 7
shear_y 0.8 4; invert 0.8
shear_x 0.7 9; translate_y 0.8 3
shear_y 0.8 5; auto_contrast 0.7
shear_x 0.7 2; invert 0.1
"""
_REDUCED_CIFAR10 = """
invert 0.1; contrast 0.2 6
rotate 0.7 2; translate_x 0.3 9
sharpness 0.8 1; sharpness 0.9 3
shear_y 0.5 8; translate_y 0.7 9
auto_contrast 0.5; equalize 0.9
shear_y 0.2 7; posterize 0.3 7
color 0.4 3; brightness 0.6 7
sharpness 0.3 9; brightness 0.7 9
equalize 0.6; equalize 0.5
contrast 0.6 7; sharpness 0.6 5
color 0.7 7; translate_x 0.5 8
equalize 0.3; auto_contrast 0.4
translate_y 0.4 3; sharpness 0.2 6
brightness 0.9 6; color 0.2 8
solarize 0.5 2
equalize 0.2; auto_contrast 0.6
equalize 0.2; equalize 0.6
color 0.9 9; equalize 0.6
auto_contrast 0.8; solarize 0.2 8
brightness 0.1 3; color 0.7 0
solarize 0.4 5; auto_contrast 0.9
translate_y 0.9 9; translate_y 0.7 9
auto_contrast 0.9; solarize 0.8 3
equalize 0.8; invert 0.1
translate_y 0.7 9; auto_contrast 0.9
"""
_BINS = 11
# Settings (mag_range, randomly_negate, mag_to_param) of all policies.
_SETTINGS: dict[str, tuple[Any, ...]] = {
    "shear_x": ((0, 0.3), True),
    "shear_y": ((0, 0.3), True),
    "rotate": ((0, 30), True),
    "brightness": ((0.1, 1.9), False, None),
    "contrast": ((0.1, 1.9), False, None),
    "color": ((0.1, 1.9), False, None),
    "sharpness": ((0.1, 1.9), False, a.sharpness_kernel_shifted),
    "posterize": ((0, 4), False, a.poster_mask_uint8),
    "solarize": ((0, 256), False),
    "solarize_add": ((0, 110), False),
}


def _policy(name: str, table: str, *translation: Any) -> Policy:
    """The policy of a table. `translation`: the arguments of `get_translations` except the defaults."""
    known = {aug.name: aug for aug in (a.invert, a.equalize, a.auto_contrast)}
    known |= {key: getattr(a, key).augmentation(*row) for key, row in _SETTINGS.items()}
    use_shape, max_abs, max_rel = translation or (False, None, None)
    shifts = _get_translations(use_shape, 250, 1.0, max_abs, max_rel)
    known |= {aug.name: aug for aug in shifts}
    rows = []
    for line in table.strip().splitlines():
        steps = [step.split() for step in line.split(";")]
        rows.append([(known[s[0]], float(s[1]), int(s[2]) if s[2:] else None) for s in steps])
    return Policy(name, _BINS, rows)


def auto_augment(
    data: DataNode,
    policy_name: str = "image_net",
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
) -> DataNode:
    """Applies one of the policies of the AutoAugment paper.

    Args:
        data: UINT8 images (HWC) or videos (FHWC).
        policy_name: "image_net", "reduced_image_net", "svhn" or "reduced_cifar10".
        shape: height and width of the image. With it, translations are fractions of the image, otherwise pixels.
        fill_value: value of pixels from outside the image. With None, the pixels of the border are repeated.
        interp_type: interpolation of shear, translation and rotation: INTERP_LINEAR (default) or INTERP_NN.
        max_translate_abs: without `shape`, the largest translation in pixels: a number (250), or height and width.
        max_translate_rel: with `shape`, the largest translation as a fraction of the image (1).
        seed: seed of the random choices.

    Raises:
        Exception: an argument is not in its range, or the policy has no use for it.
    """
    policies = {
        "image_net": get_image_net_policy,
        "reduced_image_net": get_reduced_image_net_policy,
        "svhn": get_svhn_policy,
        "reduced_cifar10": get_reduced_cifar10_policy,
    }
    if not isinstance(policy_name, str) or policy_name not in policies:
        names = ", ".join(f"`{name}`" for name in policies)
        raise Exception(
            f"The `policy_name` must be a string that takes one of the values: {names}; got {policy_name!r}."
        )
    kwargs = _suites.arguments(fill_value, interp_type, shape)
    if policy_name == "reduced_image_net":
        given = {
            "shape": shape,
            "max_translate_abs": max_translate_abs,
            "max_translate_rel": max_translate_rel,
        }
        for name, value in given.items():
            if value is not None:
                raise Exception(
                    f"The policy `{policy_name}` does not contain any augmentations that rely on the image shape. "
                    f"The `{name}` argument must not be specified in that case."
                )
        return apply_auto_augment(get_reduced_image_net_policy(), data, seed, **kwargs)
    policy: Any = policies[policy_name]
    return apply_auto_augment(
        policy(shape is not None, max_translate_abs, max_translate_rel), data, seed, **kwargs
    )


def auto_augment_image_net(
    data: DataNode,
    shape: Any = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
) -> DataNode:
    """`auto_augment` with the policy "image_net"."""
    return auto_augment(
        data,
        "image_net",
        shape,
        fill_value,
        interp_type,
        max_translate_abs,
        max_translate_rel,
        seed,
    )


def apply_auto_augment(
    policy: Policy, data: DataNode, seed: int | None = None, **kwargs: Any
) -> DataNode:
    """Draws a sub-policy for each sample and applies its steps, each with its probability.

    Args:
        policy: the sub-policies.
        data: the samples.
        seed: seed of the random choices.
        kwargs: arguments of the augmentations; each gets those that it has parameters for.

    Raises:
        Exception: the policy is empty, or no augmentation takes an argument.
    """
    if not policy.sub_policies:
        raise Exception(f"Cannot run empty policy. Got {policy} in `apply_auto_augment` call.")
    _forbid_unused_kwargs(
        [a.op for a in policy.augmentations.values()], kwargs, "apply_auto_augment"
    )
    numbers, augmentations = _sub_policy_to_augmentation_matrix_map(policy)
    steps = len(augmentations)
    draws = fn.random.uniform(range=[0, 1], shape=(steps,), dtype=types.FLOAT, seed=seed)
    chosen = fn.random.uniform(
        values=list(range(len(policy.sub_policies))), seed=seed, dtype=types.INT32
    )
    probabilities = types.Constant(_by_step(policy, 1, 0.0, np.float32))[chosen]
    bins: Any = types.Constant(_by_step(policy, 2, 0, np.int32))[chosen]
    indices = types.Constant(numbers)[chosen]
    if any(augmentation.randomly_negate for augmentation in policy.augmentations.values()):
        bins = signed_bin(bins, seed=seed, shape=(steps,))
    for step in range(steps):
        if draws[step] < probabilities[step]:
            data = _suites.apply(
                augmentations[step],
                indices[step],
                data,
                bins[step],
                policy.num_magnitude_bins,
                kwargs,
                "apply_auto_augment",
                "get_image_net_policy",
            )
    return data


def get_image_net_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy for ImageNet.

    Args:
        use_shape: whether translations are fractions of the image, whose `shape` is then an argument, or pixels.
        max_translate_abs, max_translate_rel: as in `auto_augment`.
    """
    return _policy("ImageNetPolicy", _IMAGE_NET, use_shape, max_translate_abs, max_translate_rel)


def get_reduced_cifar10_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy for the reduced CIFAR-10; arguments as in `get_image_net_policy`."""
    return _policy(
        "ReducedCifar10Policy", _REDUCED_CIFAR10, use_shape, max_translate_abs, max_translate_rel
    )


def get_svhn_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy for SVHN; arguments as in `get_image_net_policy`."""
    return _policy("SvhnPolicy", _SVHN, use_shape, max_translate_abs, max_translate_rel)


def get_reduced_image_net_policy() -> Policy:
    """The policy for the reduced ImageNet, which has no translations."""
    return _policy("ReducedImageNetPolicy", _REDUCED_IMAGE_NET)


def _by_step(policy: Policy, part: int, absent: float, dtype: Any) -> npt.NDArray[Any]:
    """One part of the steps of a policy as a matrix: a row per sub-policy, a column per step."""
    longest = max(len(sub_policy) for sub_policy in policy.sub_policies)
    out = np.full((len(policy.sub_policies), longest), absent, dtype)
    for row, sub_policy in zip(out, policy.sub_policies, strict=True):
        row[: len(sub_policy)] = [absent if s[part] is None else s[part] for s in sub_policy]
    return out


def _sub_policy_to_augmentation_matrix_map(
    policy: Policy,
) -> tuple[npt.NDArray[Any], list[list[_Augmentation]]]:
    """Which augmentations a policy chooses from in each step.

    Returns:
        A matrix and lists of augmentations: step j of sub-policy i is `lists[j][matrix[i, j]]`. A sub-policy that is
        shorter than others ends with `identity`.
    """
    longest = max(len(sub_policy) for sub_policy in policy.sub_policies)
    numbers = np.zeros((len(policy.sub_policies), longest), np.int32)
    lists = []
    for step in range(longest):
        column = [row[step][0] if step < len(row) else a.identity for row in policy.sub_policies]
        used = list(dict.fromkeys(column))
        numbers[:, step] = [used.index(augmentation) for augmentation in column]
        lists.append(used)
    return numbers, lists
