# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""TIFF files, against the arrays that were written, Pillow and DALI."""

from __future__ import annotations

import io
import itertools
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import Pipeline, fn, types
from photos import photo
from PIL import Image, ImageOps
from tiffs import tiff
from twice import dali

WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE = 0, 1, 2, 3
PICTURE = np.array(photo(5, (53, 37)))
GREY = PICTURE[..., :1]
DEEP = (PICTURE.astype(np.uint16) * 253 + np.arange(53, dtype=np.uint16)[:, None])[:, :, :]
FLOATS = (PICTURE / np.float32(255)).astype(np.float32)


def decode(data: bytes, package: Any = headrace, **kwargs: Any) -> np.ndarray:
    pipe = package.Pipeline(1, 1, None)
    kwargs.setdefault("output_type", package.types.ANY_DATA)
    with pipe:
        source = package.fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(package.fn.decoders.image(source, **kwargs))
    pipe.build()
    return np.array(pipe.run()[0][0])


def grid() -> dict[str, tuple[np.ndarray, int, dict[str, Any]]]:
    """Pictures with the ways to store them."""
    pictures = {
        "u8 RGB": (PICTURE, RGB),
        "u8 grey": (GREY, BLACK_IS_ZERO),
        "u8 RGBA": (np.concatenate([PICTURE, GREY], 2), RGB),
        "u8, 5 channels": (np.concatenate([PICTURE, PICTURE[..., :2]], 2), BLACK_IS_ZERO),
        "u16 RGB": (DEEP, RGB),
        "float RGB": (FLOATS, RGB),
    }
    layouts: dict[str, dict[str, Any]] = {
        "one strip": {},
        "strips": {"rows_per_strip": 5},
        "tiles": {"tile": (16, 32)},
        "a large tile": {"tile": (64, 64)},
    }
    found = {}
    for (name, (picture, photometric)), (layout, kwargs) in itertools.product(
        pictures.items(), layouts.items()
    ):
        for planar, order, big, compression in itertools.product(
            (False, True), "<>", (False, True), (1, 8, 32773)
        ):
            if planar and picture.shape[2] == 1:
                continue
            settings = {**kwargs, "planar": planar, "order": order, "big": big}
            settings |= {"compression": compression}
            found[f"{name}, {layout}, {planar}{order}{big}{compression}"] = (
                picture,
                photometric,
                settings,
            )
    return found


NATIVE = {"u1": types.UINT8, "u2": types.UINT16, "f4": types.FLOAT}


