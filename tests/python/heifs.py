# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of HEIF files (AVIF, HEIC) whose pictures PyAV's encoders make, and what they look like."""

from __future__ import annotations

import dataclasses
import io
import struct
from typing import Any

import av
import numpy as np


def box(name: str, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I", 8 + len(body)) + name.encode() + body


def full(name: str, version: int, flags: int, *parts: bytes) -> bytes:
    return box(name, struct.pack(">I", version << 24 | flags), *parts)


Property = tuple[str, bytes, bool]


def ispe(width: int, height: int) -> Property:
    return "ispe", struct.pack(">III", 0, width, height), False


def nclx(matrix: int, full_range: bool) -> Property:
    return "colr", b"nclx" + struct.pack(">HHHB", 2, 2, matrix, full_range << 7), False


def irot(turns: int) -> Property:
    return "irot", bytes([turns]), True


def imir(axis: int) -> Property:
    return "imir", bytes([axis]), True


def clap(width: int, height: int, x: tuple[int, int], y: tuple[int, int]) -> Property:
    return "clap", struct.pack(">IIIIiIiI", width, 1, height, 1, *x, *y), True


def auxc(name: str = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha") -> Property:
    return "auxC", bytes(4) + name.encode() + b"\0", False


@dataclasses.dataclass
class Item:
    kind: str
    data: bytes
    properties: list[Property]
    hidden: bool = False
    inside: bool = False  # in `idat`
    parts: int = 1


def write(
    items: list[Item], references: dict[tuple[str, int], list[int]] | None = None, *,
    primary: int = 1, brand: str = "mif1", wide: bool = False, before: bytes = b"",
) -> bytes:  # fmt: skip
    """Items have the numbers 1, 2, ...; references are (type, from) -> to. `wide`: long numbers everywhere."""
    number = ">I" if wide else ">H"
    ids = range(1, len(items) + 1)
    entries = b"".join(
        full("infe", 3 if wide else 2, item.hidden, struct.pack(number, i), bytes(2), item.kind.encode(), b"\0")
        for i, item in zip(ids, items)
    )  # fmt: skip
    known: list[tuple[str, bytes]] = []
    lists = []
    for i, item in zip(ids, items):
        numbers = []
        for name, body, essential in item.properties:
            if (name, body) not in known:
                known.append((name, body))
            at = known.index((name, body)) + 1
            numbers.append(
                struct.pack(">H" if wide else "B", at | essential << (15 if wide else 7))
            )
        lists.append(struct.pack(number, i) + bytes([len(numbers)]) + b"".join(numbers))
    inside = b"".join(item.data for item in items if item.inside)

    def meta(start: int) -> bytes:
        at, at_inside, places = start, 0, b""
        for i, item in zip(ids, items):
            first = at_inside if item.inside else at
            size = len(item.data)
            cuts = [size * k // item.parts for k in range(item.parts + 1)]
            parts = [struct.pack(">II", first + a, b - a) for a, b in zip(cuts, cuts[1:])]
            places += struct.pack(number, i) + struct.pack(">HHH", item.inside, 0, len(parts))
            places += b"".join(parts)
            if item.inside:
                at_inside += size
            else:
                at += size
        links = b"".join(
            box(name, struct.pack(number, source), struct.pack(">H", len(to)), *(struct.pack(number, t) for t in to))
            for (name, source), to in (references or {}).items()
        )  # fmt: skip
        return full(
            "meta", 0, 0,
            full("hdlr", 0, 0, bytes(4), b"pict", bytes(13)),
            full("pitm", int(wide), 0, struct.pack(number, primary)),
            full("iloc", 2 if wide else 1, 0, b"\x44\x00", struct.pack(number, len(items)), places),
            full("iinf", int(wide), 0, struct.pack(number, len(items)), entries),
            full("iref", int(wide), 0, links) if links else b"",
            box("idat", inside) if inside else b"",
            box("iprp",
                box("ipco", *(box(name, body) for name, body in known)),
                full("ipma", int(wide), int(wide), struct.pack(">I", len(items)), *lists)),
        )  # fmt: skip

    head = box("ftyp", brand.encode(), bytes(4), brand.encode()) + before
    start = len(head) + len(meta(0)) + 8
    return head + meta(start) + box("mdat", *(item.data for item in items if not item.inside))


def grid(rows: int, columns: int, width: int, height: int) -> bytes:
    if max(width, height) < 65536 and rows % 2:
        return bytes([0, 0, rows - 1, columns - 1]) + struct.pack(">HH", width, height)
    return bytes([0, 1, rows - 1, columns - 1]) + struct.pack(">II", width, height)


# ---- pictures ----


@dataclasses.dataclass
class Coded:
    """A coded picture, and the planes that PyAV decodes from it."""

    kind: str
    data: bytes
    configuration: Property
    planes: list[np.ndarray]
    bits: int
    width: int
    height: int

    def item(self, *properties: Property, hidden: bool = False, **kwargs: Any) -> Item:
        size = ispe(self.width, self.height)
        return Item(self.kind, self.data, [size, self.configuration, *properties], hidden, **kwargs)


def planes_of(frame: Any, bits: int) -> list[np.ndarray]:
    found = []
    for plane in frame.planes:
        dtype = np.uint16 if bits > 8 else np.uint8
        rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height]
        found.append(rows.view(dtype)[:, : plane.width].copy())
    return found


def coded(rgb: np.ndarray, codec: str, pixels: str, **options: str) -> Coded:
    """Encodes a picture: codec "hevc" or "av1", pixels "yuv420p10le" and the like."""
    height, width = rgb.shape[:2]
    bits = 12 if "12le" in pixels else 10 if "10le" in pixels else 8
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as out:
        stream: Any = out.add_stream("libx265" if codec == "hevc" else "libsvtav1", rate=1)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        if codec == "hevc":
            stream.codec_tag = "hvc1"
            stream.options = {
                "x265-params": "log-level=none:keyint=1:pools=none:frame-threads=1",
                "crf": "20",
            }
        else:
            stream.options = {"crf": "20", "preset": "10", "svtav1-params": "lp=1"}
        stream.options |= options
        frame = av.VideoFrame.from_ndarray(rgb, "rgb24").reformat(format=pixels)
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            out.mux(packet)
    data = file.getvalue()
    name = b"hvcC" if codec == "hevc" else b"av1C"
    at = data.index(name)
    configuration = data[at + 4 : at - 4 + int.from_bytes(data[at - 4 : at], "big")]
    with av.open(io.BytesIO(data)) as source:
        packets = [bytes(p) for p in source.demux(video=0) if p.size]
    with av.open(io.BytesIO(data)) as source:
        first = next(source.decode(video=0))
        planes = planes_of(first, bits)
    assert len(packets) == 1
    kind = "hvc1" if codec == "hevc" else "av01"
    return Coded(
        kind, packets[0], (name.decode(), configuration, True), planes, bits, width, height
    )


# ---- what they look like ----

WEIGHTS = {
    1: (0.2126, 0.0722),
    2: (0.299, 0.114),
    4: (0.3, 0.11),
    5: (0.299, 0.114),
    6: (0.299, 0.114),
}
WEIGHTS |= {7: (0.212, 0.087), 9: (0.2627, 0.0593)}


def upsampled(plane: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Twice as many samples: three quarters of the nearest and one of the next."""
    plane = np.moveaxis(plane.astype(float), axis, 0)
    at = np.arange(size)
    near = at // 2
    far = np.clip(near + np.where(at % 2, 1, -1), 0, len(plane) - 1)
    return np.moveaxis(0.75 * plane[near] + 0.25 * plane[far], 0, axis)


def pixels(
    planes: list[np.ndarray], bits: int, matrix: int, full_range: bool, top: int
) -> np.ndarray:
    """Colours from 0 to `top`, not rounded."""
    unit = 1 << bits - 8
    black, white = (0, (1 << bits) - 1) if full_range else (16 * unit, 235 * unit)
    luma = (planes[0].astype(float) - black) * (top / (white - black))
    if len(planes) == 1:
        return np.clip(luma[..., None], 0, top)
    if matrix == 0:
        green, blue, red = ((p.astype(float) - black) * (top / (white - black)) for p in planes)
        return np.clip(np.stack([red, green, blue], 2), 0, top)
    height, width = luma.shape
    spread = (1 << bits) - 1 if full_range else 224 * unit
    chroma = []
    for plane in planes[1:]:
        if plane.shape[0] != height:
            plane = upsampled(plane, 0, height)
        if plane.shape[1] != width:
            plane = upsampled(plane, 1, width)
        chroma.append((plane - 128.0 * unit) * (top / spread))
    u, v = chroma
    if matrix == 8:
        return np.clip(np.stack([luma - u + v, luma + u, luma - u - v], 2), 0, top)
    r, b = WEIGHTS[matrix]
    red, blue = luma + 2 * (1 - r) * v, luma + 2 * (1 - b) * u
    green = (luma - r * red - b * blue) / (1 - r - b)
    return np.clip(np.stack([red, green, blue], 2), 0, top)
