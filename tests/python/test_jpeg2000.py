# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""JPEG 2000 files, against the arrays that were written, Pillow and DALI."""

from __future__ import annotations

import io
import itertools
import os
import struct
import subprocess
import sys
import time
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import fn, types
from jpeg2000s import FILE_TYPE, GREY, SIGNATURE, SRGB, SYCC, box, codestream, jp2
from photos import photo
from PIL import Image
from twice import dali

PICTURE = np.array(photo(5, (203, 137)))
LARGE = np.array(photo(6, (400, 300)))


def planes(picture: np.ndarray) -> list[np.ndarray]:
    return [picture[..., i] for i in range(picture.shape[2])]


RGB, GREY_PLANE = planes(PICTURE), PICTURE[..., :1]
DEEP = PICTURE.astype(int) * 253 + np.arange(203)[:, None]
SAMPLING = [(1, 1), (2, 2), (2, 2)]


def pipeline(data: bytes, package: Any, make: Any) -> np.ndarray:
    pipe = package.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(make(package.fn.external_source(lambda: [np.frombuffer(data, np.uint8)])))
    pipe.build()
    return np.array(pipe.run()[0][0])


def decode(data: bytes, package: Any = headrace, **kwargs: Any) -> np.ndarray:
    kwargs.setdefault("output_type", package.types.ANY_DATA)
    return pipeline(data, package, lambda file: package.fn.decoders.image(file, **kwargs))


def peek(data: bytes, **kwargs: Any) -> tuple[int, ...]:
    return tuple(pipeline(data, headrace, lambda file: fn.peek_image_shape(file, **kwargs)))


CODING: dict[str, dict[str, Any]] = {
    "plain": {},
    "tiles": {"tile": (64, 48)},
    "one resolution": {"resolutions": 1},
    "precincts": {"precincts": [(64, 64), (32, 128)], "progression": 2},
    "small blocks": {"block": (4, 16), "progression": 4},
    "markers": {"style": 6, "progression": 1},
    "modes": {"mode": 1 | 2 | 4 | 8 | 32, "progression": 3},
    "layers": {"rates": (40, 10, 1)},
    "origin": {"origin": (17, 5), "tile": (100, 90), "tile_origin": (3, 2)},
}


def filled(levels: np.ndarray, bits: int, full: int) -> np.ndarray:
    """Levels as those of `full` bits: white stays white."""
    return np.floor(levels.astype(np.int64) * (2**full - 1) / (2**bits - 1) + 0.5).astype(int)


@pytest.mark.parametrize("bits", range(9, 17))
@pytest.mark.parametrize("signed", [False, True])
def test_white_is_white(bits: int, signed: bool) -> None:
    """DALI's CPU decoder takes 9 to 15 bits for 16, so that the picture is nearly black."""
    ramp = np.linspace(0, 2**bits - 1, 40 * 50).reshape(40, 50).astype(int)
    data = codestream([ramp - (2 ** (bits - 1) if signed else 0)], bits, signed=signed)
    full = filled(ramp, bits, 16)[..., None]
    np.testing.assert_array_equal(decode(data, dtype=types.UINT16), full)
    np.testing.assert_array_equal(decode(data), ((full + 128) // 257).astype(np.uint8))
    assert decode(data, dtype=types.FLOAT).max() == 1


@pytest.mark.parametrize("name", CODING)
def test_every_pixel_comes_back(name: str) -> None:
    for picture, bits in ((PICTURE, 8), (GREY_PLANE, 8), (DEEP, 16), (DEEP[..., :1] >> 4, 12)):
        stream = codestream(planes(picture), bits, **CODING[name])
        dtype = types.UINT8 if bits == 8 else types.UINT16
        expected = filled(picture, bits, 8 if bits == 8 else 16)
        for data in (stream, jp2(stream), jp2(stream, None)):
            np.testing.assert_array_equal(decode(data, dtype=dtype), expected)
            assert peek(data, image_type=types.ANY_DATA) == picture.shape


@pytest.mark.parametrize("irreversible", [False, True])
@pytest.mark.parametrize(
    "coding",
    [
        {},
        {"tile": (90, 70), "origin": (13, 40), "tile_origin": (13, 7)},
        {"precincts": [(64, 64), (32, 32)], "block": (16, 16)},
        {"steps": SAMPLING},
    ],
    ids=str,
)
def test_windows(coding: dict[str, Any], irreversible: bool) -> None:
    """A window is a part of the whole picture, to the last bit."""
    parts = planes(LARGE)
    if "steps" in coding:
        parts = [parts[0], parts[1][::2, ::2], parts[2][::2, ::2]]
    data = codestream(parts, irreversible=irreversible, rates=(8,), **coding)
    whole = decode(data)
    rng = np.random.default_rng(3)
    for _ in range(40):
        y, x = int(rng.integers(299)), int(rng.integers(399))
        h, w = int(rng.integers(1, 301 - y)), int(rng.integers(1, 401 - x))
        kwargs = {"start": [y, x], "shape": [h, w], "axes": [0, 1], "output_type": types.ANY_DATA}
        window = pipeline(
            data, headrace, lambda file, kwargs=kwargs: fn.decoders.image_slice(file, **kwargs)
        )
        np.testing.assert_array_equal(window, whole[y : y + h, x : x + w])


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "I;16"])
@pytest.mark.parametrize("options", [{}, {"irreversible": True, "quality_layers": [20, 5]}])
def test_files_of_pillow(mode: str, options: dict[str, Any]) -> None:
    if mode == "I;16":
        image = Image.fromarray(DEEP[..., 0].astype(np.uint16))
    else:
        image = Image.fromarray(PICTURE).convert(mode)
    file = io.BytesIO()
    image.save(file, "JPEG2000", **options)
    expected = np.atleast_3d(np.array(Image.open(io.BytesIO(file.getvalue()))))
    out = decode(file.getvalue(), dtype=types.UINT16 if mode == "I;16" else types.UINT8)
    assert out.shape == expected.shape == peek(file.getvalue(), image_type=types.ANY_DATA)
    assert np.abs(out.astype(int) - expected).max() <= (1 if options else 0)


