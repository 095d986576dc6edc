# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A small data set for tests: class folders of JPEG files of different sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("alder", "birch", "cedar")


def make_folders(root: Path, per_class: int = 7) -> Path:
    """Writes smooth random pictures into `root`; returns it."""
    rng = np.random.default_rng(5)
    for name in CLASSES:
        (root / name).mkdir(parents=True)
        for i in range(per_class):
            small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
            size = (int(rng.integers(80, 200)), int(rng.integers(80, 200)))
            small.resize(size, Image.Resampling.BICUBIC).save(
                root / name / f"{i:02}.jpg", quality=90
            )
    return root
