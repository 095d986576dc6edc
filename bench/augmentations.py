# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What bench/compare.py adds to the training pipeline: augmentations, for the API of DALI and for torchvision, and the
pipeline of an SSD detector.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any


class Api:
    """`fn`, `types` and other submodules of headrace or nvidia.dali."""

    def __init__(self, module: str) -> None:
        self.module, self.package = module, importlib.import_module(module)

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(f"{self.module}.{name}")

    def uniform(self, low: float, high: float) -> Any:
        return self.fn.random.uniform(range=[low, high])


@dataclasses.dataclass
class Augmentation:
    """The same augmentation of pictures for both APIs. `torchvision` gets transforms.v2 and returns transforms."""

    dali: Callable[[Api, Any], Any]
    torchvision: Callable[[Any], list[Any]]


def twist(m: Api, images: Any, hue: float = 20, brightness: float = 0.4, others: float = 0.4) -> Any:
    return m.fn.color_twist(
        images,
        hue=m.uniform(-hue, hue),
        saturation=m.uniform(1 - others, 1 + others),
        brightness=m.uniform(1 - brightness, 1 + brightness),
        contrast=m.uniform(1 - others, 1 + others),
    )


def twist_and_blur(m: Api, images: Any) -> Any:
    return m.fn.gaussian_blur(twist(m, images), sigma=m.uniform(0.1, 2.0))


def jitter(t: Any) -> list[Any]:
    return [t.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=20 / 360)]


AUGMENTATIONS = {
    "color_twist": Augmentation(twist, jitter),
    # The window that gaussian_blur has for the largest sigma.
    "color_twist+blur": Augmentation(
        twist_and_blur, lambda t: [*jitter(t), t.GaussianBlur(13, (0.1, 2.0))]
    ),
    "TrivialAugmentWide": Augmentation(
        lambda m, x: getattr(m, "auto_aug.trivial_augment").trivial_augment_wide(x),
        lambda t: [t.TrivialAugmentWide()],
    ),
    "RandAugment": Augmentation(
        lambda m, x: getattr(m, "auto_aug.rand_augment").rand_augment(x, 2, 9),
        lambda t: [t.RandAugment(2, 9)],
    ),
    "AutoAugment": Augmentation(
        lambda m, x: getattr(m, "auto_aug.auto_augment").auto_augment(x),
        lambda t: [t.AutoAugment()],
    ),
}


def ssd_anchors() -> list[float]:
    """The 8732 anchors of SSD300: left, top, right, bottom."""
    numbers: list[float] = []
    sizes = [21, 45, 99, 153, 207, 261, 315]
    for cells, small, large in zip([38, 19, 10, 5, 3, 1], sizes, sizes[1:]):
        sides = [(small, small), ((small * large) ** 0.5,) * 2]
        for ratio in [2, 3] if 5 <= cells <= 19 else [2]:
            sides += [(small * ratio**0.5, small / ratio**0.5), (small / ratio**0.5, small * ratio**0.5)]
        for i in range(cells * cells):
            x, y = (i % cells + 0.5) / cells, (i // cells + 0.5) / cells
            for width, height in sides:
                w, h = width / 600, height / 600
                numbers += [x - w, y - h, x + w, y + h]
    return numbers


def ssd(m: Api, folder: str, normalized: Callable[..., Any]) -> tuple[Any, ...]:
    """The training pipeline of an SSD detector: pictures of 300 x 300, offsets and classes of the anchors."""
    files, boxes, labels = m.fn.readers.coco(
        file_root=folder, annotations_file=f"{folder}/instances.json", ltrb=True, ratio=True,
        random_shuffle=True, pad_last_batch=True, name="Reader",
    )  # fmt: skip
    start, size, boxes, labels = m.fn.random_bbox_crop(
        boxes, labels, bbox_layout="xyXY", thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9],
        aspect_ratio=[0.5, 2.0], scaling=[0.3, 1.0], allow_no_crop=True, num_attempts=50,
    )  # fmt: skip
    images = m.fn.decoders.image_slice(files, start, size)
    images = m.fn.resize(images, size=[300, 300], interp_type=m.types.INTERP_TRIANGULAR)
    mirror = m.fn.random.coin_flip()
    images = normalized(twist(m, images, 18, 0.125, 0.5), mirror=mirror)
    boxes = m.fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
    boxes, labels = m.fn.box_encoder(
        boxes, labels, anchors=ssd_anchors(), offset=True, stds=[0.1, 0.1, 0.2, 0.2]
    )
    return images, boxes, labels
