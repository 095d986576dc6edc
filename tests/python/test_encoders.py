# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""encoders.jpeg: its files are those of Pillow, whose libjpeg-turbo has the accurate DCT by default, byte by byte."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from photos import photo
from PIL import Image, features

RNG = np.random.default_rng(5)
# Around blocks of 8 and MCUs of 16; some end in the middle of an MCU.
SIZES = [
    (1, 1),
    (1, 17),
    (9, 1),
    (2, 3),
    (7, 8),
    (8, 16),
    (16, 15),
    (17, 24),
    (24, 40),
    (33, 65),
    (65, 33),
]
SUBSAMPLINGS = ["4:2:0", "4:2:2", "4:4:4"]
HEIGHTS = {"4:2:0": 16, "4:2:2": 8, "4:4:4": 8}  # of an MCU


def noise(shape: tuple[int, ...]) -> np.ndarray:
    return RNG.integers(0, 256, shape, np.uint8)


def contrast(shape: tuple[int, ...]) -> np.ndarray:
    return (255 * RNG.integers(0, 2, shape)).astype(np.uint8)


def smooth(shape: tuple[int, ...]) -> np.ndarray:
    walk = np.cumsum(np.cumsum(RNG.normal(0, 1, shape), 0), 1)
    return np.clip(128 + 2 * walk, 0, 255).astype(np.uint8)


def run(images: list[np.ndarray], layout: str = "HWC", **kwargs: Any) -> list[bytes]:
    pipe = Pipeline(len(images), 2, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout=layout)
        pipe.set_outputs(fn.encoders.jpeg(source, **kwargs))
    (out,) = pipe.run()
    arrays = [np.asarray(out.at(i)) for i in range(len(images))]
    assert all(array.dtype == np.uint8 and array.ndim == 1 for array in arrays)
    return [array.tobytes() for array in arrays]


def decode(data: bytes) -> np.ndarray:
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(fn.decoders.image(source, output_type=types.ANY_DATA))
    return np.array(pipe.run()[0].at(0))


def saved(
    image: np.ndarray,
    quality: int = 75,
    subsampling: str = "4:2:0",
    optimize: bool = False,
    restart_rows: int = 1,
) -> bytes:
    """Pillow's file."""
    grey, out = image.shape[2] == 1, io.BytesIO()
    Image.fromarray(image[..., 0] if grey else image).save(
        out,
        "JPEG",
        quality=quality,
        subsampling="4:4:4" if grey else subsampling,
        optimize=optimize,
        restart_marker_rows=restart_rows,
    )
    return out.getvalue()


def check(images: list[np.ndarray], **kwargs: Any) -> None:
    for image, file in zip(images, run(images, **kwargs), strict=True):
        expected = saved(image, **kwargs)
        assert file == expected, (image.shape, kwargs, len(file), len(expected))


def pictures() -> list[np.ndarray]:
    return [
        make((*size, channels))
        for size, channels, make in itertools.product(SIZES, (1, 3), (smooth, noise))
    ]


def test_pillow_has_libjpeg_turbo() -> None:
    assert features.check_feature("libjpeg_turbo")


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("restart_rows", [0, 1, 3])
def test_the_files_are_pillows(subsampling: str, optimize: bool, restart_rows: int) -> None:
    for quality in (1, 24, 50, 75, 93, 100):
        check(
            pictures(),
            quality=quality,
            subsampling=subsampling,
            optimize=optimize,
            restart_rows=restart_rows,
        )


def test_every_quality() -> None:
    images = [smooth((19, 30, 3)), contrast((19, 30, 3)), noise((11, 9, 1))]
    for quality in range(1, 101):
        check(images, quality=quality)


