# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""PNG, PNM, BMP and JPEG 2000 by writers of our own; JPEG and WebP by Pillow's encoders, whose decoders are the reference."""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from image_matrix import Case, format_of, levels, rgb_of_cmyk
from jpeg2000s import GREY, SYCC, codestream, jp2
from lossless_jpegs import lossless
from PIL import Image

HEIGHT, WIDTH = 13, 21


def opened(data: bytes, mode: str) -> np.ndarray:
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert(mode))
    return pixels.reshape(*pixels.shape[:2], -1) / 255


def packed(samples: np.ndarray, bits: int) -> list[bytes]:
    """Rows of samples, the first in the highest bits; 16 bits in big endian."""
    if bits == 16:
        return [row.astype(">u2").tobytes() for row in samples]
    ones = (samples[..., None] >> np.arange(bits)[::-1] & 1).astype(np.uint8)
    return [np.packbits(row.ravel()).tobytes() for row in ones]


# ---- PNG -----------------------------------------------------------------------------------------

PNG_COLOURS = {
    "grey": (0, 1, (1, 2, 4, 8, 16)),
    "RGB": (2, 3, (8, 16)),
    "palette": (3, 1, (1, 2, 4, 8)),
    "grey and alpha": (4, 2, (8, 16)),
    "RGB and alpha": (6, 4, (8, 16)),
}
PASSES = [
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
]


def chunk(name: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def png(samples: np.ndarray, kind: int, bits: int, interlaced: bool, *chunks: bytes) -> bytes:
    height, width, _ = samples.shape
    parts = [samples[y::dy, x::dx] for y, x, dy, dx in PASSES] if interlaced else [samples]
    rows = [b"\0" + row for part in parts if part.size for row in packed(part, bits)]
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)
    body = chunk(b"IDAT", zlib.compress(b"".join(rows)))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + b"".join(chunks)
        + body
        + chunk(b"IEND", b"")
    )


@format_of("PNG")
def png_cases() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for (colours, (kind, count, depths)), interlaced in itertools.product(
        PNG_COLOURS.items(), (False, True)
    ):
        for bits, transparent in itertools.product(depths, (False, True)):
            samples, unit = levels(str(bits), (HEIGHT, WIDTH, count), bits)
            chunks = []
            if kind == 3:
                palette = rng.integers(0, 256, (2**bits, 3)).astype(np.uint8)
                chunks.append(chunk(b"PLTE", palette.tobytes()))
                unit = palette[samples[..., 0]] / 255
            if transparent and kind > 3:
                continue
            if transparent:  # a colour or entries, which DALI ignores, too
                chunks.append(chunk(b"tRNS", bytes(2 * count if kind < 3 else 2)))
            data = png(samples, kind, bits, interlaced, *chunks)
            title = "Deflate, interlaced" if interlaced else "Deflate"
            yield Case(colours, title, str(bits), data, unit, detail=f"{transparent=}")


# ---- PNM -----------------------------------------------------------------------------------------


@format_of("PNM")
def pnm_cases() -> Iterator[Case]:
    for colours, count in (("grey", 1), ("RGB", 3)):
        for top, plain in itertools.product(
            (1, 15, 100, 255, 256, 1023, 4095, 65535), (False, True)
        ):
            values = np.random.default_rng(top).integers(
                0, top, (HEIGHT, WIDTH, count), endpoint=True
            )
            kind = (2 if count == 1 else 3) + (0 if plain else 3)
            head = b"P%d\n# a comment\n%d %d\n%d\n" % (kind, WIDTH, HEIGHT, top)
            text = " ".join(map(str, values.ravel())).encode()
            data = head + (text if plain else values.astype(">u2" if top > 255 else "u1").tobytes())
            title = "plain" if plain else "binary"
            slack = 1.2e-5 if top > 255 or 255 % top == 0 else 0.51 / 255
            yield Case(colours, title, f"0 to {top}", data, values / top, slack=slack)
    bits = np.random.default_rng(0).integers(0, 2, (HEIGHT, WIDTH, 1))
    head = b"P%d %d %d\n"
    for kind, body in (
        (1, "".join(map(str, bits.ravel())).encode()),
        (4, b"".join(packed(bits, 1))),
    ):
        data = head % (kind, WIDTH, HEIGHT) + body
        yield Case("black and white", "binary" if kind == 4 else "plain", "1", data, 1.0 - bits)
    for magic in (b"P7\nWIDTH 1\n", b"PF\n1 1\n-1\n"):
        name = "any (PAM)" if magic[1:2] == b"7" else "RGB (PFM)"
        yield Case(
            name, "binary", "any", magic + bytes(99), None, "not an image format that this build"
        )


# ---- BMP -----------------------------------------------------------------------------------------


