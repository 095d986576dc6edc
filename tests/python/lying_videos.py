# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Videos whose containers say the wrong thing about their packets, and what libavcodec makes of them."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import videos
from videos import PICTURE, av

# ---- sources ----

REFRESH = {"preset": "medium", "x264-params": "intra-refresh=1:keyint=8:bframes=0"}
LEADING = {  # pictures that can be decoded from the key which they precede in presentation
    "x265-params": "log-level=none:bframes=3:b-adapt=0:scenecut=0:keyint=8:min-keyint=8:open-gop=0:radl=2"
}
SOURCES: dict[str, dict[str, Any]] = {
    "h264": {"options": videos.B_PYRAMID},
    "h264-open": {"options": {"preset": "medium", **videos.OPEN_GOP}},
    "h264-refresh": {"options": REFRESH},
    "hevc": {"codec": "hevc", "options": videos.OPEN_GOP},
    "hevc-leading": {"codec": "hevc", "options": LEADING},
    "mpeg4": {"codec": "mpeg4", "options": {"bf": "2"}, "gop": 8},
    "vp8": {"codec": "vp8", "gop": 8},
    "vp9": {"codec": "vp9", "gop": 8},
    "av1": {"codec": "av1", "gop": 8},
    "mjpeg": {"codec": "mjpeg"},
}
FRAGMENTS = {
    "movflags": "frag_keyframe+empty_moov+default_base_moof",
    "min_frag_duration": "300000",
}
# containers that name the keys, and those that do not, which are only cut
NAMED = {
    "h264": ["mp4", "fragments.mp4", "mov", "mkv"],
    "hevc": ["mp4", "fragments.mp4", "mkv"],
    "mpeg4": ["mp4", "mkv"],
    "vp8": ["webm"],
    "vp9": ["mp4", "webm"],
    "av1": ["mp4", "webm"],
    "mjpeg": ["mov", "mkv"],
}
UNNAMED = {
    "h264": ["ts", "h264"],
    "hevc": ["ts", "hevc"],
    "mpeg4": ["ts", "avi"],
    "vp8": ["ivf", "avi"],
    "vp9": ["ivf"],
    "av1": ["ivf"],
    "mjpeg": ["avi"],
}
FRAMES = 26


@dataclass
class Stored:
    """A packet of a source. Times are in units of 1 / 25 s; `place`: in the file."""

    data: bytes
    pts: int
    key: bool
    place: int = 0


def stored(path: Path) -> list[Stored]:
    with av.open(str(path)) as file:
        found = [p for p in file.demux(video=0) if p.size > 0]
        return [
            Stored(
                bytes(p),
                i if p.pts is None else round(p.pts * p.time_base * 25),
                p.is_keyframe,
                p.pos,
            )
            for i, p in enumerate(found)
        ]


def mux(packets: list[Stored], source: Path, path: Path) -> None:
    """Writes packets, whose `key` becomes what the container says."""
    late = max(i - p.pts for i, p in enumerate(packets))
    options = FRAGMENTS if path.name.endswith("fragments.mp4") else {}
    with av.open(str(source)) as template, av.open(str(path), "w", options=options) as out:
        stream = out.add_stream_from_template(template.streams.video[0], opaque=True)
        for i, p in enumerate(packets):
            packet = av.Packet(p.data)
            packet.time_base = Fraction(1, 25)
            packet.pts, packet.dts, packet.duration = p.pts, i - late, 1
            packet.is_keyframe = p.key
            packet.stream = stream
            out.mux(packet)


