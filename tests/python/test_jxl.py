# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""JPEG XL: lossless files of libjxl's encoder give the pixels that went in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from jxls import encoded, library
from photos import photo

pytestmark = pytest.mark.skipif(library() is None, reason="libjxl is not installed")
RNG = np.random.default_rng(8)


def run(data: bytes, operator: Any = fn.decoders.image, **kwargs: Any) -> np.ndarray:
    with Pipeline(1, 1, None) as pipe:
        files = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(operator(files, **kwargs))
    return np.array(pipe.run()[0][0])


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("container", [False, True])
def test_lossless(channels: int, dtype: str, container: bool) -> None:
    top = np.iinfo(dtype).max
    pixels = RNG.integers(0, top, (37, 53, channels), np.dtype(dtype), endpoint=True)
    data = encoded(pixels, container=container)
    found = run(data, output_type=types.ANY_DATA, dtype=types.ANY)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, pixels)
    rgb = pixels[..., :3] if channels > 2 else pixels[..., :1].repeat(3, 2)
    np.testing.assert_array_equal(run(data, dtype=types.ANY), rgb)
    window = run(
        data, fn.decoders.image_slice, start=[5, 9], shape=[20, 30], axes=[0, 1], dtype=types.ANY
    )
    np.testing.assert_array_equal(window, rgb[5:25, 9:39])
    assert run(data, fn.peek_image_shape, image_type=types.ANY_DATA).tolist() == [37, 53, channels]


def test_levels_of_ten_bits_fill_sixteen() -> None:
    pixels = RNG.integers(0, 1024, (20, 30, 3), np.uint16)
    scaled = np.rint(pixels * (65535 / 1023)).astype(np.uint16)
    found = run(encoded(scaled, bits=10), dtype=types.ANY)
    assert np.abs(found.astype(int) - scaled).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(orientation: int) -> None:
    pixels = RNG.integers(0, 256, (20, 30, 3), np.uint8)
    data = encoded(pixels, orientation=orientation)
    np.testing.assert_array_equal(run(data, adjust_orientation=False), pixels)
    turned = {
        1: pixels, 2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1],
        5: pixels.transpose(1, 0, 2), 6: np.rot90(pixels, -1),
        7: pixels[::-1, ::-1].transpose(1, 0, 2), 8: np.rot90(pixels),
    }[orientation]  # fmt: skip
    np.testing.assert_array_equal(run(data), turned)


def test_lossy() -> None:
    pixels = np.array(photo(1, (120, 90)))
    found = run(encoded(pixels, lossless=False))
    assert np.abs(found.astype(int) - pixels).mean() < 8
    np.testing.assert_allclose(found.mean((0, 1)), pixels.mean((0, 1)), atol=1)


def test_damage() -> None:
    pixels = RNG.integers(0, 256, (20, 30, 3), np.uint8)
    data = encoded(pixels)
    for cut in (3, 12, len(data) // 2, len(data) - 5):
        with pytest.raises(RuntimeError, match="JPEG XL: the file is damaged or ends early"):
            run(data[:cut])
    outcomes = set()
    for _ in range(150):
        changed = bytearray(data)
        changed[int(RNG.integers(2, len(data)))] = int(RNG.integers(256))
        try:
            outcomes.add(run(bytes(changed)).ndim)
        except RuntimeError:
            outcomes.add("refused")
    assert outcomes == {3, "refused"}
