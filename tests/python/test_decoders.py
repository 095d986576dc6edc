# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Decoders against Pillow, and against DALI where it is installed."""

from __future__ import annotations

import io
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import fn, pipeline_def, types

Image = pytest.importorskip("PIL.Image")

needs_dali = pytest.mark.live_dali

TYPES = ["RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"]
DTYPES = ["UINT8", "INT8", "UINT16", "INT16", "INT32", "FLOAT"]


def picture(mode: str, width: int = 37, height: int = 29) -> Any:
    """A picture in a mode of Pillow: gradients in red and green, a pattern in blue, fading alpha."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 6, y * 8, (x * y) % 256, 255 - x * 3]
    array = np.stack(planes, -1).astype(np.uint8)
    if mode == "RGBA":
        return Image.fromarray(array)
    if mode == "LA":
        return Image.fromarray(array[..., [2, 3]])
    rgb = Image.fromarray(array[..., :3])
    return rgb.quantize(40) if mode == "P" else rgb.convert(mode)


def encoded(image: Any, kind: str, **options: Any) -> bytes:
    """The bytes of a file."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png16(samples: np.ndarray) -> bytes:
    """A PNG of 16-bit samples (height, width, channels), a format that Pillow cannot write in colour."""
    height, width, channels = samples.shape

    def chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    header = struct.pack(">IIBBBBB", width, height, 16, 0 if channels == 1 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def turned(orientation: int) -> bytes:
    """A JPEG whose EXIF segment states this orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    return encoded(picture("RGB"), "JPEG", quality=90, exif=block.tobytes())


def files() -> dict[str, bytes]:
    """Files of every format, by name."""
    made = {
        f"png_{mode}": encoded(picture(mode), "PNG")
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA")
    }
    made |= {f"bmp_{mode}": encoded(picture(mode), "BMP") for mode in ("1", "L", "P", "RGB")}
    made |= {f"pnm_{mode}": encoded(picture(mode), "PPM") for mode in ("1", "L", "RGB")}
    made |= {
        f"jpeg_{s}": encoded(picture("RGB"), "JPEG", quality=85, subsampling=s) for s in (0, 1, 2)
    }
    made["jpeg_grey"] = encoded(picture("L"), "JPEG")
    made["jpeg_progressive"] = encoded(picture("RGB"), "JPEG", progressive=True)
    made["jpeg_rgb"] = encoded(picture("RGB"), "JPEG", keep_rgb=True)
    made["jpeg_cmyk"] = encoded(picture("CMYK"), "JPEG", quality=95)
    made["webp"] = encoded(picture("RGB"), "WEBP", quality=70)
    made["webp_alpha"] = encoded(picture("RGBA"), "WEBP", quality=70)
    made["webp_lossless"] = encoded(picture("RGB"), "WEBP", lossless=True)
    samples = np.random.default_rng(3).integers(0, 65536, (29, 37, 3), dtype=np.uint16)
    made["png_16"] = png16(samples)
    made["png_16_grey"] = png16(samples[..., :1])
    return made


FILES = files()


def run(engine: Any, data: bytes, window: tuple[float, ...] | None = None, **options: Any) -> Any:
    """Decodes one file with `engine`: headrace's or DALI's (pipeline_def, fn)."""
    make, functions = engine

    @make(batch_size=1, num_threads=1, device_id=None)
    def pipe() -> Any:
        source = functions.external_source(source=lambda: [np.frombuffer(data, np.uint8)])
        if window is None:
            return functions.decoders.image(source, **options)
        start, shape = np.float32(window[:2]), np.float32(window[2:])
        return functions.decoders.image_slice(
            source,
            start=start,
            shape=shape,
            normalized_anchor=False,
            normalized_shape=False,
            axis_names="HW",
            **options,
        )

    built = pipe()
    built.build()
    (out,) = built.run()
    return np.array(out[0])


def ours(data: bytes, window: tuple[float, ...] | None = None, **options: Any) -> Any:
    """Decodes with headrace."""
    return run((pipeline_def, fn), data, window, **options)


@pytest.mark.parametrize(
    "name", [n for n in FILES if n not in ("jpeg_cmyk", "png_16", "png_16_grey")]
)
def test_rgb_is_pillows(name: str) -> None:
    """RGB equals Pillow's pixels; alpha is dropped, not blended."""
    want = np.asarray(Image.open(io.BytesIO(FILES[name])).convert("RGBA"))[..., :3]
    np.testing.assert_array_equal(ours(FILES[name]), want)


def test_cmyk_is_adobes() -> None:
    """CMYK becomes RGB by multiplying the light that each ink leaves."""
    inks = 255 - np.asarray(Image.open(io.BytesIO(FILES["jpeg_cmyk"]))).astype(int)
    np.testing.assert_array_equal(ours(FILES["jpeg_cmyk"]), inks[..., :3] * inks[..., 3:] // 255)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_pillows(orientation: int) -> None:
    """All eight orientations, whole and in windows of the turned picture."""
    from PIL import ImageOps

    data = turned(orientation)
    stored = Image.open(io.BytesIO(data))
    want = np.asarray(ImageOps.exif_transpose(stored))
    np.testing.assert_array_equal(ours(data), want)
    np.testing.assert_array_equal(ours(data, adjust_orientation=False), np.asarray(stored))
    np.testing.assert_array_equal(ours(data, window=(3, 5, 17, 11)), want[3:20, 5:16])


def test_grey_of_jpeg_is_its_luma() -> None:
    """GRAY takes the file's luma plane."""
    image = Image.open(io.BytesIO(FILES["jpeg_2"]))
    image.draft("L", image.size)
    np.testing.assert_array_equal(
        ours(FILES["jpeg_2"], output_type=types.GRAY)[..., 0], np.asarray(image)
    )


def test_any_data_keeps_channels() -> None:
    """ANY_DATA gives the channels of the file."""
    channels = {
        "png_L": 1,
        "png_LA": 2,
        "png_P": 3,
        "png_RGBA": 4,
        "jpeg_grey": 1,
        "jpeg_2": 3,
        "webp_alpha": 4,
        "bmp_L": 1,
        "pnm_1": 1,
    }
    got = {name: ours(FILES[name], output_type=types.ANY_DATA).shape[2] for name in channels}
    assert got == channels


@pytest.mark.parametrize("name", sorted(FILES))
def test_windows_are_slices(name: str) -> None:
    """A window equals the same part of the whole picture."""
    whole = ours(FILES[name])
    rng = np.random.default_rng(len(name))
    for _ in range(6):
        y, x = rng.integers(0, whole.shape[0] - 1), rng.integers(0, whole.shape[1] - 1)
        h, w = rng.integers(1, whole.shape[0] - y + 1), rng.integers(1, whole.shape[1] - x + 1)
        got = ours(FILES[name], window=(y, x, h, w))
        np.testing.assert_array_equal(got, whole[y : y + h, x : x + w])


@pytest.mark.parametrize(
    "data",
    [b"", b"GIF89a......", FILES["png_RGB"][:60], FILES["bmp_L"][:90]],
    ids=["empty", "unknown", "cut PNG", "cut BMP"],
)
def test_unreadable_files_are_errors(data: bytes) -> None:
    """Files that cannot be read raise an error with the reason."""
    with pytest.raises(RuntimeError, match="decoders.image"):
        ours(data)


def test_damage_is_survived_and_listed() -> None:
    """A truncated JPEG gives its pixels and one warning; strict=True makes that an error."""
    data = encoded(picture("RGB", 200, 160), "JPEG", quality=90)
    cut = np.frombuffer(data[: len(data) // 2], np.uint8)

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        both = [np.frombuffer(data, np.uint8), cut]
        return fn.decoders.image(fn.external_source(source=lambda: both))

    built = pipe(prefetch_queue_depth=1)
    (out,) = built.run()
    whole, damaged = np.array(out[0]), np.array(out[1])
    np.testing.assert_array_equal(damaged[:40], whole[:40])
    assert (damaged[-8:] != whole[-8:]).any()
    first = [e for e in built.errors() if e["iteration"] == 0]
    assert len(first) == 1 and first[0]["action"] == "warning"
    assert "Premature end of JPEG" in first[0]["message"]
    with pytest.raises(RuntimeError, match="Premature end of JPEG"):
        pipe(strict=True).run()


def claimed(data: bytes, side: int) -> bytes:
    """The JPEG file with another height and width in its frame header."""
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return data[: frame + 5] + side.to_bytes(2, "big") * 2 + data[frame + 9 :]


@pytest.mark.parametrize("progressive", [False, True])
def test_claims_are_refused_before_memory_is_taken(progressive: bool) -> None:
    """A file that is too small for its picture is a bad file; the other samples of the batch get their memory and are
    decoded."""
    good = encoded(picture("RGB", 40, 30), "JPEG", progressive=progressive)
    files = [np.frombuffer(f, np.uint8) for f in (claimed(good, 16384), good, good, good)]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, on_error="skip")
    def pipe() -> Any:
        return fn.decoders.image(fn.external_source(source=lambda: files))

    built = pipe(prefetch_queue_depth=1, host_memory_limit=8 << 20)
    (out,) = built.run()
    assert [out[i].shape() for i in range(len(out))] == [[30, 40, 3]] * 3
    assert re.search("(cannot hold|scans of).* 16384x16384", built.errors()[0]["message"])


def test_a_file_cut_behind_its_scan_header_is_an_error() -> None:
    """The file contains no picture data."""
    data = encoded(picture("RGB", 40, 30), "JPEG")
    scan = data.index(b"\xff\xda")
    cut = data[: scan + 2 + int.from_bytes(data[scan + 2 : scan + 4], "big")]
    for tail in (b"", b"\xff\xd9"):
        with pytest.raises(RuntimeError, match="no entropy-coded data"):
            ours(cut + tail)


def test_coefficients_count_under_the_limit() -> None:
    """A progressive file that is damaged near its end, so that both decoders keep coefficients."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (3000, 5000, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(pixels), "JPEG", progressive=True, quality=5, subsampling=0)
    files = [np.frombuffer(data[:-3000], np.uint8)]

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipe() -> Any:
        return fn.decoders.image_crop(fn.external_source(source=lambda: files), crop=[8, 9])

    assert pipe(host_memory_limit=100 << 20).run()[0].at(0).shape == (8, 9, 3)
    with pytest.raises(RuntimeError, match="needs .* bytes of scratch, more than host_memory_limit"):
        pipe(host_memory_limit=10 << 20).run()


@pytest.mark.parametrize(("sof", "bits"), [(0xC0, 12), (0xC5, 8), (0xCB, 8), (0xCF, 16)])
def test_shapes_of_files_that_are_not_decoded(sof: int, bits: int) -> None:
    """Hierarchical, arithmetic lossless and 12-bit JPEG: `peek_image_shape` reads the frame header, as in DALI."""
    data = bytearray(encoded(picture("RGB", 40, 30), "JPEG"))
    frame = data.index(b"\xff\xc0")
    data[frame + 1], data[frame + 4] = sof, bits

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe() -> Any:
        source = fn.external_source(source=lambda: [np.frombuffer(bytes(data), np.uint8)])
        return fn.peek_image_shape(source)

    np.testing.assert_array_equal(pipe().run()[0].at(0), [30, 40, 3])
    with pytest.raises(RuntimeError, match="are not supported"):
        ours(bytes(data))


def test_photographs_are_pillows(photograph_files: list[Path]) -> None:
    """Photographs, whole and cropped."""
    from PIL import ImageOps

    for path in photograph_files:
        data = path.read_bytes()
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        if image.mode == "CMYK":
            continue
        want = np.asarray(image.convert("RGB"))
        np.testing.assert_array_equal(ours(data), want, err_msg=path.name)
        y, x = want.shape[0] // 3, want.shape[1] // 5
        got = ours(data, window=(y, x, y, 2 * x))
        np.testing.assert_array_equal(got, want[y : 2 * y, x : 3 * x], err_msg=path.name)


@needs_dali
@pytest.mark.parametrize(
    ("name", "output_type"),
    [
        (name, output_type)
        for name in sorted(FILES)
        for output_type in TYPES
        if output_type != "ANY_DATA" or name not in ("jpeg_grey", "jpeg_cmyk", "png_LA")  # DALI fails
    ],
)
def test_pixels_are_dalis(name: str, output_type: str) -> None:
    """uint8 and float pixels equal DALI's (YCbCr floats: except for the last bit)."""
    compare(name, output_type, "UINT8")
    compare(name, output_type, "FLOAT")


@needs_dali
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["png_RGB", "png_16", "jpeg_2"])
def test_types_are_dalis(name: str, dtype: str) -> None:
    """Values of each element type have the same range as DALI's."""
    for output_type in TYPES:
        compare(name, output_type, dtype)


def compare(name: str, output_type: str, dtype: str) -> None:
    """Decodes one file with both; YCbCr may differ in the last bit."""
    import nvidia.dali as dali
    from nvidia.dali import fn as dali_fn
    from nvidia.dali import types as dali_types

    got = ours(FILES[name], output_type=getattr(types, output_type), dtype=getattr(types, dtype))
    want = run(
        (dali.pipeline_def, dali_fn),
        FILES[name],
        dtype=getattr(dali_types, dtype),
        output_type=getattr(dali_types, output_type),
    )
    assert got.shape == want.shape and got.dtype == want.dtype
    slack = {"UINT8": 0, "FLOAT": 2e-7, "INT32": 512}.get(dtype, 1) if output_type == "YCbCr" else 0
    assert np.abs(got.astype(np.float64) - want.astype(np.float64)).max() <= slack
