# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images and volumes without channels, which DALI refuses, are those with one channel. Names of borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import Data, Engine, Failure, Output

RNG = np.random.default_rng(1)
SHIFT = [1.0, 0.1, 0.0, 0.0, 1.0, 2.0]
SHIFT_3D = [1.0, 0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0]
CALLS: dict[str, dict[str, dict[str, Any]]] = {
    "HW": {
        "crop": {"crop_h": 8, "crop_w": 9},
        "fast_resize_crop_mirror": {"resize_x": 20, "resize_y": 20, "crop": [8, 9]},
        "flip": {"vertical": 1},
        "random_resized_crop": {"size": [8, 9], "seed": 4},
        "resize": {"resize_x": 10, "resize_y": 12},
        "resize_crop_mirror": {"resize_x": 20, "resize_y": 20, "crop": [8, 9], "mirror": 1},
        "rotate": {"angle": 10.0, "fill_value": 7},
        "warp_affine": {"matrix": SHIFT, "fill_value": 3},
    },
    "DHW": {
        "crop": {"crop_d": 2, "crop_h": 8, "crop_w": 9},
        "flip": {"depthwise": 1},
        "resize": {"resize_x": 10, "resize_y": 12, "resize_z": 7},
        "resize_crop_mirror": {"resize_x": 20, "resize_y": 20, "resize_z": 6, "crop": [3, 8, 9]},
        "rotate": {"angle": 10.0, "axis": [1, 0, 1], "fill_value": 7},
        "warp_affine": {"matrix": SHIFT_3D, "fill_value": 3},
    },
}
NAMES = {
    "constant": ["pad", "fill", "const"],
    "clamp": ["edge"],
    "reflect_1001": ["reflect", "reflect1001", "1001"],
    "reflect_101": ["reflect101", "101"],
    "wrap": [],
}


def samples(result: list[Output] | Failure) -> list[Output]:
    assert not isinstance(result, Failure), result
    return result


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
@pytest.mark.parametrize("layout, op", [(k, op) for k, calls in CALLS.items() for op in calls])
def test_no_channels(layout: str, op: str, dtype: Any, headrace: Engine) -> None:
    shapes = [(5, 20, 24)[-len(layout) :], (6, 21, 23)[-len(layout) :]]
    images = [RNG.integers(0, 255, shape).astype(dtype) for shape in shapes]
    plain, thick = Data(images, layout), Data([i[..., None] for i in images], layout + "C")

    def define(engine: Engine) -> Any:
        function = engine.operator(op)
        given = [plain, thick, *([Data(images)] if layout == "HW" else [])]
        return tuple(function(engine.feed(data), **CALLS[layout][op]) for data in given)

    found, wanted, *unnamed = samples(headrace.run(2, define))
    assert found.layout == layout and found.dtype == wanted.dtype
    for one, other, image in zip(found.samples, wanted.samples, images, strict=True):
        np.testing.assert_array_equal(one, other[..., 0])
        assert one.shape != image.shape or not np.array_equal(one, image)
    for output in unnamed:
        assert all(map(np.array_equal, output.samples, found.samples))


@pytest.mark.parametrize("op", ["slice", "crop", "filter"])
def test_names_of_borders(op: str, headrace: Engine) -> None:
    image = Data([RNG.random((6, 7, 2), np.float32)], "HWC")
    window: dict[str, Any] = {"start": [-3, -3], "end": [11, 12], "axes": [0, 1]}
    args = {"slice": window, "crop": {"crop": [11, 12]}, "filter": {}}[op]
    key = "border" if op == "filter" else "out_of_bounds_policy"
    kernel = [Data([np.ones((3, 5), np.float32)])] if op == "filter" else []

    def define(engine: Engine) -> Any:
        def call(name: str) -> Any:
            inputs = [engine.feed(data) for data in [image, *kernel]]
            return engine.operator(op)(*inputs, **{key: name}, **args)

        return tuple(call(name) for first, others in NAMES.items() for name in [first, *others])

    outputs = iter(samples(headrace.run(1, define)))
    different = []
    for others in NAMES.values():
        different.append(next(outputs).samples[0])
        for _ in others:
            np.testing.assert_array_equal(next(outputs).samples[0], different[-1])
    assert len({array.tobytes() for array in different}) == len(NAMES)