def test_what_dali_refuses() -> None:
    """Signed and subsampled components, few bits, and grey with alpha are decoded as Pillow does."""
    signed = codestream(planes(PICTURE.astype(int) - 128), signed=True)
    np.testing.assert_array_equal(decode(signed), PICTURE)
    for bits in (1, 4, 7):
        data = jp2(codestream(planes(PICTURE >> (8 - bits)), bits))
        np.testing.assert_array_equal(decode(data), filled(PICTURE >> (8 - bits), bits, 8))
    two = codestream(RGB[:2])
    for data in (two, jp2(two, GREY, channels=[(0, 0, 1), (1, 1, 0)])):
        np.testing.assert_array_equal(decode(data), PICTURE[..., :2])
        np.testing.assert_array_equal(
            decode(data, output_type=types.RGB), np.repeat(GREY_PLANE, 3, 2)
        )
    even = [plane[:136, :202] for plane in RGB]  # Pillow misreads odd sizes
    for dx, dy in ((2, 2), (2, 1)):
        steps = [(1, 1), (dx, dy), (dx, dy)]
        parts = [even[0], even[1][::dy, ::dx], even[2][::dy, ::dx]]
        data = jp2(codestream(parts, steps=steps), SYCC)
        expected = np.array(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
        assert np.abs(decode(data, output_type=types.RGB) - expected).max() <= 1
        np.testing.assert_array_equal(decode(data, output_type=types.GRAY)[..., 0], even[0])
    many = codestream(RGB * 3)
    np.testing.assert_array_equal(decode(many), np.dstack(RGB * 3))
    np.testing.assert_array_equal(decode(many, output_type=types.RGB), PICTURE)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_palettes(bits: int, dtype: Any) -> None:
    colours = np.random.default_rng(bits).integers(0, 256, (2**bits, 3)).astype(dtype)
    index = RGB[0] >> (8 - bits)
    data = jp2(codestream([index], bits), palette=colours)
    kind = types.UINT8 if dtype == np.uint8 else types.UINT16
    np.testing.assert_array_equal(decode(data, output_type=types.RGB, dtype=kind), colours[index])
    turned = jp2(
        codestream([index], bits), palette=colours, mapping=[(0, 1, 2), (0, 1, 1), (0, 1, 0)]
    )
    np.testing.assert_array_equal(
        decode(turned, output_type=types.RGB, dtype=kind), colours[index][..., ::-1]
    )


# ---- DALI ----------------------------------------------------------------------------------------


def kinds() -> dict[str, bytes]:
    """What DALI's CPU decoder reads."""
    stream, rng = codestream(RGB), np.random.default_rng(0)
    alpha = [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 1, 0)]
    return {
        "stream": stream,
        "file": jp2(stream),
        "16 bits": jp2(codestream(planes(DEEP), 16)),
        "grey": jp2(codestream(RGB[:1]), GREY),
        "sYCC": jp2(stream, SYCC),
        "sYCC, 16 bits": jp2(codestream(planes(DEEP), 16), SYCC),
        "palette": jp2(
            codestream(RGB[:1]), palette=rng.integers(0, 256, (256, 3)).astype(np.uint8)
        ),
        "alpha": jp2(codestream([*RGB, RGB[0]]), channels=alpha),
        "order": jp2(stream, channels=[(0, 0, 3), (1, 0, 2), (2, 0, 1)]),
        "lossy": jp2(codestream(RGB, irreversible=True, rates=(10,))),
        "tiles": jp2(codestream(RGB, tile=(64, 48))),
        "Lab": jp2(stream, 14),
        "open box": jp2(stream)[: -len(stream) - 8] + struct.pack(">I4s", 0, b"jp2c") + stream,
        "other boxes": SIGNATURE + FILE_TYPE + box(b"uuid", bytes(40)) + jp2(stream)[32:],
    }


