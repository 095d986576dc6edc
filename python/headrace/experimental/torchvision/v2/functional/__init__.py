# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The transforms as functions. Each runs a pipeline, which later calls with these arguments use again.

They take a PIL image, or a tensor with the dimensions CHW, perhaps after others, and return the
same kind.
"""

from __future__ import annotations

from headrace.experimental.torchvision.v2.functional.color import (
    gaussian_blur,
    normalize,
    rgb_to_grayscale,
    to_grayscale,
)
from headrace.experimental.torchvision.v2.functional.conversion import (
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from headrace.experimental.torchvision.v2.functional.geometry import (
    center_crop,
    crop,
    horizontal_flip,
    pad,
    resize,
    resized_crop,
    vertical_flip,
)
from headrace.experimental.torchvision.v2.functional.image_metadata import (
    get_dimensions,
    get_image_size,
    get_size,
)

__all__ = [
    "center_crop",
    "crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_size",
    "get_size",
    "horizontal_flip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vertical_flip",
]
