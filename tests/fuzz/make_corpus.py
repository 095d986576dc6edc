# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the seeds of the codecs' fuzz targets: corpus/<target>/<name>, a few hundred bytes each.

An input is eight bytes (output type, element type, orientation, unused, window) and the file; see
codec_fuzz.h. Needs NumPy and Pillow. Seeds that exist stay as they are: the libraries' versions
would change them.
"""

from __future__ import annotations

import gzip
import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python"))
import dicoms  # noqa: E402
import heifs  # noqa: E402
import jpeg2000s  # noqa: E402
import lossless_jpegs  # noqa: E402
import sounds  # noqa: E402
import tiffs  # noqa: E402

WHOLE = bytes([0, 0, 1, 0, 0, 255, 0, 255])


def picture(mode: str, width: int = 21, height: int = 18) -> Image.Image:
    """A gradient with a pattern in `mode`."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 12, y * 14, (x * y) % 256, 255 - x * 5]
    array = np.stack(planes, -1).astype(np.uint8)
    if mode == "RGBA":
        return Image.fromarray(array)
    rgb = Image.fromarray(array[..., :3])
    return rgb.quantize(16) if mode == "P" else rgb.convert(mode)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """The file's bytes."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif(orientation: int) -> bytes:
    """An EXIF block that holds nothing but the orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    return block.tobytes()


def claimed(data: bytes, side: int = 16384) -> bytes:
    """The JPEG file with another height and width in its frame header."""
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return data[: frame + 5] + side.to_bytes(2, "big") * 2 + data[frame + 9 :]


def repeated(data: bytes, times: int) -> bytes:
    """The JPEG file with its last scan so many times."""
    scan = data.rindex(b"\xff\xda")
    return data[:-2] + data[scan:-2] * times + data[-2:]


def jpeg() -> dict[str, bytes]:
    files = {
        f"q{q}_s{s}": encoded(picture("RGB"), "JPEG", quality=q, subsampling=s)
        for q, s in ((30, 0), (70, 1), (90, 2))
    }
    files["grey"] = encoded(picture("L"), "JPEG")
    files["cmyk"] = encoded(picture("CMYK"), "JPEG")
    array = np.array(picture("RGB", 12, 9))
    files["lossless8"] = lossless_jpegs.lossless(array, 8, 4, restart=3)
    deep = array.astype(np.uint16) * 257
    files["lossless16"] = lossless_jpegs.lossless(deep, 16, 7, apart=True)
    files["progressive"] = encoded(picture("RGB"), "JPEG", progressive=True)
    files["progressive_s2"] = encoded(
        picture("RGB"), "JPEG", progressive=True, quality=90, subsampling=2
    )
    files["progressive_grey"] = encoded(picture("L"), "JPEG", progressive=True, quality=95)
    files["progressive_restart"] = encoded(
        picture("RGB"), "JPEG", progressive=True, restart_marker_blocks=2
    )
    files["restart"] = encoded(picture("RGB"), "JPEG", restart_marker_blocks=1)
    files["turned"] = encoded(picture("RGB"), "JPEG", exif=exif(6))
    files["cut"] = files["q70_s1"][:-60]
    grey = encoded(picture("L", 8, 8), "JPEG", progressive=True)
    files["claimed"] = claimed(files["q30_s0"])
    files["claimed_progressive"] = claimed(grey)
    files["claimed_arithmetic"] = claimed(grey).replace(b"\xff\xc2", b"\xff\xca")
    files["claimed_scans"] = claimed(repeated(grey, 200), 8192)
    files["scans"] = repeated(grey, 200)
    files["no_data"] = files["q70_s1"][: files["q70_s1"].index(b"\xff\xda") + 14]
    files["lossless"] = files["q70_s1"].replace(b"\xff\xc0", b"\xff\xc3")
    return files


