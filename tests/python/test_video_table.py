# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The table of packets of a video, and plans of frames, against PyAV. No decoder of ours runs."""

import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import videos
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from videos import B_PYRAMID, OPEN_GOP, av
from waiting import HANG_S

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(
    p
    for p in ROOT.glob("build/*/tests/video_table")
    if p.parts[-3] not in ("asan", "tsan", "fuzz") and p.is_file()
)
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="video_table is not built")
KEY, HIDDEN, LEADING = 1, 2, 4


@dataclass
class Table:
    """What video_table prints."""

    facts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    packets: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    order: list[int] = field(default_factory=list[int])
    contents: list[int] = field(default_factory=list[int])
    runs: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    wanted: list[int] = field(default_factory=list[int])
    error: str = ""

    def times(self) -> list[Fraction]:
        unit = Fraction(*map(int, self.facts["time"]))
        times = [self.packets[i][3] * unit for i in self.order]
        return [t - times[0] for t in times]


def table(path: Path, *arguments: object) -> Table:
    newest = max(PROGRAMS, key=lambda p: p.stat().st_mtime)
    command = [str(newest), str(path), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode in (0, 1), done
    t = Table()
    for line in done.stdout.splitlines():
        key, *values = line.split(" ")
        if key == "packet":
            t.packets.append(tuple(map(int, values)))
        elif key == "frame":
            t.order.append(int(values[0]))
        elif key == "content":
            t.contents.append(int(values[0]))
        elif key == "run":
            t.runs.append(tuple(map(int, values)))
        elif key == "wanted":
            t.wanted.append(int(values[0]))
        elif key == "error":
            t.error = " ".join(values)
        else:
            t.facts[key] = values
    assert (done.returncode == 1) == bool(t.error)
    return t


def unpacked(path: Path, folder: Path) -> list[bytes]:
    out = folder / "packets.bin"
    assert not table(path, "unpack", out).error
    data, at, found = out.read_bytes(), 0, list[bytes]()
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def check(path: Path, constant: bool = False) -> Table:
    """Frames, times, packets and keys are those of PyAV. `constant`: PyAV does not know the times."""
    expected, t = videos.decode(path), table(path)
    assert not t.error
    if constant:
        assert t.times() == [Fraction(i, 25) for i in range(len(expected.frames))]
    else:
        assert t.times() == expected.times
    assert unpacked(path, path.parent) == expected.packets
    assert [bool(p[2] & KEY) for p in t.packets] == expected.keys
    data = path.read_bytes()
    assert all(0 <= p[0] <= p[0] + p[1] <= len(data) for p in t.packets)
    return t


VARIANTS: dict[str, dict[str, Any]] = {
    "plain.mp4": {},
    "pyramid.mp4": {"options": B_PYRAMID},
    "open.mp4": {"options": OPEN_GOP},
    "hevc.mp4": {"codec": "hevc"},
    "hevc-open.mp4": {"codec": "hevc", "options": OPEN_GOP},
    "vfr.mp4": {"times": videos.VFR, "frames": 20, "options": B_PYRAMID},
    "late.mp4": {"times": [t + 5000 for t in videos.VFR], "frames": 20},
    "early.mp4": {"times": [t - 300 for t in videos.VFR], "frames": 20, "options": B_PYRAMID},
    "signed.mp4": {"options": B_PYRAMID, "container": {"movflags": "negative_cts_offsets"}},
    "unedited.mp4": {"options": B_PYRAMID, "container": {"use_editlist": "0"}},
    "faststart.mp4": {"options": B_PYRAMID, "container": {"movflags": "faststart"}},
    "fragments.mp4": {
        "options": B_PYRAMID,
        "container": {"movflags": "frag_keyframe+empty_moov+default_base_moof"},
    },
    "fragments-old.mp4": {
        "times": videos.VFR,
        "frames": 20,
        "options": B_PYRAMID,
        "container": {"movflags": "frag_keyframe+empty_moov"},
    },
    "fragments-delayed.mp4": {
        "options": B_PYRAMID,
        "container": {"movflags": "frag_keyframe+delay_moov", "frag_size": "2000"},
    },
    "cmaf.mp4": {"options": B_PYRAMID, "container": {"movflags": "cmaf+frag_every_frame"}},
    "vp9.mp4": {"codec": "vp9"},
    "av1.mp4": {"codec": "av1"},
    "mpeg4.mp4": {"codec": "mpeg4", "options": {"bf": "2"}},
    "mjpeg.mp4": {"codec": "mjpeg", "frames": 8},
    "h264.mov": {"options": B_PYRAMID},
    "mjpeg.mov": {"codec": "mjpeg", "frames": 8},
    "pyramid.mkv": {"options": B_PYRAMID},
    "vfr.mkv": {"times": videos.VFR, "frames": 20, "options": B_PYRAMID},
    "hevc-open.mkv": {"codec": "hevc", "options": OPEN_GOP},
    "mpeg4.mkv": {"codec": "mpeg4", "options": {"bf": "2"}},
    "mjpeg.mkv": {"codec": "mjpeg", "frames": 8},
    "live.mkv": {"options": B_PYRAMID, "container": {"live": "1", "cluster_time_limit": "200"}},
    "vp8.webm": {"codec": "vp8"},
    "vp9.webm": {"codec": "vp9"},
    "av1.webm": {"codec": "av1"},
    "pyramid.avi": {"options": B_PYRAMID},
    "open.avi": {"options": OPEN_GOP},
    "mpeg4.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
    "gaps.avi": {"codec": "mpeg4", "times": [0, 40, 120, 160, 200, 400, 440], "frames": 7},
    "mjpeg.avi": {"codec": "mjpeg", "frames": 8},
    "vp8.avi": {"codec": "vp8"},
    "pyramid.h264": {"options": B_PYRAMID},
    "open.h264": {"options": OPEN_GOP},
    "hevc.hevc": {"codec": "hevc"},
    "hevc-open.hevc": {"codec": "hevc", "options": OPEN_GOP},
    "pyramid.ts": {"options": B_PYRAMID},
    "vfr.ts": {"times": videos.VFR, "frames": 20, "options": B_PYRAMID},
    "hevc-open.ts": {"codec": "hevc", "options": OPEN_GOP},
    "mpeg4.ts": {"codec": "mpeg4", "options": {"bf": "2"}},
    "pyramid.m2ts": {
        "options": B_PYRAMID,
        "format": "mpegts",
        "container": {"mpegts_m2ts_mode": "1"},
    },
    "vp8.ivf": {"codec": "vp8"},
    "vp9.ivf": {"codec": "vp9"},
    "av1.ivf": {"codec": "av1"},
}
# libavformat gives no times, or (H.264 in AVI) times that go back and forth
TIMELESS = {n for n in VARIANTS if n.endswith((".h264", ".hevc"))} | {"pyramid.avi", "open.avi"}
CODECS = {"h264": 1, "hevc": 2, "vp8": 3, "vp9": 4, "av1": 5, "mpeg4": 6, "mjpeg": 7}


@pytest.mark.parametrize("name", VARIANTS)
def test_packets_and_times_are_those_of_pyav(name: str, tmp_path: Path) -> None:
    options = VARIANTS[name]
    videos.make(tmp_path / name, **options)
    t = check(tmp_path / name, name in TIMELESS)
    assert t.facts["codec"] == [str(CODECS[options.get("codec", "h264")])]
    assert t.facts["size"] == ["64", "48"]
    if "times" not in options or name.endswith("mkv"):
        assert t.facts["rate"] == ["25", "1"]


FIRST_READ = 256 << 10  # of any file


@pytest.mark.parametrize("name, part", [("h264.mp4", 0.05), ("hevc.mp4", 0.05), ("h264.mkv", 0.5)])
def test_packets_of_a_file_that_names_its_keys_are_not_read(
    name: str, part: float, tmp_path: Path
) -> None:
    """Without a table of keys, the beginning of each is read."""
    path = tmp_path / name
    options = {"qp": "1", "x265-params": "log-level=none:qp=1"}
    videos.make(path, name.split(".")[0], 60, size=(320, 240), options=options, gop=30)
    size, read = path.stat().st_size, int(table(path).facts["read"][0])
    assert size > 60 * 10_000
    assert read < FIRST_READ + part * size
    if name.endswith("mkv"):
        return
    keys = [p[2] & KEY for p in table(path).packets]
    path.write_bytes(path.read_bytes().replace(b"stss", b"free"))
    assert [p[2] & KEY for p in table(path).packets] == keys
    assert read < int(table(path).facts["read"][0]) < FIRST_READ + 1.2 * size


# ---- edit lists and headers, written into files of PyAV ----


def _box(kind: bytes, contents: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(contents), kind) + contents


def change_boxes(data: bytes, path: list[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """Replaces the contents of the first box at `path`; the boxes around it get other sizes."""
    at, out, done = 0, b"", False
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        contents = data[at + 8 : at + size]
        if kind == path[0] and not done:
            done = True
            inner = change(contents) if len(path) == 1 else change_boxes(contents, path[1:], change)
            out += _box(kind, inner)
        else:
            out += data[at : at + size]
        at += size
    assert done, path
    return out


def _edits(entries: list[tuple[int, int]]) -> Callable[[bytes], bytes]:
    def change(_: bytes) -> bytes:
        body = b"".join(struct.pack(">IiI", d, m, 1 << 16) for d, m in entries)
        return _box(b"elst", struct.pack(">II", 0, len(entries)) + body)

    return change


# (duration in ms, start in units of 1 / 12800 s); a frame has 512 units, and the first one is at 1024
EDITS: dict[str, list[tuple[int, int]]] = {
    "to the end": [(1200, 1024)],
    "without the beginning": [(1000, 1024 + 5 * 512)],
    "from the middle of a frame": [(1000, 1024 + 5 * 512 + 200)],
    "without the end": [(600, 1024)],
    "both": [(400, 1024 + 9 * 512)],
    "from a key frame": [(500, 1024 + 12 * 512)],
    "delayed": [(700, -1), (1200, 1024)],
    "two parts": [(200, 1024), (400, 1024 + 15 * 512)],
    "twice": [(400, 1024 + 512), (400, 1024 + 512)],
    "backwards": [(280, 1024 + 20 * 512), (320, 1024 + 2 * 512)],
}
# libavformat shows the same frames, but leaves gaps between the edits or lets them overlap.
OTHER_TIMES = ("two parts", "backwards")


@pytest.mark.parametrize("options", [B_PYRAMID, OPEN_GOP], ids=["pyramid", "open"])
@pytest.mark.parametrize("name", EDITS)
def test_edit_lists(name: str, options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "edited.mp4"
    videos.make(path, options=options)
    boxes = [b"moov", b"trak", b"edts"]
    path.write_bytes(change_boxes(path.read_bytes(), boxes, _edits(EDITS[name])))
    expected, t = videos.decode(path), table(path)
    if name in OTHER_TIMES:
        assert t.times() == [Fraction(i, 25) for i in range(len(expected.times))]
    else:
        assert t.times() == expected.times
    assert_frames(path, t, list(range(len(t.order))), expected)


@pytest.mark.parametrize(
    "matrix, angle", [((0, 1, -1, 0), 90), ((-1, 0, 0, -1), 180), ((0, -1, 1, 0), 270)]
)
def test_rotation(matrix: tuple[int, ...], angle: int, tmp_path: Path) -> None:
    def change(tkhd: bytes) -> bytes:
        a, b, c, d = (v << 16 for v in matrix)
        return tkhd[:40] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + tkhd[76:]

    path = tmp_path / "turned.mp4"
    videos.make(path, frames=5)
    path.write_bytes(change_boxes(path.read_bytes(), [b"moov", b"trak", b"tkhd"], change))
    assert check(path).facts["rotation"] == [str(angle)]
    with av.open(str(path)) as file:
        assert next(file.decode(video=0)).rotation % 360 == (360 - angle) % 360


# ---- Matroska files that PyAV reads, but does not write ----


def _element(kind: int, contents: bytes, size: int | None = None) -> bytes:
    """`size` -1: unknown."""
    name = kind.to_bytes((kind.bit_length() + 7) // 8, "big")
    length = len(contents) if size is None else size
    return (
        name + ((1 << 56 | length) if length >= 0 else (1 << 57) - 1).to_bytes(8, "big") + contents
    )


def _number(kind: int, value: int) -> bytes:
    return _element(kind, value.to_bytes(8, "big"))


def _laced(frames: list[bytes], lacing: int) -> bytes:
    """The lengths of frames in front of them: 1 as Xiph does, 2 equal, 3 EBML, 0 one frame."""
    if lacing == 0:
        return frames[0]
    head = bytes([len(frames) - 1])
    if lacing == 1:
        for f in frames[:-1]:
            head += b"\xff" * (len(f) // 255) + bytes([len(f) % 255])
    elif lacing == 3:
        head += (1 << 21 | len(frames[0])).to_bytes(3, "big")
        for a, b in zip(frames[:-2], frames[1:-1]):
            head += (1 << 21 | (len(b) - len(a) + (1 << 20) - 1)).to_bytes(3, "big")
    return head + b"".join(frames)


def write_matroska(
    path: Path, frames: list[bytes], lacing: int, groups: bool, unknown: bool, strip: int
) -> None:
    """MJPEG at 25 frames per second, 4 frames per block if they are laced."""
    prefix = frames[0][:strip]
    entry = _number(0xD7, 1) + _number(0x73C5, 1) + _number(0x83, 1) + _number(0x23E383, 40_000_000)
    entry += _element(0x86, b"V_MJPEG") + _element(0xE0, _number(0xB0, 64) + _number(0xBA, 48))
    if strip:
        compression = _number(0x4254, 3) + _element(0x4255, prefix)
        entry += _element(0x6D80, _element(0x6240, _element(0x5034, compression)))
    body = _element(0x1549A966, _number(0x2AD7B1, 1_000_000))
    body += _element(0x1654AE6B, _element(0xAE, entry))
    each = 4 if lacing else 1
    for i in range(0, len(frames), each):
        block = b"\x81\0\0" + bytes([0 if groups else 0x80 | lacing << 1])
        if groups:
            block = block[:3] + bytes([lacing << 1])
        block += _laced([f[strip:] for f in frames[i : i + each]], lacing)
        inner = _element(0xA0, _element(0xA1, block)) if groups else _element(0xA3, block)
        cluster = _number(0xE7, 40 * i) + inner
        body += _element(0x1F43B675, cluster, -1 if unknown else None)
    head = _element(0x1A45DFA3, _element(0x4282, b"matroska"))
    path.write_bytes(head + _element(0x18538067, body, -1 if unknown else None))


@pytest.mark.parametrize("strip", [0, 2, 20])
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("lacing", [0, 1, 2, 3])
def test_matroska(lacing: int, groups: bool, unknown: bool, strip: int, tmp_path: Path) -> None:
    videos.make(tmp_path / "source.mkv", "mjpeg", 12)
    frames, _ = videos.packets(tmp_path / "source.mkv")
    if lacing == 2:
        frames = [f.ljust(max(map(len, frames)), b"\0") for f in frames]
    path = tmp_path / "own.mkv"
    write_matroska(path, frames, lacing, groups, unknown, strip)
    t = table(path)
    assert not t.error
    assert unpacked(path, tmp_path) == frames == videos.packets(path)[0]
    assert t.times() == [Fraction(i, 25) for i in range(12)]
    assert t.facts["rate"] == ["25", "1"]
    assert videos.decode(path).times == t.times()


# ---- AVI files that PyAV reads, but does not write ----


@pytest.mark.parametrize("parts", [1, 3])
def test_avi(parts: int, tmp_path: Path) -> None:
    """Several parts and lists in them; pictures that are not coded are no frames, but take time."""
    source, path = tmp_path / "source.avi", tmp_path / "own.avi"
    videos.make(source, "mpeg4", 17, gop=6)
    packets, _ = videos.packets(source)
    stored, times = list[bytes](), list[Fraction]()
    for i, packet in enumerate(packets):
        times.append(Fraction(len(stored), 25))
        stored += [packet, videos.NO_PICTURE] if i % 4 == 2 else [packet]
    videos.write_avi(path, stored, parts)
    t = table(path)
    assert not t.error
    assert t.times() == videos.decode(path).times == times
    assert unpacked(path, tmp_path) == stored == videos.packets(path)[0]
    whole, last = path.read_bytes(), t.packets[-1]
    path.write_bytes(whole[: last[0] + last[1] - 1])
    assert table(path).packets == t.packets[:-1]


# ---- transport streams that PyAV reads, but does not write ----

VIDEO, OTHER = 0x100, 0x101


def _cells(pid: int, payload: bytes, first: bool = True) -> bytes:
    """Cells of 188 bytes; the last one is filled up by its adaptation field."""
    out = b""
    while payload:
        part, payload = payload[:184], payload[184:]
        fill = 184 - len(part)
        field = b"" if fill == 0 else bytes([fill - 1]) + b"\0\xff"[: min(fill - 1, 1)]
        field += b"\xff" * (fill - len(field))
        head = struct.pack(">BHB", 0x47, pid | (0x4000 if first else 0), 0x30 if fill else 0x10)
        out += head + field + part
        first = False
    return out


def _crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc.to_bytes(4, "big")


def _table(pid: int, kind: int, number: int, body: bytes) -> bytes:
    data = struct.pack(">BHHBBB", kind, 0xB000 | len(body) + 9, number, 0xC1, 0, 0) + body
    return _cells(pid, b"\0" + data + _crc(data))


def _pes(pts: int | None, data: bytes, stuffing: int) -> bytes:
    """`stuffing`: bytes of the header that mean nothing."""
    times = b""
    if pts is not None:
        parts = (pts >> 29 & 14 | 0x21, pts >> 14 & 0xFFFE | 1, pts << 1 & 0xFFFE | 1)
        times = struct.pack(">BHH", *parts)
    head = bytes([0x80, 0x80 if times else 0, len(times) + stuffing]) + times + b"\xff" * stuffing
    return b"\0\0\1\xe0\0\0" + head + data


def write_ts(
    path: Path, packets: list[bytes], times: list[int], each: int, stuffing: int, late: int
) -> None:
    """H.264 with `each` pictures per PES packet, which begins `late` bytes before the first of them ends."""
    out = _table(0, 0, 1, struct.pack(">HH", 1, 0xF000))
    video = struct.pack(">BHH", 0x1B, 0xE000 | VIDEO, 0xF000)
    audio = struct.pack(">BHH", 0x0F, 0xE000 | OTHER, 0xF000)
    out += _table(0x1000, 2, 1, struct.pack(">HH", 0xE000 | VIDEO, 0xF000) + audio + video)
    rest = b""
    for i in range(0, len(packets), each):
        data = rest + b"".join(packets[i : i + each])
        cut = len(data) - late if i + each < len(packets) else len(data)
        data, rest = data[:cut], data[cut:]
        cells = _cells(VIDEO, _pes(times[i] % (1 << 33), data, stuffing))
        for k in range(0, len(cells), 188):
            out += cells[k : k + 188] + _cells(OTHER, bytes(184), first=False)
    path.write_bytes(out)


SVT = {"codec": "av1", "frames": 64, "options": {"preset": "8"}, "gop": 64}
MEDIUM = {"options": {"preset": "medium", **B_PYRAMID}}
X265 = {"x265-params": "log-level=none:bframes=4:b-adapt=0:keyint=20"}
LAYERS = {"x265-params": "log-level=none:bframes=4:b-adapt=0:keyint=20:temporal-layers=3"}
SKIPPED: dict[str, dict[str, Any]] = {
    "h264.mp4": MEDIUM,
    "h264.ts": MEDIUM,
    "h264.h264": MEDIUM,
    "hevc.mp4": {"codec": "hevc", "options": X265},
    "hevc.ts": {"codec": "hevc", "options": X265},
    "hevc.hevc": {"codec": "hevc", "options": X265},
    "layers.mp4": {"codec": "hevc", "options": LAYERS},
    "layers.hevc": {"codec": "hevc", "options": LAYERS},
    "mpeg4.mp4": {"codec": "mpeg4", "options": {"bf": "2"}},
    "av1.mp4": SVT,
    "av1.mkv": SVT,
}


@pytest.mark.parametrize("name", SKIPPED)
def test_frames_that_nothing_refers_to(name: str, tmp_path: Path) -> None:
    """Without the packets that are called disposable, libavcodec decodes all others to the same pictures."""
    path = tmp_path / name
    videos.make(path, **SKIPPED[name])
    every = table(path)
    contents = table(path, "unpack", tmp_path / "packets.bin").contents
    kept = [not content & 1 for content in contents]
    pictures = list[Any]()
    with av.open(str(path)) as file:
        context = file.streams.video[0].codec_context
        context.thread_count = 1
        packets = [p for p in file.demux(video=0) if p.size > 0]
        assert len(packets) == len(kept)
        for packet, keep in zip(packets, kept, strict=True):
            if keep:
                pictures += context.decode(packet)
        pictures += context.decode(None)
    want = [f for f, i in zip(videos.decode(path).frames, every.order, strict=True) if kept[i]]
    assert sum(kept) < len(kept) * 4 / 5, "few packets were skipped"
    assert len(pictures) == len(want)
    for found, expected in zip(pictures, want, strict=True):
        np.testing.assert_array_equal(found.to_ndarray(format="rgb24"), expected)


@pytest.mark.parametrize("stuffing", [0, 190])
@pytest.mark.parametrize("each, late", [(1, 0), (3, 0), (1, 20), (2, 7)])
@pytest.mark.parametrize("start", [0, 90_000, (1 << 33) - 40_000])
def test_transport_streams(start: int, each: int, late: int, stuffing: int, tmp_path: Path) -> None:
    """The clock begins again in the middle, a picture begins within a PES packet, headers are long."""
    videos.make(tmp_path / "source.ts", options=B_PYRAMID)
    source = table(tmp_path / "source.ts")
    packets = unpacked(tmp_path / "source.ts", tmp_path)
    path = tmp_path / "own.ts"
    times = [start + p[3] for p in source.packets]
    write_ts(path, packets, times, each, stuffing, late)
    t = table(path)
    assert not t.error
    assert unpacked(path, tmp_path) == packets == videos.packets(path)[0]
    assert t.times() == source.times()
    assert t.order == source.order
    assert all(p[3] >= 0 for p in t.packets)
    if each == 1 and late == 0:
        assert t.times() == videos.decode(path).times


def test_transport_streams_with_damage(tmp_path: Path) -> None:
    """Bytes between cells are left out, and what a lost cell leaves is a packet that is too short."""
    path = tmp_path / "source.ts"
    videos.make(path, options=B_PYRAMID)
    whole, data = table(path), path.read_bytes()
    packets = unpacked(path, tmp_path)
    at = whole.packets[10][0]
    path.write_bytes(data[:at] + b"\x47" + bytes(100) + data[at:])
    assert unpacked(path, tmp_path) == packets
    assert table(path).order == whole.order
    path.write_bytes(data[100:])
    assert unpacked(path, tmp_path) == packets
    path.write_bytes(data[: 2 * 188 + 1] + bytes(10) + data[2 * 188 + 1 :])
    assert table(path).error == "it is not a video file of a known format"


def test_transport_streams_without_a_known_video(tmp_path: Path) -> None:
    path = tmp_path / "source.ts"
    videos.make(path, frames=5)
    data = path.read_bytes()
    entry = struct.pack(">BH", 0x1B, 0xE100)
    assert entry in data
    path.write_bytes(data.replace(entry, b"\2" + entry[1:]))
    message = "MPEG-TS: the codec of its video (type 0x02) is not supported"
    assert table(path).error == message
    path.write_bytes(data.replace(entry, b"\x0f" + entry[1:]))
    assert table(path).error == "MPEG-TS: there is no video track"


# ---- plans: what they name is decoded with libavcodec alone ----


def decode_runs(path: Path, packets: list[bytes], t: Table) -> dict[int, Any]:
    """The wanted frames, each of its packet, from the packets of the runs and nothing else."""
    with av.open(str(path)) as file:
        source = file.streams.video[0].codec_context
        name, extra = source.name, source.extradata
    found = dict[int, Any]()
    for first, end, start, stop in t.runs:
        context = av.CodecContext.create(name, "r")
        context.extradata = extra
        context.thread_count = 1
        wanted = set(t.wanted[start:stop])
        frames = list[Any]()
        for i in range(first, end):
            packet = av.Packet(packets[i])
            packet.pts = i
            frames += context.decode(packet)
        frames += context.decode(None)
        found |= {f.pts: f.to_ndarray(format="rgb24") for f in frames if f.pts in wanted}
    return found


def assert_frames(path: Path, t: Table, numbers: list[int], expected: videos.Decoded) -> int:
    """The plan of these frames gives them; returns the number of packets that it decodes."""
    p = table(path, "plan", *numbers)
    assert not p.error
    assert p.wanted == [t.order[i] for i in sorted(set(numbers))]
    assert [r[2] for r in p.runs] + [len(p.wanted)] == [0] + [r[3] for r in p.runs]
    found = decode_runs(path, unpacked(path, path.parent), p)
    for i in numbers:
        np.testing.assert_array_equal(found[t.order[i]], expected.frames[i])
    return sum(r[1] - r[0] for r in p.runs)


# without MPEG-4, of which libavcodec 62 decodes some pictures differently from run to run
PLANNED = {
    "pyramid.mp4": {"options": B_PYRAMID, "frames": 60},
    "open.mp4": {"options": OPEN_GOP, "frames": 60},
    "hevc-open.mp4": {"codec": "hevc", "options": OPEN_GOP, "frames": 60},
    "vp9.mp4": {"codec": "vp9", "frames": 60},
    "pyramid.mkv": {"options": B_PYRAMID, "frames": 60},
}


@pytest.mark.parametrize("name", PLANNED)
def test_plans_give_the_frames(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    videos.make(path, **PLANNED[name])
    expected, t = videos.decode(path), check(path)
    assert_frames(path, t, list(range(60)), expected)
    assert len(table(path, "plan", *range(60)).runs) == 1

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(0, 59), min_size=1, max_size=6))
    def some(numbers: list[int]) -> None:
        decoded = assert_frames(path, t, numbers, expected)
        assert decoded <= 26 * len(set(numbers))  # two groups of 12 packets, and what is between

    some()


def test_a_plan_begins_at_the_nearest_key_frame(tmp_path: Path) -> None:
    path = tmp_path / "plain.mp4"
    videos.make(path, codec="vp9", frames=60)
    assert table(path, "plan", 30).runs == [(24, 31, 0, 1)]
    assert table(path, "plan", 30, 33, 3).runs == [(0, 4, 0, 1), (24, 34, 1, 3)]
    assert table(path, "plan", 11, 12).runs == [(0, 13, 0, 2)]
    assert table(path, "plan", -1, 5, 5, -7).wanted == [5]
    assert table(path, "plan").runs == []
    assert table(path, "plan", 60).error == "frame 60 does not exist: the video has 60"


def test_leading_pictures_begin_a_group_earlier(tmp_path: Path) -> None:
    path = tmp_path / "open.mp4"
    videos.make(path, options=OPEN_GOP)
    t = table(path)
    leading = next(n for n, i in enumerate(t.order) if t.packets[i][2] & LEADING)
    keys = [i for i, p in enumerate(t.packets) if p[2] & KEY]
    assert table(path, "plan", leading).runs[0][0] == keys[0]
    following = next(n for n, i in enumerate(t.order) if i == keys[1])
    assert table(path, "plan", following).runs[0][0] == keys[1]


# ---- damage ----


def test_a_cut_file_has_the_packets_that_are_left(tmp_path: Path) -> None:
    path = tmp_path / "cut.mp4"
    videos.make(path, options=B_PYRAMID, container={"movflags": "faststart"})
    whole, data = table(path), path.read_bytes()
    for i in (1, 7, 20):
        offset, size, _, _ = whole.packets[i]
        path.write_bytes(data[: offset + size - 1])
        cut = table(path)
        assert cut.packets == whole.packets[:i]
        path.write_bytes(data[: offset + size])
        assert len(table(path).packets) == i + 1


def test_messages_about_codecs_that_are_not_supported(tmp_path: Path) -> None:
    """Their names may be any bytes, and those of several tracks do not mix."""
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2)
    name = b"avc1" + bytes(7) + b"\1"  # the sample entry
    assert name in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(name, b"a\0\nc" + name[4:]))
    assert table(path).error == "MP4: the codec 'a??c' is not supported"
    path = tmp_path / "a.ivf"
    path.write_bytes(b"DKIF\0\0\x20\0\x1b[1m" + bytes(20))
    assert table(path).error == "IVF: the codec '?[1m' is not supported"
    tracks = [
        _number(0xD7, 1) + _number(0x83, 1) + _element(0x86, n) for n in (b"V_THEORA", b"V_X")
    ]
    body = _element(0x1654AE6B, b"".join(_element(0xAE, t) for t in tracks))
    path.write_bytes(_element(0x1A45DFA3, b"") + _element(0x18538067, body))
    assert table(path).error == "Matroska: the codec 'V_X' is not supported"


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "it is not a video file of a known format"),
        (b"\0\0\0\x08ftyp", "MP4: there is no movie header (moov); the file may be cut"),
        (b"\0\0\0\x08ftyp\0\0\0\x08moov", "MP4: there is no video track"),
    ],
)
def test_messages(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(data)
    assert table(tmp_path / "bad.mp4").error == message
