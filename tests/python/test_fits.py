# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""experimental.readers.fits: images written here, and by astropy where it is installed."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn, types  # noqa: E402

BITPIX = {"u1": 8, ">i2": 16, ">i4": 32, ">i8": 64, ">f4": -32, ">f8": -64}


def header(**values: Any) -> bytes:
    """The blocks of a header."""
    cards = []
    for key, value in values.items():
        if isinstance(value, bool):
            value = "TF"[not value]
        text = f"'{value:8}'" if isinstance(value, str) and value not in ("T", "F") else str(value)
        cards.append(f"{key:8}= {text:>20}".ljust(80))
    text = "".join([*cards, "END".ljust(80)])
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 2880)


def axes(prefix: str, shape: tuple[int, ...]) -> dict[str, int]:
    return {
        f"{prefix}AXIS": len(shape),
        **{f"{prefix}AXIS{i + 1}": n for i, n in enumerate(shape[::-1])},
    }


def image(values: Any, **more: Any) -> bytes:
    """An image extension."""
    head = {
        "XTENSION": "IMAGE",
        "BITPIX": BITPIX[values.dtype.str.replace("|", "")],
        **axes("N", values.shape),
    }
    return header(**head, PCOUNT=0, GCOUNT=1, **more) + padded(values.tobytes())


PRIMARY = header(SIMPLE=True, BITPIX=8, NAXIS=0)


def tiles(values: Any, packed: list[bytes], method: str, **more: Any) -> bytes:
    """A table of compressed tiles, each of them one row of the array."""
    rows, heap = b"", b""
    for data in packed:
        rows += struct.pack(">ii", len(data), len(heap))
        heap += data
    head = {"XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": 8, "NAXIS2": len(packed)}
    head |= {
        "PCOUNT": len(heap),
        "GCOUNT": 1,
        "TFIELDS": 1,
        "TTYPE1": "COMPRESSED_DATA",
        "TFORM1": "1PB(9)",
    }
    head |= {
        "ZIMAGE": True,
        "ZCMPTYPE": method,
        "ZBITPIX": BITPIX[values.dtype.str.replace("|", "")],
    }
    return header(**head, **axes("ZN", values.shape), **more) + padded(rows + heap)


def gzipped(values: Any, **more: Any) -> bytes:
    return tiles(
        values,
        [gzip.compress(row.tobytes()) for row in values.reshape(-1, values.shape[-1])],
        "GZIP_1",
        **more,
    )


def read(content: bytes, tmp_path: Path, **arguments: Any) -> list[Any]:
    path = tmp_path / "a.fits"
    path.write_bytes(content)
    pipe = Pipeline(1, 1, None)
    with pipe:
        out = fn.experimental.readers.fits(files=[str(path)], **arguments)
        pipe.set_outputs(*(out if isinstance(out, (list, tuple)) else [out]))
    return [np.array(batch.at(0)) for batch in pipe.run()]


def dali(dtype: Any) -> Any:
    return getattr(
        types,
        {"float32": "FLOAT", "float64": "FLOAT64"}.get(
            np.dtype(dtype).name, np.dtype(dtype).name.upper()
        ),
    )


@pytest.mark.parametrize("make", [image, gzipped])
@pytest.mark.parametrize("dtype", BITPIX)
def test_types(dtype: str, make: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 250, (3, 4, 5)).astype(dtype)
    (got,) = read(PRIMARY + make(values), tmp_path, dtypes=dali(values.dtype.newbyteorder("=")))
    assert got.dtype == values.dtype.newbyteorder("=") and got.shape == values.shape
    np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_other_signedness(bits: int, tmp_path: Path) -> None:
    stored = np.array([[0, 1, 2], [5, 100, 127]]).astype("u1" if bits == 8 else f">i{bits // 8}")
    zero = -128 if bits == 8 else 2 ** (bits - 1)
    wanted = f"i{bits // 8}" if bits == 8 else f"u{bits // 8}"
    expected = np.array([[int(x) + zero for x in row] for row in stored.tolist()], wanted)
    for make in (image, gzipped):
        (got,) = read(PRIMARY + make(stored, BZERO=zero, BSCALE=1), tmp_path, dtypes=dali(wanted))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "dtype, result", [(">i2", "f4"), (">i4", "f8"), (">f4", "f4"), (">f8", "f8")]
)
def test_scaled(dtype: str, result: str, tmp_path: Path) -> None:
    stored = np.array([[0, 1, 2], [5, 100, 3000]]).astype(dtype)
    (got,) = read(PRIMARY + image(stored, BZERO=1.5, BSCALE=0.25), tmp_path, dtypes=dali(result))
    assert got.dtype == result
    np.testing.assert_array_equal(got, 1.5 + 0.25 * stored.astype("f8"))


