# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.video: files made with PyAV, compared with the frames and colours of libavcodec and libswscale."""

from __future__ import annotations

import functools
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import videos  # noqa: E402
from headrace import Pipeline, _core, fn  # noqa: E402
from test_video_table import write_matroska  # noqa: E402
from waiting import HANG_S  # noqa: E402

FILES: dict[str, dict[str, Any]] = {  # arguments of videos.make
    "h264": {"codec": "h264"},
    "h264-pyramid": {"codec": "h264", "options": {"preset": "medium", **videos.B_PYRAMID}},
    "h264-open": {"codec": "h264", "options": {"preset": "medium", **videos.OPEN_GOP}},
    "hevc": {"codec": "hevc"},
    "hevc-open": {"codec": "hevc", "options": videos.OPEN_GOP},
    "vp9": {"codec": "vp9"},
    "av1": {"codec": "av1"},
    "av1-long": {"codec": "av1", "frames": 64, "gop": 64, "options": {"preset": "8"}},
    "mpeg4": {"codec": "mpeg4", "options": {"bf": "2"}},
    "mjpeg": {"codec": "mjpeg"},
    "vfr": {"codec": "h264", "times": [40 * i + i * i for i in range(30)]},
}
EVEN = ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le", "gray"]
FORMATS = [(kind, size, "libx264") for kind in EVEN for size in ((64, 48), (66, 50))]
FORMATS += [(kind, (61, 35), "libx264") for kind in ("yuv444p", "yuv444p10le", "gray")]
FORMATS += [("yuv420p", size, "libvpx-vp9") for size in ((61, 35), (64, 35), (61, 36))]


def has_decoders() -> bool:
    codecs = {
        codec["name"]: codec["version"] for codec in json.loads(_core.doctor_json())["codecs"]
    }
    return codecs["video"] != "is not installed"


pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")


@pytest.fixture(scope="module", params=FILES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name: str = request.param
    file = tmp_path_factory.mktemp("videos") / f"{name}.mp4"
    arguments = {"frames": 30, **FILES[name]}
    videos.make(file, arguments.pop("codec"), arguments.pop("frames"), **arguments)
    return file


def decode(files: list[bytes], **arguments: Any) -> list[Any]:
    """The frames of each file. Files that cannot be decoded are left out."""
    options = {key: arguments.pop(key) for key in ("on_error", "strict") if key in arguments}
    data = [np.frombuffer(file, np.uint8) for file in files]
    pipe = Pipeline(len(files), 2, None, **options)
    with pipe:
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: data), **arguments))
    (out,) = pipe.run()
    return [np.array(x) for x in out]


def rgb(frame: Any, matrix: str = "bt601", full: bool | None = None) -> Any:
    """What libswscale's accurate path makes of a frame, with centred chroma."""
    graph = av.filter.Graph()
    kind = "pc" if (frame.color_range == 2 if full is None else full) else "tv"
    source = graph.add(
        "buffer",
        f"video_size={frame.width}x{frame.height}:pix_fmt={frame.format.name}:time_base=1/25"
        f":range={kind}:colorspace=unknown",
    )
    flags = f"flags=bilinear+full_chroma_int+accurate_rnd:in_color_matrix={matrix}"
    centre = ":in_h_chr_pos=-513:in_v_chr_pos=128" if "420" in frame.format.name else ""
    scale = graph.add("scale", flags + centre)
    target, sink = graph.add("format", "pix_fmts=rgb24"), graph.add("buffersink")
    source.link_to(scale)
    scale.link_to(target)
    target.link_to(sink)
    graph.configure()
    frame.colorspace, frame.color_range = 2, 2 if kind == "pc" else 1  # as the source says
    graph.push(frame)
    return graph.pull().to_ndarray()


@functools.cache
def expected(path: Path) -> Any:
    """All frames in order of presentation, as PyAV decodes them."""
    with av.open(str(path)) as file:
        file.streams.video[0].codec_context.thread_count = 1
        frames = sorted(file.decode(video=0), key=lambda frame: frame.pts)
    return np.stack([rgb(frame) for frame in frames])


def test_all_frames(path: Path) -> None:
    (out,) = decode([path.read_bytes()])
    np.testing.assert_array_equal(out, expected(path))


