# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Draws a small data set for the notebooks: class folders of JPEG files, the same on every machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw


def landscape(kind: str, number: int) -> Image.Image:
    """A sky, hills, and a house or a tree."""
    rng = np.random.default_rng(number)
    width, height = 320 + 16 * (number % 5), 240 + 12 * (number % 3)
    y = np.linspace(0, 1, height)[:, None, None]
    top, bottom = rng.integers(60, 160, 3), rng.integers(170, 250, 3)
    sky = np.broadcast_to(top + (bottom - top) * y, (height, width, 3))
    picture = Image.fromarray(sky.astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    sun = int(rng.integers(30, width - 60))
    draw.ellipse((sun, 24, sun + 36, 60), fill=(250, 224, 120))
    for layer in range(3):
        x = np.arange(width)
        hills = height * (0.5 + 0.13 * layer) + 14 * np.sin(
            x / (30 + 11 * layer) + rng.uniform(0, 6)
        )
        green = (60 + 12 * layer, 130 - 22 * layer, 70 - 10 * layer)
        draw.polygon(
            [*zip(x.tolist(), hills.tolist(), strict=True), (width, height), (0, height)],
            fill=green,
        )
    x, y0 = int(rng.integers(40, width - 140)), int(height * 0.8)
    if kind == "house":
        wall = tuple(int(v) for v in rng.integers(140, 240, 3))
        draw.rectangle((x, y0 - 70, x + 90, y0), fill=wall)
        draw.polygon([(x - 8, y0 - 70), (x + 98, y0 - 70), (x + 45, y0 - 115)], fill=(120, 50, 45))
        draw.rectangle((x + 36, y0 - 34, x + 56, y0), fill=(70, 45, 35))
        draw.rectangle((x + 10, y0 - 55, x + 28, y0 - 38), fill=(190, 220, 240))
    else:
        draw.rectangle((x + 38, y0 - 50, x + 50, y0), fill=(95, 65, 40))
        for dx, dy in ((0, 60), (26, 72), (14, 95)):
            leaf = (30, int(rng.integers(90, 150)), 50)
            draw.ellipse((x + dx, y0 - dy - 28, x + dx + 60, y0 - dy + 28), fill=leaf)
    return picture


def make_folder(each: int = 24) -> str:
    """A new folder with the class folders `house` and `tree`, of `each` files. Returns its path."""
    root = Path(tempfile.mkdtemp(prefix="headrace-"))
    for kind in ("house", "tree"):
        (root / kind).mkdir()
        for number in range(each):
            path = root / kind / f"{number:03}.jpg"
            landscape(kind, number).save(path, quality=92)
    return str(root)
