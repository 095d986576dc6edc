# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Readers of videos: which sequences there are, as in DALI, and their frames, as of PyAV."""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import twice

import headrace
from headrace import Pipeline, _core, fn, types

FOLDER = Path(__file__).resolve().parents[1] / "ops" / "videos"
A, B = str(FOLDER / "vp9.mp4"), str(FOLDER / "vp9_odd.mp4")  # 20 frames of 1/25 s, and 3


def has_decoders() -> bool:
    codecs = {
        codec["name"]: codec["version"] for codec in json.loads(_core.doctor_json())["codecs"]
    }
    return codecs["video"] != "is not installed"


pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")


def read(
    package: ModuleType, operator: str = "experimental.readers.video", **arguments: Any
) -> list[list[npt.NDArray[Any]]]:
    """All items of an epoch, each a list of outputs."""
    reader = package.fn
    for part in operator.split("."):
        reader = getattr(reader, part)
    options = {key: arguments.pop(key) for key in ("on_error", "strict") if key in arguments}
    pipe = package.Pipeline(batch_size=1, num_threads=1, device_id=None, **options)
    with pipe:
        outputs = reader(name="reader", **arguments)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    found = list[list[npt.NDArray[Any]]]()
    for _ in range(pipe.reader_meta("reader")["epoch_size"]):
        found.append([np.array(output[0]) for output in pipe.run()])
    return found


# ---- as DALI ----

