# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""TIFF: photometric x planes x depth x further samples x compression x predictor x layout x order of bytes and bits."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from image_matrix import Case, format_of, levels, rgb_of_cmyk, rgb_of_ycc
from PIL import Image
from tiffs import pages, tiff

WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, CMYK, YCBCR = 0, 1, 2, 3, 5, 6
# photometric, samples per pixel, of which are not colours
COLOURS = {
    "grey": (BLACK_IS_ZERO, 1, 0),
    "grey, white is 0": (WHITE_IS_ZERO, 1, 0),
    "grey and alpha": (BLACK_IS_ZERO, 2, 1),
    "grey and alpha, white is 0": (WHITE_IS_ZERO, 2, 1),
    "RGB": (RGB, 3, 0),
    "RGB and alpha": (RGB, 4, 1),
    "palette": (PALETTE, 1, 0),
    "palette and alpha": (PALETTE, 2, 1),
    "CMYK": (CMYK, 4, 0),
    "CMYK and alpha": (CMYK, 5, 1),
    "YCbCr": (YCBCR, 3, 0),
}
DEPTHS = [*"124", "7", "8", "10", "12", "14", "16", "32"]
DEPTHS += ["signed 8", "signed 16", "signed 32", "float 16", "float 32", "float 64"]
COMPRESSIONS = {1: "none", 32773: "PackBits", 5: "LZW", 8: "Deflate", 50000: "Zstandard"}
WITH_PREDICTOR = (5, 8, 50000)
HEIGHT, WIDTH = 11, 13
LAYOUTS: list[dict[str, Any]] = [{"rows_per_strip": 4}, {"tile": (16, 16)}, {}, {"tile": (8, 5)}]


def refusal(photometric: int, depth: str, predictor: int) -> str:
    """What is not supported: a pattern of the error, or nothing."""
    if depth in ("32", "signed 32"):
        return f"{'signed' if 'signed' in depth else 'integer'} samples of 32 bits"
    if predictor == 3 and "float" not in depth:
        return "predictor 3"
    if predictor == 2 and depth in ("1", "2", "4", "7", "10", "12", "14"):
        return "predictor 2"
    if photometric == WHITE_IS_ZERO and "signed" in depth:
        return "signed samples of which 0 is white"
    if photometric == PALETTE and depth not in ("1", "2", "4", "7", "8"):
        return "palette does not fit"
    if photometric == CMYK and depth not in ("8", "16"):
        return "CMYK of"
    return "YCbCr of" if photometric == YCBCR and depth != "8" else ""


def delivered(photometric: int, samples: int, unit: np.ndarray, index: Any, palette: Any) -> Any:
    """The pixels, of samples from 0 to 1."""
    if photometric == WHITE_IS_ZERO:
        return np.concatenate([1 - unit[..., :1], unit[..., 1:]], -1)
    if photometric == PALETTE:
        return palette.T[index[..., 0]] / 65535
    if photometric == CMYK:
        rest = unit[..., 4:] if samples > 4 else np.ones_like(unit[..., :1])
        return np.concatenate([rgb_of_cmyk(unit), rest], -1)
    return rgb_of_ycc(unit) if photometric == YCBCR else unit


@format_of("TIFF")
def cases() -> Iterator[Case]:
    number = 0
    for (colours, kind), depth in itertools.product(COLOURS.items(), DEPTHS):
        for compression, predictor, planar in itertools.product(COMPRESSIONS, (1, 2, 3), (0, 1)):
            photometric, samples, extra = kind
            if (predictor > 1 and compression not in WITH_PREDICTOR) or planar >= samples:
                continue
            error = refusal(photometric, depth, predictor)
            if error and compression != 8:
                continue
            number += 1
            yield one(colours, depth, compression, predictor, bool(planar), error, number)
    yield from jpeg_cases()
    yield from fax_cases()


