# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on boxes. What they draw at random is tested in test_boxes.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Case, Data, scalars, vectors


def boxes(*counts: int, seed: int = 1, scale: float = 1.0, sizes: bool = False) -> Data:
    """Random boxes, left, top, right, bottom (or width, height) within the picture."""
    rng = np.random.default_rng(seed)
    samples = []
    for count in counts:
        ends = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4)
        if sizes:
            ends[:, 2:] -= ends[:, :2]
        samples.append((ends * scale).astype(np.float32))
    return Data(samples)


def labels(*counts: int, column: bool = False) -> Data:
    """Labels from 1."""
    return Data(
        [np.arange(1, n + 1, dtype=np.int32).reshape([n, 1] if column else [n]) for n in counts]
    )


def columns(data: Data, *order: int) -> Data:
    """The numbers of every box in another order."""
    return Data([np.ascontiguousarray(s[:, list(order)]) for s in data.samples])


def rounded(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Within the single precision of coordinates; infinities and NaNs are equal."""
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


COUNTS = (5, 1, 0, 17)
LTRB, XYWH = boxes(*COUNTS), boxes(*COUNTS, sizes=True)
FLAT = Data([s.reshape(-1) for s in LTRB.samples])
CUBE = Data([s[None] for s in LTRB.samples])
CASES: list[Case] = []
ERRORS: list[Case] = []

# bb_flip
FLIPS: list[dict[str, Any]] = [
    {},
    {"horizontal": 0},
    {"horizontal": 0, "vertical": 1},
    {"horizontal": 2, "vertical": -1},
    {
        "horizontal": scalars(0, 1, 1, 0, dtype=np.int32),
        "vertical": scalars(1, 1, 0, 0, dtype=np.int32),
    },
]
CASES += [Case("bb_flip", [XYWH], args) for args in FLIPS]
CASES += [Case("bb_flip", [LTRB], {**args, "ltrb": True}) for args in FLIPS]
CASES += [Case("bb_flip", [data], {"ltrb": True, "vertical": 1}) for data in (FLAT, CUBE)]
CASES.append(Case("bb_flip", [boxes(3, scale=100.0)], {"ltrb": True}))
ERRORS += [
    Case("bb_flip", [Data([s.astype(kind) for s in LTRB.samples])], {})
    for kind in (np.float64, np.int32)
]

# bbox_paste
PASTES: list[dict[str, Any]] = [
    {"ratio": 1.0},
    {"ratio": 3.0},
    {"ratio": 1.7, "paste_x": 0.0, "paste_y": 1.0},
    {"ratio": 0.5},
    {"ratio": 2.5, "paste_x": 2.0, "paste_y": -1.0},
    {
        "ratio": scalars(1, 2, 3, 4),
        "paste_x": scalars(0, 0.3, 0.6, 1),
        "paste_y": scalars(1, 0.2, 0.1, 0),
    },
]
CASES += [Case("bbox_paste", [XYWH], args, rounded) for args in PASTES]
CASES += [Case("bbox_paste", [LTRB], {**args, "ltrb": True}, rounded) for args in PASTES]
CASES += [Case("bbox_paste", [data], {"ratio": 2.0}, rounded) for data in (FLAT, CUBE)]
ERRORS += [
    Case("bbox_paste", [LTRB], {}),
    Case("bbox_paste", [Data([np.zeros(3, np.float32)])], {"ratio": 2.0}),
    Case("bbox_paste", [Data([np.zeros((2, 3), np.float32)])], {"ratio": 2.0}),
    Case("bbox_paste", [Data([np.zeros((2, 4))])], {"ratio": 2.0}),
]

# bbox_rotate
SHAPE = {"input_shape": [100, 200]}
ROTATIONS: list[dict[str, Any]] = [
    {"angle": 0.0},
    {"angle": 30.0},
    {"angle": 45.0},
    {"angle": 90.0},
    {"angle": -200.0},
    {"angle": 30.0, "keep_size": True},
    {"angle": 80.0, "keep_size": True, "remove_threshold": 0.9},
    {"angle": 80.0, "keep_size": True, "remove_threshold": 0.0},
    {"angle": 30.0, "size": [50, 60]},
    {"angle": 30.0, "size": [50.7, 60.4]},
    {"angle": 30.0, "mode": "fixed"},
    {"angle": 80.0, "mode": "fixed"},
    {"angle": 30.0, "mode": "halfway"},
    {"angle": 80.0, "mode": "halfway", "keep_size": True},
    {"angle": scalars(10, 20, 30, 135)},
    {"angle": 30.0, "input_shape": [100, 200, 3], "shape_layout": "HWC"},
    {"angle": 30.0, "input_shape": [100, 200, 3]},
    {"angle": 30.0, "input_shape": [3, 100, 200], "shape_layout": "CHW"},
    {"angle": 30.0, "input_shape": [200, 101], "shape_layout": "WH"},
    {"angle": 30.0, "input_shape": vectors([9, 8], [100, 3], [5, 5], [301, 77], dtype=np.int32)},
    {"angle": 30.0, "size": vectors([9, 8], [100, 3], [5, 5], [301, 77])},
]
CASES += [
    Case("bbox_rotate", [LTRB, labels(*COUNTS)], {**SHAPE, **args}, rounded) for args in ROTATIONS
]
CASES += [
    Case("bbox_rotate", [XYWH], {**SHAPE, **args, "bbox_layout": "xyWH"}, rounded)
    for args in ROTATIONS[:4]
]
CASES += [
    Case("bbox_rotate", [LTRB], {**SHAPE, "angle": 30.0}, rounded),
    Case("bbox_rotate", [LTRB, labels(*COUNTS, column=True)], {**SHAPE, "angle": 30.0}, rounded),
    Case(
        "bbox_rotate",
        [boxes(4, scale=100)],
        {**SHAPE, "angle": 30.0, "bbox_normalized": False},
        rounded,
    ),
    Case(
        "bbox_rotate",
        [boxes(9, scale=200)],
        {**SHAPE, "angle": 30.0, "bbox_normalized": False, "keep_size": True},
        rounded,
    ),
    Case("bbox_rotate", [boxes(5, scale=3.0)], {**SHAPE, "angle": 30.0}, rounded),
    Case(
        "bbox_rotate",
        [Data([columns(LTRB, 2, 3, 0, 1).samples[0]])],
        {**SHAPE, "angle": 30.0},
        rounded,
    ),
    Case(
        "bbox_rotate",
        [Data([np.full((1, 4), 0.1, np.float32)])],
        {**SHAPE, "angle": 30.0, "keep_size": True},
        rounded,
    ),
]
ERRORS += [
    Case("bbox_rotate", [LTRB], {**SHAPE, "angle": 30.0, **args})
    for args in (
        {"remove_threshold": 1.0},
        {"remove_threshold": -0.5},
        {"size": [50, 60], "keep_size": True},
        {"size": [50]},
        {"mode": "half"},
        {"bbox_layout": "WHxy"},
        {"bbox_layout": "yxYX"},
        {"shape_layout": "W", "input_shape": [100]},
        {"input_shape": [100]},
    )
]
ERRORS += [
    Case("bbox_rotate", [LTRB], {"angle": 30.0}),
    Case("bbox_rotate", [LTRB], SHAPE),
    Case("bbox_rotate", [Data([np.zeros((2, 4))])], {**SHAPE, "angle": 1.0}),
    Case("bbox_rotate", [LTRB, labels(5, 1, 0, 16)], {**SHAPE, "angle": 1.0}),
    Case(
        "bbox_rotate",
        [LTRB, Data([np.zeros(n, np.int64) for n in COUNTS])],
        {**SHAPE, "angle": 1.0},
    ),
    Case(
        "bbox_rotate",
        [LTRB, Data([np.zeros((n, 2), np.int32) for n in COUNTS])],
        {**SHAPE, "angle": 1.0},
    ),
]

# box_encoder
ANCHORS = np.round(boxes(40, seed=5).samples[0], 3).reshape(-1).tolist()
SOME = [0, 0, 0.5, 0.5, 0.5, 0, 1, 0.5, 0.1, 0.2, 0.32, 0.41, 0, 0.5, 0.5, 1]
ENCODINGS: list[dict[str, Any]] = [
    {},
    {"criteria": 0.0},
    {"criteria": 0.3},
    {"criteria": 1.0},
    {"scale": 300.0, "means": [0.1, 0.2, 0.3, 0.4]},
    {"offset": True},
    {"offset": True, "criteria": 0.2, "scale": 300.0},
    {"offset": True, "means": [0.1, 0.2, 0.3, 0.4], "stds": [0.1, 0.1, 0.2, 0.2], "scale": 300.0},
]
CASES += [
    Case("box_encoder", [LTRB, labels(*COUNTS)], {"anchors": anchors, **args}, rounded)
    for anchors in (ANCHORS, SOME)
    for args in ENCODINGS
]
CASES += [
    Case("box_encoder", [LTRB, labels(*COUNTS, column=True)], {"anchors": ANCHORS}, rounded),
    Case(
        "box_encoder",
        [Data([np.array([[0, 0, 0.5, 0.5]] * 2, np.float32)]), labels(2)],
        {"anchors": [0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5, 0.6, 0.6, 1, 1]},
        rounded,
    ),
    Case(
        "box_encoder",
        [Data([np.array([[0.1, 0.1, 0.2, 0.2]], np.float32)]), labels(1)],
        {"anchors": [0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.8], "offset": True},
        rounded,
    ),
]
ERRORS += [
    Case("box_encoder", [LTRB, labels(*COUNTS)], {"anchors": ANCHORS, **args})
    for args in (
        {"criteria": 2.0},
        {"criteria": -1.0},
        {"means": [0.1, 0.2, 0.3]},
        {"means": 0.1},
        {"stds": [0.0, 1.0, 1.0, 1.0]},
        {"anchors": [0.0, 0.0, 0.5]},
        {"anchors": [0.0, 0.0, 0.5, 0.5, 1.0]},
    )
]
ERRORS += [
    Case("box_encoder", [LTRB, labels(*COUNTS)], {}),
    Case("box_encoder", [Data([np.zeros((2, 4))]), labels(2)], {"anchors": SOME}),
    Case("box_encoder", [boxes(2), Data([np.zeros(2, np.int64)])], {"anchors": SOME}),
]

# random_bbox_crop: where there is nothing to draw
WHOLE: list[dict[str, Any]] = [
    {},
    {"allow_no_crop": False},
    {"output_bbox_indices": True},
    {"bbox_layout": "xyXY", "quiet": True},
    {"ltrb": True},
    {"allow_no_crop": False, "crop_shape": [200, 100], "input_shape": [200, 100]},
    {"crop_shape": [200, 100], "input_shape": [200, 100]},
    {
        "num_attempts": 3,
        "total_num_attempts": 7,
        "threshold_type": "overlap",
        "thresholds": [1.0, 0.5],
    },
    {"all_boxes_above_threshold": False, "bbox_prune_threshold": 0.5},
    {"aspect_ratio": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "scaling": [1.0, 1.0]},
    {
        "crop_shape": vectors([9, 8], [5, 7], [1, 1], [4, 5], dtype=np.int32),
        "input_shape": vectors([9, 8], [5, 7], [1, 1], [4, 5], dtype=np.int32),
        "shape_layout": "HW",
    },
]
CASES += [Case("random_bbox_crop", [LTRB, labels(*COUNTS)], args, rounded) for args in WHOLE]
CASES += [
    Case("random_bbox_crop", [LTRB], {"output_bbox_indices": True}, rounded),
    Case("random_bbox_crop", [LTRB, labels(*COUNTS, column=True)], {}, rounded),
    Case("random_bbox_crop", [XYWH], {"bbox_layout": "xyWH"}, rounded),
    Case("random_bbox_crop", [XYWH], {"ltrb": False}, rounded),
    Case("random_bbox_crop", [columns(XYWH, 2, 3, 0, 1)], {"bbox_layout": "WHxy"}, rounded),
    Case("random_bbox_crop", [columns(LTRB, 0, 2, 1, 3)], {"bbox_layout": "xXyY"}, rounded),
    Case(
        "random_bbox_crop",
        [Data([np.array([[0.1, 0.2, 0.3, 0.5, 0.6, 0.7]], np.float32)])],
        {"aspect_ratio": [1.0, 1.0] * 3},
        rounded,
    ),
    Case(
        "random_bbox_crop",
        [Data([np.array([[0.1, 0.2, 0.3, 0.5, 0.6, 0.7]], np.float32)])],
        {
            "bbox_layout": "xyzWHD",
            "shape_layout": "DHW",
            "input_shape": [3, 4, 5],
            "crop_shape": [3, 4, 5],
        },
        rounded,
    ),
]
ERRORS += [
    Case("random_bbox_crop", [LTRB], args)
    for args in (
        {"crop_shape": [50, 60]},
        {"crop_shape": [50], "input_shape": [200, 100]},
        {"crop_shape": [50, 3, 4], "input_shape": [200, 100]},
        {"crop_shape": [-5, 60], "input_shape": [200, 100]},
        {"crop_shape": [50, 60], "input_shape": [200, 100], "scaling": [0.1, 0.2]},
        {"crop_shape": [50, 60], "input_shape": [200, 100], "aspect_ratio": [1.0, 2.0]},
        {"ltrb": False, "bbox_layout": "xyWH"},
        {"bbox_layout": "xyXH"},
        {"bbox_layout": "xyX"},
        {"bbox_layout": "xyzXYZ"},
        {"threshold_type": "foo"},
        {"thresholds": []},
        {"thresholds": [-1.0]},
        {"thresholds": [2.0]},
        {"scaling": [0.5]},
        {"scaling": [0.9, 0.5]},
        {"scaling": [-1.0, 0.5]},
        {"aspect_ratio": [1.0]},
        {"aspect_ratio": [2.0, 1.0]},
        {"aspect_ratio": [1.0, 1.0, 1.0, 1.0]},
        {"num_attempts": 0},
        {"total_num_attempts": 0},
        {"bbox_prune_threshold": 2.0},
        {"bbox_prune_threshold": -1.0},
        {"shape_layout": "HWC", "input_shape": [1, 2, 3]},
        {"input_shape": [100]},
    )
]
ERRORS += [
    Case("random_bbox_crop", [data], {})
    for data in (
        boxes(3, scale=2.0),
        FLAT,
        CUBE,
        Data([np.zeros((2, 3), np.float32)]),
        Data([np.zeros((2, 5), np.float32)]),
        Data([np.zeros((2, 4))]),
        Data([np.full((2, 4), np.nan, np.float32)]),
    )
]
ERRORS.append(Case("random_bbox_crop", [LTRB, Data([np.zeros(n, np.int64) for n in COUNTS])], {}))
ELSEWHERE = {"ssd_random_crop": "test_boxes.py"}
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {
    r"^(bb_flip|box_encoder): input 0": "inputs that are not boxes are refused; DALI reads past their end",
    r"^bbox_rotate: (input_shape|size)=": "extents of 0 are refused; DALI divides by them",
    r"^random_bbox_crop: input_shape=": "extents of 0 are refused; DALI divides by them",
}