def test_several_hdus(tmp_path: Path) -> None:
    first = np.arange(6, dtype="u1").reshape(2, 3)
    second = np.arange(8, dtype=">f4")
    primary = header(SIMPLE=True, BITPIX=8, **axes("N", first.shape)) + padded(first.tobytes())
    a, b, c = read(
        primary + image(second) + gzipped(first),
        tmp_path,
        hdu_indices=[3, 2, 1],
        dtypes=[types.UINT8, types.FLOAT, types.UINT8],
    )
    np.testing.assert_array_equal(a, first)
    np.testing.assert_array_equal(b, second)
    np.testing.assert_array_equal(c, first)


SMALL = np.arange(20, dtype=">i2").reshape(4, 5)
WHOLE = PRIMARY + image(SMALL)
PACKED = PRIMARY + gzipped(SMALL)
HEAP = PACKED.index(gzip.compress(SMALL[0].tobytes())[:3])
HOSTILE = {
    "nothing": (b"", "no FITS header begins at byte 0"),
    "another file": (b"\x89PNG" + bytes(9000), "no FITS header begins at byte 0"),
    "no such HDU": (PRIMARY, "only 1 HDUs"),
    "no data": (PRIMARY + header(XTENSION="IMAGE", BITPIX=8, NAXIS=0), "NAXIS is 0"),
    "no second header": (PRIMARY + bytes(2880), "no FITS header begins at byte 2880"),
    "no END": (PRIMARY + header(XTENSION="IMAGE").replace(b"END", b"AND"), "byte 2880 has no end"),
    "cut off": (WHOLE[: 2880 * 2 + 10], "ends at byte 5770"),
    "BITPIX": (PRIMARY + header(XTENSION="IMAGE", BITPIX=7, NAXIS=1, NAXIS1=3), "BITPIX 7"),
    "GCOUNT": (
        WHOLE.replace(b"GCOUNT  =                    1", b"GCOUNT  =                    0"),
        "GCOUNT 0",
    ),
    "NAXIS": (PRIMARY + header(XTENSION="IMAGE", BITPIX=8, NAXIS=-1), "NAXIS -1"),
    "many axes": (
        PRIMARY + header(XTENSION="IMAGE", BITPIX=8, **axes("N", (1,) * 9)) + bytes(2880),
        "9 dimensions",
    ),
    "overflow": (
        PRIMARY + header(XTENSION="IMAGE", BITPIX=64, **axes("N", (2**62, 2**62))),
        "overflows",
    ),
    "negative": (PRIMARY + header(XTENSION="IMAGE", BITPIX=64, NAXIS=1, NAXIS1=-4), "NAXIS1"),
    "a table": (
        PRIMARY + header(XTENSION="BINTABLE", BITPIX=8, **axes("N", (1, 2880))) + bytes(2880),
        "table",
    ),
    "a word": (PRIMARY + header(XTENSION="IMAGE", BITPIX="eight"), "BITPIX.*'eight'"),
    "another type": (PRIMARY + image(SMALL.astype(">f4")), "FLOAT.*INT16"),
    "method": (PACKED.replace(b"GZIP_1", b"PLIO_1"), "PLIO_1"),
    "no column": (PACKED.replace(b"COMPRESSED_DATA", b"COMPRESSED_DOTA"), "COMPRESSED_DATA"),
    "too few tiles": (
        PACKED.replace(b"ZNAXIS2 =                    4", b"ZNAXIS2 =                    5"),
        "each of 5",
    ),
    "bomb": (
        PACKED.replace(b"ZNAXIS1 =                    5", b"ZNAXIS1 =           9999999999"),
        "cannot",
    ),
    "damaged": (PACKED[:HEAP] + b"\0" * 8 + PACKED[HEAP + 8 :], "GZIP_1 data of tile 0 at byte"),
    "outside the heap": (
        PACKED[: HEAP - 32] + b"\x7f" + PACKED[HEAP - 31 :],
        "tile 0 is not inside",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, tmp_path: Path) -> None:
    content, message = HOSTILE[name]
    with pytest.raises(RuntimeError, match=rf"a\.fits: HDU 2: .*{message}"):
        read(content, tmp_path, dtypes=types.INT16)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="2 dtypes for 1"):
        read(WHOLE, tmp_path, dtypes=[types.INT16, types.INT16])
    with pytest.raises(RuntimeError, match="at least 1"):
        read(WHOLE, tmp_path, hdu_indices=[0])
    with pytest.raises(RuntimeError, match="INT16, not UINT8"):
        read(WHOLE, tmp_path, dtypes=types.UINT8)


