#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""GPU time of single operators on 256 UINT8 images of 512 x 512 x 3, according to PyTorch's profiler.

    python bench/bench_gpu_kernels.py [NAME ...]

prints, for every operator whose name contains one of the NAMEs (default: all), microseconds per image of all its kernels,
each of its kernels that takes more than a hundredth of the time, and how many bytes of inputs and outputs that is per second.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from headrace import fn, pipeline_def, types
from headrace.auto_aug import auto_augment, rand_augment, trivial_augment

BATCH, SIDE, ROUNDS = 256, 512, 8
IMAGE = SIDE * SIDE * 3
TURNED = [0.9, -0.43, 60.0, 0.43, 0.9, -50.0]
TILTED = [0.9, 0.2, 10.0, -0.1, 1.1, 20.0, 1e-4, 2e-4, 1.0]
KERNEL = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
# The operator, and bytes of its output.
CASES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "copy": (lambda x: fn.copy(x), IMAGE),
    "cast to FLOAT": (lambda x: fn.cast(x, dtype=types.FLOAT), 4 * IMAGE),
    "cast to FLOAT16": (lambda x: fn.cast(x, dtype=types.FLOAT16), 2 * IMAGE),
    "arithmetic x * 0.25": (lambda x: x * 0.25, 4 * IMAGE),
    "arithmetic x & 240": (lambda x: x & types.Constant(240, dtype=types.UINT8), IMAGE),
    "lookup_table": (
        lambda x: fn.lookup_table(
            x, keys=list(range(256)), values=list(range(255, -1, -1)), dtype=types.UINT8
        ),
        IMAGE,
    ),
    "brightness": (lambda x: fn.brightness(x, brightness=1.3), IMAGE),
    "contrast": (lambda x: fn.contrast(x, contrast=1.3), IMAGE),
    "color_twist": (lambda x: fn.color_twist(x, hue=20.0, saturation=1.3), IMAGE),
    "color_space YCbCr": (
        lambda x: fn.color_space_conversion(x, image_type=types.RGB, output_type=types.YCbCr),
        IMAGE,
    ),
    "color_space grey": (
        lambda x: fn.color_space_conversion(x, image_type=types.RGB, output_type=types.GRAY),
        IMAGE // 3,
    ),
    "flip": (lambda x: fn.flip(x), IMAGE),
    "crop": (lambda x: fn.crop(x, crop=(500, 500)), 500 * 500 * 3),
    "crop_mirror_normalize FLOAT16 CHW": (
        lambda x: fn.crop_mirror_normalize(
            x, dtype=types.FLOAT16, mean=[120.0], std=[60.0], mirror=1
        ),
        2 * IMAGE,
    ),
    "crop_mirror_normalize FLOAT HWC": (
        lambda x: fn.crop_mirror_normalize(x, mean=[120.0], std=[60.0], output_layout="HWC"),
        4 * IMAGE,
    ),
    "transpose CHW": (lambda x: fn.transpose(x, perm=[2, 0, 1]), IMAGE),
    "gaussian_blur 1": (lambda x: fn.gaussian_blur(x, sigma=1.0), IMAGE),
    "gaussian_blur 3": (lambda x: fn.gaussian_blur(x, sigma=3.0), IMAGE),
    "laplacian": (lambda x: fn.laplacian(x, dtype=types.UINT8), IMAGE),
    "filter 3x3": (
        lambda x: fn.filter(x, types.Constant(KERNEL, device="gpu")),
        IMAGE,
    ),
    "equalize": (lambda x: fn.equalize(x), IMAGE),
    "rotate": (lambda x: fn.rotate(x, angle=25.0, keep_size=True, fill_value=0), IMAGE),
    "rotate nearest": (
        lambda x: fn.rotate(x, angle=25.0, keep_size=True, interp_type=types.INTERP_NN),
        IMAGE,
    ),
    "warp_affine": (lambda x: fn.warp_affine(x, matrix=TURNED), IMAGE),
    "warp_perspective": (
        lambda x: fn.experimental.warp_perspective(x, matrix=TILTED, fill_value=0),
        IMAGE,
    ),
    "resize nearest": (
        lambda x: fn.resize(x, size=(SIDE, SIDE), roi_start=[0.1, 0.2], roi_end=[0.8, 0.9],
                            roi_relative=True, interp_type=types.INTERP_NN),
        IMAGE,
    ),  # fmt: skip
    "dilate": (lambda x: fn.experimental.dilate(x), IMAGE),
    "erode 9": (lambda x: fn.experimental.erode(x, mask_size=9), IMAGE),
    "median_blur 3": (lambda x: fn.experimental.median_blur(x, window_size=3), IMAGE),
    "median_blur 5": (lambda x: fn.experimental.median_blur(x, window_size=5), IMAGE),
    "jpeg_compression_distortion": (
        lambda x: fn.jpeg_compression_distortion(x, quality=50),
        IMAGE,
    ),
    "sphere": (lambda x: fn.sphere(x), IMAGE),
    "water": (lambda x: fn.water(x), IMAGE),
    "jitter": (lambda x: fn.jitter(x), IMAGE),
    "erase": (
        lambda x: fn.erase(x, anchor=[100, 100, 300, 50], shape=[80, 200, 90, 90], axis_names="HW"),
        IMAGE,
    ),
    "grid_mask": (lambda x: fn.grid_mask(x, ratio=0.5, tile=40), IMAGE),
    "paste": (lambda x: fn.paste(x, ratio=1.25, fill_value=7), 640 * 640 * 3),
    "multi_paste": (lambda x: fn.multi_paste(x, x, output_size=[SIDE, SIDE]), IMAGE),
    "noise.gaussian": (lambda x: fn.noise.gaussian(x, stddev=10.0), IMAGE),
    "noise.salt_and_pepper": (lambda x: fn.noise.salt_and_pepper(x), IMAGE),
    "noise.shot": (lambda x: fn.noise.shot(x, factor=20.0), IMAGE),
    "trivial_augment_wide": (lambda x: trivial_augment.trivial_augment_wide(x), IMAGE),
    "rand_augment": (lambda x: rand_augment.rand_augment(x, n=2, m=9), IMAGE),
    "auto_augment": (lambda x: auto_augment.auto_augment(x), IMAGE),
}


