# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Frames per second of optical_flow, for moving noise that is uploaded in each iteration."""

from __future__ import annotations

import argparse
import time

import cv2
import numpy as np
from headrace import Pipeline, fn

SIZES = {(1080, 1920): 9, (720, 1280): 17, (240, 320): 33}  # frames per sequence


def moving(frames: int, height: int, width: int) -> np.ndarray:
    noise = np.random.default_rng(height).standard_normal((height + 200, width + 200, 3))
    base = cv2.GaussianBlur(noise, (0, 0), 2.5)
    base = ((base - base.min()) / (base.max() - base.min()) * 255).astype(np.uint8)
    moved = [np.roll(base, (-2 * k, 3 * k), (0, 1)) for k in range(frames)]
    return np.stack([picture[100 : 100 + height, 100 : 100 + width] for picture in moved])


def speed(frames: np.ndarray, batch: int, preset: float, grid: int) -> float:
    pipe = Pipeline(batch, 4, 0)
    with pipe:
        video = fn.external_source(lambda: [frames] * batch, layout="FHWC").gpu()
        pipe.set_outputs(fn.optical_flow(video, preset=preset, output_grid=grid))
    for _ in range(3):
        pipe.run()
    start = time.perf_counter()
    for _ in range(4):
        pipe.run()
    return 4 * batch * (len(frames) - 1) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4)
    args = parser.parse_args()
    for (height, width), count in SIZES.items():
        frames = moving(count, height, width)
        for preset in (0.0, 0.5, 1.0):
            made = [f"grid {g}: {speed(frames, args.batch, preset, g):.0f}/s" for g in (4, 2, 1)]
            print(f"{width} x {height}, preset {preset}: {', '.join(made)}", flush=True)


if __name__ == "__main__":
    main()
