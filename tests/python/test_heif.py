# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""AVIF and HEIC: pixels equal Pillow's, and a model in NumPy of planes that PyAV decodes; what is not understood is refused."""

from __future__ import annotations

import functools
import io
import itertools
import os
import subprocess
import sys
from typing import Any

import heifs
import numpy as np
import pytest
from headrace import Pipeline, fn, types
from heifs import Coded, Item, auxc, clap, coded, grid, imir, irot, ispe, nclx, write
from photos import photo
from PIL import Image, ImageOps, features

needs_pillow = pytest.mark.skipif(not features.check("avif"), reason="this Pillow has no AVIF")


def run(data: bytes, **kwargs: Any) -> np.ndarray:
    with Pipeline(1, 1, None, strict=kwargs.pop("strict", False)) as pipe:
        files = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        operator = kwargs.pop("operator", fn.decoders.image)
        pipe.set_outputs(operator(files, **kwargs))
    return np.array(pipe.run()[0][0])


@functools.cache
def picture(codec: str, pixels: str, size: tuple[int, int] = (66, 46), number: int = 0) -> Coded:
    return coded(np.array(photo(number, size)), codec, pixels)


def flip(pixels: np.ndarray, turns: int, mirror: int | None) -> np.ndarray:
    pixels = np.rot90(pixels, turns)
    return pixels if mirror is None else np.flip(pixels, mirror)


# ---- Pillow's encoder and decoder ----


@needs_pillow
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0", "4:0:0"])
def test_avif_equals_pillow(subsampling: str) -> None:
    file = io.BytesIO()
    photo(1, (122, 98)).save(file, "AVIF", subsampling=subsampling, quality=85, speed=9)
    expected = np.array(Image.open(file).convert("RGB")).astype(int)
    # libyuv rounds interpolated chroma to whole numbers
    slack = {"4:4:4": 1, "4:0:0": 0}.get(subsampling, 2)
    found = run(file.getvalue())
    assert np.abs(found - expected).max() <= slack
    window = run(
        file.getvalue(), operator=fn.decoders.image_slice, start=[11, 21], shape=[30, 41], axes=[0, 1]
    )  # fmt: skip
    np.testing.assert_array_equal(window, found[11:41, 21:62])
    native = run(file.getvalue(), output_type=types.ANY_DATA)
    assert native.shape[2] == (1 if subsampling == "4:0:0" else 3)


@needs_pillow
@pytest.mark.parametrize("orientation", range(1, 9))
def test_avif_orientation(orientation: int) -> None:
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = orientation
    photo(1, (60, 44)).save(file, "AVIF", subsampling="4:4:4", speed=9, exif=exif)
    image = Image.open(file)
    stored = np.array(image.convert("RGB")).astype(int)
    shown = np.array(ImageOps.exif_transpose(image).convert("RGB")).astype(int)
    found = run(file.getvalue())
    assert found.shape == shown.shape
    assert np.abs(found - shown).max() <= 1
    assert np.abs(run(file.getvalue(), adjust_orientation=False) - stored).max() <= 1


@needs_pillow
def test_avif_alpha_equals_pillow() -> None:
    picture = photo(2, (60, 44)).convert("RGBA")
    alpha = np.random.default_rng(0).integers(0, 256, (44, 60), np.uint8)
    picture.putalpha(Image.fromarray(alpha))
    file = io.BytesIO()
    picture.save(file, "AVIF", subsampling="4:4:4", speed=9)
    expected = np.array(Image.open(file)).astype(int)
    assert expected.shape[2] == 4
    found = run(file.getvalue(), output_type=types.ANY_DATA)
    assert np.abs(found - expected).max() <= 1
    np.testing.assert_array_equal(found[..., 3], expected[..., 3])
    np.testing.assert_array_equal(run(file.getvalue()), found[..., :3])


# ---- a writer of our own ----

