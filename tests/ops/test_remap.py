# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""experimental.remap, which DALI has only for the GPU, against NumPy and OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import Case, Data, Engine, Failure, pictures

SHAPES = [(31, 43, 3), (20, 25, 1)]


def positions(shapes: list[tuple[int, ...]], layout: str = "HW", seed: int = 2) -> list[Data]:
    """Maps of x and y, of which some positions are outside."""
    rng = np.random.default_rng(seed)
    return [
        Data([rng.uniform(-4, 50, shape).astype(np.float32) for shape in shapes], layout)
        for _ in "xy"
    ]


def results(engine: Engine, inputs: list[Data], **args: Any) -> list[np.ndarray]:
    result = engine.result(Case("experimental.remap", inputs, args))
    assert not isinstance(result, Failure), result
    return result[0].samples


def pixel(picture: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The pixels at integer positions; 0 outside."""
    height, width = picture.shape[:2]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    taken = picture[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)].astype(np.float64)
    return taken * inside[..., None]


def weights(part: np.ndarray, taps: int) -> list[np.ndarray]:
    """Of the pixels around a position, from the definitions of the kernels."""
    distance = [np.abs(part - (k - (taps // 2 - 1))) for k in range(taps)]
    if taps == 2:
        return [1 - d for d in distance]
    a = -0.75
    near = [(a + 2) * d**3 - (a + 3) * d**2 + 1 for d in distance]
    far = [a * (d**3 - 5 * d**2 + 8 * d - 4) for d in distance]
    return [np.where(d <= 1, n, f) for d, n, f in zip(distance, near, far)]


def expected(picture: np.ndarray, x: np.ndarray, y: np.ndarray, taps: int) -> np.ndarray:
    """In double precision. Positions count from the centre of the first pixel."""
    if taps == 1:
        return pixel(picture, np.floor(y + 0.5).astype(int), np.floor(x + 0.5).astype(int))
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    across, down = weights(x - left, taps), weights(y - top, taps)
    total = np.zeros((*x.shape, picture.shape[2]))
    for i in range(taps):
        for k in range(taps):
            there = pixel(picture, top + i - (taps // 2 - 1), left + k - (taps // 2 - 1))
            total += (across[k] * down[i])[..., None] * there
    return total


@pytest.mark.parametrize("origin", ["corner", "center"])
@pytest.mark.parametrize("interp,taps", [("NN", 1), ("LINEAR", 2), ("CUBIC", 4)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_values(headrace: Engine, dtype: str, interp: str, taps: int, origin: str) -> None:
    data = pictures(SHAPES, dtype)
    maps = positions([(37, 29), (5, 60)])
    args = {"interp": "types.INTERP_" + interp, "pixel_origin": origin}
    shift = 0.5 if origin == "corner" else 0.0
    for i, found in enumerate(results(headrace, [data, *maps], **args)):
        x, y = (m.samples[i].astype(np.float64) - shift for m in maps)
        wanted = expected(data.samples[i], x, y, taps)
        assert found.dtype == dtype and found.shape == wanted.shape
        if dtype != "float32":
            info = np.iinfo(dtype)
            wanted = np.clip(wanted, info.min, info.max)
        extent = float(data.samples[i].max()) - float(data.samples[i].min())
        near = 0.0 if taps == 1 else 1e-4 * extent + (0.5 if dtype != "float32" else 0.0)
        assert np.abs(found - wanted).max() <= near


@pytest.mark.parametrize("interp", ["LINEAR", "CUBIC"])
def test_opencv(headrace: Engine, interp: str) -> None:
    """A smooth picture: OpenCV may round positions to 1/32 pixel."""
    cv2 = pytest.importorskip("cv2")
    y, x = np.mgrid[0:60, 0:80]
    picture = (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype(np.uint8)[..., None]
    maps = positions([(40, 50)])
    args = {"interp": "types.INTERP_" + interp, "pixel_origin": "center"}
    found = results(headrace, [Data([picture], "HWC"), *maps], **args)[0]
    at = [m.samples[0] for m in maps]
    inside = (at[0] > 2) & (at[1] > 2)
    wanted = cv2.remap(picture, *at, getattr(cv2, "INTER_" + interp)).astype(np.int64)
    assert np.abs(found[..., 0] - wanted)[inside].max() <= 2


def test_identity(headrace: Engine) -> None:
    """Centres of pixels give the picture, whatever the origin and the interpolation."""
    picture = pictures([(9, 12, 3)])
    y, x = np.mgrid[0:9, 0:12].astype(np.float32)
    for origin, shift in (("corner", 0.5), ("center", 0.0)):
        maps = [Data([np.float32(m + shift)]) for m in (x, y)]
        for interp in ("NN", "LINEAR", "CUBIC"):
            args = {"interp": "types.INTERP_" + interp, "pixel_origin": origin}
            found = results(headrace, [picture, *maps], **args)[0]
            np.testing.assert_array_equal(found, picture.samples[0])


def test_positions_outside(headrace: Engine) -> None:
    far = np.array([[-1e30, 1e30, np.inf, -np.inf, np.nan, -1.1, 43.7, 2**31]], np.float32)
    maps = [Data([far]), Data([np.full_like(far, 3)])]
    for interp in ("NN", "LINEAR"):
        found = results(headrace, [pictures([(31, 43, 3)]), *maps], interp="types.INTERP_" + interp)
        assert not found[0].any()


def test_frames(headrace: Engine) -> None:
    """Maps for each frame, one for all, and maps with a channel."""
    frames = pictures([(3, 20, 31, 2)], layout="FHWC")
    each, one = positions([(3, 8, 9)], "FHW"), positions([(8, 9)])
    found = results(headrace, [frames, *each])[0]
    shared = results(headrace, [frames, *one])[0]
    for f in range(3):
        frame = Data([frames.samples[0][f]], "HWC")
        maps = [Data([m.samples[0][f]]) for m in each]
        np.testing.assert_array_equal(found[f], results(headrace, [frame, *maps])[0])
        np.testing.assert_array_equal(shared[f], results(headrace, [frame, *one])[0])
    deep = [Data([m.samples[0][..., None]], "FHWC") for m in each]
    np.testing.assert_array_equal(found, results(headrace, [frames, *deep])[0])


def test_empty(headrace: Engine) -> None:
    assert results(headrace, [pictures([(4, 5, 3)]), *positions([(0, 7)])])[0].shape == (0, 7, 3)
    none = pictures([(0, 4, 5, 3)], layout="FHWC")
    assert results(headrace, [none, *positions([(2, 7)])])[0].shape == (0, 2, 7, 3)


@pytest.mark.parametrize(
    "inputs,args,text",
    [
        ([pictures([(4, 5, 3)], "int32"), *positions([(4, 5)])], {}, "INT32"),
        ([pictures([(4, 5, 3)]), *positions([(4, 5, 2)], "HWC")], {}, "one number per pixel"),
        ([pictures([(4, 5, 3)]), Data([np.zeros((4, 5))]), positions([(4, 5)])[0]], {}, "FLOAT64"),
        ([pictures([(4, 5, 3)]), *positions([(2, 4, 5)], "FHW")], {}, "maps for 2 frames"),
        (
            [pictures([(4, 5, 3)]), positions([(4, 5)])[0], positions([(5, 4)])[0]],
            {},
            "the same shape",
        ),
        ([pictures([(0, 5, 3)]), *positions([(4, 5)])], {}, "empty"),
        (
            [pictures([(4, 5, 3)]), *positions([(4, 5)])],
            {"interp": "types.INTERP_GAUSSIAN"},
            "CUBIC",
        ),
        ([pictures([(4, 5, 3)]), *positions([(4, 5)])], {"pixel_origin": "middle"}, "corner"),
        ([pictures([(3, 4, 5)], layout="CHW"), *positions([(4, 5)])], {}, "HWC"),
    ],
)
def test_refused(headrace: Engine, inputs: list[Data], args: dict[str, Any], text: str) -> None:
    result = headrace.result(Case("experimental.remap", inputs, args))
    assert isinstance(result, Failure) and text in result.message
