# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.volume: NIfTI equals nibabel, DICOM pydicom, and TIFF what was written."""

from __future__ import annotations

import gzip
import io
import struct
from typing import Any

import dicoms
import nibabel
import numpy as np
import pydicom
import pytest
from dicoms import EXPLICIT, IMPLICIT, JPEG, JPEG2000, JPEG_LOSSLESS, RLE, fragments, write
from headrace import Pipeline, fn, types
from lossless_jpegs import lossless
from PIL import Image
from tiffs import tiff

RNG = np.random.default_rng(5)


def run(data: bytes, **kwargs: Any) -> tuple[np.ndarray, str, list[dict[str, Any]]]:
    """The volume, its layout, and what pipe.errors() has."""
    own = kwargs.pop("pipeline", {})
    with Pipeline(1, 1, None, **own) as pipe:
        files = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(fn.decoders.volume(files, **kwargs))
    (batch,) = pipe.run()
    return np.array(batch[0]), batch.layout(), pipe.errors()


def volume(data: bytes, **kwargs: Any) -> np.ndarray:
    return run(data, **kwargs)[0]


def noise(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return RNG.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


# ---- NIfTI ----

NIFTI_TYPES = ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def nifti(array: np.ndarray, *, second: bool = False, order: str = "<", slope: float | None = None, inter: float = 0.0) -> bytes:  # fmt: skip
    """`array` has the axes x, y, z, t."""
    header = (nibabel.Nifti2Header if second else nibabel.Nifti1Header)(endianness=order)
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    header["vox_offset"] = 560 if second else 368
    header["magic"] = header["magic"] if second else b"n+1\0"
    if slope is not None:
        header["scl_slope"], header["scl_inter"] = slope, inter
    head = header.binaryblock
    body = array.astype(array.dtype.newbyteorder(order)).tobytes(order="F")
    return head + bytes((560 if second else 368) - len(head)) + body


def loaded(data: bytes) -> Any:
    kind = (
        nibabel.Nifti2Image if data[:4] in (b"\x1c\2\0\0", b"\0\0\2\x1c") else nibabel.Nifti1Image
    )
    return kind.from_bytes(data)


@pytest.mark.parametrize("dtype", NIFTI_TYPES)
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_nifti_equals_nibabel(dtype: str, second: bool, order: str) -> None:
    array = noise((7, 5, 4), dtype)
    data = nifti(array, second=second, order=order)
    expected = np.asanyarray(loaded(data).dataobj).T
    np.testing.assert_array_equal(expected, array.T)
    found, layout, errors = run(data, dtype=types.ANY)
    assert (layout, found.dtype, errors) == ("DHW", np.dtype(dtype), [])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(volume(data), expected.astype(np.float32))
    packed = gzip.compress(data)
    np.testing.assert_array_equal(volume(packed, dtype=types.ANY), expected)
    members = gzip.compress(data[:400]) + gzip.compress(data[400:]) + bytes(9)
    np.testing.assert_array_equal(volume(members, dtype=types.ANY), expected)


@pytest.mark.parametrize("dtype", ["i2", "u1", "f4"])
@pytest.mark.parametrize(("slope", "inter"), [(2.5, -1024.0), (1.0, 3.0), (0.0, 7.0), (np.nan, 7.0), (1.0, 0.0)])  # fmt: skip
def test_nifti_scale_equals_nibabel(dtype: str, slope: float, inter: float) -> None:
    array = noise((6, 5, 4), dtype)
    data = nifti(array, slope=slope, inter=inter)
    expected = loaded(data).get_fdata().T
    found = volume(data)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=0)
    np.testing.assert_array_equal(volume(data, dtype=types.ANY, rescale=False), array.T)
    scaled = np.isfinite(slope) and slope != 0 and (slope, inter) != (1, 0)
    assert volume(data, dtype=types.ANY).dtype == (np.float32 if scaled else np.dtype(dtype))
    np.testing.assert_array_equal(volume(data, dtype=types.FLOAT64), expected)


