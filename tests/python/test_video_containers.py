# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""experimental.readers.video on containers without times, indexes or packets in one piece: the frames of PyAV."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import videos  # noqa: E402
from headrace import Pipeline, _core, fn  # noqa: E402
from test_video_frames import rgb  # noqa: E402

PYRAMID = {"options": {"preset": "medium", **videos.B_PYRAMID}}
OPEN = {"options": {"preset": "medium", **videos.OPEN_GOP}}
# times in units of 1 / (40 * 25) s, as those of videos.VFR
EVEN = [40 * i for i in range(30)]
FILES: dict[str, dict[str, Any]] = {
    "h264.avi": PYRAMID,
    "h264-open.avi": OPEN,
    "mpeg4.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
    "mpeg4-gaps.avi": {"codec": "mpeg4", "times": [0, 40, 120, 160, 200, 400, 440], "frames": 7},
    "mjpeg.avi": {"codec": "mjpeg"},
    "vp8.avi": {"codec": "vp8"},
    "h264.h264": PYRAMID,
    "h264-open.h264": OPEN,
    "h264-one-key.h264": {"options": {**PYRAMID["options"], "x264-params": "bframes=3:keyint=250"}},
    "h264-low-delay.h264": {},
    "h264-interlaced.h264": {
        "options": {"preset": "medium", "x264-params": "interlaced=1:bframes=2"}
    },
    "h264-slices.h264": {"options": {"preset": "medium", "x264-params": "slices=3:bframes=2"}},
    "h264-refresh.h264": {
        "options": {"preset": "medium", "x264-params": "intra-refresh=1:keyint=8"}
    },
    "h264-bare.h264": PYRAMID,
    "hevc.hevc": {"codec": "hevc"},
    "hevc-open.hevc": {"codec": "hevc", "options": videos.OPEN_GOP},
    "h264.ts": PYRAMID,
    "h264-vfr.ts": {**PYRAMID, "times": videos.VFR, "frames": 20},
    "hevc-open.ts": {"codec": "hevc", "options": videos.OPEN_GOP},
    "mpeg4.ts": {"codec": "mpeg4", "options": {"bf": "2"}},
    "h264.m2ts": {**PYRAMID, "format": "mpegts", "container": {"mpegts_m2ts_mode": "1"}},
}


def has_decoders() -> bool:
    codecs = {
        codec["name"]: codec["version"] for codec in json.loads(_core.doctor_json())["codecs"]
    }
    return codecs["video"] != "is not installed"


pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")


def read(path: Path, **arguments: Any) -> list[tuple[Any, Any, Any]]:
    """The sequences of a file: frames, their numbers and times."""
    pipe = Pipeline(1, 2, None)
    with pipe:
        frames, numbers, times = fn.experimental.readers.video(
            name="reader",
            filenames=[str(path)],
            enable_frame_num="sequence",
            enable_timestamps=True,
            **arguments,
        )
        pipe.set_outputs(frames, numbers, times)
    found = list[tuple[Any, Any, Any]]()
    for _ in range(pipe.reader_meta("reader")["epoch_size"]):
        frames, numbers, times = pipe.run()
        found.append((np.array(frames[0]), np.array(numbers[0]), np.array(times[0])))
    return found


def expected(path: Path) -> list[Any]:
    """The frames in the order in which libavcodec gives them, which is that of presentation."""
    with av.open(str(path)) as file:
        file.streams.video[0].codec_context.thread_count = 1
        return [rgb(frame) for frame in file.decode(video=0)]


def without_parameters(data: bytes) -> bytes:
    """H.264 whose key frames do not repeat the parameters, which are in front of the first picture only."""
    first, *units = data.split(b"\0\0\1")
    parameters = [i for i, unit in enumerate(units) if unit[0] & 31 in (7, 8)]
    assert len(parameters) > 2
    kept = [unit for i, unit in enumerate(units) if i < 2 or i not in parameters]
    return b"\0\0\1".join([first, *kept])


