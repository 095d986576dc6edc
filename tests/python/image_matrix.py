# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files of every combination of colours, compression and depth that a format has, with their pixels.

`test_image_matrix.py` decodes all of them, and `tools/docs/formats.py` makes the tables of docs/image-formats.md from them.
The pixels are computed from the samples that were written, or are those of Pillow where the compression is lossy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A file and its pixels from 0 to 1 (height, width, channels), or what the error has to name."""

    colours: str
    compression: str
    depth: str
    data: bytes
    pixels: np.ndarray | None
    error: str = ""
    slack: float = 1.2e-5  # half a level of 16 bits
    detail: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, [self.colours, self.compression, self.depth, self.detail]))


FORMATS: dict[str, Callable[[], Iterator[Case]]] = {}


def format_of(name: str) -> Callable[[Callable[[], Iterator[Case]]], Callable[[], Iterator[Case]]]:
    """Enters a generator of cases under the name of its format."""

    def enter(cases: Callable[[], Iterator[Case]]) -> Callable[[], Iterator[Case]]:
        FORMATS[name] = cases
        return cases

    return enter


def levels(depth: str, shape: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random samples of a depth ("12", "signed 8", "float 16"), and the same from 0 to 1."""
    rng = np.random.default_rng(seed)
    kind, bits = (depth.split() if " " in depth else ("unsigned", depth))[:2]
    size = max(1, (int(bits) + 7) // 8)
    if kind == "float":
        values = rng.random(shape).astype(f"f{size}")
        return values, values.astype(float)
    top = 2 ** (int(bits) - (kind == "signed")) - 1
    low = -top - 1 if kind == "signed" else 0
    kind_of = "i" if kind == "signed" else "u"
    values = rng.integers(low, top, shape, endpoint=True).astype(f"{kind_of}{size}")
    return values, values.astype(float) / top


def rgb_of_ycc(ycc: np.ndarray) -> np.ndarray:
    """RGB from 0 to 1, of YCbCr from 0 to 1 with 128 / 255 in the middle."""
    y, cb, cr = ycc[..., 0], ycc[..., 1] - 128 / 255, ycc[..., 2] - 128 / 255
    rgb = [y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb]
    return np.clip(np.stack(rgb, -1), 0, 1)


def rgb_of_cmyk(cmyk: np.ndarray) -> np.ndarray:
    return (1 - cmyk[..., :3]) * (1 - cmyk[..., 3:4])