def test_nifti_axes() -> None:
    times = noise((5, 4, 3, 2), "i2")
    found, layout, _ = run(nifti(times), dtype=types.ANY)
    assert layout == "FDHW"
    np.testing.assert_array_equal(found, times.T)
    for shape in ((5, 4), (5,), (5, 4, 3, 1), (5, 4, 3, 1, 1)):
        array = noise(shape, "u1")
        found, layout, _ = run(nifti(array), dtype=types.ANY)
        assert layout == "DHW"
        np.testing.assert_array_equal(found.ravel(), array.ravel(order="F"))
        assert found.shape == ((*shape, 1, 1)[:3])[::-1]
    with pytest.raises(RuntimeError, match="an axis 5 of 3 elements is not supported"):
        run(nifti(noise((5, 4, 3, 1, 3), "u1")))


def test_nifti_colours() -> None:
    array = noise((4, 5, 6, 3), "u1")  # z, y, x, colours
    data = bytearray(nifti(array[..., 0].T))
    struct.pack_into("<hh", data, 70, 128, 24)
    found, layout, _ = run(bytes(data[:368]) + array.tobytes(), dtype=types.ANY)
    assert layout == "DHWC"
    np.testing.assert_array_equal(found, array)
    expected = np.asanyarray(loaded(bytes(data[:368]) + array.tobytes()).dataobj)
    np.testing.assert_array_equal(np.stack([expected[c] for c in "RGB"], -1).transpose(2, 1, 0, 3), found)  # fmt: skip


def test_nifti_refusals() -> None:
    good = nifti(noise((7, 5, 4), "i2"))

    def changed(at: int, form: str, *values: Any) -> bytes:
        data = bytearray(good)
        struct.pack_into(form, data, at, *values)
        return bytes(data)

    cases = [
        (good[:-1], "279 bytes of values, but its header says 280"),
        (changed(70, "<h", 32), "type 32 are not supported"),
        (changed(344, "4s", b"ni1\0"), "in another file"),
        (changed(40, "<h", 9), "9 axes"),
        (changed(42, "<h", -3), "an extent of -3"),
        (changed(108, "<f", 12.0), "begin at 12"),
        (changed(108, "<f", np.nan), "begin at nan"),
        (changed(112, "<ff", 2.0, np.inf), "intercept"),
        (good[:300], "not a volume that this build reads"),
        (gzip.compress(good)[:-20], "gzip: the file is damaged or ends early"),
        (gzip.compress(good[:300]), "not a volume that this build reads"),
        (b"", "is empty"),
    ]
    for data, message in cases:
        with pytest.raises(RuntimeError, match=message):
            run(data)
    with pytest.raises(RuntimeError, match="over the limit of 100 voxels"):
        run(good, pipeline={"max_image_pixels": 100})


# ---- DICOM ----


def reference(data: bytes) -> np.ndarray:
    return pydicom.dcmread(io.BytesIO(data)).pixel_array


@pytest.mark.parametrize("syntax", [EXPLICIT, IMPLICIT])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4"])
@pytest.mark.parametrize("frames", [1, 3])
def test_dicom_equals_pydicom(syntax: str, dtype: str, frames: int) -> None:
    array = noise((frames, 7, 9), dtype)
    data = dicoms.of(array, syntax=syntax)
    np.testing.assert_array_equal(reference(data).reshape(array.shape), array)
    found, layout, errors = run(data, dtype=types.ANY)
    assert (layout, found.dtype, errors) == ("DHW", np.dtype(dtype), [])
    np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(volume(data), array.astype(np.float32))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("stored", "high"), [(12, 11), (12, 15), (10, 12), (1, 0), (15, 14)])