ALL: dict[str, Any] = {"enable_frame_num": "sequence", "enable_timestamps": True}
# With other modes than "constant", DALI 2.4 does not come back from videos shorter than a sequence.
CALLS: dict[str, dict[str, Any]] = {
    "plain": {"filenames": [A, B], "sequence_length": 5, "stride": 2},
    "all-outputs": {"filenames": [A], "sequence_length": 5, "stride": 2, **ALL},
    "labels": {"filenames": [A, B], "labels": [7, -2], "sequence_length": 3, **ALL},
    "scalar": {"filenames": [A], "sequence_length": 6, "enable_frame_num": True},
    "scalar-name": {"filenames": [A], "sequence_length": 6, "enable_frame_num": "scalar"},
    "step": {"filenames": [A], "sequence_length": 4, "step": 3, **ALL},
    "step-gaps": {"filenames": [A], "sequence_length": 2, "step": 9, **ALL},
    "step-zero": {"filenames": [A], "sequence_length": 8, "step": 0, **ALL},
    "constant": {"filenames": [A, B], "sequence_length": 7, "pad_mode": "constant", **ALL},
    "fill": {
        "filenames": [A],
        "sequence_length": 9,
        "stride": 2,
        "pad_mode": "constant",
        "fill_value": [9, 8, 7],
        **ALL,
    },
    "edge": {"filenames": [A], "sequence_length": 7, "pad_mode": "edge", **ALL},
    "1001": {"filenames": [A], "sequence_length": 7, "pad_mode": "reflect_1001", **ALL},
    "101": {"filenames": [A], "sequence_length": 7, "pad_mode": "reflect_101", **ALL},
    "gap": {"filenames": [A], "sequence_length": 8, "step": 30, "pad_mode": "edge", **ALL},
    "uniform": {"filenames": [A, B], "sequence_length": 6, "uniform_sample": True, **ALL},
    "uniform-one": {"filenames": [A], "sequence_length": 1, "uniform_sample": True, **ALL},
    "uniform-many": {"filenames": [B], "sequence_length": 8, "uniform_sample": True, **ALL},
    "left-out": {"filenames": ["/nowhere.mp4", __file__, A], "sequence_length": 20, **ALL},
}
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": (f"{A} 3\n", {}),
    "seconds": (f"{A} 3 0.2 0.6\n", {}),
    "between": (f"{A} 3 0.21 0.47\n", {}),
    "up-down": (f"{A} 3 0.21 0.47\n", {"file_list_rounding": "start_up_end_down"}),
    "up": (f"{A} 3 0.21 0.47\n", {"file_list_rounding": "all_up"}),
    "down": (f"{A} 3 0.21 0.47\n", {"file_list_rounding": "all_down"}),
    "without-end": (f"{A} 3 0.2 0.4\n", {"file_list_include_end": False}),
    "from-before": (f"{A} 3 -0.2 0.4\n", {}),
    "behind": (f"{A} 3 9 10\n{B} 4\n", {}),
    "backwards": (f"{A} 3 0.6 0.2\n{B} 4\n", {}),
    "empty": (f"{A} 3 0.2 0.2\n{B} 4\n", {}),
    "start-alone": (f"{A} 3 0.6\n{B} 4\n", {}),
    "zero-alone": (f"{A} 3 0\n{B} 4 0.0\n", {}),
    "frame-zero-alone": (f"{A} 3 0\n{B} 4\n", {"file_list_format": "frames"}),
    "frames": (f"{A} 3 2 7\n", {"file_list_format": "frames"}),
    "negative": (f"{A} 3 -5 -2\n", {"file_list_format": "frames"}),
    "too-many": (f"{A} 3 15 99\n", {"file_list_format": "frames"}),
    "fraction": (f"{A} 3 3.5 6\n", {"file_list_format": "frames"}),
    "tail": (f"{A} 3 2 7\n", {"file_list_format": "frames", "pad_mode": "edge"}),
    "tail-fill": (f"{A} 3 2 7\n", {"file_list_format": "frames", "pad_mode": "constant"}),
    "uniform-part": (f"{A} 0 3 12\n", {"file_list_format": "frames", "uniform_sample": True}),
    "twice": (f"{A} 3 0 0.2\n{A} 4 0.2 0.4\n", {}),
    "blanks": (f"\n{B}\t4\r\n  \n\n{A} 2 0.2 0.6 9", {}),
}
ERRORS: dict[str, dict[str, Any]] = {
    "nothing": {"sequence_length": 3},
    "two-sources": {"filenames": [A], "file_root": str(FOLDER), "sequence_length": 3},
    "few-labels": {"filenames": [A, B], "labels": [1], "sequence_length": 3},
    "no-labels": {"filenames": [A], "labels": [], "sequence_length": 3},
    "no-file": {"filenames": ["/nowhere.mp4"], "sequence_length": 3},
    "no-list": {"file_list": "/nowhere.txt", "sequence_length": 3},
    "pad-mode": {"filenames": [A], "sequence_length": 3, "pad_mode": "bogus"},
    "fill-two": {
        "filenames": [A],
        "sequence_length": 7,
        "fill_value": [1, 2],
        "pad_mode": "constant",
    },
    "fill-large": {
        "filenames": [A],
        "sequence_length": 7,
        "fill_value": [300],
        "pad_mode": "constant",
    },
    "gray": {"filenames": [A], "sequence_length": 3, "image_type": types.GRAY},
}


def summary(items: list[list[npt.NDArray[Any]]]) -> list[Any]:
    """Frames as their size and a digest, because DALI's results are recorded."""
    return [
        [
            (a.shape, hashlib.sha256(a.tobytes()).hexdigest()) if a.ndim == 4 else a.round(6)
            for a in item
        ]
        for item in items
    ]


@pytest.mark.dali
@pytest.mark.parametrize("name", CALLS)
def test_calls_as_in_dali(name: str) -> None:
    def program(package: ModuleType) -> Any:
        arguments = dict(CALLS[name])
        if arguments["filenames"][-1] == A:
            return summary(read(package, **arguments))
        # chroma of odd size: the pixels of the last file may differ by 1
        return [[a.shape if a.ndim == 4 else a for a in i] for i in read(package, **arguments)]

    twice.check_same(f"test_video_readers.calls.{name}", program)


@pytest.mark.dali
@pytest.mark.parametrize("name", LISTS)
def test_lists_as_in_dali(name: str) -> None:
    def program(package: ModuleType) -> Any:
        text, options = LISTS[name]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            items = read(package, file_list=file.name, sequence_length=3, **ALL, **options)
        return [[a.shape if a.ndim == 4 else a.round(6) for a in item] for item in items]

    twice.check_same(f"test_video_readers.lists.{name}", program)


