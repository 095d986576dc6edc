# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What augmentations and policies are made of."""

from headrace.auto_aug.core._augmentation import Augmentation as _Augmentation
from headrace.auto_aug.core._augmentation import augmentation, signed_bin
from headrace.auto_aug.core._select import select
from headrace.auto_aug.core.policy import Policy

__all__ = ["Policy", "_Augmentation", "augmentation", "select", "signed_bin"]