def test_dicom_stored_bits(signed: bool, stored: int, high: int) -> None:
    """Bits around those that are stored mean nothing."""
    raw = noise((2, 6, 5), "u2")
    data = dicoms.of(raw, stored=stored, high=high, signed=signed)
    values = (raw.astype(int) >> (high + 1 - stored)) & ((1 << stored) - 1)
    if signed:
        values -= (values >> (stored - 1)) << stored
    found = volume(data, dtype=types.ANY)
    assert found.dtype == (np.int16 if signed else np.uint16)
    np.testing.assert_array_equal(found, values)


def test_dicom_single_bits() -> None:
    mask = RNG.integers(0, 2, (3, 5, 7), np.uint8)
    data = write(
        np.packbits(mask.ravel(), bitorder="little").tobytes(), 5, 7, allocated=1, frames=3
    )
    np.testing.assert_array_equal(volume(data, dtype=types.ANY), mask)
    np.testing.assert_array_equal(reference(data), mask)


@pytest.mark.parametrize(("tag", "dtype"), [(0x7FE00008, "f4"), (0x7FE00009, "f8")])
def test_dicom_floats(tag: int, dtype: str) -> None:
    array = noise((2, 4, 5), dtype)
    found = volume(dicoms.of(array, tag=tag), dtype=types.ANY)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4"])
@pytest.mark.parametrize("frames", [1, 3])
def test_dicom_rle_equals_pydicom(dtype: str, frames: int) -> None:
    array = noise((frames, 7, 9), dtype)
    array[:, 2:5] = array[:, 2:3, :1]
    coded = fragments([[dicoms.rle(frame)] for frame in array], offsets=frames > 1)
    data = write(
        coded, 7, 9, syntax=RLE, allocated=8 * array.itemsize, signed=dtype[0] == "i",
        frames=frames, encapsulated=True,
    )  # fmt: skip
    np.testing.assert_array_equal(reference(data).reshape(array.shape), array)
    np.testing.assert_array_equal(volume(data, dtype=types.ANY), array)


@pytest.mark.parametrize("planar", [0, 1])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_dicom_colours(planar: int, dtype: str) -> None:
    array = noise((2, 6, 5, 3), dtype)
    stored = array.transpose(0, 3, 1, 2) if planar else array
    options = {"samples": 3, "frames": 2, "allocated": 8 * array.itemsize, "planar": planar}
    data = write(stored.tobytes(), 6, 5, photometric="RGB", **options)
    found, layout, _ = run(data, dtype=types.ANY)
    assert layout == "DHWC"
    np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(reference(data), array)
    ybr = volume(write(stored.tobytes(), 6, 5, photometric="YBR_FULL", **options), dtype=types.ANY)
    if dtype == "u1":
        data = write(stored.tobytes(), 6, 5, photometric="YBR_FULL", **options)
        assert np.abs(ybr.astype(int) - reference(data)).max() <= 1
    coded = fragments([[dicoms.rle(frame)] for frame in array], offsets=True)
    options["planar"] = 1
    for kind, expected in (("RGB", array), ("YBR_FULL", ybr)):
        data = write(coded, 6, 5, syntax=RLE, photometric=kind, encapsulated=True, **options)
        np.testing.assert_array_equal(volume(data, dtype=types.ANY), expected)


@pytest.mark.parametrize("bits", [8, 16])
def test_dicom_palette(bits: int) -> None:
    table = noise((3, 200), f"u{bits // 8}")
    indices = RNG.integers(0, 256, (1, 6, 7), np.uint8)
    before = b"".join(
        dicoms.element(0x00281101 + i, "US", struct.pack("<HHH", 200, 5, bits)) for i in range(3)
    )
    before += b"".join(
        dicoms.element(0x00281201 + i, "OW", table[i].tobytes()) for i in range(3)
    )  # fmt: skip
    data = write(indices.tobytes(), 6, 7, allocated=8, photometric="PALETTE COLOR", before=before)
    found, layout, _ = run(data, dtype=types.ANY)
    assert layout == "DHWC"
    np.testing.assert_array_equal(found, table.T[np.clip(indices.astype(int) - 5, 0, 199)])
    from pydicom.pixels import apply_color_lut

    dataset = pydicom.dcmread(io.BytesIO(data))
    np.testing.assert_array_equal(found[0], apply_color_lut(dataset.pixel_array, dataset))
    with pytest.raises(RuntimeError, match="a palette that is not valid"):
        run(write(indices.tobytes(), 6, 7, allocated=8, photometric="PALETTE COLOR"))