@pytest.fixture(scope="module", params=FILES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("videos") / request.param
    videos.make(file, **FILES[request.param])
    if "bare" in file.name:
        file.write_bytes(without_parameters(file.read_bytes()))
    return file


def test_all_frames_and_times(path: Path) -> None:
    want = expected(path)
    arguments = FILES[path.name]
    times = arguments.get("times", EVEN[: arguments.get("frames", 30)])
    assert len(want) == len(times)
    ((frames, numbers, seconds),) = read(path, sequence_length=len(want))
    np.testing.assert_array_equal(frames, want)
    assert numbers.tolist() == list(range(len(want)))
    # the clock of MPEG-TS has units of 1 / 90000 s
    np.testing.assert_allclose(seconds - seconds[0], np.array(times) / 1000, atol=2 / 90000)


def test_parts(path: Path) -> None:
    """Each sequence is decoded from the key frame before it, by a decoder that was used before."""
    want = expected(path)
    found = read(path, sequence_length=2, stride=2, step=3)
    assert len(found) == (len(want) - 3 + 2) // 3
    for frames, numbers, _ in reversed(found):
        np.testing.assert_array_equal(frames, [want[i] for i in numbers])


def test_tables_of_packets_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the bytes of a packet are between those of others."""
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "large.ts"
    videos.make(file, **PYRAMID)
    want = expected(file)
    empty = b"\x47\x1f\xff\x10" + b"\xff" * 184
    file.write_bytes(file.read_bytes() + empty * 6000)  # small files are not worth an entry
    for _ in range(2):
        ((frames, _, _),) = read(file, sequence_length=30)
        np.testing.assert_array_equal(frames, want)
        assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("name", ["h264.ts", "h264-vfr.ts", "hevc-open.ts", "mpeg4.ts"])
def test_recordings_that_were_joined(name: str, tmp_path: Path) -> None:
    """Their clocks begin again, so that the times of the file go back; each follows the one before."""
    parts, joined = [tmp_path / f"{i}.ts" for i in range(3)], tmp_path / "joined.ts"
    for i, part in enumerate(parts):
        arguments = {"frames": 30, **FILES[name]}
        videos.make(part, **{**arguments, "frames": arguments["frames"] - 6 * i})
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    want = [frame for part in parts for frame in expected(part)]
    ((frames, numbers, seconds),) = read(joined, sequence_length=len(want))
    np.testing.assert_array_equal(frames, want)
    assert numbers.tolist() == list(range(len(want)))
    assert len(want) == len(expected(joined))
    starts = [0, len(expected(parts[0])), len(expected(parts[0])) + len(expected(parts[1]))]
    for part, start in zip(parts, starts):
        ((_, _, alone),) = read(part, sequence_length=len(expected(part)))
        again = seconds[start : start + len(alone)]
        np.testing.assert_allclose(again - again[0], alone - alone[0], atol=2 / 90000)
    assert (np.diff(seconds) > 0).all()


def test_a_stream_that_begins_with_an_open_group(tmp_path: Path) -> None:
    """Pictures that cannot be decoded without what was cut off leave no gap."""
    file = tmp_path / "open.hevc"
    videos.make(file, "hevc", 40, options=videos.OPEN_GOP)
    data = file.read_bytes()
    starts = [m.start() for m in re.finditer(b"\0\0\0\1\x40\1", data)]  # the VPS before each key
    file.write_bytes(data[starts[1] :])
    want = expected(file)
    ((frames, _, seconds),) = read(file, sequence_length=len(want))
    assert len(want) == 32
    np.testing.assert_array_equal(frames, want)
    np.testing.assert_allclose(seconds, np.arange(len(want)) / 25)


@pytest.mark.parametrize("name", ["h264.avi", "hevc-open.hevc", "h264-vfr.ts", "h264.h264"])
def test_damaged_files_do_not_change_their_neighbours(name: str, tmp_path: Path) -> None:
    good = tmp_path / name
    videos.make(good, **FILES[name])
    data = good.read_bytes()
    rng = np.random.default_rng(3)
    files = list[str]()
    for i in range(24):
        broken = bytearray(data)
        for at in rng.integers(len(data), size=12):
            broken[at] = rng.integers(256)
        bad = tmp_path / f"{i}{good.suffix}"
        bad.write_bytes(broken if i % 3 else data[: int(rng.integers(1, len(data)))])
        files += [str(bad), str(good)]
    pipe = Pipeline(8, 2, None, on_error="skip")
    with pipe:
        outputs = fn.experimental.readers.video(
            name="reader", filenames=files, labels=list(range(48)), sequence_length=4, step=100
        )
        pipe.set_outputs(*outputs)
    want, seen = expected(good)[:4], 0
    for _ in range(-(-pipe.reader_meta("reader")["epoch_size"] // 8)):
        for frames, label in zip(*pipe.run()):
            if np.array(label).item() % 2:
                np.testing.assert_array_equal(np.array(frames), want)
                seen += 1
    assert seen >= 24


def test_packed_pictures(tmp_path: Path) -> None:
    source, file = tmp_path / "source.avi", tmp_path / "packed.avi"
    videos.make(source, "mpeg4", 17, options={"bf": "1", "b_strategy": "0"}, gop=100)
    videos.pack(source, file)
    want = expected(file)
    assert len(want) == 17
    ((frames, _, seconds),) = read(file, sequence_length=17)
    np.testing.assert_array_equal(frames, want)
    np.testing.assert_allclose(seconds - seconds[0], np.arange(17) / 25)
    for frames, numbers, _ in read(file, sequence_length=2, step=3):
        np.testing.assert_array_equal(frames, [want[i] for i in numbers])