@pytest.mark.live_dali
@pytest.mark.parametrize("name", kinds())
def test_same_as_dali(name: str) -> None:
    package, data = dali(), kinds()[name]
    for output, dtype in itertools.product(
        ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"), ("UINT8", "INT16", "FLOAT")
    ):
        ours, theirs = (
            decode(data, p, output_type=getattr(p.types, output), dtype=getattr(p.types, dtype))
            for p in (headrace, package)
        )
        assert ours.shape == theirs.shape
        limit = (1e-6 if dtype == "FLOAT" else 1) if output == "YCbCr" or name == "lossy" else 0
        difference = np.abs(ours.astype(float) - theirs).max()
        assert difference <= limit, (name, output, dtype, difference)


# ---- damage --------------------------------------------------------------------------------------

STREAM = codestream(RGB)
CODING_STYLE = STREAM.index(b"\xff\x52")


def edited(at: int, data: bytes) -> bytes:
    return STREAM[:at] + data + STREAM[at + len(data) :]


REFUSED = {
    "ihdr": (jp2(STREAM, height=99), "'ihdr' does not fit"),
    "box": (jp2(STREAM)[:40] + b"\0\0\0\3" + jp2(STREAM)[44:], "a box is not valid"),
    "cut box": (jp2(STREAM)[:60], "ends in its box 'jp2h'"),
    "no codestream": (SIGNATURE + FILE_TYPE, "no codestream"),
    "not a codestream": (SIGNATURE + box(b"jp2c", b"nothing"), "does not begin with its size"),
    "grey": (jp2(STREAM, GREY), "3 components of a grey image"),
    "CMYK": (jp2(codestream([*RGB, RGB[0]]), 12), "colour space 12 is not supported"),
    "depths": (jp2(codestream([RGB[0], RGB[1], DEEP[..., 0] >> 4], [8, 8, 12]), SYCC), "8 and 12 bits"),
    "24 bits": (jp2(codestream([RGB[0].astype(int) << 16], 24)), "24 bits"),
    "no components": (edited(40, b"\0\0"), "0 components"),
    "components": (edited(40, b"\x40\0"), "16384 components are not supported"),
    "width": (edited(8, b"\0\0\0\0"), "image area"),
    "sampling": (edited(43, b"\0"), "component 0 has no samples"),
    "tile size": (edited(24, b"\0\0\0\0"), "do not fit the image"),
    "tile origin": (edited(32, b"\0\0\1\0"), "do not fit the image"),
    "tiles": (edited(8, struct.pack(">2I", 1 << 20, 1 << 20)), "tiles"),
    "levels": (edited(CODING_STYLE + 9, b"\x40"), "coding style"),
    "blocks": (edited(CODING_STYLE + 10, b"\x08\x08"), "coding style"),
    "layers": (edited(CODING_STYLE + 6, b"\xff\xff"), "cannot hold its"),
    "marker": (edited(CODING_STYLE, b"\xff\x54"), "marker 0xFF54"),
    "headers": (STREAM[: CODING_STYLE + 20], "header"),
    "data": (STREAM[:-500], "JPEG 2000: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(RuntimeError, match=message):
        decode(data)


@pytest.mark.timing
def test_bombs() -> None:
    """Small files that claim much are refused quickly, before memory is taken for them."""
    side = struct.pack(">2I", 16384, 16384)
    precincts = codestream([RGB[0]], precincts=[(8, 8)] * 6)
    sides = {"one tile": side, "many tiles": struct.pack(">2I", 70, 70)}
    files = [
        (STREAM[:8] + side + STREAM[16:24] + tile + STREAM[32:], name)
        for name, tile in sides.items()
    ]
    files.append((precincts[:8] + side + precincts[16:24] + side + precincts[32:], "precincts"))
    started = time.process_time()
    for data, name in files:
        with pytest.raises(
            RuntimeError, match="too much for a file|cannot hold|too many|JPEG 2000"
        ):
            decode(data)
        assert time.process_time() - started < 3, name


def test_cut_files() -> None:
    """Every prefix of a file gives an error, or the whole picture."""
    small = PICTURE[:9, :11]
    data = jp2(codestream(planes(small)))
    for size in range(len(data)):
        try:
            out = decode(data[:size])
        except RuntimeError:
            continue
        np.testing.assert_array_equal(out, small)
        assert size >= len(data) - 2


def test_without_the_module() -> None:
    """Shapes are known without OpenJPEG; decoding says what to install."""
    program = f"""
import numpy as np
from headrace import Pipeline, fn
data = np.frombuffer({jp2(codestream([RGB[0][:5, :7]]), SRGB)!r}, np.uint8)
pipe = Pipeline(1, 1, None)
with pipe:
    pipe.set_outputs(fn.peek_image_shape(fn.external_source(lambda: [data])))
print(np.array(pipe.run()[0][0]))
with Pipeline(1, 1, None) as pipe:
    pipe.set_outputs(fn.decoders.image(fn.external_source(lambda: [data])))
pipe.run()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"HEADRACE_JPEG2000_MODULE": "/nonexistent/module.so"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "[5 7 3]" in done.stdout
    assert "JPEG 2000 module cannot be opened" in done.stderr
    assert "install libopenjp2-7" in done.stderr