@pytest.mark.parametrize(("bits", "signed"), [(8, False), (12, False), (12, True), (16, False), (16, True)])  # fmt: skip
@pytest.mark.parametrize("frames", [1, 2])
def test_dicom_lossless_jpeg(bits: int, signed: bool, frames: int) -> None:
    raw = RNG.integers(0, 1 << bits, (frames, 9, 11), np.uint16)
    coded = [lossless(frame[..., None].astype(int), bits, 1) for frame in raw]
    split = [[file[:50], file[50:150], file[150:]] for file in map(dicoms.padded, coded)]
    for parts, offsets in (([[file] for file in coded], False), (split, True)):
        data = write(
            fragments(parts, offsets), 9, 11, syntax=JPEG_LOSSLESS, allocated=8 if bits == 8 else 16,
            stored=bits, signed=signed, frames=frames, encapsulated=True,
        )  # fmt: skip
        values = raw.astype(int)
        if signed:
            values -= (values >> (bits - 1)) << bits
        np.testing.assert_array_equal(volume(data, dtype=types.ANY), values)


def jpeg2000(frame: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG2000", no_jp2=True, **options)
    return file.getvalue()


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_dicom_jpeg2000_equals_pydicom(dtype: str) -> None:
    array = noise((2, 40, 36), dtype)
    coded = fragments([[jpeg2000(frame)] for frame in array], offsets=True)
    data = write(coded, 40, 36, syntax=JPEG2000, allocated=8 * array.itemsize, frames=2, encapsulated=True)  # fmt: skip
    np.testing.assert_array_equal(volume(data, dtype=types.ANY), array)
    np.testing.assert_array_equal(reference(data), array)
    signed = volume(
        write(coded, 40, 36, syntax=JPEG2000, allocated=8 * array.itemsize, frames=2, signed=True, encapsulated=True),
        dtype=types.ANY,
    )  # fmt: skip
    np.testing.assert_array_equal(signed, array.view(f"i{array.itemsize}"))
    colours = noise((40, 36, 3), "u1")
    data = write(
        fragments([[jpeg2000(colours, mct=1)]], offsets=False), 40, 36, syntax=JPEG2000, allocated=8,
        samples=3, photometric="YBR_RCT", encapsulated=True,
    )  # fmt: skip
    np.testing.assert_array_equal(volume(data, dtype=types.ANY)[0], colours)


def jpeg(frame: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=90, **options)
    return file.getvalue()


def test_dicom_jpeg_equals_pydicom() -> None:
    grey = noise((24, 32), "u1")
    data = write(
        fragments([[jpeg(grey)]], offsets=False), 24, 32, syntax=JPEG, allocated=8, encapsulated=True
    )  # fmt: skip
    np.testing.assert_array_equal(volume(data, dtype=types.ANY)[0], reference(data))
    y, x = np.mgrid[:24, :32]
    colours = np.stack([x * 8, y * 10, x + y], -1).astype(np.uint8)
    coded = fragments([[jpeg(colours)]], offsets=False)
    options: dict[str, Any] = {"syntax": JPEG, "allocated": 8, "samples": 3, "encapsulated": True}
    data = write(coded, 24, 32, photometric="YBR_FULL_422", **options)
    expected = np.array(Image.open(io.BytesIO(jpeg(colours))))
    np.testing.assert_array_equal(volume(data, dtype=types.ANY)[0], expected)
    with pytest.raises(
        RuntimeError, match="the colours are RGB, but those of the JPEG frame are YCb"
    ):
        run(write(coded, 24, 32, photometric="RGB", **options))
    plain = fragments([[jpeg(colours, keep_rgb=True)]], offsets=False)
    data = write(plain, 24, 32, photometric="RGB", **options)
    expected = np.array(Image.open(io.BytesIO(jpeg(colours, keep_rgb=True))))
    np.testing.assert_array_equal(volume(data, dtype=types.ANY)[0], expected)


def test_dicom_rescale() -> None:
    array = noise((2, 5, 6), "i2")
    data = dicoms.of(array, slope="0.5", intercept="-1024 ")
    expected = array * 0.5 - 1024
    np.testing.assert_array_equal(volume(data), expected.astype(np.float32))
    np.testing.assert_array_equal(volume(data, dtype=types.FLOAT64), expected)
    np.testing.assert_array_equal(volume(data, rescale=False, dtype=types.ANY), array)
    units = np.clip(np.trunc(expected + np.copysign(0.5, expected)), -32768, 32767)
    np.testing.assert_array_equal(volume(data, dtype=types.INT16), units)
    from pydicom.pixels import apply_modality_lut

    dataset = pydicom.dcmread(io.BytesIO(data))
    np.testing.assert_array_equal(apply_modality_lut(dataset.pixel_array, dataset), expected)


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("group", [0x52009229, 0x52009230])
def test_dicom_rescale_of_enhanced_files(marked: bool, implicit: bool, group: int) -> None:
    array = noise((2, 5, 6), "i2")

    def functional(slope: str) -> bytes:
        inner = dicoms.text(0x00281052, "DS", "-7", implicit) + dicoms.text(0x00281053, "DS", slope, implicit)  # fmt: skip
        nested = dicoms.sequence(0x00400275, [dicoms.text(0x00281053, "DS", "99", implicit)], implicit, True)  # fmt: skip
        return nested + dicoms.sequence(0x00289145, [inner], implicit, marked)

    def file(*slopes: str) -> bytes:
        before = dicoms.sequence(group, [functional(slope) for slope in slopes], implicit, marked)
        return dicoms.of(array, syntax=IMPLICIT if implicit else EXPLICIT, before=before)

    np.testing.assert_array_equal(volume(file("2", "2.0")), array * 2.0 - 7)
    with pytest.raises(RuntimeError, match="frames have different slopes .* `rescale=False`"):
        run(file("2", "3"))
    np.testing.assert_array_equal(volume(file("2", "3"), rescale=False), array)


def test_dicom_what_is_said() -> None:
    array = noise((1, 5, 6), "u2")
    found, _, errors = run(dicoms.of(array, photometric="MONOCHROME1"), dtype=types.ANY)
    np.testing.assert_array_equal(found, array)
    assert [e["action"] for e in errors] == ["notice"]
    assert "MONOCHROME1" in errors[0]["message"]
    table = dicoms.sequence(0x00283000, [dicoms.text(0x00283003, "LO", "x")])
    with pytest.raises(RuntimeError, match="Modality LUT"):
        run(dicoms.of(array, before=table))
    np.testing.assert_array_equal(volume(dicoms.of(array, before=table), rescale=False), array)


def test_dicom_refusals() -> None:
    array = noise((2, 5, 6), "u2")
    one = [[dicoms.rle(array[0])], [dicoms.rle(array[1])]]
    packed: dict[str, Any] = {"syntax": RLE, "frames": 2, "encapsulated": True}
    short = fragments([[dicoms.rle(array[0])[:-8]]], offsets=False)
    nested = b"1"
    for _ in range(40):
        nested = dicoms.sequence(0x00289145, [nested], marked=True)
    cases = [
        (dicoms.of(array, syntax="1.2.840.10008.1.2.2"), '"1.2.840.10008.1.2.2" is not supported'),
        (dicoms.of(array, syntax="1.2.840.10008.1.2.4.80"), "transfer syntax .* is not supported"),
        (dicoms.of(array, frames=3), "bytes of pixels are too few for 3 frames of 6x5"),
        (dicoms.of(array, frames=0), "0 frames of 6x5"),
        (dicoms.of(array, allocated=12), "of 12 bits"),
        (dicoms.of(array, photometric="HSV"), "HSV, are not supported"),
        (dicoms.of(array)[:200], "ends early|no pixels|is cut off"),
        (dicoms.of(array)[:-10], "is cut off"),
        (dicoms.of(array, before=nested), "nested too deeply"),
        (dicoms.of(array, syntax=RLE), "not stored as the transfer syntax says"),
        (write(fragments(one, False), 5, 6, **{**packed, "frames": 3}), "3 frames in 2 fragments"),
        (write(fragments([*one, *one], False), 5, 6, **packed), "without their offsets"),
        (write(fragments(one, True), 5, 6, **{**packed, "frames": 1}), "RLE|frames"),
        (write(short, 5, 6, **{**packed, "frames": 1}), "RLE data is damaged or ends early"),
        (write(fragments(one, True), 5, 6, **packed, allocated=8), "RLE frame that is not valid"),
        (write(fragments(one, True)[:-8], 5, 6, **packed), "ends early"),
    ]
    for data, message in cases[:12] + cases[13:]:
        with pytest.raises(RuntimeError, match=message):
            run(data)


# ---- TIFF ----


def stack(pictures: list[np.ndarray], **options: Any) -> bytes:
    """One file of several pages, by chaining the directories of files."""
    parts = [bytearray(tiff(p, 1 if p.shape[2] == 1 else 2, **options)) for p in pictures]
    out = bytearray(parts[0])
    link = _link_of(out)
    for part in parts[1:]:
        base = len(out) + len(out) % 2
        out += bytes(base - len(out))
        struct.pack_into("<I", out, link, base + struct.unpack_from("<I", part, 4)[0])
        _move(part, base)
        link = base + _link_of(part)
        out += part
    return bytes(out)


def _link_of(file: bytearray) -> int:
    at = struct.unpack_from("<I", file, 4)[0]
    return at + 2 + 12 * struct.unpack_from("<H", file, at)[0]


def _move(file: bytearray, base: int) -> None:
    at = struct.unpack_from("<I", file, 4)[0]
    for i in range(struct.unpack_from("<H", file, at)[0]):
        entry = at + 2 + 12 * i
        tag, kind, count, value = struct.unpack_from("<HHII", file, entry)
        size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8}[kind] * count
        if size > 4:
            struct.pack_into("<I", file, entry + 8, value + base)
            if tag in (273, 324):
                for k in range(count):
                    old = struct.unpack_from("<I", file, value + 4 * k)[0]
                    struct.pack_into("<I", file, value + 4 * k, old + base)
        elif tag in (273, 324):
            struct.pack_into("<I", file, entry + 8, value + base)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i1", "i2", "f4"])