def test_layouts_and_types() -> None:
    """Every pixel comes back, of the whole picture and of windows."""
    for i, (name, (picture, photometric, kwargs)) in enumerate(grid().items()):
        data = tiff(picture, photometric, **kwargs)
        kind = picture.dtype.str[1:]
        np.testing.assert_array_equal(decode(data, dtype=NATIVE[kind]), picture, name)
        y, x = 7 * i % 23, 5 * i % 31
        pipe = Pipeline(1, 1, None)
        with pipe:
            source = fn.external_source(itertools.repeat([np.frombuffer(data, np.uint8)]))
            window = fn.decoders.image_slice(
                source,
                start=[y, x],
                shape=[9, 17],
                axes=[0, 1],
                output_type=types.ANY_DATA,
                dtype=NATIVE[kind],
            )
            pipe.set_outputs(window, fn.peek_image_shape(source, image_type=types.ANY_DATA))
        cut, shape = pipe.run()
        np.testing.assert_array_equal(np.array(cut[0]), picture[y : y + 9, x : x + 17], name)
        assert tuple(np.array(shape[0])) == picture.shape


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("tile", [None, (16, 16)])
@pytest.mark.parametrize(
    ("picture", "predictor"), [(PICTURE, 2), (GREY, 2), (DEEP, 2), (FLOATS, 3)], ids=str
)
def test_predictors(picture: np.ndarray, predictor: int, tile: Any, order: str) -> None:
    photometric = RGB if picture.shape[2] == 3 else BLACK_IS_ZERO
    data = tiff(
        picture, photometric, predictor=predictor, compression=8, tile=tile, order=order
    )
    np.testing.assert_array_equal(decode(data, dtype=NATIVE[picture.dtype.str[1:]]), picture)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_few_bits(bits: int) -> None:
    levels = GREY >> (8 - bits)
    top = 2**bits - 1
    expected = (levels.astype(int) * 255 // top).astype(np.uint8)
    data = tiff(levels, BLACK_IS_ZERO, bits=bits, rows_per_strip=4)
    np.testing.assert_array_equal(decode(data), expected)
    data = tiff(levels, WHITE_IS_ZERO, bits=bits, tile=(16, 16))
    np.testing.assert_array_equal(decode(data), 255 - expected)
    np.testing.assert_array_equal(
        decode(data, output_type=types.RGB), np.repeat(255 - expected, 3, 2)
    )


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_palettes(bits: int) -> None:
    colours = np.random.default_rng(bits).integers(0, 65536, (3, 2**bits), np.uint16)
    index = GREY >> (8 - bits)
    data = tiff(index, PALETTE, bits=bits, fields={320: (3, colours.ravel())})
    expected = colours.T[index[..., 0]]
    np.testing.assert_array_equal(decode(data, dtype=types.UINT16), expected)
    np.testing.assert_array_equal(decode(data), ((expected + 128.0) // 257).astype(np.uint8))


OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "LZW": ("RGB", {"compression": "tiff_lzw"}),
    "LZW with predictor": ("RGB", {"compression": "tiff_lzw", "tiffinfo": {317: 2}}),
    "LZW grey": ("L", {"compression": "tiff_lzw"}),
    "LZW of bits": ("1", {"compression": "tiff_lzw"}),
    "Deflate": ("RGB", {"compression": "tiff_adobe_deflate"}),
    "old Deflate": ("RGB", {"compression": "tiff_deflate"}),
    "PackBits": ("RGBA", {"compression": "packbits"}),
    "palette": ("P", {"compression": "tiff_lzw"}),
    "CMYK": ("CMYK", {"compression": "packbits"}),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("size", [(53, 37), (700, 300)])
def test_files_of_pillow(name: str, size: tuple[int, int]) -> None:
    mode, options = OPTIONS[name]
    image = photo(3, size).convert(mode)
    file = io.BytesIO()
    image.save(file, "TIFF", **options)
    out = decode(file.getvalue(), output_type=types.RGB)
    expected = np.array(image.convert("RGBA" if mode == "RGBA" else "RGB"))[..., :3]
    difference = np.abs(out.astype(int) - expected)
    assert difference.max() <= (1 if mode in ("CMYK", "P") else 0)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_jpeg_inside(mode: str) -> None:
    image = photo(8, (200, 160)).convert(mode)
    file = io.BytesIO()
    image.save(file, "TIFF", compression="jpeg", quality=90)
    expected = np.array(Image.open(io.BytesIO(file.getvalue())))
    difference = np.abs(np.atleast_3d(expected).astype(int) - decode(file.getvalue()))
    assert difference.max() <= 1
    assert np.abs(np.atleast_3d(np.array(image)).astype(int) - decode(file.getvalue())).mean() < 6


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientations(orientation: int) -> None:
    data = tiff(PICTURE, RGB, fields={274: (3, [orientation])})
    turned = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    np.testing.assert_array_equal(decode(data), np.array(turned))
    np.testing.assert_array_equal(decode(data, adjust_orientation=False), PICTURE)


def test_the_first_of_several_pictures() -> None:
    file = io.BytesIO()
    Image.fromarray(PICTURE).save(
        file, "TIFF", save_all=True, append_images=[Image.fromarray(255 - PICTURE)]
    )
    np.testing.assert_array_equal(decode(file.getvalue()), PICTURE)


def test_floats() -> None:
    """White is 1. Integers saturate; infinities and NaN are not a reason to fail."""
    values = np.array([[0, 0.5, 1, 2, -1, np.inf, -np.inf, np.nan]], np.float32)[..., None]
    data = tiff(values, BLACK_IS_ZERO)
    np.testing.assert_array_equal(decode(data, dtype=types.FLOAT), values)
    assert decode(data).ravel().tolist() == [0, 128, 255, 255, 0, 255, 0, 0]
    assert decode(data, dtype=types.INT16).ravel()[:5].tolist() == [0, 16384, 32767, 32767, -32767]


# ---- damage --------------------------------------------------------------------------------------

REFUSED = {
    "compression": ({"fields": {259: (3, [34925])}}, r"compression 34925 \(LZMA\) is not supported"),
    "CCITT of colours": ({"fields": {259: (3, [4])}}, "CCITT compression of 3 samples of 8 bits"),
    "uncompressed CCITT": (
        {"fields": {259: (3, [4]), 277: (3, [1]), 258: (3, [1]), 262: (3, [0]), 293: (4, [2])}},
        "uncompressed mode",
    ),
    "colour space": ({"fields": {262: (3, [8])}}, r"colour space 8 \(CIELab\)"),
    "mask": ({"fields": {262: (3, [4])}}, "a transparency mask"),
    "signed": ({"fields": {339: (3, [2]), 258: (3, [12] * 3)}}, "signed samples of 12 bits"),
    "white signed": ({"fields": {339: (3, [2]), 262: (3, [0])}}, "signed samples of which 0 is white"),
    "complex": ({"fields": {339: (3, [6])}}, "complex samples"),
    "float": ({"fields": {339: (3, [3]), 258: (3, [24] * 3)}}, "float samples of 24 bits"),
    "bits": ({"fields": {258: (3, [32, 32, 32])}}, "integer samples of 32 bits"),
    "extra samples": ({"fields": {338: (3, [2])}}, "of which 1 are not colours"),
    "planes": ({"fields": {284: (3, [3])}}, "planar configuration 3"),
    "YCbCr": ({"fields": {262: (3, [6])}}, "subsampled YCbCr"),
    "inks": ({"fields": {262: (3, [5]), 277: (3, [4]), 258: (3, [8] * 4), 332: (3, [2])}}, "not CMYK"),
    "unequal bits": ({"fields": {258: (3, [8, 8, 16])}}, "of different kinds"),
    "no samples": ({"fields": {277: (3, [0])}}, "samples per pixel"),
    "too few samples": ({"fields": {277: (3, [1]), 258: (3, [8])}}, "the colours need 3"),
    "no width": ({"fields": {256: (4, [0])}}, "0x37 pixels"),
    "offset": ({"fields": {273: (4, [1 << 30])}}, "ends before its strip 0"),
    "length": ({"fields": {279: (4, [50])}}, "cannot hold|ends before its pixels"),
    "missing strips": ({"fields": {278: (4, [1])}}, "the image needs 37"),
    "predictor": ({"fields": {317: (3, [7]), 259: (3, [8])}}, "predictor 7"),
    "predictor of bits": (
        {"fields": {317: (3, [2]), 259: (3, [8]), 258: (3, [4] * 3)}},
        "predictor 2 is not supported for integer samples of 4 bits",
    ),
    "fill order": ({"fields": {266: (3, [3])}}, "fill order 3"),
    "Zstandard": ({"fields": {259: (3, [50000])}}, "damaged Zstandard"),
    "LZW": ({"fields": {259: (3, [5])}}, "damaged LZW|ends before its pixels"),
    "Deflate": ({"fields": {259: (3, [8])}}, "damaged Deflate"),
    "JPEG": ({"fields": {259: (3, [7])}}, "not a JPEG"),
    "type of a field": ({"fields": {274: (7, [1])}}, None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    kwargs, message = REFUSED[name]
    data = tiff(PICTURE, RGB, **kwargs)
    if message is None:
        np.testing.assert_array_equal(decode(data), PICTURE)
        return
    with pytest.raises(RuntimeError, match=message):
        decode(data)


def test_cut_files() -> None:
    """Every prefix of a file gives an error, or the whole picture."""
    data = tiff(PICTURE[:5, :7], RGB, compression=8)
    for size in range(len(data)):
        try:
            out = decode(data[:size])
        except RuntimeError:
            continue
        np.testing.assert_array_equal(out, PICTURE[:5, :7])
        assert size > len(data) - 32


def test_bombs() -> None:
    """Small files that claim huge pictures or tiles are refused before memory is taken."""
    sides = {256: (4, [16384]), 257: (4, [16384]), 278: (4, [16384])}
    for compression in (1, 5, 8, 32773):
        data = tiff(PICTURE, RGB, fields={**sides, 259: (3, [compression])})
        with pytest.raises(RuntimeError, match="cannot hold|ends before|too much"):
            decode(data)
    tiles = {322: (4, [1 << 24]), 323: (4, [1 << 24])}
    with pytest.raises(RuntimeError, match="too much for a file"):
        decode(tiff(PICTURE, RGB, tile=(64, 64), compression=8, fields=tiles))


@pytest.mark.live_dali
def test_same_as_dali() -> None:
    """What DALI reads by its TIFF decoder: exactly the same. Planes and more than 4 channels are read by OpenCV there."""
    package = dali()
    for name, (picture, photometric, kwargs) in list(grid().items())[::5]:
        if kwargs["planar"] or picture.shape[2] > 4:
            continue
        data = tiff(picture, photometric, **kwargs)
        for output, dtype in itertools.product(
            ("RGB", "GRAY", "YCbCr", "ANY_DATA"), ("UINT8", "FLOAT")
        ):
            arrays = [
                decode(
                    data,
                    p,
                    output_type=getattr(p.types, output),
                    dtype=getattr(p.types, dtype),
                )
                for p in (headrace, package)
            ]
            difference = np.abs(arrays[0].astype(float) - arrays[1]).max()
            unit = 1 if dtype == "UINT8" else 1 / 255
            assert difference <= (1.001 * unit if output == "GRAY" else 1e-4), (name, output, dtype)
