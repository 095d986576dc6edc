# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Lossless JPEG files: against what was written, and Pillow, whose libjpeg-turbo reads those of 8 bits."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from lossless_jpegs import lossless
from photos import photo
from PIL import Image

PICTURE = np.array(photo(3, (61, 47)))
JFIF = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
ADOBE = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0"


def decode(data: bytes, **kwargs: Any) -> np.ndarray:
    pipe = Pipeline(1, 1, None)
    with pipe:
        source = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(fn.decoders.image(source, **kwargs))
    return np.array(pipe.run()[0][0])


@pytest.mark.parametrize("predictor", range(1, 8))
@pytest.mark.parametrize("count", [1, 3])
def test_pillow_agrees(predictor: int, count: int) -> None:
    data = lossless(PICTURE[..., :count], 8, predictor, restart=10)
    expected = np.asarray(Image.open(io.BytesIO(data)))
    expected = expected.reshape(*expected.shape[:2], -1)
    np.testing.assert_array_equal(expected, PICTURE[..., :count])
    np.testing.assert_array_equal(decode(data, output_type=types.ANY_DATA), expected)
    window = (expected if count == 3 else expected.repeat(3, 2)).astype(np.uint8)
    np.testing.assert_array_equal(decode(data), window)


def test_a_point_transform() -> None:
    picture = PICTURE & 0xF8
    data = lossless(picture, 8, 4, shift=3)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), picture)
    np.testing.assert_array_equal(decode(data), picture)


def test_colours() -> None:
    """Red, green and blue, unless a marker says YCbCr."""
    for before, ids in (
        (b"", b"\1\2\3\4"),
        (b"", b"RGB\4"),
        (ADOBE + b"\0", b"\1\2\3\4"),
        (b"", b"\0\1\2\3"),
    ):
        data = lossless(PICTURE, 8, 1, before=before, ids=ids)
        np.testing.assert_array_equal(
            np.asarray(Image.open(io.BytesIO(data)).convert("RGB")), PICTURE
        )
        np.testing.assert_array_equal(decode(data), PICTURE)
    grey = np.asarray(Image.fromarray(PICTURE).convert("L")).astype(int)
    assert np.abs(decode(data, output_type=types.GRAY)[..., 0] - grey).max() <= 1
    ycc = np.asarray(Image.fromarray(PICTURE).convert("YCbCr"))
    expected = np.asarray(Image.fromarray(ycc, "YCbCr").convert("RGB")).astype(int)
    for before in (JFIF, ADOBE + b"\1"):
        data = lossless(ycc, 8, 6, before=before)
        assert np.abs(decode(data) - expected).max() <= 1
        np.testing.assert_array_equal(decode(data, output_type=types.GRAY)[..., 0], ycc[..., 0])


def test_all_differences_of_16_bits() -> None:
    """Also 32768, whose category has no further bits."""
    picture = np.array([[0, 32768, 0, 65535, 32767, 65535, 0, 1]], np.uint16).repeat(3, 0)[
        ..., None
    ]
    for predictor in range(1, 8):
        data = lossless(picture, 16, predictor)
        found = decode(data, output_type=types.ANY_DATA, dtype=types.UINT16)
        np.testing.assert_array_equal(found, picture)


def test_damage() -> None:
    """A file without some of its data is an error, never other pixels."""
    small = PICTURE[:6, :7]
    data = lossless(small, 8, 4, restart=2)
    for size in range(len(data)):
        with pytest.raises(RuntimeError):
            if np.array_equal(decode(data[:size]), small):
                assert size >= len(data) - 2  # all but the end marker
                raise RuntimeError
    for old, new, message in (
        (b"\xff\xd0", b"\xff\xd9", "damaged"),
        (b"\xff\xda\0\x0c\3\1\0\2\0\3\0\4", b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0", "predictor"),
        (b"\xff\xda\0\x0c\3\1\0\2\0", b"\xff\xda\0\x0c\3\1\0\1\0", "twice"),
        (b"\xff\xda\0\x0c\3\1\0", b"\xff\xda\0\x0c\3\1\x10", "lacks"),
        (b"\xff\xc3\0\x11\x08", b"\xff\xc3\0\x11\x01", "not supported"),
        (b"\xff\xc3\0\x11\x08", b"\xff\xc3\0\x11\x06", "damaged"),
        (b"\xff\xc4\0\x24\0", b"\xff\xc4\0\x24\x09", "Huffman table"),
    ):
        assert old in data
        with pytest.raises(RuntimeError, match=message):
            decode(data.replace(old, new, 1))
    wide = bytearray(lossless(small, 8, 4))
    frame = wide.index(b"\xff\xc3")
    wide[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"
    with pytest.raises(RuntimeError, match="over the limit|cannot hold"):
        decode(bytes(wide))