@pytest.mark.parametrize("channels", [1, 3])
def test_tiff_stacks(dtype: str, channels: int) -> None:
    array = noise((4, 9, 13, channels), dtype)
    data = stack(list(array), rows_per_strip=4)
    found, layout, errors = run(data, dtype=types.ANY)
    assert (layout, found.dtype, errors) == (
        "DHW" if channels == 1 else "DHWC",
        np.dtype(dtype),
        [],
    )
    np.testing.assert_array_equal(found, array[..., 0] if channels == 1 else array)
    np.testing.assert_array_equal(volume(data).reshape(array.shape), array.astype(np.float32))


@pytest.mark.parametrize("bits", [1, 4, 8, 12, 16])
def test_tiff_values_where_white_is_0(bits: int) -> None:
    """They are not inverted: labels are not colours."""
    array = RNG.integers(0, 1 << bits, (9, 13, 1)).astype(np.uint16 if bits > 8 else np.uint8)
    found = volume(bytes(tiff(array, 0, bits=bits)), dtype=types.ANY)
    np.testing.assert_array_equal(found[0], array[..., 0])


@pytest.mark.parametrize("bits", [1, 4, 7, 10, 12, 14])
def test_tiff_values_are_those_stored(bits: int) -> None:
    array = RNG.integers(0, 1 << bits, (3, 9, 13, 1)).astype(np.uint16 if bits > 8 else np.uint8)
    found = volume(stack(list(array), bits=bits), dtype=types.ANY)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array[..., 0])