def bmp(
    rows: list[bytes], bits: int, *, compression: int = 0, palette: bytes = b"", masks: tuple[int, ...] = (),
    top_down: bool = False, body: bytes | None = None,
) -> bytes:  # fmt: skip
    if body is None:
        body = b"".join(r + bytes(-len(r) % 4) for r in (rows if top_down else rows[::-1]))
    extra = b"".join(struct.pack("<I", mask) for mask in masks) + palette
    start = 54 + len(extra)
    height = -HEIGHT if top_down else HEIGHT
    header = struct.pack(
        "<IiiHHIIiiII",
        40,
        WIDTH,
        height,
        1,
        bits,
        compression,
        len(body),
        0,
        0,
        len(palette) // 4,
        0,
    )
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + header + extra + body


def run_lengths(index: np.ndarray, bits: int) -> bytes:
    """RLE8 or RLE4: runs of one pixel, a literal piece of four, and the ends of rows."""
    out = b""
    for row in index[::-1]:
        for value in row[:-4]:
            out += bytes([1, value if bits == 8 else value << 4])
        literal = row[-4:] if bits == 8 else row[-4::2] << 4 | row[-3::2]
        out += bytes([0, 4]) + literal.astype(np.uint8).tobytes()
        out += b"\0\0"
    return out + b"\0\1"


@format_of("BMP")
def bmp_cases() -> Iterator[Case]:
    rng = np.random.default_rng(2)
    for bits, top_down in itertools.product((1, 2, 4, 8), (False, True)):
        index = rng.integers(0, 2**bits, (HEIGHT, WIDTH, 1))
        colours = rng.integers(0, 256, (2**bits, 4)).astype(np.uint8)
        grey = np.repeat(colours[:, :1], 4, 1)
        for name, table in (("palette", colours), ("palette of greys", grey)):
            unit = table[index[..., 0], 2::-1] / 255
            pixels = unit if name == "palette" else unit[..., :1]
            rows = packed(index, bits)
            yield Case(
                name,
                "none",
                str(bits),
                bmp(rows, bits, palette=table.tobytes(), top_down=top_down),
                pixels,
            )
            if bits in (4, 8) and not top_down:
                data = bmp([], bits, compression=1 if bits == 8 else 2, palette=table.tobytes(),
                           body=run_lengths(index[..., 0], bits))  # fmt: skip
                yield Case(name, f"RLE{bits}", str(bits), data, pixels)
    for bits, masks in {
        16: [(), (0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F), (0xF00, 0xF0, 0xF)],
        32: [(), (0xFF, 0xFF00, 0xFF0000), (0x3FF00000, 0xFFC00, 0x3FF)],
    }.items():
        for given, top_down in itertools.product(masks, (False, True)):
            values = rng.integers(0, 2**bits, (HEIGHT, WIDTH), dtype=np.int64)
            used = given or ((0x7C00, 0x3E0, 0x1F) if bits == 16 else (0xFF0000, 0xFF00, 0xFF))
            unit = np.stack([(values & m) / m for m in used], -1)
            rows = [row.astype(f"<u{bits // 8}").tobytes() for row in values]
            data = bmp(rows, bits, compression=3 if given else 0, masks=given, top_down=top_down)
            yield Case(
                "RGB",
                "bit fields" if given else "none",
                str(bits),
                data,
                unit,
                slack=1.01 / 255,
                detail=str(given),
            )
    colours = rng.integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    data = bmp([row.tobytes() for row in colours], 24)
    yield Case("RGB", "none", "24", data, colours[..., ::-1] / 255)
    for compression, name in ((4, "JPEG"), (5, "PNG")):
        yield Case(
            "RGB", name, "24", bmp([], 24, compression=compression, body=bytes(999)), None, "BMP: "
        )


# ---- JPEG 2000 -----------------------------------------------------------------------------------


