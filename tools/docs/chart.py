# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pictures and small data sets of the documentation, made by NumPy: the same on every machine."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 160, 240


def _disc(y: int, x: int, radius: int) -> np.ndarray:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return (rows - y) ** 2 + (columns - x) ** 2 <= radius**2


def chart() -> np.ndarray:
    """A test chart, RGB: a sky and a ground that change slowly, shapes, colour patches and fine lines."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    picture = np.empty((HEIGHT, WIDTH, 3), np.float64)
    picture[..., 0] = 90 + 60 * rows / HEIGHT + 20 * columns / WIDTH
    picture[..., 1] = 140 + 40 * rows / HEIGHT
    picture[..., 2] = 215 - 60 * columns / WIDTH
    ground = rows > 104 + 6 * np.sin(columns / 20)
    picture[ground] = [96, 138, 74]
    picture[_disc(38, 190, 22)] = [250, 214, 80]
    house = (rows >= 66) & (rows < 118) & (columns >= 40) & (columns < 110)
    picture[house] = [188, 84, 66]
    roof = (rows >= 40) & (rows < 66) & (abs(columns - 75) <= (rows - 36) * 1.5)
    picture[roof] = [92, 56, 60]
    door = (rows >= 88) & (rows < 118) & (columns >= 66) & (columns < 84)
    picture[door] = [60, 44, 40]
    picture[_disc(100, 160, 18)] = [48, 110, 60]
    stem = (rows >= 116) & (rows < 132) & (abs(columns - 160) <= 3)
    picture[stem] = [90, 64, 44]
    patches = [
        (220, 40, 40),
        (40, 180, 60),
        (40, 70, 210),
        (230, 220, 60),
        (0, 0, 0),
        (255, 255, 255),
    ]
    for i, colour in enumerate(patches):
        picture[138:154, 8 + 20 * i : 26 + 20 * i] = colour
    lines = (rows >= 138) & (rows < 154) & (columns >= 140) & (columns < 232)
    picture[lines] = np.where((columns[lines] // (1 + (columns[lines] - 140) // 24)) % 2, 235, 25)[
        :, None
    ]
    return picture.round().clip(0, 255).astype(np.uint8)


def mask() -> np.ndarray:
    """Labels of the chart's shapes: 1 the house, 2 the tree, 3 the sun."""
    labels = np.zeros((HEIGHT, WIDTH, 1), np.int32)
    labels[40:118, 40:110] = 1
    labels[_disc(100, 160, 18)] = 2
    labels[_disc(38, 190, 22)] = 3
    return labels


def boxes() -> np.ndarray:
    """The boxes of these shapes: left, top, right, bottom, relative to the picture."""
    corners = np.array([[40, 40, 110, 118], [142, 82, 178, 118], [168, 16, 212, 60]], np.float32)
    return corners / np.array([WIDTH, HEIGHT, WIDTH, HEIGHT], np.float32)


def jpeg(picture: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "JPEG", quality=92)
    return out.getvalue()


def variation(number: int) -> np.ndarray:
    """The chart, moved and cut to another size by a number."""
    height, width = 100 + 7 * (number % 9), 140 + 11 * (number % 8)
    return np.ascontiguousarray(np.roll(chart(), 17 * number, axis=1)[:height, :width])


def make_folders(root: Path, classes: tuple[str, ...] = ("house", "tree"), each: int = 40) -> None:
    """Class folders of JPEG files."""
    number = 0
    for name in classes:
        (root / name).mkdir(parents=True)
        for _ in range(each):
            (root / name / f"{number:04}.jpg").write_bytes(jpeg(variation(number)))
            number += 1
