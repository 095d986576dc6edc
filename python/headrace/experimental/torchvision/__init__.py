# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms with the names and arguments of torchvision, as in DALI 2.4.

    from headrace.experimental.torchvision import Compose, RandomHorizontalFlip, Resize

    transform = Compose([Resize(256), RandomHorizontalFlip()])
    image = transform(image)  # a PIL image, or a tensor CHW or NCHW

`Compose` runs them in a pipeline. `v2.functional` has them as functions. docs/torchvision.md
compares this with `headrace.torch.compile`, which also reads and decodes.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
    from PIL import Image as _Image  # noqa: F401
except ImportError as error:
    raise ImportError(
        "headrace.experimental.torchvision needs PyTorch and Pillow: `pip install torch pillow`, "
        "see https://pytorch.org/get-started"
    ) from error

from headrace.experimental.torchvision.v2._enums import InterpolationMode
from headrace.experimental.torchvision.v2.centercrop import CenterCrop
from headrace.experimental.torchvision.v2.color import ColorJitter, Grayscale, RandomGrayscale
from headrace.experimental.torchvision.v2.compose import Compose
from headrace.experimental.torchvision.v2.flips import RandomHorizontalFlip, RandomVerticalFlip
from headrace.experimental.torchvision.v2.gaussian_blur import GaussianBlur
from headrace.experimental.torchvision.v2.normalize import Normalize
from headrace.experimental.torchvision.v2.pad import Pad
from headrace.experimental.torchvision.v2.rand_apply import RandomApply
from headrace.experimental.torchvision.v2.randomcrop import RandomCrop, RandomResizedCrop
from headrace.experimental.torchvision.v2.resize import Resize
from headrace.experimental.torchvision.v2.totensor import PILToTensor, ToPILImage, ToPureTensor

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToPureTensor",
]
