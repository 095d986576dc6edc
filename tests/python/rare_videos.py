# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes videos that encoders of today do not write."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from videos import av

# ---- transport streams ----


def with_check_sums(data: bytes, rng: np.random.Generator) -> bytes:
    """A transport stream with cells of 204 bytes. A check sum may have any value, also 0x47."""
    cells = (data[i : i + 188] + b"\x47" + rng.bytes(15) for i in range(0, len(data), 188))
    return b"".join(cells)


# ---- MP4 ----

CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf", b"mvex"}


def edit(data: bytes, edits: dict[bytes, Callable[[bytes], bytes]]) -> bytes:
    """Replaces the contents of boxes. `moov` must be behind the data that it refers to."""
    out, at = b"", 0
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + size]
        if name in edits:
            body = edits[name](body)
        elif name in CONTAINERS:
            body = edit(body, edits)
        out += struct.pack(">I", 8 + len(body)) + name + body
        at += size
    return out


def description(path: Path) -> bytes:
    """The first entry of stsd."""
    found = list[bytes]()
    edit(path.read_bytes(), {b"stsd": lambda body: found.append(body[8:]) or body})
    return found[0]


def describe(entries: list[bytes], groups: list[tuple[int, int, int]], path: Path) -> None:
    """Gives the file these sample descriptions, and these runs of chunks: first, packets, description."""
    stsc = b"".join(struct.pack(">III", *group) for group in groups)
    edited = {
        b"stsd": lambda _: struct.pack(">II", 0, len(entries)) + b"".join(entries),
        b"stsc": lambda _: struct.pack(">II", 0, len(groups)) + stsc,
    }
    path.write_bytes(edit(path.read_bytes(), edited))


def remux(packets: list[bytes], times: list[int], source: Path, path: Path) -> None:
    """Packets that are decoded in this order, with these times in units of 1 / 25 s."""
    late = max(i - pts for i, pts in enumerate(times))
    with av.open(str(source)) as template, av.open(str(path), "w") as out:
        stream = out.add_stream_from_template(template.streams.video[0])
        for i, (data, pts) in enumerate(zip(packets, times, strict=True)):
            packet = av.Packet(data)
            packet.time_base = Fraction(1, 25)
            packet.pts, packet.dts = pts, i - late
            packet.duration = 2
            packet.is_keyframe = i == 0 or data == packets[0]
            packet.stream = stream
            out.mux(packet)


# ---- H.264 of fields ----


class Bits:
    """Bits of a NAL unit of H.264."""

    def __init__(self) -> None:
        self.text = ""

    def put(self, *fields: tuple[int, int]) -> None:
        self.text += "".join(format(value, f"0{size}b") for value, size in fields)

    def golomb(self, *values: int) -> None:
        for value in values:
            text = bin(value + 1)[2:]
            self.text += "0" * (len(text) - 1) + text

    def unit(self, head: int) -> bytes:
        self.text += "1"
        self.text += "0" * (-len(self.text) % 8)
        data = int(self.text, 2).to_bytes(len(self.text) // 8, "big")
        for last in range(3, -1, -1):  # emulation prevention
            data = data.replace(bytes([0, 0, last]), bytes([0, 0, 3, last]))
        return b"\0\0\0\1" + bytes([head]) + data


def field(number: int, bottom: bool) -> bytes:
    """One field of 16 x 16 pixels, uncompressed."""
    bits = Bits()
    bits.golomb(0, 7, 0)
    bits.put((0, 4), (1, 1), (bottom, 1))  # the number of the frame; is a field; which one
    if not bottom:
        bits.golomb(number % 2)  # of the IDR picture
    bits.put((int(bottom), 8), (0, 1 if bottom else 2))
    bits.golomb(0, 25)
    bits.text += "0" * (-len(bits.text) % 8)
    bits.put(*((16 + (10 * number + 100 * bottom + k) % 200, 8) for k in range(256)))
    bits.put(*((100 + number, 8) for _ in range(128)))
    return bits.unit(0x61 if bottom else 0x65)


def interlaced(pictures: int) -> list[bytes]:
    """Pictures of two fields each, in packets of their own."""
    sequence, picture = Bits(), Bits()
    sequence.put((77, 8), (0, 8), (30, 8))
    sequence.golomb(0, 0, 0, 4, 1)
    sequence.put((0, 1))
    sequence.golomb(0, 0)
    sequence.put((0, 1), (0, 1), (1, 1), (0, 1), (0, 1))
    picture.golomb(0, 0)
    picture.put((0, 2))
    picture.golomb(0, 0, 0)
    picture.put((0, 3))
    picture.golomb(0, 0, 0)
    picture.put((0, 3))
    out = [field(i, bottom) for i in range(pictures) for bottom in (False, True)]
    out[0] = sequence.unit(0x67) + picture.unit(0x68) + out[0]
    return out
