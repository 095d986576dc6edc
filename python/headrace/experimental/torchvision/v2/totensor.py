# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms that say what `Compose` returns."""

from __future__ import annotations

from headrace.experimental.torchvision.v2._image_node import ImageNode
from headrace.experimental.torchvision.v2.operator import Operator


class _Marker(Operator):
    def _kernel(self, image: ImageNode) -> ImageNode:
        return image


class ToPureTensor(_Marker):
    """`Compose` returns a tensor CHW, also of a PIL image."""


class PILToTensor(_Marker):
    """`Compose` returns a tensor CHW of a PIL image, with the same numbers."""


class ToPILImage(_Marker):
    """`Compose` returns a PIL image, also of a tensor; of several images a list."""