def change_flags(packets: list[Stored], how: str, rng: random.Random) -> list[Stored]:
    """`how`: all, none, added, removed, moved."""
    keys = [i for i, p in enumerate(packets) if p.key]
    others = [i for i, p in enumerate(packets) if not p.key]
    named = set(keys)
    if how == "all":
        named |= set(others)
    elif how == "none":
        named = set()
    elif how == "added":
        named |= set(rng.sample(others, min(5, len(others))))
    elif how == "removed":
        named -= set(rng.sample(keys, max(1, len(keys) // 2)))
    elif how == "moved":
        named = {i + rng.choice([-1, 1, 2]) for i in keys}
    return [Stored(p.data, p.pts, i in named) for i, p in enumerate(packets)]


def variants(name: str, container: str, folder: Path, seed: int) -> tuple[Path, list[Path]]:
    """A source, and files made of its packets."""
    codec = name.split("-")[0]
    rng = random.Random(f"{name} {container} {seed}")
    suffix = container.split(".")[-1]
    source = folder / f"source.{suffix}"
    videos.make(source, frames=FRAMES, **{"size": (64, 48), **SOURCES[name]})
    packets, found = stored(source), list[Path]()
    # libavcodec cannot always begin with the first picture of a refresh
    places = [i for i in range(1, len(packets) - 9) if name != "h264-refresh" or not packets[i].key]
    cuts = rng.sample(places, 3)
    if container in NAMED[codec]:
        for how in ("all", "none", "added", "removed", "moved"):
            found.append(folder / f"{how}.{container}")
            mux(change_flags(packets, how, rng), source, found[-1])
        for cut in cuts:
            found.append(folder / f"{cut}.{container}")
            how = rng.choice(["", "all", "none", "added", "moved"])
            mux(change_flags(packets[cut:], how, rng), source, found[-1])
        return source, found
    data = source.read_bytes()
    for cut in cuts:
        found.append(folder / f"{cut}.{container}")
        if suffix == "ts":
            found[-1].write_bytes(data[packets[cut].place :])
        elif suffix == "ivf":
            found[-1].write_bytes(data[:32] + data[packets[cut].place :])
        elif suffix == codec:  # without a container
            found[-1].write_bytes(b"".join(p.data for p in packets[cut:]))
        else:
            mux(packets[cut:], source, found[-1])
    return source, found


# ---- what libavcodec makes of them ----


def pictures(path: Path) -> list[Any]:
    """All frames that libavcodec gives, also after packets that it cannot decode."""
    found = list[Any]()
    try:
        opened = av.open(str(path))
    except av.error.InvalidDataError:  # it cannot open AV1 that does not begin with a key
        return found
    with opened as file:
        context = file.streams.video[0].codec_context
        context.thread_count = 1
        for packet in file.demux(video=0):
            try:
                found += context.decode(packet if packet.size else None)
            except av.error.InvalidDataError:
                continue
    return found


# ---- MPEG-4 of DivX and XviD ----


def pack(packets: list[bytes]) -> list[bytes]:
    """A packet has a picture and the first one shown before it; what follows are the others, and one without a picture."""
    kinds = [p[p.index(PICTURE) + 4] >> 6 for p in packets]
    first = packets[0].replace(PICTURE, b"\0\0\1\xb2DivX503b1393p" + PICTURE, 1)
    out, i = [first], 1
    while i < len(packets):
        between = list[bytes]()
        while i + 1 + len(between) < len(packets) and kinds[i + 1 + len(between)] == 2:
            between.append(packets[i + 1 + len(between)])
        out.append(packets[i] + b"".join(between[:1]))
        out += between[1:] + ([videos.NO_PICTURE] if between else [])
        i += 1 + len(between)
    return out


# ---- Matroska ----


def element(kind: int, contents: bytes) -> bytes:
    head = kind.to_bytes((kind.bit_length() + 7) // 8, "big")
    return head + (len(contents) | 1 << 56).to_bytes(8, "big") + contents


def number(kind: int, value: int) -> bytes:
    return element(kind, value.to_bytes(8, "big"))


def bitmap(fourcc: bytes, extra: bytes = b"") -> bytes:
    """What AVI files say about a stream, and what Matroska has of streams that come from them."""
    return struct.pack("<IiiHH4sIiiII", 40, 64, 48, 1, 24, fourcc, 0, 0, 0, 0, 0) + extra


def write_matroska(
    path: Path,
    packets: list[bytes],
    times: list[int],
    codec: bytes,
    private: bytes = b"",
    *,
    keys: list[bool] | None = None,
    deflated: bool = False,
    stripped: bytes = b"",
    encodings: bytes | None = None,
) -> None:
    """Packets with times in units of 1 / 25 s; `keys`: what the file says, by default all."""
    entry = number(0xD7, 1) + number(0x73C5, 1) + number(0x83, 1) + number(0x23E383, 40_000_000)
    entry += element(0x86, codec) + element(0xE0, number(0xB0, 64) + number(0xBA, 48))
    entry += element(0x63A2, private) if private else b""
    how = number(0x4254, 0) if deflated else number(0x4254, 3) + element(0x4255, stripped)
    if encodings is None and (deflated or stripped):
        encodings = element(0x6240, number(0x5032, 1) + element(0x5034, how))
    entry += element(0x6D80, encodings) if encodings else b""
    body = element(0x1549A966, number(0x2AD7B1, 1_000_000))
    body += element(0x1654AE6B, element(0xAE, entry))
    for i, (data, time) in enumerate(zip(packets, times, strict=True)):
        assert data.startswith(stripped)
        data = zlib.compress(data) if deflated else data[len(stripped) :]
        key = 0x80 if keys is None or keys[i] else 0
        block = element(0xA3, b"\x81\0\0" + bytes([key]) + data)
        body += element(0x1F43B675, number(0xE7, 40 * time) + block)
    head = element(0x1A45DFA3, element(0x4282, b"matroska"))
    path.write_bytes(head + element(0x18538067, body))
