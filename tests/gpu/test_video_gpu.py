# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Videos that are decoded on a device: NVDEC, or the fake module's decoders. Frames have the bytes of the CPU's.

To see which decoders made them, a process runs without those of the CPU: it fails if the device decodes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, _core, fn, pipeline_def, types
from waiting import HANG_S

VIDEOS = Path(__file__).resolve().parents[1] / "ops/videos"
DECODERS = next(
    (str(p) for p in Path(_core.__file__).parent.glob("libheadrace_video.so")),
    os.environ.get("HEADRACE_VIDEO_MODULE", ""),
)


@pytest.fixture
def video_module(module: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if module.fake:
        if not DECODERS:
            pytest.skip("the video module was not built")
        monkeypatch.setenv("HEADRACE_FAKE_VIDEO", DECODERS)
    return module


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., str]:
    videos = pytest.importorskip("videos")

    def make_video(name: str, codec: str, frames: int, **options: Any) -> str:
        if isinstance(options.get("options"), str):
            options["options"] = getattr(videos, options["options"])
        videos.make(tmp_path / name, codec, frames, **options)
        return str(tmp_path / name)

    return make_video


@pipeline_def(batch_size=3, num_threads=3, seed=5)
def reading(device: str, arguments: dict[str, Any]) -> Any:
    return fn.experimental.readers.video(device=device, name="reader", **arguments)


@pipeline_def(batch_size=3, num_threads=3)
def decoding(device: str, arguments: dict[str, Any]) -> Any:
    data = np.fromfile(arguments["file"], np.uint8)
    given = {key: value for key, value in arguments.items() if key != "file"}
    encoded = fn.external_source(lambda info: data, batch=False)
    return fn.decoders.video(encoded, device=device, **given)


@pipeline_def(batch_size=3, num_threads=3, seed=5)
def older(device: str, arguments: dict[str, Any]) -> Any:
    """`readers.video` or `readers.video_resize`, which in DALI exist on the GPU only."""
    kind = types.YCbCr if arguments["ycbcr"] else types.RGB
    given = {key: value for key, value in arguments.items() if key not in ("ycbcr", "float")}
    if arguments.get("float"):
        given["dtype"] = types.FLOAT
    resized = any("size" in key for key in given)
    reader = fn.readers.video_resize if resized else fn.readers.video
    return reader(device=device, image_type=kind, name="reader", **given)


DEFINITIONS = {"reading": reading, "decoding": decoding, "older": older}


def batches(kind: str, device: str, count: int = 3, **arguments: Any) -> list[Any]:
    """Samples of the first batches, in host memory."""
    number = None if device == "cpu" else 0
    pipe = DEFINITIONS[kind](device, arguments, device_id=number)
    found = []
    for _ in range(count):
        (batch,) = pipe.run()
        batch = batch if device == "cpu" else batch.as_cpu()
        found += [np.array(sample) for sample in batch]
    return found


def digest(samples: list[Any]) -> list[str]:
    return [f"{s.shape} {hashlib.sha256(s.tobytes()).hexdigest()}" for s in samples]


