# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Small videos, made with PyAV, and what PyAV (libavformat and libavcodec) reads from videos."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

av = pytest.importorskip("av")

LIBRARY = {
    "h264": "libx264",
    "hevc": "libx265",
    "vp8": "libvpx",
    "vp9": "libvpx-vp9",
    "av1": "libsvtav1",
    "mpeg4": "mpeg4",
    "mjpeg": "mjpeg",
}
B_PYRAMID = {
    "x264-params": "bframes=3:b-pyramid=normal:b-adapt=0:scenecut=0:keyint=12:min-keyint=12"
}
OPEN_GOP = {
    "x264-params": "bframes=3:b-adapt=0:scenecut=0:keyint=8:min-keyint=8:open-gop=1",
    "x265-params": "log-level=none:bframes=3:b-adapt=0:scenecut=0:keyint=8:min-keyint=8:open-gop=1",
}
# times of frames with a variable rate, in units of 1 / (40 * 25) s
VFR = [
    0, 20, 53, 99, 100, 163, 170, 250, 260, 333, 334, 400, 480, 481, 600, 601, 660, 720, 790, 850,
]  # fmt: skip
QUICK = {
    "h264": {"preset": "ultrafast"},
    "hevc": {"preset": "ultrafast", "x265-params": "log-level=none"},
    "vp8": {"deadline": "realtime", "cpu-used": "8"},
    "vp9": {"deadline": "realtime", "cpu-used": "8"},
    "av1": {"preset": "12"},
}


def picture(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    """A picture that differs for each number, and moves."""
    y, x = np.mgrid[0:height, 0:width]
    red = (x * 4 + number * 9) % 256
    green = (y * 5 + number * 5) % 256
    blue = ((x + y) * 2 + number * 13) % 256
    return np.stack([red, green, blue], axis=-1).astype(np.uint8)


def make(
    path: Path | str,
    codec: str = "h264",
    frames: int = 30,
    *,
    size: tuple[int, int] = (64, 48),
    rate: int = 25,
    times: Sequence[int] | None = None,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    format: str | None = None,
    gop: int = 12,
    matrix: int | None = None,
    full_range: bool = False,
) -> None:
    """Writes a video. `times` are those of the frames in units of 1 / (40 * rate) seconds. `matrix` of
    H.273 and `full_range` are what the stream or the container says; the pixels do not depend on them."""
    merged = {**QUICK.get(codec, {}), **(options or {})}
    with av.open(str(path), "w", format=format, options=container or {}) as file:
        stream = file.add_stream(LIBRARY[codec], rate=rate, options=merged)
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.gop_size = gop
        stream.codec_context.thread_count = 1
        if matrix is not None:
            stream.codec_context.colorspace = matrix
            stream.codec_context.color_range = 2 if full_range else 1
        base = Fraction(1, rate) if times is None else Fraction(1, 40 * rate)
        stream.codec_context.time_base = base
        for i in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(i, *size), format="rgb24")
            if matrix is not None:
                frame = frame.reformat(format=stream.pix_fmt)
                frame.colorspace, frame.color_range = matrix, 2 if full_range else 1
            frame.pts = i if times is None else times[i]
            frame.time_base = base
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


def turn(path: Path, matrix: tuple[int, int, int, int], movie: bool = False) -> None:
    """Writes a display matrix into the header of the only track of an MP4 file, or of its movie."""
    data = bytearray(path.read_bytes())
    at = data.index(b"mvhd") + 4 + 36 if movie else data.index(b"tkhd") + 4 + 40
    a, b, c, d = (v << 16 for v in matrix)
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)


@dataclass
class Decoded:
    """What PyAV reads: times in seconds, from that of the first frame."""

    times: list[Fraction]
    frames: list[npt.NDArray[np.uint8]]
    packets: list[bytes]
    keys: list[bool]


def packets(path: Path | str) -> tuple[list[bytes], list[bool]]:
    with av.open(str(path)) as file:
        all_packets = [p for p in file.demux(video=0) if p.size > 0]
        return [bytes(p) for p in all_packets], [p.is_keyframe for p in all_packets]


def decode(path: Path | str) -> Decoded:
    with av.open(str(path)) as file:
        file.streams.video[0].codec_context.thread_count = 1
        frames = list(file.decode(video=0))
    times = [Fraction(f.pts or 0) * f.time_base for f in frames]
    data, keys = packets(path)
    return Decoded(
        [t - times[0] for t in times],
        [f.to_ndarray(format="rgb24") for f in frames],
        data,
        keys,
    )


# ---- AVI files that PyAV reads, but does not write ----

PICTURE = b"\0\0\1\xb6"  # the start code of MPEG-4 pictures


def chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


NO_PICTURE = PICTURE + bytes([0b01010000, 0b01011111])  # 25 units of time per second: 5 bits


def write_avi(path: Path, stored: list[bytes], parts: int = 1) -> None:
    """MPEG-4 at 25 frames per second. Several parts, as of OpenDML, have an index and lists of packets."""
    header = b"vidsXVID" + struct.pack("<IHHIIIIIIII", 0, 0, 0, 0, 1, 25, 0, len(stored), 0, 0, 0)
    bitmap = struct.pack("<IiiHH4sIiiII", 40, 64, 48, 1, 24, b"XVID", 0, 0, 0, 0, 0)
    stream = b"strl" + chunk(b"strh", header + bytes(8)) + chunk(b"strf", bitmap)
    main = struct.pack("<14I", 40000, 0, 0, 0, len(stored), 0, 1, 0, 64, 48, 0, 0, 0, 0)
    out = chunk(b"LIST", b"hdrl" + chunk(b"avih", main) + chunk(b"LIST", stream))
    each = -(-len(stored) // parts)
    for i in range(parts):
        packets = b"".join(chunk(b"00dc", data) for data in stored[i * each : (i + 1) * each])
        if parts > 1:
            packets = chunk(b"LIST", b"rec " + packets) + chunk(b"ix00", bytes(24))
        body = out + chunk(b"LIST", b"movi" + packets)
        out = chunk(b"RIFF", (b"AVIX" if i else b"AVI ") + body)
        with path.open("ab" if i else "wb") as file:
            file.write(out)
        out = b""


def pack(source: Path, target: Path) -> None:
    """Writes MPEG-4 as DivX does: a packet has a picture and the one shown before it, the next one none."""
    pictures, _ = packets(source)
    pictures[0] = pictures[0].replace(PICTURE, b"\0\0\1\xb2DivX503b1393p" + PICTURE, 1)
    stored = [pictures[0]]
    for first, second in zip(pictures[1::2], pictures[2::2]):
        assert [p[p.index(PICTURE) + 4] >> 6 for p in (first, second)] == [1, 2]
        stored += [first + second, NO_PICTURE]
    write_avi(target, stored)