@pytest.mark.parametrize("make", [image, gzipped])
def test_types_of_the_file(make: Any, tmp_path: Path) -> None:
    """Without `dtypes`, an output has the type of its array."""
    for kind in BITPIX:
        values = (np.arange(24).reshape(4, 6) * 3).astype(kind)
        (got,) = read(PRIMARY + make(values), tmp_path)
        assert got.dtype == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(got, values)


def test_hostile_numbers(tmp_path: Path) -> None:
    """The extreme values of every keyword with a number: an error that names it, or an array."""
    named = ["BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT", "BZERO", "BSCALE"]
    named += ["TFIELDS", "ZBITPIX", "ZNAXIS", "ZNAXIS1", "ZNAXIS2", "THEAP", "ZTILE1", "ZVAL1"]
    values = [v + d for v in (-(2**63), -(2**31), 0, 2**31, 2**62, 2**63 - 1) for d in (0, 1)]
    refused = 0
    for whole in (WHOLE, PACKED):
        for key in named:
            at = whole.find(key.ljust(8).encode() + b"=", 2880)
            for value in values if at > 0 else []:
                changed = f"{key:8}= {value:>20}".ljust(80).encode()
                try:
                    (got,) = read(whole[:at] + changed + whole[at + 80 :], tmp_path)
                except RuntimeError as error:
                    refused += 1
                    assert "HDU 2" in str(error)
                else:
                    assert got.nbytes <= 8 * len(whole)
    assert refused > 100


