# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""encoders.png and encoders.webp: what Pillow and a decoder of PNG in this file see in their files."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from photos import photo
from PIL import Image
from test_encoders import noise, smooth

SIZES = [(1, 1), (1, 17), (9, 1), (33, 65), (64, 300)]


def run(name: str, images: list[np.ndarray], layout: str = "HWC", **kwargs: Any) -> list[bytes]:
    pipe = Pipeline(len(images), 2, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout=layout)
        pipe.set_outputs(getattr(fn.encoders, name)(source, **kwargs))
    (out,) = pipe.run()
    arrays = [np.asarray(out.at(i)) for i in range(len(images))]
    assert all(array.dtype == np.uint8 and array.ndim == 1 for array in arrays)
    return [array.tobytes() for array in arrays]


def decode(data: bytes, **kwargs: Any) -> np.ndarray:
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(fn.decoders.image(source, output_type=types.ANY_DATA, **kwargs))
    return np.array(pipe.run()[0].at(0))


# ---- PNG ----


def chunks(file: bytes) -> list[tuple[bytes, bytes]]:
    """Types and contents, whose checksums are right."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, []
    while at < len(file):
        (size,) = struct.unpack_from(">I", file, at)
        kind, content = file[at + 4 : at + 8], file[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", file, at + 8 + size) == (zlib.crc32(kind + content),)
        found.append((kind, content))
        at += 12 + size
    return found


def paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda v: abs(estimate - v))


def png_pixels(file: bytes) -> tuple[np.ndarray, set[int]]:
    """The pixels of a file, and the filters of its rows, by the specification."""
    (_, header), (_, coded), (_, end) = found = chunks(file)
    assert [kind for kind, _ in found] == [b"IHDR", b"IDAT", b"IEND"] and end == b""
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", header)
    assert rest == [0, 0, 0]
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    step = channels * bits // 8
    size = width * step
    data = zlib.decompress(coded)
    assert len(data) == height * (1 + size)
    above, rows, filters = bytearray(size), bytearray(), set()
    for y in range(height):
        kind, *row = data[y * (1 + size) : (y + 1) * (1 + size)]
        filters.add(kind)
        for i in range(size):
            left, corner = (row[i - step], above[i - step]) if i >= step else (0, 0)
            up = above[i]
            row[i] += (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]
            row[i] &= 255
        rows += bytes(row)
        above = bytearray(row)
    shape = (height, width, channels)
    return np.frombuffer(bytes(rows), ">u2" if bits == 16 else "u1").reshape(shape), filters


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("compression", [0, 1, 6, 12])
def test_png_keeps_pixels(channels: int, dtype: Any, compression: int) -> None:
    images = [make((*size, channels)) for size in SIZES[:4] for make in (smooth, noise)]
    if dtype is np.uint16:
        images = [image.astype(dtype) * 251 + noise(image.shape) for image in images]
    for image, file in zip(images, run("png", images, compression=compression), strict=True):
        pixels, _ = png_pixels(file)
        np.testing.assert_array_equal(pixels, image)
        np.testing.assert_array_equal(
            decode(file, dtype=types.UINT16 if dtype is np.uint16 else types.UINT8), image
        )


def test_png_as_pillow_reads_it() -> None:
    for channels, mode in ((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
        image = smooth((40, 70, channels))
        (file,) = run("png", [image])
        opened = Image.open(io.BytesIO(file))
        assert (opened.mode, opened.size, opened.format) == (mode, (70, 40), "PNG")
        np.testing.assert_array_equal(np.asarray(opened).reshape(image.shape), image)
        Image.open(io.BytesIO(file)).verify()
    deep = smooth((40, 70, 1)).astype(np.uint16) * 257
    np.testing.assert_array_equal(
        np.asarray(Image.open(io.BytesIO(run("png", [deep])[0]))), deep[..., 0]
    )


def test_png_rows_are_filtered() -> None:
    """Files of photographs are hardly larger than Pillow's, whose rows are filtered by the same rule."""
    image = np.array(photo(3, (301, 203)))
    (file,) = run("png", [image])
    expected = io.BytesIO()
    Image.fromarray(image).save(expected, "PNG")
    assert len(file) < 1.02 * len(expected.getvalue())
    assert len(png_pixels(file)[1]) > 2
    sizes = [len(run("png", [image], compression=level)[0]) for level in (0, 1, 6, 12)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > image.size


def test_png_without_an_axis_of_channels() -> None:
    image = smooth((21, 30, 1))
    assert run("png", [image[..., 0]], layout="HW") == run("png", [image])
    assert run("png", [image[..., 0]], layout="") == run("png", [image])


def test_png_level_of_every_image() -> None:
    images, levels = [smooth((40, 30, 3))] * 3, [0, 6, 12]
    pipe = Pipeline(3, 2, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout="HWC")
        level = fn.external_source(lambda: [np.int32(v) for v in levels])
        pipe.set_outputs(fn.encoders.png(source, compression=level))
    (out,) = pipe.run()
    for i, level in enumerate(levels):
        assert np.asarray(out.at(i)).tobytes() == run("png", images[:1], compression=level)[0]


# ---- WebP ----


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("method", [0, 4, 6])
def test_lossless_webp_keeps_pixels(channels: int, method: int) -> None:
    images = [make((*size, channels)) for size in SIZES for make in (smooth, noise)]
    images.append(noise((20, 30, channels)))
    images[-1][..., 3:] = 0  # colours that cannot be seen
    for image, file in zip(images, run("webp", images, lossless=True, method=method), strict=True):
        opened = Image.open(io.BytesIO(file))
        assert opened.format == "WEBP"
        mode = "RGBA" if channels == 4 else "RGB"
        np.testing.assert_array_equal(np.asarray(opened.convert(mode)), image)
        if channels == 3:
            np.testing.assert_array_equal(decode(file), image)


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.mean((a.astype(float) - b.astype(float)) ** 2)))