def raw_png(depth: int, colour: int, interlaced: bool, size: int = 9) -> bytes:
    """A PNG of zeros, for the kinds that Pillow does not write."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    header = struct.pack(">IIBBBBB", size, size, depth, colour, 0, 0, int(interlaced))
    data = zlib.compress(bytes(size * (size * samples * depth // 8 + 2) * 2))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def png() -> dict[str, bytes]:
    files = {mode: encoded(picture(mode), "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA")}
    files["key"] = encoded(picture("P"), "PNG", transparency=3)
    files["turned"] = encoded(picture("L"), "PNG", exif=exif(5))
    for depth, colour in ((16, 2), (16, 6), (2, 0), (8, 4)):
        files[f"interlaced_{depth}_{colour}"] = raw_png(depth, colour, True)
        files[f"plain_{depth}_{colour}"] = raw_png(depth, colour, False)
    head = files["L"].index(b"IHDR")
    sides = struct.pack(">II", 16384, 16384) + files["L"][head + 12 : head + 17]
    check = struct.pack(">I", zlib.crc32(b"IHDR" + sides))
    files["claimed"] = files["L"][: head + 4] + sides + check + files["L"][head + 21 :]
    return files


def bmp() -> dict[str, bytes]:
    files = {mode: encoded(picture(mode), "BMP") for mode in ("1", "L", "P", "RGB", "RGBA")}
    head = struct.pack("<IiiHHIIiiII", 40, 4, 2, 1, 8, 1, 0, 0, 0, 2, 0) + bytes(8)
    runs = bytes([2, 1, 0, 2, 1, 1, 1, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 1])
    files["rle8"] = b"BM" + struct.pack("<III", 0, 0, 14 + len(head)) + head + runs
    files["rle4"] = files["rle8"][:28] + b"\4\0\2\0\0\0" + files["rle8"][34:]
    masks = struct.pack("<IIII", 0xF00, 0xF0, 0xF, 0xF000)
    head = struct.pack("<IiiHHIIiiII", 56, 3, -2, 1, 16, 3, 0, 0, 0, 0, 0) + masks
    files["fields"] = b"BM" + struct.pack("<III", 0, 0, 14 + len(head)) + head + bytes(range(16))
    core = struct.pack("<IHHHH", 12, 3, 2, 1, 24)
    files["core"] = b"BM" + struct.pack("<III", 0, 0, 14 + len(core)) + core + bytes(range(24))
    side = struct.pack("<I", 16384)
    files["claimed"] = files["RGB"][:18] + side * 2 + files["RGB"][26:]
    files["claimed_rle8"] = files["rle8"][:18] + side * 2 + files["rle8"][26:]
    return files


def pnm() -> dict[str, bytes]:
    return {
        "p1": b"P1\n# bits\n5 2\n10101\n0 1 0 1 0\n",
        "p2": b"P2 3 2 100\n0 1 50\n99 100 101\n",
        "p3": b"P3 2 1 65535 1 2 3 40000 50000 65535\n",
        "p4": b"P4 10 2\n\xa0\x40\x00\x80",
        "p5": b"P5 3 2 255\n" + bytes(range(6)),
        "p5_16": b"P5 3 1 1000\n" + struct.pack(">3H", 0, 500, 1000),
        "p6": b"P6 3 2 255\n" + bytes(range(18)),
        "claimed_p3": b"P3 16384 16384 255 1 2 3",
        "claimed_p4": b"P4 16384 16384\n" + bytes(9),
        "claimed_p6": b"P6 16384 16384 255\n" + bytes(9),
    }


def webp() -> dict[str, bytes]:
    flat = encoded(Image.new("RGB", (64, 64), "red"), "WEBP", lossless=True)
    sides = (16382 | 16382 << 14).to_bytes(4, "little")
    return {
        "claimed": flat[:21] + sides + flat[25:],
        "lossy": encoded(picture("RGB"), "WEBP", quality=50),
        "lossy_alpha": encoded(picture("RGBA"), "WEBP", quality=50),
        "lossless": encoded(picture("RGB", 12, 9), "WEBP", lossless=True),
        "lossless_alpha": encoded(picture("RGBA", 12, 9), "WEBP", lossless=True),
        "turned": encoded(picture("RGB"), "WEBP", quality=20, exif=exif(8)),
        "animated": encoded(
            picture("RGBA", 12, 9), "WEBP", save_all=True, append_images=[picture("RGB", 12, 9)]
        ),
    }


def gif() -> dict[str, bytes]:
    frames = [picture("RGB", 12, 9), picture("RGB", 12, 9).rotate(90), picture("L", 12, 9)]
    clear = picture("P", 12, 9)
    clear.info["transparency"] = 3
    options = {"save_all": True, "append_images": frames[1:]}
    flat = encoded(Image.new("P", (16, 16), 1), "GIF")
    return {
        "claimed": flat[:6] + b"\0\x40\0\x40" + flat[10:],
        "palette": encoded(picture("P"), "GIF"),
        "grey": encoded(picture("L"), "GIF", interlace=0),
        "bits": encoded(picture("1"), "GIF"),
        "transparent": encoded(clear, "GIF", transparency=3),
        "animated": encoded(frames[0], "GIF", disposal=1, **options),
        "to_background": encoded(frames[0], "GIF", disposal=2, **options),
        "to_previous": encoded(clear, "GIF", disposal=3, transparency=3, **options),
        "cut": encoded(frames[0], "GIF", **options)[:-40],
    }


def tiff() -> dict[str, bytes]:
    files = {}
    for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK"):
        for name in ("raw", "packbits", "tiff_lzw", "tiff_adobe_deflate"):
            files[f"{mode}-{name}"] = encoded(picture(mode), "TIFF", compression=name)
    for name in ("tiff_lzw", "tiff_adobe_deflate"):
        files[f"predictor-{name}"] = encoded(
            picture("RGB"), "TIFF", compression=name, tiffinfo={317: 2}
        )
    files["jpeg"] = encoded(picture("RGB"), "TIFF", compression="jpeg")
    files["jpeg-grey"] = encoded(picture("L"), "TIFF", compression="jpeg")
    array = np.array(picture("RGB"))
    files["tiles"] = tiffs.tiff(array, 2, tile=(16, 16), compression=8)
    files["planes"] = tiffs.tiff(array, 2, planar=True, rows_per_strip=4, order=">")
    files["big"] = tiffs.tiff(array.astype(np.uint16) * 257, 2, big=True, predictor=2)
    floats = (array / np.float32(255)).astype(np.float32)
    files["floats"] = tiffs.tiff(floats, 2, predictor=3, compression=8)
    files["turned"] = tiffs.tiff(array, 2, fields={274: (3, [6])})
    for name, options in {"fax3": {}, "fax3-2d": {292: 1}}.items():
        files[name] = encoded(picture("1"), "TIFF", compression="group3", tiffinfo=options)
    files["fax4"] = encoded(picture("1"), "TIFF", compression="group4")
    files["fax-rle"] = encoded(picture("1"), "TIFF", compression="tiff_ccitt")
    files["zstd"] = tiffs.tiff(array, 2, compression=50000, predictor=2)
    files["bits12"] = tiffs.tiff(array.astype(np.uint16) * 16, 2, bits=12, reverse=True)
    files["planar-inks"] = tiffs.tiff(np.dstack([array, array]), 5, planar=True, compression=5)
    signed = array.astype(np.int16) - 99
    files["signed"] = tiffs.tiff(signed, 2, planar=True, bits=16)
    files["jpeg-inks"] = encoded(picture("CMYK"), "TIFF", compression="jpeg")
    files["pages"] = encoded(
        picture("L", 9, 5), "TIFF", save_all=True, append_images=[picture("RGB", 5, 9)]
    )
    return files


def jpeg2000() -> dict[str, bytes]:
    array = np.array(picture("RGB"))
    planes = [array[..., i] for i in range(3)]
    stream = jpeg2000s.codestream
    half = [planes[0], planes[1][::2, ::2], planes[2][::2, ::2]]
    files = {
        "stream": stream(planes),
        "file": jpeg2000s.jp2(stream(planes)),
        "lossy": stream(planes, irreversible=True, rates=(20, 4), progression=2),
        "tiles": stream(planes, tile=(8, 8), block=(4, 4), progression=1),
        "origin": stream(planes, tile=(16, 9), origin=(5, 3), tile_origin=(2, 1), progression=3),
        "precincts": stream(planes, precincts=[(8, 8), (4, 4)], progression=4, style=6),
        "modes": stream(planes[:1], mode=63),
        "bits12": jpeg2000s.jp2(stream([p.astype(int) * 16 for p in planes], 12)),
        "signed": stream([p.astype(int) - 128 for p in planes], signed=True),
        "subsampled": jpeg2000s.jp2(stream(half, steps=[(1, 1), (2, 2), (2, 2)]), jpeg2000s.SYCC),
        "grey": jpeg2000s.jp2(stream(planes[:1]), jpeg2000s.GREY),
        "alpha": jpeg2000s.jp2(
            stream([*planes, planes[0]]), channels=[(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 1, 0)]
        ),
        "palette": jpeg2000s.jp2(stream([planes[0] >> 4], 4), palette=array[:16, 0]),
        "long_box": jpeg2000s.SIGNATURE + jpeg2000s.box(b"jp2c", stream(planes), long=True),
    }
    claimed = bytearray(files["stream"])
    claimed[8:16] = claimed[24:32] = struct.pack(">II", 16384, 16384)
    files["claimed"] = bytes(claimed)
    claimed[24:32] = struct.pack(">II", 64, 64)
    files["claimed_tiles"] = bytes(claimed)
    files["claimed_layers"] = files["stream"].replace(
        b"\xff\x52\0\x0c\0\0\0\1", b"\xff\x52\0\x0c\0\0\xff\xff"
    )
    files["cut"] = files["file"][:-100]
    return files


def heif() -> dict[str, bytes]:
    """The last byte of an item tells the decoder of the target what picture to give: heif.c."""

    def item(
        kind: int, width: int, height: int, *properties: heifs.Property, **kwargs: bool
    ) -> heifs.Item:
        depth, grey = (8, 8, 10, 12)[kind & 3], kind >> 5 & 3 == 1
        chosen: heifs.Property = ("hvcC", bytes(16) + bytes([not grey, depth - 8]) + bytes(5), True)
        name = "hvc1"
        if properties and properties[0] == heifs.nclx(2, True):
            name, chosen = "av01", ("av1C", bytes([0x81, 0, (depth > 8) << 6 | grey << 4, 0]), True)
        data = bytes([1, 2, 3, kind])
        return heifs.Item(name, data, [heifs.ispe(width, height), chosen, *properties], **kwargs)

    tiles = [item(0x0C, 16, 8, hidden=True)] * 4
    deep = [item(0x03, 15, 8, hidden=True)] * 3
    return {
        "av1": heifs.write([item(0x0E, 20, 11, heifs.nclx(2, True))], brand="avif"),
        "av1_grey": heifs.write([item(0x20, 20, 11, heifs.nclx(2, True))], brand="avif"),
        "hevc": heifs.write([item(0x14, 13, 10, heifs.nclx(9, False))], brand="heic"),
        "rgb": heifs.write([item(0x40, 13, 10, heifs.nclx(0, True))]),
        "ycgco": heifs.write([item(0x03, 13, 10, heifs.nclx(8, True))]),
        "turned": heifs.write(
            [item(0x0C, 20, 30, heifs.clap(8, 9, (1, 1), (-1, 2)), heifs.imir(1), heifs.irot(3))]
        ),
        "alpha": heifs.write(
            [item(0x0D, 16, 12), item(0x22, 16, 12, heifs.auxc(), hidden=True)], {("auxl", 2): [1]}
        ),
        "grid": heifs.write(
            [heifs.Item("grid", heifs.grid(2, 2, 30, 15), [heifs.ispe(30, 15)]), *tiles],
            {("dimg", 1): [2, 3, 4, 5]},
        ),
        "grid_wide": heifs.write(
            [heifs.Item("grid", heifs.grid(1, 3, 44, 8), [heifs.ispe(44, 8)], inside=True), *deep],
            {("dimg", 1): [2, 3, 4]},
            wide=True,
        ),
    }


def nifti(values: np.ndarray, code: int, second: bool = False, order: str = "<") -> bytes:
    """`values` with the axes z, y, x."""
    head = bytearray(560 if second else 368)
    axes = (values.ndim, *values.shape[::-1], *[1] * (7 - values.ndim))
    if second:
        struct.pack_into(f"{order}i8shh8q", head, 0, 540, b"n+2\0\r\n\x1a\n", code, 8, *axes)
        struct.pack_into(f"{order}qdd", head, 168, 560, 2.0, 1.0)
    else:
        struct.pack_into(f"{order}i", head, 0, 348)
        struct.pack_into(f"{order}8h", head, 40, *axes)
        struct.pack_into(f"{order}hh", head, 70, code, 8)
        struct.pack_into(f"{order}fff", head, 108, 368, 2.0, 1.0)
        head[344:348] = b"n+1\0"
    return bytes(head) + values.astype(values.dtype.newbyteorder(order)).tobytes()


def volume() -> dict[str, bytes]:
    """They have no options: the input is the file."""
    array = np.arange(60, dtype=np.uint16).reshape(3, 4, 5) * 37
    coded = dicoms.fragments([[dicoms.rle(frame)] for frame in array], True)
    colours = np.arange(60, dtype=np.uint8).reshape(1, 4, 5, 3)
    table = b"".join(
        dicoms.element(0x00281101 + i, "US", struct.pack("<HHH", 9, 2, 8)) for i in range(3)
    )
    table += b"".join(dicoms.element(0x00281201 + i, "OW", bytes(range(10))) for i in range(3))
    scale = dicoms.text(0x00281052, "DS", "-7") + dicoms.text(0x00281053, "DS", "2")
    groups = dicoms.sequence(0x52009229, [dicoms.sequence(0x00289145, [scale], marked=True)])
    picture16 = encoded(Image.fromarray(array[0]), "JPEG2000", no_jp2=True)
    exact = lossless_jpegs.lossless(array[0, ..., None].astype(int), 12, 1)
    second = dicoms.fragments([[picture16]], False)
    return {
        "nifti1": nifti(array, 512),
        "nifti2": nifti(array.astype(np.float32), 16, True, ">"),
        "nifti_gz": gzip.compress(nifti(array, 512), mtime=0),
        "nifti_colours": nifti(array, 128)[: 368 + 3 * 60],
        "dicom": dicoms.of(array, stored=12, slope="2", intercept="-1.5"),
        "dicom_implicit": dicoms.of(array, syntax=dicoms.IMPLICIT, signed=True),
        "dicom_rle": dicoms.write(coded, 4, 5, syntax=dicoms.RLE, frames=3, encapsulated=True),
        "dicom_colours": dicoms.of(colours, photometric="YBR_FULL"),
        "dicom_bits": dicoms.write(bytes(10), 4, 5, allocated=1, frames=4),
        "dicom_floats": dicoms.of(array.astype(np.float64), tag=0x7FE00009),
        "dicom_groups": dicoms.of(array, before=groups),
        "dicom_palette": dicoms.of(
            array.astype(np.uint8), photometric="PALETTE COLOR", before=table
        ),
        "dicom_lossless": dicoms.write(
            dicoms.fragments([[exact[:40], exact[40:]]], False), 4, 5, syntax=dicoms.JPEG_LOSSLESS,
            stored=12, encapsulated=True,
        ),
        "dicom_jpeg2000": dicoms.write(second, 4, 5, syntax=dicoms.JPEG2000, encapsulated=True),
        "tiff": tiffs.tiff(array[0, ..., None], 1, bits=12),
        "tiff_signed": tiffs.tiff(array[0, ..., None].astype(np.int16), 1),
    }  # fmt: skip


def audio() -> dict[str, bytes]:
    """Every container. They have no options: the input is the file."""
    numbers, floats = sounds.noise(9, 2), sounds.signal(9, 2)
    return {
        "wav": sounds.wav(numbers >> 16, before=sounds.chunk(b"LIST", b"abc")),
        "wav_reversed": sounds.wav(floats, "f8", reverse=True),
        "rifx": sounds.wav(floats, "f4", big=True),
        "rf64": sounds.rf64(numbers, "i3"),
        "w64": sounds.w64(numbers, "i4"),
        "aiff": sounds.aiff(numbers, "i3"),
        "aifc": sounds.aiff(numbers >> 16, code=b"sowt"),
        "caf": sounds.caf(floats, "f4"),
        "au": sounds.au(numbers & 255, "ulaw"),
    }


def main() -> None:
    windows = [
        WHOLE,
        bytes([1, 5, 1, 2, 80, 120, 60, 200]),
        bytes([2, 0, 0, 0, 30, 255, 9, 90]),
        bytes([3, 2, 1, 1, 200, 10, 128, 255]),
        bytes([4, 4, 1, 0, 10, 250, 5, 250]),
    ]
    for make in (jpeg, jpeg2000, png, bmp, pnm, tiff, webp, gif, heif):
        folder = HERE / "corpus" / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, data) in enumerate(make().items()):
            if not (folder / name).exists():
                (folder / name).write_bytes(windows[i % len(windows)] + data)
    for make in (audio, volume):
        folder = HERE / "corpus" / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in make().items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