def test_discovery(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for k, name in enumerate(["b.fits", "sub/a.fits", "c.other"]):
        (tmp_path / name).write_bytes(PRIMARY + image((SMALL + k).astype(">i2")))
    (tmp_path / "list").write_text("sub/a.fits\nb.fits\n")
    for source, order in (
        ({"file_root": str(tmp_path)}, [0, 1]),
        ({"file_list": str(tmp_path / "list")}, [1, 0]),
    ):
        pipe = Pipeline(2, 1, None)
        with pipe:
            pipe.set_outputs(fn.experimental.readers.fits(dtypes=types.INT16, **source))
        (batch,) = pipe.run()
        for i, k in enumerate(order):
            np.testing.assert_array_equal(batch.at(i), SMALL + k)


def riced(row: Any, size: int, block: int) -> bytes:
    """RICE_1: blocks with the number of low bits that suits them, of zeros only, or with whole differences."""
    width, whole = {1: (3, 6), 2: (4, 14), 4: (5, 25)}[size]
    mask, numbers = (1 << 8 * size) - 1, [int(x) for x in row]
    bits = f"{numbers[0] & mask:0{8 * size}b}"
    differences = []
    for a, b in zip([numbers[0], *numbers], numbers):
        d = (b - a) & mask
        d -= (d >> 8 * size - 1) << 8 * size
        differences.append(2 * d if d >= 0 else -2 * d - 1)
    for at in range(0, len(differences), block):
        some = differences[at : at + block]
        split = max(len(f"{max(some):b}") - 2, 0)
        if max(some) == 0:
            bits += "0" * width
        elif split >= whole:
            bits += f"{whole + 1:0{width}b}" + "".join(f"{d:0{8 * size}b}" for d in some)
        else:
            bits += f"{split + 1:0{width}b}"
            for d in some:
                bits += (
                    "0" * (d >> split)
                    + "1"
                    + (f"{d & (1 << split) - 1:0{split}b}" if split else "")
                )
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


@pytest.mark.parametrize("block", [16, 32])
@pytest.mark.parametrize("dtype", ["u1", ">i2", ">i4"])
def test_rice(dtype: str, block: int, tmp_path: Path) -> None:
    random, size = np.random.default_rng(3), np.dtype(dtype).itemsize
    limits = np.iinfo(dtype)
    rows = [
        np.cumsum(random.integers(-2, 3, 100)) + 70,
        random.integers(limits.min, limits.max, 100, endpoint=True),
    ]
    values = np.stack([*rows, np.full(100, limits.min), np.arange(100) // 40 * 3]).astype(dtype)
    names = {"ZNAME1": "BLOCKSIZE", "ZVAL1": block, "ZNAME2": "BYTEPIX", "ZVAL2": size}
    packed = [riced(row, size, block) for row in values]
    table, wanted = tiles(values, packed, "RICE_1", **names), dali(values.dtype.newbyteorder("="))
    np.testing.assert_array_equal(read(PRIMARY + table, tmp_path, dtypes=wanted)[0], values)
    start = table.index(struct.pack(">ii", len(packed[0]), 0))
    short = table[:start] + struct.pack(">i", 9) + table[start + 4 :]
    with pytest.raises(RuntimeError, match="HDU 2: the RICE_1 data of tile 0 at byte"):
        read(PRIMARY + short, tmp_path, dtypes=wanted)


@pytest.mark.parametrize("method", ["RICE_1", "GZIP_1"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4"])
@pytest.mark.parametrize("kind", ["smooth", "noise", "constant"])
def test_tiles_of_astropy(kind: str, dtype: str, method: str, tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    random = np.random.default_rng(2)
    limits = np.iinfo(dtype)
    for shape, tile in ((7, 100), None), ((3, 20, 33), (2, 7, 10)), ((1, 1), None), ((65,), (40,)):
        if kind == "smooth":
            values = (
                (np.cumsum(random.integers(-3, 4, int(np.prod(shape)))) + 60)
                .reshape(shape)
                .astype(dtype)
            )
        elif kind == "noise":
            values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        else:
            values = np.full(shape, limits.max, dtype)
        hdus = [
            fits.PrimaryHDU(),
            fits.CompImageHDU(values, compression_type=method, tile_shape=tile),
        ]
        fits.HDUList(hdus).writeto(tmp_path / "x.fits", overwrite=True)
        (got,) = read((tmp_path / "x.fits").read_bytes(), tmp_path, dtypes=dali(dtype))
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got, values)


def test_quantized_floats_are_refused(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    values = np.random.default_rng(2).standard_normal((20, 30)).astype("f4")
    for method in ("RICE_1", "GZIP_1"):
        fits.HDUList(
            [fits.PrimaryHDU(), fits.CompImageHDU(values, compression_type=method)]
        ).writeto(tmp_path / "x.fits", overwrite=True)
        with pytest.raises(RuntimeError, match="quantized"):
            read((tmp_path / "x.fits").read_bytes(), tmp_path, dtypes=types.FLOAT)
