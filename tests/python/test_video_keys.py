# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What a container says about its packets is checked: frames are those of PyAV, also alone, whatever it says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import lying_videos  # noqa: E402
import videos  # noqa: E402
from headrace import Pipeline, fn  # noqa: E402
from test_video_frames import has_decoders, rgb  # noqa: E402

pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")


def decode(files: list[Path], numbers: list[list[int]] | None = None) -> list[Any]:
    """All frames of each file, or those with these numbers."""
    data = [np.fromfile(file, np.uint8) for file in files]
    pipe = Pipeline(len(files), 2, None)
    with pipe:
        arguments = {}
        if numbers is not None:
            given = [np.array(n, np.int32) for n in numbers]
            arguments["frames"] = fn.external_source(lambda: given)
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: data), **arguments))
    (out,) = pipe.run()
    return [np.array(x) for x in out]


def alone(file: Path, count: int) -> Any:
    """Each frame, read by itself."""
    return np.concatenate(decode([file] * count, [[i] for i in range(count)]))


def same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def check(file: Path, whole: list[Any]) -> None:
    """The frames are the last ones of the video `whole`: as many as libavcodec decodes of the file without a fault."""
    given = [rgb(f) for f in lying_videos.pictures(file)]
    right = [f for f in given if any(same(f, w) for w in whole)]
    (found,) = decode([file])
    count = len(found)
    assert max(1, len(right)) <= count <= len(whole), file.name
    np.testing.assert_array_equal(found, whole[-count:], err_msg=file.name)
    np.testing.assert_array_equal(alone(file, count), found, err_msg=file.name)


CASES = [
    (name, container)
    for name in lying_videos.SOURCES
    for container in itertools.chain(
        lying_videos.NAMED[name.split("-")[0]], lying_videos.UNNAMED[name.split("-")[0]]
    )
]


def test_there_are_enough_files() -> None:
    named = [c for name, c in CASES if c in lying_videos.NAMED[name.split("-")[0]]]
    assert 8 * len(named) + 3 * (len(CASES) - len(named)) >= 200


@pytest.mark.parametrize("name, container", CASES)
def test_flags_and_cuts(name: str, container: str, tmp_path: Path) -> None:
    source, files = lying_videos.variants(name, container, tmp_path, 3)
    whole = [rgb(f) for f in lying_videos.pictures(source)]
    assert len(whole) == lying_videos.FRAMES
    assert len(files) == (8 if container in lying_videos.NAMED[name.split("-")[0]] else 3)
    for file in files:
        check(file, whole)
        if not file.stem.split(".")[0].isdigit():
            assert len(lying_videos.pictures(file)) == len(whole)
            assert len(decode([file])[0]) == len(whole), f"{file.name}: a frame is missing"


# ---- packets that are not what they seem ----

PACKED = ["avi", "mkv", "mp4"]


def write(container: str, packets: list[bytes], file: Path, source: Path, fourcc: bytes) -> None:
    """MPEG-4 or H.264 whose packets have times of decoding."""
    if container == "avi":
        videos.write_avi(file, packets)
    elif container == "mkv":
        private = lying_videos.bitmap(fourcc)
        lying_videos.write_matroska(
            file, packets, list(range(len(packets))), b"V_MS/VFW/FOURCC", private
        )
    else:
        stored = [lying_videos.Stored(p, i, i % 7 == 0) for i, p in enumerate(packets)]
        lying_videos.mux(stored, source, file)


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("between", [1, 2, 3])
@pytest.mark.parametrize("container", PACKED)
def test_packed_pictures(container: str, between: int, told: bool, tmp_path: Path) -> None:
    """Encoders say that packets have two pictures. If they do not, packets without one show it, but not to libavcodec."""
    source = tmp_path / ("source.mp4" if container == "mp4" else "source.avi")
    options = {"bf": str(between), "b_strategy": "0"}
    videos.make(source, "mpeg4", 2 + 8 * (between + 1), options=options, gop=7)
    whole = [rgb(f) for f in lying_videos.pictures(source)]
    plain = videos.packets(source)[0]
    if container == "mp4":  # has the parameters beside them
        with av.open(str(source)) as opened:
            plain[0] = (opened.streams.video[0].codec_context.extradata or b"") + plain[0]
    packets = lying_videos.pack(plain)
    assert len(packets) < len(plain) + len(packets) // (between + 1) + 1
    if not told:
        packets[0] = packets[0].replace(b"DivX503b1393p", b"DivX503b1393n")
    file = tmp_path / f"packed.{container}"
    write(container, packets, file, source, b"XVID")
    if told:
        given = [rgb(f) for f in lying_videos.pictures(file)]
        assert len(given) == len(whole)
        np.testing.assert_array_equal(given, whole)
    check(file, whole)
    assert len(decode([file])[0]) == len(whole)