def on_device_alone(kind: str, device: str, **arguments: Any) -> list[str]:
    """The same in a process that has no decoders for the CPU."""
    code = (
        "import json, sys; import test_video_gpu as t\n"
        "kind, device, arguments = json.loads(sys.argv[1])\n"
        "print(json.dumps(t.digest(t.batches(kind, device, **arguments))))"
    )
    given = json.dumps([kind, device, arguments])
    done = subprocess.run(
        [sys.executable, "-c", code, given],
        env={
            **os.environ,
            "HEADRACE_VIDEO_MODULE": "/nonexistent.so",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


CASES: dict[str, dict[str, Any]] = {
    "pyramid.mp4": {"codec": "h264", "options": "B_PYRAMID"},
    "open.mkv": {"codec": "h264", "options": "OPEN_GOP"},
    "open.mp4": {"codec": "hevc", "options": "OPEN_GOP"},
    "plain.ts": {"codec": "h264"},
    "plain.webm": {"codec": "vp9"},
    "plain.ivf": {"codec": "vp8"},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("stride", [1, 3])
def test_frames_are_those_of_the_cpu(
    name: str, stride: int, video_module: Any, make: Callable[..., str]
) -> None:
    path = make(name, frames=25, size=(176, 146 if stride == 1 else 160), **CASES[name])
    arguments = {"filenames": [path], "sequence_length": 4, "stride": stride, "step": 2}
    expected = digest(batches("reading", "cpu", **arguments))
    assert len(set(expected)) > 3
    assert digest(batches("reading", "gpu", **arguments)) == expected
    assert on_device_alone("reading", "gpu", **arguments) == expected


def test_padding(video_module: Any) -> None:
    arguments = {
        "filenames": [str(VIDEOS / "h264.mp4")],
        "sequence_length": 30,
        "step": 25,
        "pad_mode": "constant",
        "fill_value": [7, 80, 200],
    }
    expected = batches("reading", "cpu", **arguments)
    assert (expected[0][-1] == [7, 80, 200]).all()
    assert digest(batches("reading", "gpu", **arguments)) == digest(expected)
    assert on_device_alone("reading", "gpu", **arguments) == digest(expected)


@pytest.mark.parametrize("ycbcr", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"float": True},
        {"float": True, "normalized": True},
        {"normalized": True},
        {"size": [24, 40]},
        {"resize_shorter": 20.0, "float": True, "minibatch_size": 4},
        {"size": 32, "mode": "not_larger", "float": True, "normalized": True},
    ],
)
def test_the_older_readers(ycbcr: bool, changes: dict[str, Any], video_module: Any) -> None:
    arguments = {
        "filenames": [str(VIDEOS / "h264.mp4")],
        "sequence_length": 4,
        "stride": 2,
        "ycbcr": ycbcr,
        **changes,
    }
    expected = digest(batches("older", "cpu", **arguments))
    assert digest(batches("older", "gpu", **arguments)) == expected
    assert on_device_alone("older", "gpu", **arguments) == expected


def test_input_of_one_long_video(video_module: Any) -> None:
    def run(device: str) -> list[str]:
        pipe = Pipeline(batch_size=2, num_threads=2, device_id=None if device == "cpu" else 0)
        with pipe:
            video = fn.experimental.inputs.video(name="clip", sequence_length=4, device=device)
            pipe.set_outputs(video)
        pipe.feed_input("clip", [np.fromfile(VIDEOS / "h264.mp4", np.uint8)])
        found = list[Any]()
        for _ in range(2):
            (batch,) = pipe.run()
            found += [np.array(s) for s in (batch if device == "cpu" else batch.as_cpu())]
        return digest(found)

    assert run("mixed") == run("cpu")


LOOKS: dict[str, dict[str, Any]] = {
    "h264.mp4": {"codec": "h264"},
    "hevc.mp4": {"codec": "hevc"},
    "vp9.mp4": {"codec": "vp9"},
    "vp8.webm": {"codec": "vp8"},
    "odd.mp4": {"codec": "vp9", "size": (97, 65)},
}


@pytest.mark.parametrize("matrix, full_range", [(1, False), (9, False), (1, True)])
@pytest.mark.parametrize("turned", [(0, 1, -1, 0), (-1, 0, 0, -1), (0, 1, 1, 0)])
@pytest.mark.parametrize("name", LOOKS)
def test_colours_and_rotation(
    name: str,
    turned: Any,
    matrix: int,
    full_range: bool,
    video_module: Any,
    make: Callable[..., str],
) -> None:
    size = LOOKS[name].get("size", (176, 144))
    given = {**LOOKS[name], "size": size, "matrix": matrix, "full_range": full_range}
    path = make(name, frames=6, **given)
    if name.endswith("mp4"):
        pytest.importorskip("videos").turn(Path(path), turned)
    arguments = {"filenames": [path], "sequence_length": 3}
    look = {"color_space": "auto", "rotate": True}
    expected = digest(batches("reading", "cpu", **arguments, **look))
    assert expected != digest(batches("reading", "cpu", **arguments)) or name == "vp8.webm"
    assert digest(batches("reading", "gpu", **arguments, **look)) == expected
    if (turned, matrix) == ((0, 1, -1, 0), 1) and name != "odd.mp4":
        assert on_device_alone("reading", "gpu", **arguments, **look) == expected


def test_decoder_of_encoded_videos(video_module: Any) -> None:
    file = str(VIDEOS / "h264.mp4")
    arguments = {"file": file, "frames": [5, 5, 0, 11, 3]}
    expected = digest(batches("decoding", "cpu", **arguments))
    assert digest(batches("decoding", "mixed", **arguments)) == expected
    assert on_device_alone("decoding", "mixed", **arguments) == expected


@pytest.mark.parametrize("name", ["mjpeg.mp4", "vp9_odd.mp4", "vp9.mp4"])
def test_what_the_device_does_not_decode(name: str, video_module: Any) -> None:
    """Or decodes, in case of the fake module."""
    arguments = {"filenames": [str(VIDEOS / name)], "sequence_length": 3}
    expected = digest(batches("reading", "cpu", **arguments))
    assert digest(batches("reading", "gpu", **arguments)) == expected


@pytest.mark.parametrize("size", [(35, 48), (64, 35), (61, 37)])
@pytest.mark.parametrize(
    "name, codec", [("odd.ivf", "vp8"), ("odd.webm", "vp8"), ("odd.webm", "vp9")]
)
def test_odd_sizes(
    name: str, codec: str, size: tuple[int, int], video_module: Any, make: Callable[..., str]
) -> None:
    arguments = {"filenames": [make(name, codec, 9, size=size)], "sequence_length": 3}
    expected = batches("reading", "cpu", **arguments)
    assert {s.shape for s in expected} == {(3, size[1], size[0], 3)}
    assert digest(batches("reading", "gpu", **arguments)) == digest(expected)


@pytest.mark.parametrize(
    "name, container",
    [
        ("h264", "mp4"),
        ("h264", "h264"),
        ("h264-open", "mkv"),
        ("h264-refresh", "fragments.mp4"),
        ("h264-refresh", "ts"),
        ("hevc", "mp4"),
        ("hevc", "ts"),
        ("vp8", "webm"),
        ("vp9", "mp4"),
    ],
)
def test_files_whose_flags_lie(
    name: str, container: str, video_module: Any, tmp_path: Path
) -> None:
    """Or that were cut: all frames, and single ones in any order."""
    lying_videos = pytest.importorskip("lying_videos")
    _, files = lying_videos.variants(name, container, tmp_path, 7)
    for file in files:
        for numbers in ({}, {"frames": [3]}, {"frames": [4, 0, 2]}):
            arguments = {"file": str(file), **numbers}
            expected = digest(batches("decoding", "cpu", count=1, **arguments))
            assert digest(batches("decoding", "mixed", count=1, **arguments)) == expected


def test_outputs_that_the_cpu_needs_too(video_module: Any) -> None:
    @pipeline_def(batch_size=2, num_threads=2, device_id=0)
    def define() -> Any:
        video = fn.experimental.readers.video(
            filenames=[str(VIDEOS / "h264.mp4")], sequence_length=5
        )
        return video, video.gpu(), fn.crop(video.gpu(), crop=(20, 30))

    video, copy, cropped = define().run()
    for a, b, c in zip(video, copy.as_cpu(), cropped.as_cpu(), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.array(c).shape == (5, 20, 30, 3) and np.array(c).any()


@pytest.mark.parametrize("kind", ["reading", "decoding"])
@pytest.mark.parametrize(
    "failures",
    [
        "video_open:1+",
        "video_receive:1+",
        "video_receive:4",
        "video_store:3",
        "video_store:1+",
        "alloc:2",
    ],
)
def test_failures_of_the_device(kind: str, failures: str, fake: Any, video_module: Any) -> None:
    """What the device could not decode, the CPU decodes."""
    file = str(VIDEOS / "h264.mp4")
    own: dict[str, Any] = {"filenames": [file], "sequence_length": 6}
    if kind == "decoding":
        own = {"file": file, "start_frame": 2, "sequence_length": 6}
    expected = digest(batches(kind, "cpu", count=2, **own))
    fake.fail(failures)
    if failures != "alloc:2":
        assert (
            digest(batches(kind, "gpu" if kind == "reading" else "mixed", count=2, **own))
            == expected
        )
        return
    try:
        found = digest(batches(kind, "gpu" if kind == "reading" else "mixed", count=2, **own))
    except RuntimeError as error:
        assert "injected" in str(error)
    else:
        assert found == expected


def test_damaged_videos(video_module: Any, tmp_path: Path) -> None:
    """Errors and warnings are those of the CPU."""
    data = bytearray((VIDEOS / "h264.mp4").read_bytes())
    rng = np.random.default_rng(1)
    files = []
    for number in range(12):
        bad = bytearray(data)
        for at in rng.integers(0, len(data), 6):
            bad[at] ^= 1 << int(rng.integers(0, 8))
        path = tmp_path / f"{number}.mp4"
        path.write_bytes(bad)
        files.append(str(path))

    def outcome(device: str, path: str) -> str:
        try:
            samples = batches("reading", device, count=1, filenames=[path], sequence_length=8)
        except RuntimeError as error:
            return "error: " + str(error).rpartition(path)[2]
        return " ".join(digest(samples))

    found = [(outcome("cpu", path), outcome("gpu", path)) for path in files]
    assert len({a for a, _ in found}) > 2
    if video_module.fake:
        assert all(a == b for a, b in found)
    else:  # a damaged picture that NVDEC does not report may differ
        assert all(a == b for a, b in found if a.startswith("error") and b.startswith("error"))