@pytest.mark.parametrize("quality", [0, 30, 75, 100])
def test_lossy_webp_is_as_good_as_pillows(quality: int) -> None:
    for i in range(3):
        image = np.array(photo(i, (301, 203)))
        (file,) = run("webp", [image], quality=quality)
        expected = io.BytesIO()
        Image.fromarray(image).save(expected, "WEBP", quality=quality, method=4)
        found = psnr(np.asarray(Image.open(io.BytesIO(file)).convert("RGB")), image)
        assert abs(found - psnr(np.asarray(Image.open(expected).convert("RGB")), image)) < 0.1
        assert abs(len(file) / len(expected.getvalue()) - 1) < 0.02


def test_webp_alpha() -> None:
    image = smooth((50, 60, 4))
    (file,) = run("webp", [image], quality=90)
    opened = Image.open(io.BytesIO(file))
    assert opened.mode == "RGBA"
    np.testing.assert_array_equal(np.asarray(opened)[..., 3], image[..., 3])


def test_webp_quality_of_every_image() -> None:
    images, qualities = [smooth((40, 30, 3))] * 3, [5.0, 60.0, 98.5]
    pipe = Pipeline(3, 2, None, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout="HWC")
        quality = fn.external_source(lambda: [np.float32(v) for v in qualities])
        pipe.set_outputs(fn.encoders.webp(source, quality=quality))
    (out,) = pipe.run()
    for i, quality in enumerate(qualities):
        assert np.asarray(out.at(i)).tobytes() == run("webp", images[:1], quality=quality)[0]


# ---- both ----


@pytest.mark.parametrize(
    ("name", "image", "kwargs", "text"),
    [
        (
            "png",
            np.zeros((4, 4, 3), np.float32),
            {},
            "the input is FLOAT; it must be UINT8 or UINT16",
        ),
        ("png", np.zeros((4, 4, 5), np.uint8), {}, "the input has 5 channels; it must have 1"),
        ("png", np.zeros((4, 4, 0), np.uint8), {}, "the input has 0 channels"),
        ("png", np.zeros((0, 4, 3), np.uint8), {}, "the image has 0 x 4 pixels"),
        ("png", np.zeros((4, 4, 3), np.uint8), {"compression": 13}, "compression"),
        ("png", np.zeros((4, 4, 3), np.uint8), {"compression": -1}, "compression"),
        ("webp", np.zeros((4, 4, 3), np.uint16), {}, "the input is UINT16; it must be UINT8"),
        ("webp", np.zeros((4, 4, 1), np.uint8), {}, "the input has 1 channels; it must have 3"),
        ("webp", np.zeros((4, 0, 3), np.uint8), {}, "the image has 4 x 0 pixels"),
        ("webp", np.zeros((16384, 1, 3), np.uint8), {}, "the image has 16384 x 1 pixels"),
        ("webp", np.zeros((4, 4, 3), np.uint8), {"quality": 100.5}, "quality"),
        ("webp", np.zeros((4, 4, 3), np.uint8), {"quality": float("nan")}, "quality"),
        ("webp", np.zeros((4, 4, 3), np.uint8), {"method": 7}, "method"),
    ],
)
def test_what_is_refused(name: str, image: np.ndarray, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError), match=text):
        run(name, [image], **kwargs)


def test_the_largest_webp() -> None:
    for shape in ((16383, 1, 3), (1, 16383, 4)):
        image = smooth(shape)
        (file,) = run("webp", [image], lossless=True)
        mode = "RGBA" if shape[2] == 4 else "RGB"
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(file)).convert(mode)), image)
