# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines in the shape that PyTorch users know: a loader of ``(images, labels)``."""

from headrace.torch.loader import Loader

__all__ = ["Loader"]
