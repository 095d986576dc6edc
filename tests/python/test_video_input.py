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

FILE = Path(__file__).resolve().parents[1] / "ops" / "videos" / "h264.mp4"  # 20 frames
DATA = np.fromfile(FILE, np.uint8)
CODECS = {codec["name"]: codec["version"] for codec in json.loads(_core.doctor_json())["codecs"]}

pytestmark = pytest.mark.skipif(
    CODECS["video"] == "is not installed", reason="the video module was not built"
)


def all_frames() -> Any:
    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: [DATA])))
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
    want = all_frames()
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


def test_errors() -> None:
    pipe = made(2, sequence_length=5)
    with pytest.raises(RuntimeError, match="known format"):
        pipe.feed_input("input", [DATA[100:]])
    with pytest.raises(RuntimeError, match="one file, got 2"):
        pipe.feed_input("input", [DATA, DATA])
    with pytest.raises(RuntimeError, match="one-dimensional"):
        pipe.feed_input("input", [DATA.reshape(1, -1)])
    with pytest.raises(RuntimeError):
        made(2, sequence_length=0).build()
    with pytest.raises(RuntimeError, match="feed it"):
        made(2, sequence_length=5).run()
