# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""experimental.inputs.video: the sequences of a file that is fed, compared with decoders.video."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from headrace import Pipeline, _core, fn, ops, pipeline_def  # noqa: E402
from headrace._pipeline import pipeline  # noqa: E402

FILE = Path(__file__).resolve().parents[1] / "ops" / "videos" / "h264.mp4"  # 20 frames
DATA = np.fromfile(FILE, np.uint8)
CODECS = {codec["name"]: codec["version"] for codec in json.loads(_core.doctor_json())["codecs"]}

pytestmark = pytest.mark.skipif(
    CODECS["video"] == "is not installed", reason="the video module was not built"
)


def decoded(data: Any) -> Any:
    """All frames of a file."""
    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: [data])))
    return np.array(pipe.run()[0][0])


def made(batch_size: int, **arguments: Any) -> Pipeline:
    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None)
    def define() -> Any:
        return fn.experimental.inputs.video(name="input", **arguments)

    return define()


@pytest.mark.parametrize("policy", ["partial", "pad"])
@pytest.mark.parametrize(("batch", "length"), [(2, 4), (2, 6), (3, 6), (1, 20), (2, 30)])
def test_sequences(batch: int, length: int, policy: str) -> None:
    pipe = made(batch, sequence_length=length, last_sequence_policy=policy)
    want = decoded(DATA)
    for _ in range(2):  # one file after the other
        pipe.feed_input("input", [DATA])
        found = []
        for first in range(0, 20, batch * length):
            (out,) = pipe.run()
            left = -(-(20 - first) // length)
            assert len(out) == min(batch, left) and out.layout() == "FHWC"
            found += [np.array(x) for x in out]
        sizes = [len(x) for x in found]
        full, rest = divmod(20, length)
        last = [] if rest == 0 else [length if policy == "pad" else rest]
        assert sizes == [length] * full + last
        joined = np.concatenate(found)
        np.testing.assert_array_equal(joined[:20], want)
        assert not joined[20:].any()


def test_other_operators_follow() -> None:
    pipe = Pipeline(2, 2, None)
    with pipe:
        source = ops.experimental.inputs.Video(sequence_length=5, name="input")
        pipe.set_outputs(fn.resize(source(), size=[8, 9]))
    pipe.feed_input("input", [DATA])
    shapes = [np.array(x).shape for _ in range(2) for x in pipe.run()[0]]
    assert shapes == [(5, 8, 9, 3)] * 4


def test_each_sequence_uses_the_table_of_its_own_file() -> None:
    pipe = made(1, sequence_length=5)
    other = np.fromfile(FILE.with_name("mjpeg.mp4"), np.uint8)
    want = {id(data): decoded(data) for data in (DATA, other)}
    assert not np.array_equal(*want.values())
    order = [DATA, other, DATA]
    for data in order:  # all before the first is taken
        pipe.feed_input("input", [data])
    for data in order:
        frames = want[id(data)]
        for first in range(0, len(frames), 5):
            np.testing.assert_array_equal(np.array(pipe.run()[0][0]), frames[first : first + 5])


@pytest.mark.parametrize("name", ["a.ts", "a.h264"])
def test_streams_without_tables(name: str, tmp_path: Path) -> None:
    videos = pytest.importorskip("videos")
    videos.make(tmp_path / name, "h264")
    data = np.fromfile(tmp_path / name, np.uint8)
    pipe = made(4, sequence_length=4)
    pipe.feed_input("input", [data])
    found = [np.array(x) for _ in range(2) for x in pipe.run()[0]]
    np.testing.assert_array_equal(np.concatenate(found), decoded(data))


def test_sequences_use_the_table_of_the_fed_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence does not scan the file again: a table of something else is noticed."""
    table, frames = pipeline._scan_video(DATA.tobytes())
    for wrong in (table[:-4], b"?" + table[1:], table[:-4] + b"\xff\xff\xff\x7f", b""):
        monkeypatch.setattr(pipeline, "_scan_video", lambda _, wrong=wrong: (wrong, frames))
        pipe = made(1, sequence_length=5)
        pipe.feed_input("input", [DATA])
        with pytest.raises(RuntimeError, match="table of packets is not that of the file"):
            pipe.run()


def test_checkpoints_are_refused() -> None:
    @pipeline_def(batch_size=2, num_threads=2, device_id=None, enable_checkpointing=True)
    def define() -> Any:
        return fn.experimental.inputs.video(name="input", sequence_length=4)

    with pytest.raises(RuntimeError, match=r"Checkpointing is not implemented.*inputs\.video"):
        define().build()


def test_errors() -> None:
    pipe = made(2, sequence_length=5)
    name = r"^experimental\.inputs\.video 'input' \(\S*test_video_input\.py:\d+\)"
    with pytest.raises(RuntimeError, match=f"{name}: it is not a video file of a known format"):
        pipe.feed_input("input", [DATA[100:]])
    with pytest.raises(RuntimeError, match="one file, got 2"):
        pipe.feed_input("input", [DATA, DATA])
    with pytest.raises(RuntimeError, match="one-dimensional"):
        pipe.feed_input("input", [DATA.reshape(1, -1)])
    with pytest.raises(RuntimeError):
        made(2, sequence_length=0).build()
    with pytest.raises(RuntimeError, match=f"{name} has no data: feed it before running"):
        made(2, sequence_length=5).run()