@pytest.mark.dali
@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_in_dali(name: str) -> None:
    def program(package: ModuleType) -> str:
        try:
            read(package, **ERRORS[name])
        except Exception:
            return "error"
        return "works"

    twice.check_same(f"test_video_readers.errors.{name}", program)


# ---- as PyAV ----


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., tuple[str, Any]]:
    """Makes a video; returns its path and what PyAV decodes."""
    videos = pytest.importorskip("videos")

    def make_video(name: str, *arguments: Any, **options: Any) -> tuple[str, Any]:
        if isinstance(options.get("options"), str):
            options["options"] = getattr(videos, options["options"])
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        videos.make(path, *arguments, **options)
        return str(path), videos.decode(path)

    return make_video


@pytest.mark.parametrize(
    "name", ["vfr.mp4", "vfr.mkv", "open.mp4", "hevc.mkv", "vp8.webm", "av1.ivf"]
)
@pytest.mark.parametrize("stride", [1, 4])
def test_frames_and_times_are_those_of_pyav(
    name: str, stride: int, make: Callable[..., tuple[str, Any]]
) -> None:
    codec = {"hevc": "hevc", "vp8": "vp8", "av1": "av1"}.get(name.split(".")[0], "h264")
    options = {"vfr": "B_PYRAMID", "open": "OPEN_GOP", "hevc": "OPEN_GOP"}.get(name.split(".")[0])
    times = pytest.importorskip("videos").VFR[:19] if "vfr" in name else None
    path, expected = make(name, codec, 19, times=times, **({"options": options} if options else {}))
    items = read(headrace, filenames=[path], sequence_length=3, stride=stride, step=2, **ALL)
    assert len(items) == (19 - 3 * stride) // 2 + 1
    for i, (video, numbers, seconds) in enumerate(items):
        assert numbers.tolist() == [2 * i, 2 * i + stride, 2 * i + 2 * stride]
        for k, number in enumerate(numbers):
            # PyAV's default conversion to RGB is the fast one
            off = [np.abs(video[k].astype(int) - f).mean() for f in expected.frames]
            assert off[number] == min(off) < 5
            assert abs(seconds[k] - float(expected.times[number])) < 1e-9
    sizes = {item[0].shape for item in items}
    assert sizes == {(3, 48, 64, 3)}


def test_folders_are_classes(make: Callable[..., tuple[str, Any]], tmp_path: Path) -> None:
    for number, name in enumerate(["root/b/1.mp4", "root/a/2.mp4", "root/a/1.mp4"]):
        (tmp_path / "root").mkdir(exist_ok=True)
        make(name, "h264", 6 + number)
    (tmp_path / "root/a/notes.txt").write_text("no video")
    items = read(headrace, file_root=str(tmp_path / "root"), sequence_length=6)
    assert [i[1].tolist() for i in items] == [[0], [0], [1]]
    with pytest.raises(
        RuntimeError, match=r"1 of 4 files are left out; '.*notes.txt': it is not a video"
    ):
        read(headrace, file_root=str(tmp_path / "root"), sequence_length=6, strict=True)


def test_items_are_shuffled_and_sharded() -> None:
    options: dict[str, Any] = {"filenames": [A], "sequence_length": 1, "enable_frame_num": "scalar"}
    shards = [
        read(headrace, **options, num_shards=2, shard_id=i, stick_to_shard=True) for i in (0, 1)
    ]
    assert [i[1].item() for i in shards[0][:10] + shards[1][:10]] == list(range(20))
    shuffled = [i[1].item() for i in read(headrace, **options, random_shuffle=True, seed=3)]
    assert sorted(shuffled) == list(range(20)) != shuffled


def test_threads_and_batches_give_the_same(make: Callable[..., tuple[str, Any]]) -> None:
    path, _ = make("open.mp4", "h264", 60, options="OPEN_GOP")

    def run(batch: int, threads: int) -> list[bytes]:
        pipe = Pipeline(batch_size=batch, num_threads=threads, device_id=None)
        with pipe:
            video = fn.experimental.readers.video(filenames=[path, A], sequence_length=4, stride=3)
            pipe.set_outputs(video)
        found = list[bytes]()
        while len(found) < 12:
            found += [np.array(t).tobytes() for t in pipe.run()[0]]
        return found[:12]

    assert run(1, 1) == run(4, 3)