@pytest.mark.parametrize("codec, fourcc", [("mpeg4", b"XVID"), ("h264", b"H264")])
def test_times_of_decoding_in_matroska(codec: str, fourcc: bytes, tmp_path: Path) -> None:
    source, file = tmp_path / f"source.{'h264' if codec == 'h264' else 'avi'}", tmp_path / "vfw.mkv"
    options = videos.OPEN_GOP if codec == "h264" else {"bf": "2"}
    videos.make(source, codec, 30, options=options)
    write("mkv", videos.packets(source)[0], file, source, fourcc)
    whole = [rgb(f) for f in lying_videos.pictures(source)]
    assert len(lying_videos.pictures(file)) == len(whole) == 30
    check(file, whole)


# ---- compressed packets of Matroska ----


def h264_in_matroska(folder: Path, **arguments: Any) -> tuple[list[Any], Path]:
    source, file = folder / "source.mkv", folder / "own.mkv"
    videos.make(source, "h264", 30, options=videos.B_PYRAMID)
    packets = lying_videos.stored(source)
    with av.open(str(source)) as opened:
        private = opened.streams.video[0].codec_context.extradata or b""
    lying_videos.write_matroska(
        file,
        [p.data for p in packets],
        [p.pts for p in packets],
        b"V_MPEG4/ISO/AVC",
        private,
        **arguments,
    )
    return [rgb(f) for f in lying_videos.pictures(source)], file


@pytest.mark.parametrize("how", ["deflated", "stripped"])
def test_compressed_packets(how: str, tmp_path: Path) -> None:
    """All of them are called keys, so that they are looked at."""
    whole, file = h264_in_matroska(
        tmp_path, **({"deflated": True} if how == "deflated" else {"stripped": b"\0\0"})
    )
    np.testing.assert_array_equal([rgb(f) for f in lying_videos.pictures(file)], whole)
    check(file, whole)


def test_damaged_and_unknown_compression(tmp_path: Path) -> None:
    _, file = h264_in_matroska(tmp_path, deflated=True)
    data = file.read_bytes()
    at = data.rindex(b"\x78\x9c")
    file.write_bytes(data[: at + 2] + b"\xff" * 8 + data[at + 10 :])
    with pytest.raises(RuntimeError, match="a packet cannot be decompressed"):
        decode([file])
    lzo = lying_videos.element(0x5034, lying_videos.number(0x4254, 2))
    _, file = h264_in_matroska(tmp_path, encodings=lying_videos.element(0x6240, lzo))
    with pytest.raises(RuntimeError, match=r"compressed in a way that is not supported \(kind 2"):
        decode([file])


def test_packets_that_grow_too_much(tmp_path: Path) -> None:
    _, file = h264_in_matroska(tmp_path, deflated=True)
    packets = [bytes(50_000_000)] * 2
    lying_videos.write_matroska(file, packets, [0, 1], b"V_VP8", deflated=True, keys=[True, False])
    with pytest.raises(RuntimeError, match="has more than [0-9]+ when it is decompressed"):
        decode([file])


# ---- files without anything to begin with, and too many units ----


def test_no_key_frame(tmp_path: Path) -> None:
    for name, container in (("vp9", "webm"), ("hevc", "mp4"), ("h264", "mkv")):
        source, file = tmp_path / f"source.{container}", tmp_path / f"cut.{container}"
        videos.make(source, frames=20, **{**lying_videos.SOURCES[name], "gop": 100})
        packets = lying_videos.stored(source)
        second = next((i for i, p in enumerate(packets) if i > 0 and p.key), len(packets))
        lying_videos.mux(packets[1:second], source, file)
        with pytest.raises(RuntimeError, match="it has no key frame, where decoding could begin"):
            decode([file])


@pytest.mark.parametrize("delimiters", [4000, 600_000])
def test_units_of_a_packet_are_limited(delimiters: int, tmp_path: Path) -> None:
    """A decoder needs memory for each of them."""
    source, file = tmp_path / "source.h264", tmp_path / "many.h264"
    videos.make(source, "h264", 10)
    file.write_bytes(b"\0\0\1\x09\xf0" * delimiters + source.read_bytes())
    if delimiters < 4096:
        check(file, [rgb(f) for f in lying_videos.pictures(source)])
        return
    with pytest.raises(RuntimeError, match=r"packet 0 of 10 \(H.264\) has more than 4096 units"):
        decode([file])
