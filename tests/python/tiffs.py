# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of TIFF files, for kinds that other libraries do not write."""

from __future__ import annotations

import ctypes
import struct
import zlib
from typing import Any

import numpy as np

_FORMATS = {1: "B", 3: "H", 4: "L", 5: "L", 7: "B", 16: "Q"}


def pack_bits(data: bytes) -> bytes:
    """PackBits with runs and literals."""
    out = bytearray()
    at = 0
    while at < len(data):
        run = 1
        while at + run < len(data) and run < 128 and data[at + run] == data[at]:
            run += 1
        if run > 2:
            out += bytes([257 - run, data[at]])
            at += run
        else:
            literal = data[at : at + 100]
            out += bytes([len(literal) - 1]) + literal
            at += len(literal)
    return bytes(out)


def lzw(data: bytes) -> bytes:
    """LZW as TIFF has it: first bit first, and codes that grow one code early."""
    bits: list[str] = []
    table: dict[bytes, int] = {}

    def put(code: int) -> None:
        bits.append(f"{code:0{(258 + len(table)).bit_length() if table else 9}b}")

    put(256)
    word = b""
    for value in data:
        longer = word + bytes([value])
        if len(longer) == 1 or longer in table:
            word = longer
            continue
        put(table[word] if len(word) > 1 else word[0])
        table[longer] = 258 + len(table)
        if len(table) == 4094 - 258:
            put(256)
            table = {}
        word = longer[-1:]
    if word:
        put(table[word] if len(word) > 1 else word[0])
        table[b""] = 0  # the reader's table has grown as well
    put(257)
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def zstd(data: bytes) -> bytes:
    """A frame by libzstd, which Python has only from version 3.14 on."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(
        room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3
    )
    return room.raw[:size]


PACKERS = {1: bytes, 5: lzw, 8: zlib.compress, 32773: pack_bits, 50000: zstd}
_REVERSED = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))


def _predicted(rows: np.ndarray, predictor: int) -> np.ndarray:
    """Rows (height, width, channels) as a predictor stores them."""
    if predictor == 2:
        numbers = rows.view(f"u{rows.itemsize}")
        out = numbers.copy()
        out[:, 1:] = numbers[:, 1:] - numbers[:, :-1]
        return out
    height, width, channels = rows.shape
    size = rows.itemsize
    planes = rows.astype(f">f{size}").view(np.uint8).reshape(height, width * channels, size)
    data = np.ascontiguousarray(planes.transpose(0, 2, 1)).reshape(height, -1)
    data[:, channels:] = data[:, channels:] - data[:, :-channels]
    return data


def _bits(rows: np.ndarray, bits: int) -> bytes:
    """Samples of any number of bits; every row begins with a new byte."""
    ones = (rows.astype(np.int64)[..., None] >> np.arange(bits)[::-1] & 1).astype(np.uint8)
    return np.packbits(ones.reshape(rows.shape[0], -1), axis=1).tobytes()


def tiff(
    picture: np.ndarray,
    photometric: int,
    *,
    order: str = "<",
    big: bool = False,
    compression: int = 1,
    predictor: int = 1,
    planar: bool = False,
    tile: tuple[int, int] | None = None,
    rows_per_strip: int | None = None,
    bits: int | None = None,
    reverse: bool = False,
    fields: dict[int, tuple[int, Any]] | None = None,
) -> bytes:
    """A file with one picture of shape (height, width, channels).

    `bits` is for samples that do not fill the bytes of the array's type; with `reverse` the first bit of a byte is its lowest.
    `fields` are further fields, or replaced ones: tag -> (type, values).
    """
    height, width, channels = picture.shape
    pack = PACKERS[compression]
    whole = bits is None or bits == 8 * picture.itemsize
    block_h, block_w = tile or (rows_per_strip or height, width)
    blocks = []
    for plane in range(channels) if planar else [slice(None)]:
        samples = np.atleast_3d(picture[:, :, plane])
        for y in range(0, height, block_h):
            for x in range(0, width, block_w):
                part = samples[y : y + block_h, x : x + block_w]
                if tile:
                    full = np.zeros((block_h, block_w, samples.shape[2]), picture.dtype)
                    full[: part.shape[0], : part.shape[1]] = part
                    part = full
                if predictor == 3:
                    data = _predicted(part, 3).tobytes()
                elif not whole:
                    data = _bits(part, bits or 1)
                else:
                    part = _predicted(part, 2) if predictor == 2 else part
                    data = part.astype(part.dtype.newbyteorder(order)).tobytes()
                row = len(data) // part.shape[0]
                rows = [data[i : i + row] for i in range(0, len(data), row)]
                # PackBits begins anew with each row.
                data = b"".join(map(pack, rows)) if compression == 32773 else pack(data)
                blocks.append(data.translate(_REVERSED) if reverse else data)
    head = 16 if big else 8
    starts = list(np.cumsum([head, *map(len, blocks)])[:-1])
    entries: dict[int, tuple[int, Any]] = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [bits or 8 * picture.itemsize] * channels),
        259: (3, [compression]),
        266: (3, [2 if reverse else 1]),
        262: (3, [photometric]),
        277: (3, [channels]),
        284: (3, [2 if planar else 1]),
        317: (3, [predictor]),
        339: (3, [{"u": 1, "i": 2, "f": 3}[picture.dtype.kind]] * channels),
        324 if tile else 273: (16 if big else 4, starts),
        325 if tile else 279: (4, [len(block) for block in blocks]),
    }
    if tile:
        entries |= {322: (4, [block_w]), 323: (4, [block_h])}
    else:
        entries |= {278: (4, [block_h])}
    return _file(b"".join(blocks), {**entries, **(fields or {})}, order, big)


def pages(contents: list[tuple[list[bytes], tuple[int, int, int], int, int, dict[int, Any]]]) -> bytes:
    """A file with a page for each of these: its blocks, which are one strip, or one for each plane; its shape, photometric,
    compression and further fields."""
    data = struct.pack("<2sHL", b"II", 42, 0)
    last = 4  # where the offset of the next page belongs
    for blocks, (height, width, samples), photometric, compression, fields in contents:
        starts = [len(data) + sum(map(len, blocks[:i])) for i in range(len(blocks))]
        entries: dict[int, tuple[int, Any]] = {
            256: (4, [width]),
            257: (4, [height]),
            258: (3, [8] * samples),
            259: (3, [compression]),
            262: (3, [photometric]),
            273: (4, starts),
            277: (3, [samples]),
            278: (4, [height]),
            279: (4, [len(block) for block in blocks]),
        }
        data += b"".join(blocks)
        data = data[:last] + struct.pack("<L", len(data)) + data[last + 4 :]
        entries |= fields
        last = len(data) + 2 + 12 * len(entries)
        data += _directory(len(data), entries, "<", False)
    return data


def _file(pixels: bytes, entries: dict[int, tuple[int, Any]], order: str, big: bool) -> bytes:
    at = (16 if big else 8) + len(pixels)
    start = struct.pack(order + "2sH", b"II" if order == "<" else b"MM", 43 if big else 42)
    if big:
        start += struct.pack(order + "HH", 8, 0)
    start += struct.pack(order + ("Q" if big else "L"), at)
    return start + pixels + _directory(at, entries, order, big)


def _directory(at: int, entries: dict[int, tuple[int, Any]], order: str, big: bool) -> bytes:
    """A directory at this place of the file, the last one, and the values that do not fit into it."""
    word, counter = ("Q", "Q") if big else ("L", "H")
    size = struct.calcsize("=" + word)
    values = at + struct.calcsize("=" + counter) + len(entries) * (4 + 2 * size) + size
    directory, data = struct.pack(order + counter, len(entries)), b""
    for tag, (kind, numbers) in sorted(entries.items()):
        packed = struct.pack(f"{order}{len(numbers)}{_FORMATS[kind]}", *map(int, numbers))
        count = len(numbers) // (2 if kind == 5 else 1)
        directory += struct.pack(order + "HH" + word, tag, kind, count)
        if len(packed) <= size:
            directory += packed.ljust(size, b"\0")
        else:
            directory += struct.pack(order + word, values + len(data))
            data += packed
    return directory + bytes(size) + data