def test_damaged_files(make: Callable[..., tuple[str, Any]], tmp_path: Path) -> None:
    path, expected = make("fast.mp4", "vp9", 30, container={"movflags": "faststart"})
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:-200])
    items = read(headrace, filenames=[path], sequence_length=1, **ALL)
    assert 0 < len(items) < 30 and len(expected.frames) == 30
    broken = bytearray(data)
    broken[-len(data) // 2 :] = b"\xff" * (len(data) // 2)
    Path(path).write_bytes(broken)
    with pytest.raises(RuntimeError, match=r"fast.mp4: frame \d+"):
        read(headrace, filenames=[path], sequence_length=1)
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.experimental.readers.video(filenames=[path, A], sequence_length=20))
    assert np.array(pipe.run()[0][0]).shape[0] == 20


def spoiled(data: bytes, number: int) -> bytes:
    """The file with a few bytes changed, or a block of them, or cut."""
    rng = np.random.default_rng(number)
    out = bytearray(data)
    if number % 3 == 0:
        return bytes(out[: int(rng.integers(1, len(out)))])
    first, count = int(rng.integers(len(out))), int(rng.integers(1, 200))
    places = rng.integers(len(out), size=8) if number % 3 == 1 else range(first, first + count)
    for place in places:
        out[int(place) % len(out)] = int(rng.integers(256))
    return bytes(out)


