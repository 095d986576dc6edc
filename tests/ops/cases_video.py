# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on video. The files were made with PyAV; DALI decodes VP9 and MJPEG on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from harness import Case, Data, exact, scalars, vectors

FOLDER = Path(__file__).resolve().parent / "videos"


def files(*names: str) -> Data:
    return Data([np.fromfile(FOLDER / name, np.uint8) for name in names])


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of pictures whose chroma is not exactly half as large: within 1, and almost always equal."""
    difference = np.abs(ours.astype(int) - theirs)
    assert difference.max(initial=0) <= 1
    assert difference.size == 0 or difference.mean() <= 0.01


def integers(*values: int) -> Data:
    return scalars(*values, dtype=np.int32)


VIDEO = files("vp9.mp4")  # 20 frames
TWO = files("vp9.mp4", "mjpeg.mp4")  # 20 frames and 4
OPTIONS: list[dict[str, Any]] = [
    {},
    {"frames": [4, 3, 3, 0, 19]},
    {"frames": [4, -1, 25]},
    {"frames": [-1, 25, -3], "pad_mode": "edge"},
    {"frames": [-1, 25, -3], "pad_mode": "reflect"},
    {"frames": []},
    {"frames": 7},
    {"start_frame": 2, "stride": 3},
    {"start_frame": -1},
    {"start_frame": 19, "stride": 5},
    {"end_frame": 5},
    {"end_frame": 23, "stride": 4},
    {"end_frame": 23, "pad_mode": "none"},
    {"sequence_length": 0},
    {"start_frame": 17, "sequence_length": 6, "fill_value": [1, 2, 3]},
    {"start_frame": 17, "sequence_length": 6, "fill_value": 7},
    {"start_frame": 18, "stride": 30, "sequence_length": 2, "pad_mode": "edge"},
    {"start_frame": 15, "sequence_length": 50, "pad_mode": "reflect_101"},
    {"start_frame": 15, "sequence_length": 50, "pad_mode": "reflect_1001"},
    {"start_frame": 17, "sequence_length": 6, "stride": 2, "pad_mode": "symmetric"},
    {"start_frame": 17, "sequence_length": 6, "stride": 2, "pad_mode": "repeat"},
    {"start_frame": 17, "sequence_length": 6, "stride": 2, "pad_mode": ""},
    {"build_index": False, "affine": False},
]
PER_SAMPLE: list[dict[str, Any]] = [
    {"start_frame": integers(3, 1), "stride": integers(2, 1)},
    {"sequence_length": integers(2, 5)},
    {"end_frame": integers(4, 2)},
    {"frames": vectors([3, 1], [0, 2], dtype=np.int32)},
]

CASES = [Case("decoders.video", [VIDEO], args, exact) for args in OPTIONS]
CASES += [Case("decoders.video", [TWO], args, exact) for args in PER_SAMPLE]
CASES.append(Case("decoders.video", [files("vp9_odd.mp4")], {}, close))
CASES.append(Case("experimental.decoders.video", [TWO], {}, exact))

MODES = Data([np.frombuffer(mode, np.uint8) for mode in (b"edge", b"none")])
OURS = [Case("decoders.video", [TWO], {"sequence_length": 6, "pad_mode": MODES})]
ELSEWHERE = {
    "decoders.video": "test_video_frames.py",
    "experimental.inputs.video": "test_video_input.py",
    "optical_flow": "../gpu/test_optical_flow.py",
}

ERRORS = [
    *[
        Case("decoders.video", [VIDEO], args)
        for args in (
            {"frames": [25], "pad_mode": "none"},
            {"frames": [1], "stride": 1},
            {"frames": [1], "start_frame": 1},
            {"frames": [1], "sequence_length": 1},
            {"frames": [1], "end_frame": 2},
            {"sequence_length": 3, "end_frame": 5},
            {"start_frame": 20},
            {"start_frame": 5, "end_frame": 5},
            {"start_frame": 20, "sequence_length": 3, "pad_mode": "edge"},
            {"stride": -1},
            {"sequence_length": -2},
            {"pad_mode": "bogus", "sequence_length": 30},
            {"fill_value": [7, 8], "sequence_length": 30},
            {"fill_value": [300]},
            {"fill_value": [-1]},
        )
    ],
    Case("decoders.video", [Data([np.zeros((3, 3), np.uint8)])], {}),
    Case("decoders.video", [Data([np.frombuffer(b"no video at all" * 20, np.uint8)])], {}),
    Case("decoders.video", [Data([VIDEO.samples[0][:900]])], {}),
    Case("decoders.video", [Data([np.zeros(0, np.uint8)])], {}),
]
