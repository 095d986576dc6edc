# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Deflate in PNG, TIFF, .npz, FITS and decoders.inflate: all filters of PNG, and streams that are not as they should be.

The files are written here, filter by filter, and compared with the pixels that they were made of. What is wrong is
refused or accepted as libpng and zlib do, whichever library reads the stream.
"""

from __future__ import annotations

import gzip
import itertools
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from headrace import fn, pipeline_def, types

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
FILTERS = range(5)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def predicted(kind: int, row: np.ndarray, above: np.ndarray, size: int) -> np.ndarray:
    """The bytes that filter `kind` subtracts from a row of pixels of `size` bytes."""
    zeros = np.zeros(size, int)
    up = above.astype(int)
    left = np.concatenate([zeros, row[:-size].astype(int)])
    corner = np.concatenate([zeros, up[:-size]])
    if kind < 4:
        return [0 * up, left, up, (left + up) // 2][kind]
    near = left + up - corner
    a, b, c = abs(near - left), abs(near - up), abs(near - corner)
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))


def filtered(samples: np.ndarray, kinds: list[int]) -> bytes:
    """Rows of samples (height, width, channels) as PNG compresses them; row i has filter kinds[i % len]."""
    height, size = len(samples), samples.shape[2] * samples.itemsize
    rows = np.frombuffer(samples.astype(samples.dtype.newbyteorder(">")).tobytes(), np.uint8)
    rows = rows.reshape(height, -1)
    above, out = np.zeros_like(rows[0]), b""
    for i, row in enumerate(rows):
        kind = kinds[i % len(kinds)]
        out += bytes([kind])
        out += ((row - predicted(min(kind, 4), row, above, size)) & 255).astype(np.uint8).tobytes()
        above = row
    return out


def header(samples: np.ndarray, kind: int) -> bytes:
    height, width, _ = samples.shape
    ihdr = struct.pack(">IIBBBBB", width, height, 8 * samples.itemsize, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr)


def png(samples: np.ndarray, kind: int, kinds: list[int], pieces: int, plte: bytes) -> bytes:
    stream = zlib.compress(filtered(samples, kinds))
    step = max(1, -(-len(stream) // pieces))
    idats = [chunk(b"IDAT", stream[i : i + step]) for i in range(0, len(stream), step)]
    return header(samples, kind) + plte + b"".join(idats) + chunk(b"IEND", b"")


def decode(
    data: bytes, window: tuple[int, int, int, int] | None = None, **args: object
) -> np.ndarray:
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipeline() -> object:
        coded = types.Constant(np.frombuffer(data, np.uint8), device="cpu")
        if window is None:
            return fn.decoders.image(coded, **args)
        y, x, height, width = window
        return fn.decoders.image_slice(
            coded, start=[y, x], shape=[height, width], axes=[0, 1], **args
        )

    (out,) = pipeline().run()
    return np.array(out.at(0))


def picture(height: int, width: int, channels: int, dtype: type) -> np.ndarray:
    """Slopes with some noise, so that all branches of the filters are taken."""
    random = np.random.default_rng(height + width + channels)
    y, x, c = np.ogrid[:height, :width, :channels]
    noise = random.integers(0, 9, (height, width, channels))
    levels = np.iinfo(dtype).max
    return ((3 * x + 5 * y + 40 * c + noise) * (levels // 255) % (levels + 1)).astype(dtype)


def expected(samples: np.ndarray, wanted: str) -> np.ndarray:
    colours = samples.shape[2]
    if wanted == "RGB":
        return samples[..., :3] if colours >= 3 else np.repeat(samples[..., :1], 3, 2)
    return samples


@pytest.mark.parametrize("kind", [0, 2, 3, 4, 6, 16, 18, 20, 22])
def test_all_filters(kind: int) -> None:
    kind, dtype = kind % 16, np.uint16 if kind > 15 else np.uint8  # palettes have 8 bits
    table = np.random.default_rng(1).integers(0, 256, (256, 3)).astype(np.uint8)
    plte = chunk(b"PLTE", table[:200].tobytes()) if kind == 3 else b""
    out_type = types.UINT16 if dtype is np.uint16 else types.UINT8
    orders = [[k] for k in FILTERS] + [list(p) for p in itertools.permutations(FILTERS)][::17]
    for number, order in enumerate(orders):
        size = [(7, 5), (1, 1), (6, 33), (9, 2)][number % 4]
        samples = picture(*size, CHANNELS[kind], dtype)
        data = png(samples, kind, order, 1 + number % 3, plte)
        known = (
            np.concatenate([table[:200], np.zeros((56, 3), np.uint8)])[samples[..., 0]]
            if kind == 3
            else samples
        )
        for wanted in ("RGB", "ANY_DATA"):
            found = decode(data, output_type=getattr(types, wanted), dtype=out_type)
            np.testing.assert_array_equal(
                found, expected(known, wanted), err_msg=f"{order} {wanted}"
            )
        height, width = size
        y, x = height // 3, width // 3
        found = decode(data, (y, x, height - y, width - x), output_type=types.RGB, dtype=out_type)
        np.testing.assert_array_equal(
            found, expected(known, "RGB")[y:, x:], err_msg=f"{order} window"
        )


SAMPLES = picture(64, 300, 3, np.uint8)
RAW = filtered(SAMPLES, [1, 2, 3, 4, 0])


def stream(raw: bytes, bits: int = 15, end: bytes | None = None) -> bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, bits)
    coded = coder.compress(raw) + coder.flush()
    return coded if end is None else coded[:-4] + end


def of_stream(*streams: bytes, spoilt: int = -1) -> bytes:
    idats = [bytearray(chunk(b"IDAT", s)) for s in streams]
    if spoilt >= 0:
        idats[spoilt][-1] ^= 1
    return header(SAMPLES, 2) + b"".join(idats) + chunk(b"IEND", b"")


def far_back() -> bytes:
    """A stream that refers to bytes further back than the window that its header states."""
    coded = bytearray(stream(RAW))
    coded[:2] = b"\x08\x1d"  # a window of 256 bytes
    return bytes(coded)


WHOLE = stream(RAW)
ACCEPTED = {
    "one chunk": of_stream(WHOLE),
    "chunks of every size": of_stream(
        b"", WHOLE[:1], WHOLE[1:2], b"", WHOLE[2:700], WHOLE[700:], b""
    ),
    "more bytes after the stream": of_stream(WHOLE + b"more"),
    "chunks after the stream": of_stream(WHOLE, b"more"),
    "more rows than the image has": of_stream(stream(RAW + RAW[:900])),
    "no last chunk": of_stream(WHOLE)[:-12],
    "a small window": of_stream(stream(RAW, bits=9)),
}
REFUSED = {
    "wrong checksum of the stream": of_stream(stream(RAW, end=b"abcd")),
    "stream without its checksum": of_stream(WHOLE[:-4]),
    "an empty stream": of_stream(b""),
    "wrong checksum of a chunk": of_stream(WHOLE[:500], WHOLE[500:], spoilt=0),
    "fewer rows than the image has": of_stream(stream(RAW[:-1])),
    "a cut stream": of_stream(WHOLE[: len(WHOLE) // 2]),
    "a cut file": of_stream(WHOLE)[: len(WHOLE) // 2],
    "an unknown filter": of_stream(stream(RAW[:-901] + b"\x05" + RAW[-900:])),
    "a dictionary": of_stream(b"\x78\xbb" + WHOLE[2:]),
    "damaged data": of_stream(WHOLE[:300] + bytes(40) + WHOLE[340:]),
    "another chunk between": header(SAMPLES, 2)
    + chunk(b"IDAT", WHOLE[:500])
    + chunk(b"tEXt", b"a\0b")
    + chunk(b"IDAT", WHOLE[500:])
    + chunk(b"IEND", b""),
    "references before the window": of_stream(far_back()),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    np.testing.assert_array_equal(decode(ACCEPTED[name]), SAMPLES)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="PNG: "):
        decode(REFUSED[name])


def test_a_window_before_the_damage() -> None:
    cut = of_stream(WHOLE)[: len(WHOLE) * 3 // 4]
    np.testing.assert_array_equal(decode(cut, (0, 10, 20, 250)), SAMPLES[:20, 10:260])


# ---- streams in other places ----


def inflate(data: bytes, algorithm: str, size: int) -> bytes:
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipeline() -> object:
        coded = types.Constant(np.frombuffer(data, np.uint8), device="cpu")
        return fn.decoders.inflate(coded, shape=[size], algorithm=algorithm)

    return np.array(pipeline().run()[0].at(0)).tobytes()


CODED = {"zlib": WHOLE, "gzip": gzip.compress(RAW), "deflate": WHOLE[2:-4]}


@pytest.mark.parametrize("algorithm", CODED)
def test_inflate(algorithm: str) -> None:
    coded = CODED[algorithm]
    assert inflate(coded, algorithm, len(RAW)) == RAW
    assert inflate(coded + b"more", algorithm, len(RAW)) == RAW
    bad = [coded[:-1], coded[: len(coded) // 2], b"", coded[:400] + bytes(30) + coded[430:]]
    if algorithm != "deflate":
        bad.append(coded[:-1] + bytes([coded[-1] ^ 1]))  # the checksum, or the size
    for data in bad:
        with pytest.raises(RuntimeError, match="is damaged"):
            inflate(data, algorithm, len(RAW))
    for size in (len(RAW) - 1, len(RAW) + 1):
        with pytest.raises(RuntimeError, match="does not inflate to"):
            inflate(coded, algorithm, size)


def test_the_checksum_of_a_header_of_gzip() -> None:
    head = b"\x1f\x8b\x08\x02\0\0\0\0\0\xff"
    rest = CODED["gzip"][10:]
    good = head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) + rest
    assert inflate(good, "gzip", len(RAW)) == RAW
    with pytest.raises(RuntimeError, match="is damaged"):
        inflate(head + b"\0\0" + rest, "gzip", len(RAW))


def test_members_of_archives(tmp_path: Path) -> None:
    array = np.arange(40000, dtype=np.int32).reshape(200, 200) % 977
    file = tmp_path / "a.npz"
    np.savez_compressed(file, x=array)

    def read() -> np.ndarray:
        @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
        def pipeline() -> object:
            return fn.readers.numpy(files=[str(file)], members=["x"])

        return np.array(pipeline().run()[0].at(0))

    np.testing.assert_array_equal(read(), array)
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        packed = archive.infolist()[0].compress_size
    directory = whole.index(b"PK\x01\x02")
    for at in (directory + 16, directory - packed // 2):  # the checksum; the data
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(RuntimeError, match="member 'x': its"):
            read()
