# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Videos that encoders of today do not write, but archives have. Their frames are those of PyAV."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import videos  # noqa: E402
from headrace import Pipeline, fn  # noqa: E402
from rare_videos import (  # noqa: E402
    describe,
    description,
    edit,
    interlaced,
    remux,
    with_check_sums,
)
from test_video_containers import expected, has_decoders, read  # noqa: E402

pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")
PYRAMID = {"preset": "medium", **videos.B_PYRAMID}


def check(path: Path, count: int = 30) -> Any:
    """All frames and some in the middle are those of PyAV. Returns their times in seconds."""
    want = expected(path)
    assert len(want) == count
    ((frames, _, times),) = read(path, sequence_length=count)
    np.testing.assert_array_equal(frames, want)
    found, numbers, _ = read(path, sequence_length=2, stride=2, step=3)[1]
    np.testing.assert_array_equal(found, [want[i] for i in numbers])
    return times


def refused(path: Path, message: str) -> None:
    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(
            fn.decoders.video(fn.external_source(lambda: [np.fromfile(path, np.uint8)]))
        )
    with pytest.raises(RuntimeError, match=message):
        pipe.run()


# ---- transport streams ----


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("before", [0, 1, 100], ids=lambda n: f"after {n} bytes")
def test_cells_with_a_check_sum(codec: str, before: int, tmp_path: Path) -> None:
    """Cells of 204 bytes, as DVB receivers store them; a recording can begin within a cell."""
    plain = tmp_path / "plain.ts"
    videos.make(plain, codec, options=PYRAMID if codec == "h264" else {})
    data = plain.read_bytes()
    rng = np.random.default_rng(1)
    path = tmp_path / "dvb.ts"
    path.write_bytes(rng.bytes(before) + with_check_sums(data, rng))
    times = check(path)
    np.testing.assert_allclose(times - times[0], np.arange(30) / 25, atol=1e-6)


def test_streams_that_begin_within_a_cell(tmp_path: Path) -> None:
    for size, container in ((188, {}), (192, {"mpegts_m2ts_mode": "1"})):
        path = tmp_path / f"{size}.ts"
        videos.make(path, options=PYRAMID, format="mpegts", container=container)
        path.write_bytes(bytes(range(1, 71)) + path.read_bytes())
        check(path)


# ---- sample descriptions of MP4 ----

@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, bytes, bytes]:
    """A file, its sample description, and that of a file with larger frames."""
    path, other = tmp_path / "a.mp4", tmp_path / "b.mp4"
    videos.make(path, options=PYRAMID)
    videos.make(other, options={"preset": "ultrafast"}, size=(96, 80))
    return path, description(path), description(other)


def test_the_description_that_packets_use(files: tuple[Path, bytes, bytes]) -> None:
    path, own, other = files
    for entries, number in (([other, own], 2), ([own, other], 1), ([other, other, own], 3)):
        describe(entries, [(1, 30, number)], path)
        check(path)


def test_descriptions_that_say_the_same(files: tuple[Path, bytes, bytes]) -> None:
    path, own, other = files
    describe([own, other, own], [(1, 30, 3)], path)
    check(path)
    size = path.stat().st_size
    chunks = list[bytes]()

    def two_chunks(body: bytes) -> bytes:
        (at,) = struct.unpack_from(">I", body, 8)
        chunks.append(body)
        return struct.pack(">IIII", 0, 2, at, at + first)

    first = sum(map(len, videos.packets(path)[0][:12]))
    path.write_bytes(edit(path.read_bytes(), {b"stco": two_chunks}))
    assert len(chunks) == 1 and path.stat().st_size == size + 4
    describe([own, other, own], [(1, 12, 1), (2, 18, 3)], path)
    check(path)
    describe([own, other, own], [(1, 12, 1), (2, 18, 2)], path)
    refused(path, r"coding of its track changes at packet 12 \(to sample description 2\)")


def test_descriptions_of_fragments(tmp_path: Path) -> None:
    path, other = tmp_path / "a.mp4", tmp_path / "b.mp4"
    fragments = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    videos.make(path, container=fragments)
    videos.make(other, size=(96, 80), container=fragments)
    entries = [description(other), description(path)]
    data = edit(
        path.read_bytes(),
        {b"stsd": lambda _: struct.pack(">II", 0, 2) + b"".join(entries)},
    )
    trex = edit(data, {b"trex": lambda body: body[:8] + struct.pack(">I", 2) + body[12:]})
    want = expected(path)  # libavformat does not follow the number in trex
    path.write_bytes(trex)
    ((frames, _, _),) = read(path, sequence_length=30)
    np.testing.assert_array_equal(frames, want)
    grown = iter((2, 1, 1))

    def number(body: bytes) -> bytes:
        (flags,) = struct.unpack_from(">I", body)
        return struct.pack(">I", flags | 2) + body[4:8] + struct.pack(">I", next(grown)) + body[8:]

    path.write_bytes(edit(data, {b"tfhd": number}))
    refused(path, r"coding of its track changes at packet 12 \(to sample description 1\)")


# ---- AVI without a rate ----


@pytest.mark.parametrize(("microseconds", "rate"), [(40000, 25), (100000, 10), (0, 25)])
@pytest.mark.parametrize("at", [20, 24])
def test_avi_without_a_rate(microseconds: int, rate: int, at: int, tmp_path: Path) -> None:
    """The header of the file says it, or it is 25 frames per second, as in libavformat."""
    path = tmp_path / "a.avi"
    videos.make(path, "mpeg4", options={"bf": "2"})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"avih") + 8, microseconds)
    struct.pack_into("<I", data, data.index(b"strh") + 8 + at, 0)
    path.write_bytes(data)
    with av.open(str(path)) as file:
        assert file.streams.video[0].average_rate == rate
    times = check(path)
    np.testing.assert_allclose(times, np.arange(30) / rate, atol=1e-6)


# ---- equal times ----

TWICE = [0, 1, 2, 2, 3, 4, 4, 4, *range(5, 27)]


@pytest.mark.parametrize("name", ["h264.mp4", "h264.mkv", "mpeg4.mp4", "vp9.mkv", "hevc.mp4"])
def test_frames_with_the_same_time(name: str, tmp_path: Path) -> None:
    codec, _, kind = name.partition(".")
    source, path = tmp_path / f"source.{kind}", tmp_path / name
    options = {"x265-params": "log-level=none:bframes=0"} if codec == "hevc" else {}
    videos.make(source, codec, gop=100, options=options)
    packets, _ = videos.packets(source)
    remux(packets, TWICE, source, path)
    times = check(path)
    np.testing.assert_allclose(times - times[0], np.array(TWICE) / 25, atol=1e-3)


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_fields_with_the_same_time_are_one_frame(kind: str, tmp_path: Path) -> None:
    stream, path = tmp_path / "fields.h264", tmp_path / f"fields.{kind}"
    packets = interlaced(10)
    stream.write_bytes(b"".join(packets))
    remux(packets, [i // 2 * 2 for i in range(20)], stream, path)
    times = check(path, 10)
    np.testing.assert_allclose(times - times[0], np.arange(10) * 2 / 25, atol=1e-3)
