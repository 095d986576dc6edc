# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Policies of AutoAugment."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

from headrace.auto_aug.core._augmentation import Augmentation

Step: TypeAlias = tuple[Augmentation, float, int | None]


class Policy:
    """Sequences of augmentations, as in AutoAugment (https://arxiv.org/abs/1805.09501).

    Args:
        name: the name of the policy in messages.
        num_magnitude_bins: number of bins into which the range of magnitudes is divided.
        sub_policies: one of them is drawn per sample. It is a sequence of steps `(augmentation, probability,
            magnitude bin)`; the bin of an augmentation without magnitudes is None.

    Raises:
        Exception: an argument is not of this form.
    """

    def __init__(
        self, name: str, num_magnitude_bins: int, sub_policies: Sequence[Sequence[Step]]
    ) -> None:
        if not isinstance(num_magnitude_bins, int) or num_magnitude_bins < 1:
            raise Exception(
                f"The `num_magnitude_bins` must be a positive integer, got {num_magnitude_bins}."
            )
        if not isinstance(sub_policies, list | tuple):
            raise Exception(
                f"The `sub_policies` must be a list or tuple of sub policies, got {type(sub_policies)}."
            )
        self.name = name
        self.num_magnitude_bins = num_magnitude_bins
        for sub_policy in sub_policies:
            if not isinstance(sub_policy, list | tuple):
                raise Exception(f"Each sub policy must be a list or tuple, got {sub_policy}.")
            for step in sub_policy:
                self._check(step)
        self.sub_policies = _with_unique_names(sub_policies)

    def _check(self, step: Any) -> None:
        """Raises what is wrong with a step."""
        if not isinstance(step, list | tuple) or len(step) != 3:
            raise Exception(
                "Each step of a sub policy must be given as a triple: (augmentation, probability, magnitude). "
                f"Got {step}."
            )
        augmentation, probability, bin_ = step
        if not isinstance(augmentation, Augmentation):
            raise Exception(
                f"What a sub policy applies must be an instance of Augmentation. Got `{augmentation}`. Functions "
                "become one with the decorator `@augmentation`."
            )
        of = f"of the augmentation `{augmentation.name}` in the policy `{self.name}`"
        if not isinstance(probability, float | int) or not 0 <= probability <= 1:
            raise Exception(
                f"Probability {of} must be a number from `[0, 1]` range. Got `{probability}`."
            )
        if probability == 0:
            warnings.warn(
                f"The augmentation `{augmentation.name}` in the policy `{self.name}` has the probability 0 in one "
                "of the sub-policies.",
                stacklevel=3,
            )
        if bin_ is None:
            if augmentation.mag_range is not None:
                raise Exception(f"The bin {of} is None, but the magnitude bin is required.")
            return
        if augmentation.mag_range is None:
            warnings.warn(
                f"The magnitude bin `{bin_}` {of} is ignored. The augmentation does not accept magnitudes; None "
                "instead of the bin silences this warning.",
                stacklevel=3,
            )
        if not isinstance(bin_, int) or not 0 <= bin_ < self.num_magnitude_bins:
            raise Exception(
                f"Magnitude {of} must be an integer from `[0, {self.num_magnitude_bins - 1}]` range. Got `{bin_}`."
            )

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """The augmentations by name, in alphabetical order."""
        found = {step[0].name: step[0] for sub_policy in self.sub_policies for step in sub_policy}
        return dict(sorted(found.items()))

    def __repr__(self) -> str:
        steps = [
            [(a.name, p, bin_) for a, p, bin_ in sub_policy] for sub_policy in self.sub_policies
        ]
        rows = ",".join(f"\n\t{row}" for row in steps)
        used = ",".join(f"\n\t{name!r}: {a!r}" for name, a in self.augmentations.items())
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins}, sub_policies=[{rows}], "
            f"augmentations={{{used}}})"
        )


def _with_unique_names(sub_policies: Sequence[Sequence[Step]]) -> tuple[tuple[Step, ...], ...]:
    """The sub-policies. If different augmentations have the same name, all names get a number."""
    steps = [step for sub_policy in sub_policies for step in sub_policy]
    distinct = list(dict.fromkeys(step[0] for step in steps))
    if len({augmentation.name for augmentation in distinct}) == len(distinct):
        return tuple(tuple(sub_policy) for sub_policy in sub_policies)
    digits = len(str(len(distinct) - 1))
    renamed = {a: a.augmentation(name=f"{i:0{digits}}__{a.name}") for i, a in enumerate(distinct)}
    return tuple(tuple((renamed[a], p, bin_) for a, p, bin_ in row) for row in sub_policies)