@format_of("JPEG 2000")
def jpeg2000_cases() -> Iterator[Case]:
    kinds = {"grey": 1, "grey and alpha": 2, "RGB": 3, "RGB and alpha": 4, "YCbCr": 3}
    for (colours, count), depth in itertools.product(
        kinds.items(), [*range(1, 17), "signed 8", "signed 12"]
    ):
        bits, signed = int(str(depth).split()[-1]), "signed" in str(depth)
        values, unit = levels(str(bits), (HEIGHT, WIDTH, count), bits)
        planes = [
            values[..., k].astype(int) - (2 ** (bits - 1) if signed else 0) for k in range(count)
        ]
        slack = 1.2e-5 if bits >= 8 or 255 % (2**bits - 1) == 0 else 0.51 / 255
        if colours == "YCbCr":
            if bits < 8:
                continue
            y, u, v = (
                np.moveaxis(unit, -1, 0)
                - np.array([0, *[2 ** (bits - 1) / (2**bits - 1)] * 2])[:, None, None]
            )
            # as DALI does, with the factors of YUV
            rgb = [y + 1.14 * v, y - 0.395 * u - 0.581 * v, y + 2.032 * u]
            unit, slack = np.clip(np.stack(rgb, -1), 0, 1), 1.01 / 255
        for wrapped in (False, True):
            stream = codestream(planes, bits, signed=signed)
            space = SYCC if colours == "YCbCr" else GREY if count < 3 else 16
            alpha = [(i, 0, i + 1) for i in range(count - 1)] + [(count - 1, 1, 0)]
            channels = alpha if count in (2, 4) else None
            data = jp2(stream, space, channels=channels) if wrapped else stream
            if colours == "YCbCr" and not wrapped:
                continue
            yield Case(
                colours, "reversible", str(depth), data, unit, slack=slack, detail=f"{wrapped=}"
            )
    mixed = [levels(str(bits), (HEIGHT, WIDTH), bits) for bits in (8, 12, 5)]
    data = codestream([values.astype(int) for values, _ in mixed], [8, 12, 5])
    yield Case("RGB", "reversible", "mixed", data, np.stack([unit for _, unit in mixed], -1))
    for bits in (8, 12):
        smooth = np.add.outer(np.arange(64), np.arange(48)) * (2**bits - 1) // 110
        data = codestream([smooth, smooth // 2, smooth // 3], bits, irreversible=True, rates=(4,))
        unit = np.stack([smooth, smooth // 2, smooth // 3], -1) / (2**bits - 1)
        yield Case("RGB", "irreversible", str(bits), data, unit, slack=0.02)
    yield Case(
        "RGB", "reversible", "24", codestream([smooth.astype(int) << 12] * 3, 24), None, "24 bits"
    )


# ---- JPEG and WebP -------------------------------------------------------------------------------


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def smooth(channels: int) -> np.ndarray:
    y, x = np.mgrid[0:40, 0:56]
    waves = [np.sin(x / (5 + 3 * c) + c) * np.cos(y / (9 - 2 * c)) for c in range(channels)]
    return (np.stack(waves, -1) * 100 + 128).astype(np.uint8)


@format_of("JPEG")
def jpeg_cases() -> Iterator[Case]:
    for progressive in (False, True):
        title = "progressive" if progressive else "baseline"
        grey = saved(Image.fromarray(smooth(1)[..., 0]), "JPEG", progressive=progressive)
        yield Case("grey", title, "8", grey, opened(grey, "L"), slack=1.1 / 255)
        for sub in ("4:4:4", "4:2:2", "4:2:0"):
            data = saved(
                Image.fromarray(smooth(3)), "JPEG", subsampling=sub, progressive=progressive
            )
            yield Case("YCbCr", title, "8", data, opened(data, "RGB"), slack=1.1 / 255, detail=sub)
        data = saved(Image.fromarray(smooth(3)), "JPEG", keep_rgb=True, progressive=progressive)
        yield Case("RGB", title, "8", data, opened(data, "RGB"), slack=1.1 / 255)
        data = saved(Image.fromarray(smooth(4), "CMYK"), "JPEG", progressive=progressive)
        yield Case("CMYK", title, "8", data, opened(data, "RGB"), slack=2.1 / 255)
    yield from lossless_cases()
    frame = grey.index(b"\xff\xc2") if b"\xff\xc2" in grey else 0
    for bits in (12,):
        data = grey[: frame + 4] + bytes([bits]) + grey[frame + 5 :]
        yield Case("grey", "progressive", str(bits), data, None, f"{bits} bits|precision {bits}")


def lossless_cases() -> Iterator[Case]:
    """Of all predictors, by our own encoder. Pillow reads those of 8 bits."""
    kinds = {"grey": 1, "RGB": 3, "CMYK": 4}
    for (colours, count), bits in itertools.product(kinds.items(), (2, 5, 8, 10, 12, 15, 16)):
        for predictor, (restart, apart) in itertools.product(range(1, 8), ((0, False), (3, True))):
            values, unit = levels(str(bits), (HEIGHT, WIDTH, count), predictor)
            data = lossless(values, bits, predictor, restart=restart, apart=apart)
            if count == 4:
                unit = rgb_of_cmyk(unit)
            exact = count < 4 and (bits >= 8 or 255 % (2**bits - 1) == 0)
            detail = f"{predictor=}, {restart=}, {apart=}"
            slack = 1.2e-5 if exact else 1.6 / 255
            yield Case(colours, "lossless", str(bits), data, unit, slack=slack, detail=detail)
    values, _ = levels("8", (HEIGHT, WIDTH, 3), 1)
    refused = {"subsampled": {"sampling": 0x21}, "whole rows": {"interval": 5}}
    for what, options in refused.items():
        data = lossless(values, 8, 1, **options)
        yield Case("RGB", "lossless", "8", data, None, what, detail=what)


@format_of("WebP")
def webp_cases() -> Iterator[Case]:
    for mode, exact, frames in itertools.product(("RGB", "RGBA"), (False, True), (1, 3)):
        images = [Image.fromarray(np.roll(smooth(len(mode)), i, 0), mode) for i in range(frames)]
        options = {"save_all": True, "append_images": images[1:]} if frames > 1 else {}
        data = saved(images[0], "WEBP", lossless=exact, exact=True, **options)
        pixels = opened(data, "RGBA" if data[12:16] == b"VP8X" and data[20] & 16 else mode)
        title = ("lossless" if exact else "lossy") + (", animated" if frames > 1 else "")
        colours = "RGB" if pixels.shape[2] == 3 else "RGB and alpha"
        yield Case(colours, title, "8", data, pixels, slack=1e-6)