KINDS = [
    ("av1", "yuv420p"),
    ("av1", "yuv420p10le"),
    *itertools.product(
        ["hevc"],
        ["yuv420p", "yuv422p", "yuv444p", "gray", "yuv420p10le", "yuv422p10le", "yuv444p12le", "gray12le"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "pixels"), KINDS)
@pytest.mark.parametrize("full_range", [False, True])
def test_colours(codec: str, pixels: str, full_range: bool) -> None:
    p = picture(codec, pixels)
    top = 255 if p.bits == 8 else 65535
    for matrix in (0, 1, 2, 4, 5, 6, 7, 8, 9):
        if matrix == 0 and "444" not in pixels:
            continue
        data = write([p.item(nclx(matrix, full_range))])
        expected = heifs.pixels(p.planes, p.bits, matrix, full_range, top)
        found = run(data, output_type=types.ANY_DATA, dtype=types.ANY)
        assert found.shape == expected.shape
        assert found.dtype == (np.uint8 if p.bits == 8 else np.uint16)
        assert np.abs(found - expected).max() < 0.51 + top / 1e6
    assert expected.std() > top / 20


def test_colours_without_a_word() -> None:
    """BT.601, in the range that the stream says, if it says no matrix."""
    p = picture("hevc", "yuv420p")
    expected = heifs.pixels(p.planes, 8, 6, False, 255)
    assert np.abs(run(write([p.item()])) - expected).max() < 0.51


@pytest.mark.parametrize(("name", "matrix"), [("bt709", 1), ("bt2020nc", 9), ("smpte240m", 7)])
@pytest.mark.parametrize("full_range", [False, True])
def test_colours_of_the_stream(name: str, matrix: int, full_range: bool) -> None:
    """What the stream says holds if the file says nothing."""
    said = f"colormatrix={name}:range={'full' if full_range else 'limited'}"
    quiet = "log-level=none:keyint=1:pools=none:frame-threads=1"
    p = coded(np.array(photo(0, (66, 46))), "hevc", "yuv444p", **{"x265-params": f"{quiet}:{said}"})
    expected = heifs.pixels(p.planes, 8, matrix, full_range, 255)
    assert np.abs(run(write([p.item()])) - expected).max() < 0.51
    other = heifs.pixels(p.planes, 8, 6, not full_range, 255)
    assert np.abs(run(write([p.item(nclx(6, not full_range))])) - other).max() < 0.51


@pytest.mark.parametrize(("turns", "mirror"), [*itertools.product(range(4), [None, 0, 1])])
def test_turns(turns: int, mirror: int | None) -> None:
    p = picture("hevc", "yuv444p")
    plain = run(write([p.item()]))
    found = run(write([p.item(irot(turns), *([] if mirror is None else [imir(mirror)]))]))
    np.testing.assert_array_equal(found, flip(plain, turns, mirror))
    if mirror is not None:
        found = run(write([p.item(imir(mirror), irot(turns))]))
        np.testing.assert_array_equal(found, np.rot90(np.flip(plain, mirror), turns))


def test_clean_aperture() -> None:
    p = picture("hevc", "yuv420p")
    plain = run(write([p.item()]))
    found = run(write([p.item(clap(30, 20, (-8, 1), (11, 1)))]))
    np.testing.assert_array_equal(found, plain[24:44, 10:40])
    found = run(write([p.item(clap(31, 21, (1, 2), (-1, 2)), irot(1))]))
    np.testing.assert_array_equal(found, np.rot90(plain[12:33, 18:49]))
    for wrong in (clap(30, 20, (1, 2), (0, 1)), clap(67, 20, (0, 1), (0, 1)), clap(30, 20, (99, 1), (0, 1))):  # fmt: skip
        with pytest.raises(RuntimeError, match="clean aperture"):
            run(write([p.item(wrong)]))


def tiles(pixels: str, rows: int, columns: int) -> tuple[list[Coded], list[np.ndarray]]:
    """Tiles, and the planes of all of them."""
    parts = [picture("hevc", pixels, (64, 48), i) for i in range(rows * columns)]
    planes = [
        np.block([[parts[r * columns + c].planes[i] for c in range(columns)] for r in range(rows)])
        for i in range(len(parts[0].planes))
    ]
    return parts, planes


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p12le", "gray"])
@pytest.mark.parametrize("wide", [False, True])
def test_grids(pixels: str, wide: bool) -> None:
    rows, columns, width, height = (3, 2, 100, 130) if wide else (2, 3, 181, 75)
    parts, planes = tiles(pixels, rows, columns)
    shown = [
        p[: -(-height * p.shape[0] // planes[0].shape[0]), : -(-width * p.shape[1] // planes[0].shape[1])]
        for p in planes
    ]  # fmt: skip
    top = 255 if parts[0].bits == 8 else 65535
    expected = heifs.pixels(shown, parts[0].bits, 6, True, top)
    whole = Item("grid", grid(rows, columns, width, height), [ispe(width, height), nclx(6, True)], inside=wide)  # fmt: skip
    items = [whole, *(p.item(hidden=True, parts=1 + i % 3) for i, p in enumerate(parts))]
    data = write(items, {("dimg", 1): list(range(2, 2 + len(parts)))}, wide=wide)
    found = run(data, output_type=types.ANY_DATA, dtype=types.ANY, strict=True)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 0.51 + top / 1e6
    for y, x in itertools.product((0, 47, 48, 50), (0, 62, 63, 65)):
        window = run(
            data, operator=fn.decoders.image_slice, start=[y, x], shape=[3, 20], axes=[0, 1],
            output_type=types.ANY_DATA, dtype=types.ANY,
        )  # fmt: skip
        np.testing.assert_array_equal(window, found[y : y + 3, x : x + 20])


@pytest.mark.parametrize("pixels", ["yuv420p", "gray"])
@pytest.mark.parametrize("name", [auxc(), auxc("urn:mpeg:hevc:2015:auxid:1")])
def test_alpha(pixels: str, name: heifs.Property) -> None:
    p, alpha = picture("hevc", pixels), picture("hevc", "gray10le", number=3)
    items = [p.item(nclx(6, False)), alpha.item(name, hidden=True)]
    found = run(write(items, {("auxl", 2): [1]}), output_type=types.ANY_DATA, strict=True)
    assert found.shape == (46, 66, 2 if pixels == "gray" else 4)
    np.testing.assert_array_equal(
        found[..., :-1], run(write(items[:1]), output_type=types.ANY_DATA)
    )
    expected = heifs.pixels(alpha.planes, 10, 6, False, 255)[..., 0]
    assert np.abs(found[..., -1] - expected).max() < 0.51
    colours = run(write(items, {("auxl", 2): [1]}))
    np.testing.assert_array_equal(colours, found[..., :3] if pixels != "gray" else found[..., :1].repeat(3, 2))  # fmt: skip


def test_several_images() -> None:
    """The primary one is decoded; others are named, but not thumbnails and hidden ones."""
    first, second = picture("hevc", "yuv420p"), picture("hevc", "yuv420p", number=2)
    plain = run(write([second.item()]))
    data = write([first.item(), second.item()], primary=2)
    np.testing.assert_array_equal(run(data), plain)
    with pytest.raises(RuntimeError, match="1 more images, which are left out"):
        run(data, strict=True)
    np.testing.assert_array_equal(run(data, strict=True, page=0), plain)
    with pytest.raises(RuntimeError, match="page 1: of a heif file"):
        run(data, page=1)
    for items, references in (
        ([second.item(), first.item()], {("thmb", 2): [1]}),
        ([second.item(), first.item(hidden=True)], {}),
        ([second.item(), first.item(auxc("urn:mpeg:hevc:2015:auxid:2"))], {("auxl", 2): [1]}),
    ):
        np.testing.assert_array_equal(run(write(items, references), strict=True), plain)
    with pytest.raises(RuntimeError, match="1 more images"):
        run(write([second.item()], before=heifs.box("moov")), strict=True)


def test_refusals() -> None:
    p = picture("hevc", "yuv420p")
    size, config = ispe(p.width, p.height), p.configuration
    other = ispe(p.width, p.height + 2)

    def one(kind: str, *properties: heifs.Property, data: bytes = p.data) -> bytes:
        return write([Item(kind, data, list(properties))])

    mono = (config[0], config[1][:16] + b"\xfc" + config[1][17:], True)
    cases = [
        (one("hvc1", size, config, ("wxyz", b"1", True)), "needs a property 'wxyz'"),
        (one("hvc1", size, config, ("lsel", b"\0\1", True)), "several layers"),
        (one("hvc1", size, config, nclx(10, True)), "matrix coefficients 10 are not supported"),
        (one("hvc1", size, config, nclx(0, True)), "subsampled planes of RGB"),
        (one("hvc1", size, config, imir(0), imir(1)), "mirrored twice"),
        (one("hvc1", size, config, irot(1), clap(2, 2, (0, 1), (0, 1))), "after a rotation"),
        (one("hvc1", size), "no configuration of a decoder"),
        (one("hvc1", config), "size of item 1 is not given"),
        (one("hvc1", other, config), "has 66x46 pixels .* the file says 66x48"),
        (one("hvc1", size, mono), "the file says 8 and no colours"),
        (one("avc1", size, config), "coded as 'avc1' are not supported"),
        (one("iovl", size, config), "coded as 'iovl' are not supported"),
        (one("hvc1", size, config, data=b""), "has no bytes in the file"),
        (one("hvc1", size, config, data=bytes(100)), "HEIF: item 1: "),
        (write([p.item()], primary=2), "no image to show"),
        (heifs.box("ftyp", b"heic", bytes(4)), "no list of items"),
        (write([p.item()])[:-9], "are not all there|no list of items|has no bytes"),
    ]
    grids = [
        (Item("grid", grid(1, 3, 66, 46), [size]), [2, 2], "has 2 tiles"),
        (Item("grid", grid(1, 2, 66, 46), [size]), [2, 2], "tiles .* for an image of 66x46"),
        (Item("grid", grid(1, 2, 132, 47), [ispe(132, 46)]), [2, 2], "size of a grid"),
        (Item("grid", grid(1, 2, 132, 46), [ispe(132, 46)]), [2, 9], "tile 1 has no size"),
    ]
    cases += [(write([g, p.item()], {("dimg", 1): to}), text) for g, to, text in grids]
    for data, message in cases:
        with pytest.raises(RuntimeError, match=message):
            run(data)


def test_limit_of_pixels() -> None:
    p = picture("hevc", "yuv420p")
    with Pipeline(1, 1, None, max_image_pixels=1000) as pipe:
        data = np.frombuffer(write([p.item()]), np.uint8)
        pipe.set_outputs(fn.decoders.image(fn.external_source(lambda: [data])))
    with pytest.raises(RuntimeError, match="over the limit of 1000"):
        pipe.run()


def test_mutations() -> None:
    """Whatever is changed: an image or an error."""
    rng = np.random.default_rng(0)
    parts, _ = tiles("yuv420p", 1, 2)
    whole = Item("grid", grid(1, 2, 128, 48), [ispe(128, 48), nclx(6, True)])
    good = write([whole, *(p.item(hidden=True) for p in parts)], {("dimg", 1): [2, 3]})
    end = good.index(b"mdat")
    outcomes = set()
    for _ in range(300):
        data = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(8, end))] = int(rng.integers(256))
        try:
            outcomes.add(run(bytes(data)).ndim)
        except RuntimeError:
            outcomes.add("refused")
    assert outcomes == {3, "refused"}


def test_without_the_module() -> None:
    """The message says what to install."""
    code = """
import numpy as np, sys
from headrace import Pipeline, fn
data = np.frombuffer(sys.stdin.buffer.read(), np.uint8)
with Pipeline(1, 1, None) as pipe:
    files = fn.external_source(lambda: [data])
    pipe.set_outputs(fn.decoders.image(files) if sys.argv[1] == "image" else fn.peek_image_shape(files))
try:
    print(np.array(pipe.run()[0][0]).tolist())
except RuntimeError as error:
    print(error)
"""
    data = write([picture("hevc", "yuv420p").item()])
    env = {**os.environ, "HEADRACE_VIDEO_MODULE": "/nowhere/module.so"}
    for operator, expected in (("image", "headrace-video"), ("shape", "[46, 66, 3]")):
        done = subprocess.run(
            [sys.executable, "-c", code, operator], input=data, env=env, capture_output=True, check=True
        )  # fmt: skip
        assert expected in done.stdout.decode()