def test_tiff_written_by_pillow() -> None:
    array = noise((3, 9, 13), "u2")
    first, *rest = map(Image.fromarray, array)
    file = io.BytesIO()
    first.save(file, "TIFF", save_all=True, append_images=rest, compression="tiff_lzw")
    np.testing.assert_array_equal(volume(file.getvalue(), dtype=types.ANY), array)


def test_tiff_refusals() -> None:
    pages = [noise((5, 6, 1), "u1"), noise((5, 7, 1), "u1")]
    with pytest.raises(RuntimeError, match="page 1 is not like page 0"):
        run(stack(pages))
    with pytest.raises(RuntimeError, match="page 1 is not like page 0"):
        run(stack([pages[0], noise((5, 6, 1), "u2")]))
    for images, hidden in ((b"images=4", True), (b"images=1", False), (b"slices=4", False)):
        text = b"ImageJ=1.53\n" + images + b"\nslices=9\n\0"
        data = tiff(pages[0], 1, fields={270: (1, list(text))})
        if not hidden:
            assert volume(data).shape == (1, 5, 6)
            continue
        with pytest.raises(RuntimeError, match="stack of ImageJ"):
            run(data)
    with pytest.raises(RuntimeError, match="decoders.image reads images"):
        run(jpeg(pages[0][..., 0]))