def kernels_of(pipe: Any) -> dict[str, float]:
    """Microseconds of each kernel in an iteration."""
    for _ in range(3):
        pipe.run()
    found: dict[str, float] = defaultdict(float)
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(ROUNDS):
            pipe.run()
        torch.cuda.synchronize()
    for event in prof.events():
        if event.device_type == DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset")):
            length = event.time_range.end - event.time_range.start
            found[event.name] += length / ROUNDS
    return found


def measure(name: str, images: list[Any]) -> None:
    make, size = CASES[name]

    @pipeline_def(
        batch_size=BATCH, num_threads=4, device_id=0, seed=1, enable_conditionals=True,
        prefetch_queue_depth=2,
    )
    def definition() -> Any:
        x = fn.external_source(lambda: images, layout="HWC", device="gpu")
        return make(x)

    try:
        found = kernels_of(definition())
    except Exception as error:
        print(f"{name:36} {error}".splitlines()[0])
        return
    total = sum(found.values())
    rate = (IMAGE + size) * BATCH / max(total, 1e-9) * 1e-3
    print(f"{name:36} {total / BATCH:8.3f} us {rate:6.0f} GB/s")
    for kernel, time in sorted(found.items(), key=lambda item: -item[1])[:4]:
        if time > 0.01 * total:
            print(f"    {time / BATCH:8.3f} us  {kernel[:90]}")


def main() -> None:
    rng = torch.Generator(device="cuda").manual_seed(1)
    # Smooth images with some noise, so that neighbours are similar but not equal.
    coarse = torch.rand((BATCH, 3, 16, 16), device="cuda", generator=rng)
    smooth = torch.nn.functional.interpolate(coarse, size=(SIDE, SIDE), mode="bicubic") * 255
    noisy = smooth + 8 * torch.randn(smooth.shape, device="cuda", generator=rng)
    images = list(noisy.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous())
    for name in CASES:
        if len(sys.argv) < 2 or any(part in name for part in sys.argv[1:]):
            measure(name, images)


if __name__ == "__main__":
    main()
