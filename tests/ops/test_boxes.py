# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random crops with boxes: what every window must satisfy, computed in NumPy, and the distributions of DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness import Data, Engine, Failure
from test_random import distance

COUNT = 4000
LIMIT = 0.055  # exceeded once in 10^5 runs
BOXES = np.array([[0.2, 0.3, 0.6, 0.8], [0.5, 0.5, 0.9, 0.7], [0.05, 0.1, 0.3, 0.2]], np.float32)
LABELS = np.array([7, 8, 9], np.int32)


def crops(engine: Engine, boxes: np.ndarray = BOXES, **args: Any) -> list[np.ndarray]:
    """Anchors and shapes of many windows, and lists of boxes, labels and indices."""

    def define(e: Engine) -> Any:
        inputs = [e.feed(Data([boxes] * COUNT)), e.feed(Data([LABELS[: len(boxes)]] * COUNT))]
        return e.fn.random_bbox_crop(*inputs, output_bbox_indices=True, quiet=True, seed=12, **args)

    result = engine.run(COUNT, define)
    assert not isinstance(result, Failure), result
    return [np.array(o.samples) if k < 2 else o.samples for k, o in enumerate(result)]


def shares(
    boxes: np.ndarray, anchor: np.ndarray, shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Intersection over union, and the part of its area that is in the window, for every box."""
    low, high = np.maximum(boxes[:, :2], anchor), np.minimum(boxes[:, 2:], anchor + shape)
    common = np.clip(high - low, 0, None).prod(1)
    own = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return common / (own + shape.prod() - common), common / own


LOOSE: dict[str, Any] = {"scaling": [0.3, 1.0], "aspect_ratio": [0.5, 2.0]}


@pytest.mark.parametrize("kind", ["iou", "overlap"])
@pytest.mark.parametrize("all_boxes", [True, False])
@pytest.mark.parametrize("prune", [None, 0.0, 0.4])
def test_windows(kind: str, all_boxes: bool, prune: float | None, headrace: Engine) -> None:
    """Sizes, ratios, overlaps, and the boxes that are kept."""
    threshold = 0.25 if all_boxes and kind == "overlap" else 0.05
    args = {**LOOSE, "thresholds": [threshold], "threshold_type": kind, "allow_no_crop": False}
    if prune is not None:
        args["bbox_prune_threshold"] = prune
    anchors, shapes, kept, labels, indices = crops(
        headrace, **args, all_boxes_above_threshold=all_boxes
    )
    assert len(np.unique(anchors[:, 0])) > COUNT // 2
    assert shapes.min() >= 0.3 and shapes.max() <= 1 and shapes.std() > 0.1
    assert anchors.min() >= 0 and (anchors + shapes).max() <= 1 + 1e-6
    ratio = shapes[:, 0] / shapes[:, 1]
    assert ratio.min() >= 0.5 - 1e-6 and ratio.max() <= 2 + 1e-6
    counts = set()
    for k in range(400):
        anchor, shape = anchors[k].astype(float), shapes[k].astype(float)
        measures, part = shares(BOXES, anchor, shape)
        measures = part if kind == "overlap" else measures
        assert (measures.min() if all_boxes else measures.max()) >= threshold - 1e-5
        middle = (BOXES[:, :2] + BOXES[:, 2:]) / 2
        inside = ((middle >= anchor) & (middle <= anchor + shape)).all(1)
        expected = inside if prune is None else (part > 0) & (part >= prune)
        assert expected.any()
        np.testing.assert_array_equal(indices[k], np.flatnonzero(expected))
        np.testing.assert_array_equal(labels[k], LABELS[expected])
        clipped = np.clip(BOXES[expected].reshape(-1, 2, 2), anchor, anchor + shape)
        moved = ((clipped - anchor) / shape).reshape(-1, 4)
        np.testing.assert_allclose(kept[k], moved, atol=2e-5)
        counts.add(len(indices[k]))
    assert len(counts) > 1 or prune == 0.0


SEARCHES: list[dict[str, Any]] = [
    {"aspect_ratio": [1.0, 1.0]},
    {"aspect_ratio": [2.0, 2.0]},
    {"aspect_ratio": [0.5, 0.5]},
    {},
    {"input_shape": [200, 100]},
    {"input_shape": [200, 100], "aspect_ratio": [1.0, 1.0]},
    {"input_shape": [200, 100], "aspect_ratio": [1.0, 1.0], "shape_layout": "HW"},
    {"scaling": [0.5, 1.5]},
    {"thresholds": [0.0, 0.1, 0.3, 0.5, 0.7, 0.9], "allow_no_crop": True},
    {"thresholds": [0.6], "num_attempts": 3, "total_num_attempts": 20},
    {
        "thresholds": [0.3, 0.9],
        "num_attempts": 5,
        "total_num_attempts": 5,
        "threshold_type": "overlap",
    },
    {"scaling": [0.0, 0.5], "num_attempts": 4, "total_num_attempts": 8},
    {"thresholds": [0.5], "all_boxes_above_threshold": False},
    {"crop_shape": [50, 60], "input_shape": [200, 100]},
    {"crop_shape": [250, 60], "input_shape": [200, 100]},
]


@pytest.mark.parametrize("args", SEARCHES, ids=str)
def test_distribution(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    base = {} if "crop_shape" in args else LOOSE
    args = {"allow_no_crop": False, "num_attempts": 10, **base, **args}
    ours, theirs = crops(headrace, **args), crops(live_dali, **args)
    for k in range(2):
        for d in range(2):
            assert distance(ours[k][:, d], theirs[k][:, d]) < LIMIT, (k, d)
    sizes = [np.array([len(i) for i in r[2]]) for r in (ours, theirs)]
    assert distance(sizes[0], sizes[1]) < LIMIT
    corners = [np.concatenate([b[:, 0] for b in r[2]]) for r in (ours, theirs)]
    assert distance(corners[0], corners[1]) < LIMIT


@pytest.mark.parametrize("ratio", [[0.5, 2.0], [0.5, 2.0, 0.25, 1.0, 0.5, 1.0]], ids=str)
def test_volumes(ratio: list[float], headrace: Engine, live_dali: Engine) -> None:
    args = {"scaling": [0.3, 0.9], "aspect_ratio": ratio, "num_attempts": 50}
    boxes = np.array([[0.1, 0.1, 0.1, 0.6, 0.7, 0.8]], np.float32)
    ours, theirs = (crops(e, boxes, allow_no_crop=False, **args) for e in (headrace, live_dali))
    for k in range(2):
        for d in range(3):
            assert distance(ours[k][:, d], theirs[k][:, d]) < LIMIT, (k, d)


def test_whole_or_not(headrace: Engine) -> None:
    """Not to crop is as probable as each of the thresholds."""
    _, shapes, *_ = crops(headrace, **LOOSE, thresholds=[0.0, 0.0, 0.0], num_attempts=100)
    assert abs(np.mean((shapes == 1).all(1)) - 0.25) < 0.04


@pytest.mark.parametrize("ltrb", [True, False])
def test_rounding_at_the_border(ltrb: bool, headrace: Engine) -> None:
    """Boxes that end at the border of an image, divided by its size in single precision, as
    readers.coco(ratio=True) gives them: some end a little beyond 1."""
    rng = np.random.default_rng(8)
    sizes = rng.integers(50, 5000, (20000, 2))
    starts = (rng.random((20000, 2)) * (sizes - 9)).round(2)
    starts = starts.astype(np.float32)
    lengths = (sizes - starts.astype(float)).round(2).astype(np.float32)
    sides = sizes.astype(np.float32)
    ends = starts / sides + lengths / sides
    beyond = (ends > 1).any(1)
    assert beyond.sum() > 20
    second = ends if ltrb else lengths / sides
    boxes = np.concatenate([starts / sides, second], 1).astype(np.float32)[beyond]

    def define(e: Engine) -> Any:
        data = e.feed(Data([boxes]))
        return e.fn.random_bbox_crop(data, ltrb=ltrb, allow_no_crop=True, thresholds=[0.0],
                                     scaling=[1.0, 1.0], seed=3)  # fmt: skip

    result = headrace.run(1, define)
    assert not isinstance(result, Failure), result
    (kept,) = result[2].samples
    assert kept.shape == boxes.shape and kept.min() >= 0 and kept.max() <= 1
    np.testing.assert_allclose(kept, boxes, atol=1e-6)
    for wrong in ([0.5, 0.5, 1.00001, 0.9], [-0.00001, 0.5, 0.9, 0.9], [0.5, np.nan, 0.9, 0.9]):
        boxes = np.array([wrong], np.float32)
        if not ltrb:
            boxes[:, 2:] -= boxes[:, :2]
        failure = headrace.run(1, define)
        assert isinstance(failure, Failure) and "from 0.0 to 1.0" in str(failure)


def test_hopeless(headrace: Engine) -> None:
    """Where no window is possible, the search ends."""
    args: dict[str, Any] = {"allow_no_crop": False, "scaling": [0.1, 0.2], "thresholds": [0.9]}

    def define(e: Engine) -> Any:
        return e.fn.random_bbox_crop(e.feed(Data([BOXES])), **args)

    result = headrace.run(1, define)
    assert isinstance(result, Failure) and "total_num_attempts" in result.message


PICTURE = np.stack([*np.mgrid[:40, :60], np.zeros((40, 60))], -1).astype(np.uint8)


def ssd(
    engine: Engine, count: int = COUNT, picture: Any = PICTURE, layout: str = "HWC", **args: Any
) -> Any:
    def define(e: Engine) -> Any:
        inputs = [Data([picture] * count, layout), Data([BOXES] * count), Data([LABELS] * count)]
        return e.fn.ssd_random_crop(*[e.feed(i) for i in inputs], **args)

    return engine.run(count, define)


def test_ssd(headrace: Engine) -> None:
    """The picture is the window that the boxes are relative to."""
    result = ssd(headrace, num_attempts=50)
    assert not isinstance(result, Failure), result
    assert (result[0].layout, result[0].dtype, result[1].dtype) == ("HWC", "UINT8", "FLOAT")
    cropped = 0
    for picture, boxes, labels in zip(*(o.samples for o in result), strict=True):
        (h, w), (y, x) = picture.shape[:2], picture[0, 0, :2].astype(int)
        np.testing.assert_array_equal(picture, PICTURE[y : y + h, x : x + w])
        ends = boxes.reshape(-1, 2, 2) * [w, h] + [x, y]
        given = BOXES[labels - 7].reshape(-1, 2, 2) * [60, 40]
        window = np.clip(given, [x, y], [x + w, y + h])
        assert np.abs(ends - window).max() < 1.2
        cropped += (h, w) != (40, 60)
    assert cropped > COUNT // 3


def test_ssd_distribution(headrace: Engine, live_dali: Engine) -> None:
    for attempts in (1, 50):
        ours, theirs = (ssd(e, num_attempts=attempts) for e in (headrace, live_dali))
        for measure in (
            lambda r: np.array([s.shape[0] for s in r[0].samples]),
            lambda r: np.array([s.shape[1] for s in r[0].samples]),
            lambda r: np.array([len(s) for s in r[1].samples]),
        ):
            assert distance(measure(ours), measure(theirs)) < LIMIT


@pytest.mark.parametrize("layout", ["", "HW"])
def test_ssd_without_channels(layout: str, headrace: Engine) -> None:
    """The windows of a picture with two dimensions are those of a picture with three."""
    for k in range(2):
        result = ssd(headrace, picture=PICTURE[..., k].copy(), layout=layout, num_attempts=50)
        assert not isinstance(result, Failure), result
        assert (result[0].layout, result[0].dtype) == (layout, "UINT8")
        three = ssd(headrace, num_attempts=50)
        for ours, theirs in zip(result[0].samples, three[0].samples, strict=True):
            np.testing.assert_array_equal(ours, theirs[..., k])
        for ours, theirs in zip(result[1].samples, three[1].samples, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_ssd_errors(headrace: Engine) -> None:
    for data in (Data([PICTURE.astype(np.float32)], "HWC"), Data([PICTURE[None].copy()], "FHWC")):
        result = headrace.run(
            1,
            lambda e, data=data: e.fn.ssd_random_crop(
                e.feed(data), e.feed(Data([BOXES])), e.feed(Data([LABELS]))
            ),
        )
        assert isinstance(result, Failure)


@pytest.mark.parametrize("name", ["random_bbox_crop", "ssd_random_crop"])
def test_same_for_threads(name: str, headrace: Engine) -> None:
    """The same windows for any number of threads and any batch size, and others with another seed."""

    def define(e: Engine) -> Any:
        given = [Data([BOXES] * 12), Data([LABELS] * 12)]
        if name.startswith("ssd"):
            return e.fn.ssd_random_crop(*map(e.feed, [Data([PICTURE] * 12, "HWC"), *given]))[1]
        return e.fn.random_bbox_crop(*map(e.feed, given), **LOOSE)[1]

    def run(batch: int, threads: int, seed: int = 7) -> list[np.ndarray]:
        headrace.cycle = batch
        result = headrace.run(batch, define, iterations=12 // batch, num_threads=threads, seed=seed)
        headrace.cycle = 0
        assert not isinstance(result, Failure), result
        return result[0].samples

    one = run(12, 1)
    for other in (run(12, 3), run(4, 2), run(1, 1)):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert any(
        a.shape != b.shape or (a != b).any() for a, b in zip(one, run(12, 1, 8), strict=True)
    )