# ---- all ----


def test_same_draw_for_a_mask() -> None:
    """A volume and its mask go through the same random window and flip."""
    array = np.arange(8 * 9 * 10, dtype=np.int16).reshape(8, 9, 10)
    scan, mask = nifti(array.T, slope=2.0), nifti((array % 7).astype(np.uint8).T)
    with Pipeline(4, 2, None, seed=1) as pipe:
        files = fn.external_source(
            lambda: [[np.frombuffer(d, np.uint8)] * 4 for d in (scan, mask)], num_outputs=2
        )
        volumes = [
            fn.decoders.volume(files[0]),
            fn.decoders.volume(files[1], dtype=types.UINT8),
        ]
        start = fn.random.uniform(range=[0.0, 0.4], shape=3)
        turn = fn.random.coin_flip()
        out = [
            fn.flip(
                fn.slice(v, rel_start=start, rel_shape=[0.5, 0.5, 0.5], axes=[0, 1, 2]),
                horizontal=turn, depthwise=turn,
            )
            for v in volumes
        ]  # fmt: skip
        pipe.set_outputs(*out)
    scans, masks = pipe.run()
    seen = set()
    for a, b in zip(scans, masks):
        a, b = np.array(a), np.array(b)
        assert b.dtype == np.uint8
        np.testing.assert_array_equal((a / 2) % 7, b)
        seen.add(float(a.ravel()[0]))
    assert len(seen) > 1


def test_mutations() -> None:
    rng = np.random.default_rng(0)
    array = noise((2, 6, 7), "u2")
    seeds = [
        nifti(array.T),
        gzip.compress(nifti(array.T)),
        dicoms.of(array),
        write(fragments([[dicoms.rle(f)] for f in array], True), 6, 7, syntax=RLE, frames=2, encapsulated=True),
        stack(list(array[..., None])),
    ]  # fmt: skip
    for good in seeds:
        outcomes = set()
        for _ in range(200):
            data = bytearray(good)
            for _ in range(int(rng.integers(1, 4))):
                data[int(rng.integers(len(data)))] = int(rng.integers(256))
            try:
                outcomes.add(volume(bytes(data)).dtype == np.float32)
            except RuntimeError:
                outcomes.add("refused")
        assert outcomes == {True, "refused"}