@pytest.mark.parametrize(
    "operator", ["experimental.readers.video", "readers.video", "readers.video_resize"]
)
def test_two_hundred_damaged_files(
    operator: str, make: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    """They are skipped or give a sequence, and the files between them give the frames that they give alone."""
    names = ["h264.mp4", "vp9.webm", "mpeg4.mkv", "h264.mkv"]
    options: dict[str, Any] = {"sequence_length": 4, "step": 100}
    if operator != "experimental.readers.video":  # one codec, and a constant rate
        names = ["h264.mp4", "h264.mkv", "h264.2.mp4", "h264.2.mkv"]
        options["skip_vfr_check"] = True
    if operator == "readers.video_resize":
        options["size"] = (24, 32)
    good = [make(name, name.split(".")[0], 8)[0] for name in names]
    alone = [read(headrace, operator, filenames=[path], **options)[0][0] for path in good]
    files, kinds = [], []
    for i in range(200):
        bad = tmp_path / f"{i:03}{Path(good[i % 4]).suffix}"
        bad.write_bytes(spoiled(Path(good[i % 4]).read_bytes(), i))
        files += [str(bad), good[(i + i // 4) % 4]]
        kinds += [-1, (i + i // 4) % 4]
    seen = dict.fromkeys(range(-1, 4), 0)
    pipe = Pipeline(batch_size=16, num_threads=2, device_id=None, on_error="skip")
    with pipe:
        reader = fn
        for part in operator.split("."):
            reader = getattr(reader, part)
        video, label = reader(filenames=files, labels=list(range(400)), name="r", **options)
        pipe.set_outputs(video, label)
    pipe.build()
    left = pipe.reader_meta("r")["epoch_size"]
    while left > 0:
        videos, labels = pipe.run()
        for sample, number in zip(videos, labels):
            kind = kinds[int(np.array(number).ravel()[0])]
            seen[kind] += 1
            if kind >= 0:
                np.testing.assert_array_equal(np.array(sample), alone[kind])
        left -= 16
    assert all(seen[kind] >= 50 for kind in range(4)), seen
    assert seen[-1] < 200 and len(pipe.errors()) > 20


@pytest.mark.parametrize("damage", [None, "flip", "cut"])
def test_the_cache_is_checked(
    damage: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(cache))
    path = tmp_path / "large.mp4"  # small files are not worth an entry
    path.write_bytes(Path(A).read_bytes() + b"\0\x20\0\0free" + bytes((1 << 21) - 8))
    options: dict[str, Any] = {"filenames": [str(path)], "sequence_length": 4, **ALL}
    first = read(headrace, **options)
    entries = list(cache.iterdir())
    assert len(first) == 5 and len(entries) == 1
    data = bytearray(entries[0].read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    entries[0].write_bytes(data[:-8] if damage == "cut" else data)
    before = entries[0].stat().st_ino
    for a, b in zip(first, read(headrace, **options), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    assert (entries[0].stat().st_ino == before) == (damage is None)


def sum_of(data: bytes) -> int:
    """That of file_store.c, of a multiple of 8 bytes."""
    total, mask = len(data), (1 << 64) - 1
    for (word,) in struct.iter_unpack("<Q", data):
        total = (total ^ word) * 0x9E3779B97F4A7C15 & mask
        total ^= total >> 32
    return total ^ total >> 29


def test_the_cache_may_contain_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A valid sum, but the first key packet is behind frames that are to be decoded from it."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(cache))
    path = tmp_path / "large.mp4"
    path.write_bytes(Path(A).read_bytes() + b"\0\x20\0\0free" + bytes((1 << 21) - 8))
    options: dict[str, Any] = {"filenames": [str(path)], "sequence_length": 1, **ALL}
    first = read(headrace, **options)
    (entry,) = cache.iterdir()
    raw = entry.read_bytes()
    magic, known, key_size, about_size, data_size = struct.unpack_from("<5Q", raw)
    at = 40 + key_size + about_size
    about, data = sum_of(raw[at - about_size : at]), bytearray(raw[at:])
    assert about ^ sum_of(data) == known and len(data) == data_size
    count, keys, frames = struct.unpack_from("<3i", data, 128)
    assert (count, frames) == (20, 20) and keys > 1
    start = len(data) - 4 * keys  # of the last array
    (second,) = struct.unpack_from("<i", data, start + 4)
    struct.pack_into("<i", data, start, second - 1)
    entry.write_bytes(struct.pack("<2Q", magic, about ^ sum_of(data)) + raw[16:at] + data)
    for a, b in zip(first, read(headrace, **options), strict=True):
        np.testing.assert_array_equal(a[0], b[0])


# ---- readers.video and readers.video_resize, which DALI has on the GPU only ----


def legacy(**arguments: Any) -> list[list[npt.NDArray[Any]]]:
    return read(headrace, "readers.video", **arguments)


def numbers_of(items: list[list[npt.NDArray[Any]]], output: int = -2) -> list[list[int]]:
    return [item[output].tolist() for item in items]


def test_legacy_sequences() -> None:
    whole = read(headrace, filenames=[A], sequence_length=1)
    items = legacy(filenames=[A], sequence_length=3, stride=4, **ALL)
    assert numbers_of(items) == [[0, 4, 8]]  # the next one would begin at 12 and end at 20
    items = legacy(filenames=[A], sequence_length=3, stride=4, step=5, **ALL)
    assert numbers_of(items) == [[0, 4, 8], [5, 9, 13], [10, 14, 18]]
    for item in items:
        for frame, number in zip(item[0], item[1], strict=True):
            np.testing.assert_array_equal(frame, whole[number][0][0])
    items = legacy(filenames=[A], sequence_length=3, stride=4, pad_sequences=True, **ALL)
    assert numbers_of(items) == [[0, 4, 8], [12, 16, -1]]
    assert items[1][2].tolist() == [0.48, 0.64, -1]
    assert not items[1][0][2].any() and items[1][0][1].any()


def test_legacy_types() -> None:
    (pixels,) = legacy(filenames=[A], sequence_length=20)[0]
    (floats,) = legacy(filenames=[A], sequence_length=20, dtype=types.FLOAT)[0]
    (unit,) = legacy(filenames=[A], sequence_length=20, dtype=types.FLOAT, normalized=True)[0]
    assert pixels.dtype == np.uint8 and floats.dtype == unit.dtype == np.float32
    np.testing.assert_array_equal(floats, pixels.astype(np.float32))
    np.testing.assert_array_equal(unit, pixels.astype(np.float32) / np.float32(255))
    with pytest.raises(RuntimeError, match="dtype must be UINT8 or FLOAT, not INT32"):
        legacy(filenames=[A], sequence_length=20, dtype=types.INT32)


def test_legacy_labels() -> None:
    assert len(legacy(filenames=[A, B], sequence_length=3)[0]) == 1
    items = legacy(filenames=[A, A], labels=[], sequence_length=20)
    assert numbers_of(items, 1) == [[0], [1]]
    items = legacy(filenames=[A, A], labels=[5, 3], sequence_length=20)
    assert numbers_of(items, 1) == [[5], [3]]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, range(6, 11)),  # 5.25 up to 11.75, the frame at the end excluded
        ({"file_list_include_preceding_frame": True}, range(5, 12)),
        ({"file_list_frame_num": True}, range(2, 7)),
    ],
)
def test_legacy_lists(options: dict[str, Any], expected: range, tmp_path: Path) -> None:
    part = "2 7" if "file_list_frame_num" in options else "0.21 0.47"
    (tmp_path / "list.txt").write_text(f"{A} 4 {part}\n")
    items = legacy(
        file_list=str(tmp_path / "list.txt"), sequence_length=1, enable_frame_num=True, **options
    )
    assert [i[2].item() for i in items] == list(expected)
    assert {i[1].item() for i in items} == {4}


def test_legacy_files_are_alike(make: Callable[..., tuple[str, Any]]) -> None:
    path, _ = make("vfr.webm", "vp9", 19, times=pytest.importorskip("videos").VFR[:19])
    with pytest.raises(
        RuntimeError, match=r"'.*vfr.webm' has a variable frame rate; skip_vfr_check"
    ):
        legacy(filenames=[path], sequence_length=2)
    assert len(legacy(filenames=[path], sequence_length=2, skip_vfr_check=True)) == 9
    with pytest.raises(RuntimeError, match="all files must have the same codec"):
        legacy(filenames=[A, str(FOLDER / "mjpeg.mp4")], sequence_length=2)


@pytest.mark.parametrize(
    "options",
    [
        {"size": [24, 40]},
        {"resize_shorter": 20.0},
        {"resize_x": 30.0, "interp_type": types.INTERP_CUBIC},
        {"resize_longer": 100.0, "dtype": types.FLOAT},
        {"size": 32, "mode": "not_larger", "roi_start": [4.0, 4.0], "roi_end": [40.0, 60.0]},
    ],
)
def test_video_resize(options: dict[str, Any]) -> None:
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        video = fn.readers.video(filenames=[A], sequence_length=5)
        resized = fn.readers.video_resize(filenames=[A], sequence_length=5, **options)
        pipe.set_outputs(resized, fn.resize(video, **options))
    for _ in range(2):
        ours, expected = (np.array(t[0]) for t in pipe.run())
        assert ours.shape != (5, 48, 64, 3) and ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours, expected)


def test_video_resize_needs_a_size() -> None:
    with pytest.raises(RuntimeError, match="the output size is given"):
        read(headrace, "readers.video_resize", filenames=[A], sequence_length=5)


@pytest.mark.parametrize("reader", ["experimental.readers.video", "readers.video"])
def test_paths_relative_to_the_list(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "clip.mp4").write_bytes(Path(A).read_bytes())
    (tmp_path / "lists" / "all.txt").write_text(f"clip.mp4 3\n{A} 4\n")
    options = {"file_list": "lists/all.txt", "sequence_length": 20}
    monkeypatch.chdir(tmp_path)
    items = read(headrace, reader, **options, relative_to_list=True)
    assert [item[1].tolist() for item in items] == [[3], [4]]
    np.testing.assert_array_equal(items[0][0], items[1][0])
    found = read(headrace, reader, **options)  # as in DALI: from the working folder
    assert [item[1].tolist() for item in found] == [[4]]
    monkeypatch.chdir(tmp_path / "lists")
    options["file_list"] = "all.txt"
    for relative in (True, False):
        items = read(headrace, reader, **options, relative_to_list=relative)
        assert [item[1].tolist() for item in items] == [[3], [4]]