def test_any_frames(path: Path) -> None:
    """In any order, repeated, padded; what is not needed is not decoded, which must not be seen."""
    data, want = path.read_bytes(), expected(path)
    numbers = [25, 3, 3, 29, 0, 17, 25]
    (out,) = decode([data], frames=numbers)
    np.testing.assert_array_equal(out, want[numbers])
    for stride in (1, 2, 4, 7):
        (out,) = decode([data], start_frame=5, stride=stride, sequence_length=4)
        np.testing.assert_array_equal(out, want[5 : 5 + 4 * stride : stride])
    for stride in range(2, 9):
        (out,) = decode([data], stride=stride)
        np.testing.assert_array_equal(out, want[::stride])
    (out,) = decode([data], frames=[-1, 2, 999], fill_value=[1, 2, 3])
    assert (out[0] == [1, 2, 3]).all() and (out[2] == [1, 2, 3]).all()
    np.testing.assert_array_equal(out[1], want[2])


def test_every_single_frame(path: Path) -> None:
    data, want = path.read_bytes(), expected(path)
    out = decode([data] * len(want), frames=fn_numbers(len(want)))
    np.testing.assert_array_equal(np.concatenate(out), want)


def fn_numbers(count: int) -> Any:
    return fn.external_source(lambda: [np.array([i], np.int32) for i in range(count)])


def test_padding_per_sample(tmp_path: Path) -> None:
    videos.make(tmp_path / "a.mp4", "mjpeg", 4, size=(32, 16))
    data = (tmp_path / "a.mp4").read_bytes()
    modes = [b"edge", b"none", b"reflect_101"]
    mode = fn.external_source(lambda: [np.frombuffer(m, np.uint8) for m in modes])
    edge, none, reflect = decode([data] * 3, sequence_length=6, pad_mode=mode)
    want = expected(tmp_path / "a.mp4")
    np.testing.assert_array_equal(edge, want[[0, 1, 2, 3, 3, 3]])
    np.testing.assert_array_equal(none, want)
    np.testing.assert_array_equal(reflect, want[[0, 1, 2, 3, 2, 1]])


@pytest.mark.parametrize(("kind", "size", "codec"), FORMATS)
def test_pixel_formats(kind: str, size: tuple[int, int], codec: str, tmp_path: Path) -> None:
    """Exact where chroma is whole or half as large; otherwise within 1."""
    width, height = size
    file = tmp_path / "a.mp4"
    options = {"deadline": "realtime"} if codec == "libvpx-vp9" else {"preset": "ultrafast"}
    with av.open(str(file), "w") as out:
        stream = out.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, kind
        for i in range(3):
            picture = videos.picture(i, width, height)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(stream.encode(None))
    (found,) = decode([file.read_bytes()])
    want = expected(file)
    if codec == "libx264":
        np.testing.assert_array_equal(found, want)
    difference = np.abs(found.astype(int) - want)
    assert difference.max() <= 1 and difference.mean() <= 0.01


def damaged(data: bytes, number: int) -> bytes:
    """The file with a few bytes changed, or cut, or both."""
    rng = np.random.default_rng(number)
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 12))):
        out[int(rng.integers(len(out)))] = int(rng.integers(256))
    return bytes(out[: int(rng.integers(1, len(out) + 1))] if number % 4 == 0 else out)