def one(
    colours: str, depth: str, compression: int, predictor: int, planar: bool, error: str, i: int
) -> Case:
    photometric, samples, extra = COLOURS[colours]
    bits = int(depth.split()[-1])
    values, unit = levels(depth, (HEIGHT, WIDTH, samples), i)
    fields: dict[int, tuple[int, Any]] = {530: (3, [1, 1])} if photometric == YCBCR else {}
    palette = np.random.default_rng(i).integers(0, 65536, (3, 2 ** min(bits, 8)))
    if photometric == PALETTE:
        fields[320] = (3, palette.ravel())
    if extra:
        fields[338] = (3, [2])
    settings: dict[str, Any] = {**LAYOUTS[i % 4], "order": "<>"[i // 4 % 2]}
    settings |= {"big": i % 7 == 0, "reverse": i % 5 == 0, "planar": planar}
    if predictor == 3 and "float" not in depth:
        values = values.astype("f4") if bits not in (16, 32) else values.view(f"f{bits // 8}")
        fields[339] = (3, [2 if "signed" in depth else 1] * samples)
        fields[258] = (3, [bits] * samples)
    elif bits % 8 == 0 or not error or predictor == 1:
        settings["bits"] = bits
    else:
        fields[258] = (3, [bits] * samples)
    data = tiff(
        values, photometric, compression=compression, predictor=predictor, fields=fields, **settings
    )
    title = COMPRESSIONS[compression] + (f", predictor {predictor}" if predictor > 1 else "")
    detail = ", ".join(f"{k}={v}" for k, v in settings.items())
    if error:
        return Case(colours, title, depth, data, None, error, detail=detail)
    pixels = delivered(photometric, samples, unit, values, palette)
    slack = 1.1 / 255 if photometric in (CMYK, YCBCR) else 0.51 / 255 if depth == "7" else 1.2e-5
    return Case(colours, title, depth, data, pixels, slack=slack, detail=detail)


# ---- compressions with encoders of others --------------------------------------------------------


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opened(data: bytes, mode: str) -> np.ndarray:
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert(mode))
    return pixels.reshape(*pixels.shape[:2], -1) / 255


def jpeg_cases() -> Iterator[Case]:
    """Blocks by Pillow; planes are grey JPEG files."""
    picture = np.kron(levels("8", (3, 3, 4))[0], np.ones((8, 8, 1), np.uint8))
    colours = {"grey": (BLACK_IS_ZERO, "L", 1), "grey, white is 0": (WHITE_IS_ZERO, "L", 1)}
    for name, (photometric, mode, samples) in colours.items():
        block = saved(Image.fromarray(picture[..., 0]), "JPEG", quality=90)
        pixels = opened(block, mode)
        if photometric == WHITE_IS_ZERO:
            pixels = 1 - pixels
        yield jpeg_case(name, photometric, [block], samples, pixels)
    plain = Image.fromarray(picture[..., :3])
    for subsampling in (0, 1, 2):
        block = saved(plain, "JPEG", quality=90, subsampling=subsampling)
        yield jpeg_case("YCbCr", YCBCR, [block], 3, opened(block, "RGB"), f"{subsampling=}")
    block = saved(plain, "JPEG", quality=90, keep_rgb=True)
    yield jpeg_case("RGB", RGB, [block], 3, opened(block, "RGB"))
    jfif = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"  # which claims YCbCr, but TIFF says RGB
    marked = block[:2] + jfif + block[2:]
    yield jpeg_case("RGB", RGB, [marked], 3, opened(block, "RGB"), "a JFIF marker")
    blocks = [saved(Image.fromarray(picture[..., k]), "JPEG", quality=90) for k in range(4)]
    planes = np.concatenate([opened(b, "L") for b in blocks], -1)
    yield jpeg_case("RGB", RGB, blocks[:3], 3, planes[..., :3], "planar")
    yield jpeg_case("RGB and alpha", RGB, blocks, 4, planes, "planar")
    yield jpeg_case("grey and alpha", BLACK_IS_ZERO, blocks[:2], 2, planes[..., :2], "planar")
    yield jpeg_case("YCbCr", YCBCR, blocks[:3], 3, rgb_of_ycc(planes[..., :3]), "planar")
    opaque = np.ones_like(planes[..., :1])
    inks = np.concatenate([rgb_of_cmyk(planes), opaque], -1)
    yield jpeg_case("CMYK", CMYK, blocks, 4, inks, "planar")
    whole = saved(Image.fromarray(picture, "CMYK"), "TIFF", compression="jpeg", quality=90)
    pixels = np.concatenate([opened(whole, "RGB"), opaque], -1)
    yield Case("CMYK", "JPEG", "8", whole, pixels, slack=3 / 255)
    four = saved(Image.fromarray(picture, "CMYK"), "JPEG", quality=90)
    refused = jpeg_case("RGB and alpha", RGB, [four], 4, planes)
    yield Case(
        "RGB and alpha", "JPEG", "8", refused.data, None, "beside the colours", detail="not planar"
    )
    for bits in (12, 16):
        fields = {258: (3, [bits])}
        data = pages([([blocks[0]], (24, 24, 1), BLACK_IS_ZERO, 7, fields)])
        yield Case("grey", "JPEG", str(bits), data, None, f"samples of {bits} bits in JPEG blocks")


def jpeg_case(
    colours: str, photometric: int, blocks: list[bytes], samples: int, pixels: Any, detail: str = ""
) -> Case:
    fields: dict[int, Any] = {284: (3, [1 if len(blocks) == 1 else 2])}
    if detail == "planar":
        fields[530] = (3, [1, 1])
    data = pages([(blocks, (24, 24, samples), photometric, 7, fields)])
    title = "JPEG, planes" if detail == "planar" else "JPEG"
    return Case(colours, title, "8", data, pixels, slack=3 / 255, detail=detail)


def fax_cases() -> Iterator[Case]:
    """Strips by libtiff, as Pillow calls it: noise, and lines as in documents."""
    rng = np.random.default_rng(4)
    noise = rng.integers(0, 2, (37, 83))
    lines = np.repeat(np.repeat(rng.integers(0, 2, (7, 60)), 6, 0), rng.integers(0, 70, 60), 1)
    empty = np.zeros((9, 3000), int)
    kinds = [("tiff_ccitt", {}), ("group3", {}), ("group3", {292: 1}), ("group3", {292: 4})]
    kinds += [("group4", {})]
    names = {"tiff_ccitt": "CCITT RLE", "group3": "CCITT Group 3", "group4": "CCITT Group 4"}
    pictures = {"noise": noise, "lines": lines, "empty": empty, "full": 1 - empty}
    for (kind, options), (what, picture), photometric in itertools.product(
        kinds, pictures.items(), (WHITE_IS_ZERO, BLACK_IS_ZERO)
    ):
        image = Image.fromarray(picture.astype(np.uint8) * 255).convert("1")
        info = {**options, 262: photometric, 278: 5 if what == "noise" else 1000}
        data = saved(image, "TIFF", compression=kind, tiffinfo=info)
        colours = "grey" if photometric else "grey, white is 0"
        detail = f"{what}, options {options}"
        yield Case(colours, names[kind], "1", data, picture[..., None] * 1.0, detail=detail)