@pytest.mark.parametrize("quality", [1, 100])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("optimize", [False, True])
def test_extreme_images(quality: int, subsampling: str, optimize: bool) -> None:
    """The largest coefficients, and the longest codes."""
    rows, columns = np.mgrid[:64, :96]
    board = 255 * ((rows + columns) % 2)
    images = [contrast((64, 96, 3)), noise((64, 96, 3)), contrast((64, 96, 1))]
    for plane in (board, 255 * (rows % 2), 255 * (columns // 8 % 2), 0 * board, 255 + 0 * board):
        images.append(plane[..., None].astype(np.uint8))
        images.append(images[-1].repeat(3, 2))
    check(images, quality=quality, subsampling=subsampling, optimize=optimize)


def test_photographs() -> None:
    images = [np.array(photo(i, (301, 203))) for i in range(3)]
    for subsampling, optimize in itertools.product(SUBSAMPLINGS, (False, True)):
        check(images, quality=90, subsampling=subsampling, optimize=optimize)


def test_defaults() -> None:
    image = smooth((70, 50, 3))
    assert run([image])[0] == saved(image, 75, "4:2:0", False, 1)


def test_no_axis_of_channels() -> None:
    image = smooth((21, 30, 1))
    assert run([image[..., 0]], layout="HW")[0] == saved(image)
    assert run([image[..., 0]], layout="")[0] == saved(image)


def test_a_quality_for_every_image() -> None:
    images = [smooth((40, 30, 3)) for _ in range(3)]
    qualities = [5, 60, 98]
    pipe = Pipeline(3, 2, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout="HWC")
        quality = fn.external_source(lambda: [np.int32(q) for q in qualities])
        pipe.set_outputs(fn.encoders.jpeg(source, quality=quality))
    (out,) = pipe.run()
    for i, (image, q) in enumerate(zip(images, qualities, strict=True)):
        assert np.asarray(out.at(i)).tobytes() == saved(image, q)


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("optimize", [False, True])
def test_our_decoder_reads_them(subsampling: str, optimize: bool) -> None:
    images = [smooth((*size, channels)) for size in SIZES for channels in (1, 3)]
    for image, file in zip(
        images, run(images, subsampling=subsampling, optimize=optimize), strict=True
    ):
        pixels = np.asarray(Image.open(io.BytesIO(file))).reshape(image.shape)
        np.testing.assert_array_equal(decode(file), pixels)
        assert np.abs(pixels.astype(int) - image).mean() < 40


def markers(file: bytes) -> Iterator[int]:
    """The numbers of the restart markers."""
    for at in range(len(file) - 1):
        if file[at] == 0xFF and 0xD0 <= file[at + 1] <= 0xD7:
            yield file[at + 1] & 7


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("restart_rows", [0, 1, 2, 5, 1000])
def test_restart_markers(subsampling: str, restart_rows: int) -> None:
    image = noise((170, 23, 3))
    rows = -(-170 // HEIGHTS[subsampling])
    count = (rows - 1) // restart_rows if restart_rows else 0
    (file,) = run([image], subsampling=subsampling, restart_rows=restart_rows)
    assert list(markers(file)) == [i % 8 for i in range(count)]
    assert (b"\xff\xdd\0\4" in file) == (restart_rows > 0)
    np.testing.assert_array_equal(
        np.asarray(Image.open(io.BytesIO(file))),
        np.asarray(Image.open(io.BytesIO(saved(image, 75, subsampling)))),
    )


ZIGZAG = [(0, 1), (1, 0), (2, 0), (1, 1), (0, 2), (0, 3), (1, 2), (2, 1), (3, 0), (4, 0), (3, 1)]
QUANT = [11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17]  # of these at quality 50


def waves(coefficient: tuple[int, int], value: int) -> np.ndarray:
    """A block with one coefficient."""
    at = np.arange(8)
    vertical, horizontal = (
        np.cos((2 * at + 1) * k * np.pi / 16) * (0.5 if k else 0.5**0.5 / 2) for k in coefficient
    )
    block: np.ndarray = np.round(128 + value * np.outer(vertical, horizontal))
    return block


def test_codes_that_would_be_too_long() -> None:
    """Symbols as frequent as Fibonacci's numbers would get codes of more than 16 bits."""
    blocks, count, after = [], 1, 2
    for value in (3, 12):
        for coefficient, quant in zip(ZIGZAG, QUANT, strict=True):
            blocks += [waves(coefficient, value * quant)] * count
            count, after = after, count + after
    side = 1 + int(len(blocks) ** 0.5)
    blocks += [np.full((8, 8), 128.0)] * (side * side - len(blocks))
    image = np.array(blocks).reshape(side, side, 8, 8).swapaxes(1, 2).reshape(8 * side, 8 * side, 1)
    (file,) = run([image.astype(np.uint8)], quality=50, optimize=True)
    assert file == saved(image.astype(np.uint8), quality=50, optimize=True)
    codes = file[file.index(b"\xff\xc4", file.index(b"\xff\xc4") + 1) + 5 :]
    assert codes[15] >= 2  # of 16 bits


def test_long_images() -> None:
    """The largest sides that libjpeg reads."""
    for shape in ((65500, 1, 1), (1, 65500, 3), (3, 65500, 1), (65500, 2, 3)):
        check([smooth(shape)], restart_rows=1)


@pytest.mark.parametrize(
    ("image", "kwargs", "text"),
    [
        (np.zeros((4, 4, 3), np.float32), {}, "the input is FLOAT; it must be UINT8"),
        (np.zeros((4, 4, 3), np.int8), {}, "the input is INT8; it must be UINT8"),
        (np.zeros((4, 4, 2), np.uint8), {}, "the input has 2 channels; it must have 3"),
        (np.zeros((4, 4, 4), np.uint8), {}, "the input has 4 channels; it must have 3"),
        (np.zeros((4, 4, 0), np.uint8), {}, "the input has 0 channels; it must have 3"),
        (np.zeros((0, 4, 3), np.uint8), {}, "the image has 0 x 4 pixels"),
        (np.zeros((4, 0, 1), np.uint8), {}, "the image has 4 x 0 pixels"),
        (np.zeros((65501, 1, 1), np.uint8), {}, "the image has 65501 x 1 pixels"),
        (np.zeros((1, 65501, 1), np.uint8), {}, "the image has 1 x 65501 pixels"),
        (np.zeros((4, 4, 3), np.uint8), {"quality": 0}, "quality"),
        (np.zeros((4, 4, 3), np.uint8), {"quality": 101}, "quality"),
        (np.zeros((4, 4, 3), np.uint8), {"quality": 2**31}, "quality"),
        (np.zeros((4, 4, 3), np.uint8), {"subsampling": "4:1:1"}, "subsampling"),
        (np.zeros((4, 4, 3), np.uint8), {"subsampling": ""}, "subsampling"),
        (np.zeros((4, 4, 3), np.uint8), {"restart_rows": -1}, "restart_rows"),
        (np.zeros((4, 4, 3), np.uint8), {"restart_rows": 65536}, "restart_rows"),
        (
            np.zeros((4, 400, 3), np.uint8),
            {"restart_rows": 3000},
            "3000 rows of blocks between restart markers are 75000 blocks",
        ),
    ],
)
def test_what_is_refused(image: np.ndarray, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError, OverflowError), match=text):
        run([image], **kwargs)


def test_other_axes_are_refused() -> None:
    for layout, shape in (("CHW", (3, 4, 4)), ("FHWC", (1, 4, 4, 3)), ("WHC", (4, 4, 3))):
        with pytest.raises((RuntimeError, ValueError), match=layout):
            run([np.zeros(shape, np.uint8)], layout=layout)


def test_a_quality_that_comes_with_the_data_is_checked() -> None:
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: [np.zeros((4, 4, 3), np.uint8)], layout="HWC")
        quality = fn.external_source(lambda: [np.int32(0)])
        pipe.set_outputs(fn.encoders.jpeg(source, quality=quality))
    with pytest.raises((RuntimeError, ValueError), match="quality"):
        pipe.run()