def test_damaged_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """200 damaged files do not stop the pipeline, print nothing, and do not change their neighbours."""
    codecs = ["h264", "hevc", "vp9", "mpeg4", "mjpeg"]
    files = []
    for codec in codecs:
        videos.make(tmp_path / f"{codec}.mp4", codec, 12, size=(64, 48))
        files.append((tmp_path / f"{codec}.mp4").read_bytes())
    good = [expected(tmp_path / f"{codec}.mp4") for codec in codecs]
    capfd.readouterr()
    batch: list[Any] = []
    for i in range(200):
        batch.append(np.frombuffer(damaged(files[i % 5], i), np.uint8))
        batch.append(np.frombuffer(files[(i + i // 5) % 5], np.uint8))
    numbers = [np.array([i], np.int32) for i in range(400)]
    pipe = Pipeline(400, 3, None, on_error="skip")
    with pipe:
        data, number = fn.external_source(lambda: (batch, numbers), num_outputs=2)
        pipe.set_outputs(fn.decoders.video(data), number)
    found = {int(np.array(n)[0]): np.array(v) for v, n in zip(*pipe.run())}
    for i in range(200):
        np.testing.assert_array_equal(found[2 * i + 1], good[(i + i // 5) % 5])
    assert 200 < len(found) < 400
    assert len(pipe.errors()) >= 400 - len(found)
    seen = capfd.readouterr()
    assert seen.out == "" and seen.err == ""


def test_frames_that_are_too_large(tmp_path: Path) -> None:
    """A file of a few bytes cannot ask for memory for huge frames."""
    videos.make(tmp_path / "a.mp4", "mjpeg", 1, size=(64, 48))
    data = (tmp_path / "a.mp4").read_bytes()
    at = data.index(b"\xff\xc0")  # SOF0: length, precision, height, width
    claims = (16000).to_bytes(2, "big") * 2
    with pytest.raises(RuntimeError, match="MJPEG"):
        decode([data[: at + 5] + claims + data[at + 9 :]])


# ---- small files that ask for much ----


def ivf(packets: list[tuple[int, bytes]], width: int = 64, height: int = 48) -> bytes:
    """VP8 packets with their times."""
    head = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"VP80", width, height, 25, 1, 0, 0)
    return head + b"".join(struct.pack("<IQ", len(p), time) + p for time, p in packets)


def box(kind: bytes, contents: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(contents), kind) + contents


def mp4(data: bytes, packets: list[tuple[int, int]]) -> bytes:
    """VP8 packets, each an offset in `data` and a size. The first one is a key."""
    n, base = len(packets), 24
    entry = bytes(24) + struct.pack(">HH", 64, 48) + bytes(50)
    tables = box(b"stsd", struct.pack(">II", 0, 1) + box(b"vp08", entry))
    tables += box(b"stts", struct.pack(">4I", 0, 1, n, 1))
    tables += box(b"stss", struct.pack(">3I", 0, 1, 1))
    tables += box(b"stsc", struct.pack(">5I", 0, 1, 1, 1, 1))
    tables += box(b"stsz", struct.pack(f">{n + 3}I", 0, 0, n, *(size for _, size in packets)))
    tables += box(b"stco", struct.pack(f">{n + 2}I", 0, n, *(base + at for at, _ in packets)))
    media = box(b"mdhd", struct.pack(">6I", 0, 0, 0, 25, n, 0)) + box(b"hdlr", bytes(8) + b"vide")
    media += box(b"minf", box(b"stbl", tables))
    track = box(b"trak", box(b"tkhd", bytes(84)) + box(b"mdia", media))
    return box(b"ftyp", b"isom" + bytes(4)) + box(b"mdat", data) + box(b"moov", track)


@pytest.fixture(scope="module")
def vp8(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    file = tmp_path_factory.mktemp("videos") / "a.ivf"
    videos.make(file, "vp8", 3)
    return videos.packets(file)[0]


@pytest.mark.parametrize("size", [(65535, 65535), (40000, 30000), (0, 0)])
def test_the_container_may_claim_any_size(
    size: tuple[int, int], vp8: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    data = ivf(list(enumerate(vp8)), *size)
    (frames,) = decode([data])
    assert frames.shape == (3, 48, 64, 3)
    (filled,) = decode([data], frames=[-1], pad_mode="constant", fill_value=7)
    assert filled.shape == (1, 48, 64, 3) and (filled == 7).all()
    assert capfd.readouterr().err == ""


def test_the_container_may_claim_a_size_that_overflows(tmp_path: Path) -> None:
    file = tmp_path / "a.mkv"
    videos.make(file, "mjpeg", 1)
    write_matroska(file, videos.packets(file)[0], 0, False, False, 0)
    data = file.read_bytes()
    for name, true in ((b"\xb0", 64), (b"\xba", 48)):
        head = name + bytes([1, 0, 0, 0, 0, 0, 0, 8])
        assert head + true.to_bytes(8, "big") in data
        data = data.replace(head + true.to_bytes(8, "big"), head + (2**31 - 1).to_bytes(8, "big"))
    (filled,) = decode([data], frames=[-1], pad_mode="constant")
    assert filled.shape == (1, 48, 64, 3)


@pytest.mark.timing
def test_many_leading_packets(vp8: list[bytes]) -> None:
    """The time to leave out packets that cannot be decoded is proportional to their number."""
    (want,) = decode([ivf(list(enumerate(vp8)))], frames=[1])
    took = []
    for count in (10_000, 100_000):
        leading = [(i, b"\x11") for i in range(count)]
        data = ivf([(count, vp8[0]), *leading, (count + 1, vp8[1])])
        start = time.process_time()
        (found,) = decode([data], frames=[1])
        took.append(time.process_time() - start)
        np.testing.assert_array_equal(found, want)
    assert took[1] < 30 * took[0] + 0.1, took


def test_packets_that_overlap(vp8: list[bytes]) -> None:
    """A table of a few bytes per packet must not make a decoder read the whole file for each of them."""
    key, other = vp8[:2]
    data = key + other + bytes(1 << 23)
    few, many = ([(0, len(key))] + [(len(key), len(data) - len(key))] * n for n in (3, 400))
    (found,) = decode([mp4(data, few)], frames=[3])
    assert found.shape == (1, 48, 64, 3)
    with pytest.raises(RuntimeError, match="takes too long for a file of .* because they overlap"):
        decode([mp4(data, many)], frames=[400])


def test_messages() -> None:
    data = (Path(__file__).resolve().parents[1] / "ops" / "videos" / "h264.mp4").read_bytes()
    for arguments, message in (
        ({"start_frame": 20}, "start_frame is 20, but the video has only 20 frames"),
        ({"frames": [20], "pad_mode": "none"}, "frame 20 does not exist: the video has 20 frames"),
        ({"start_frame": -2, "pad_mode": "none", "sequence_length": 4}, "begins at frame -2"),
        ({"end_frame": 100_000_000}, "more than the limit"),
    ):
        with pytest.raises(RuntimeError, match=message):
            decode([data], **arguments)


def test_without_the_module(tmp_path: Path) -> None:
    """Without it, the message says what to install."""
    program = """
import numpy as np, sys
from headrace import Pipeline, fn
data = [np.fromfile(sys.argv[1], np.uint8)]
pipe = Pipeline(1, 1, None)
with pipe:
    pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: data)))
pipe.run()
"""
    file = Path(__file__).resolve().parents[1] / "ops" / "videos" / "h264.mp4"
    env = {**os.environ, "HEADRACE_VIDEO_MODULE": str(tmp_path / "missing.so")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], env=env, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "it is in a package of its own: run `pip install headrace-video`" in done.stderr


def test_example(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for name in ("run", "walk"):
        (tmp_path / name).mkdir()
        videos.make(tmp_path / name / "0.mp4", "h264", 70, size=(64, 48))
    example = Path(__file__).resolve().parents[2] / "examples" / "pytorch" / "action_recognition.py"
    command = [sys.executable, str(example), str(tmp_path), "--frames", "70", "--batch-size", "2"]
    paths = [str(Path(_core.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert "clips (2, 3, 16, 112, 112), labels [" in done.stdout


def test_module_of_another_package(tmp_path: Path) -> None:
    """The package headrace-video is installed beside headrace, which finds its module."""
    package, module = Path(_core.__file__).parent, "libheadrace_video.so"
    if not (package / module).exists():
        pytest.skip("the module is elsewhere")
    shutil.copytree(package, tmp_path / "headrace", ignore=shutil.ignore_patterns(module, "*cuda*"))
    program = "import json; from headrace import _core; print(_core.doctor_json())"
    versions = []
    for _ in range(2):
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        out = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, check=True
        )
        versions += [c["version"] for c in json.loads(out.stdout)["codecs"] if c["name"] == "video"]
        (tmp_path / "headrace_video").mkdir(exist_ok=True)
        shutil.copy(package / module, tmp_path / "headrace_video" / module)
    assert versions[0] == "is not installed" and versions[1].startswith("libavcodec")
