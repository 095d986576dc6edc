# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random operators: their distributions against DALI's, and that equal seeds give equal draws."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

from cases_decoders import coded, files
from harness import Data, Engine, Failure, Output

DRAWS = 20000


def one(result: list[Output] | Failure) -> np.ndarray:
    assert not isinstance(result, Failure), result
    return np.concatenate([np.atleast_1d(s) for s in result[0].samples])


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance: the largest difference of the two distribution functions."""
    values = np.concatenate([a, b])
    values.sort()
    f = np.searchsorted(np.sort(a), values, side="right") / a.size
    g = np.searchsorted(np.sort(b), values, side="right") / b.size
    return float(np.abs(f - g).max())


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"range": [2.0, 5.0]},
        {"range": [0.0, 3.0], "dtype": "types.INT32"},
        {"range": [0.0, 255.0], "dtype": "types.UINT8"},
        {"dtype": "types.UINT8"},
        {"range": [-3.0, 4.0], "dtype": "types.INT8"},
        {"dtype": "types.FLOAT64"},
        {"values": [1.0, 2.0, 5.0, 9.0]},
        {"values": [1.5, 2.5, 2.6], "dtype": "types.INT16"},
    ],
    ids=str,
)
def test_uniform(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    def define(engine: Engine) -> Any:
        known = {key: engine.value(value) for key, value in args.items()}
        return engine.fn.random.uniform(shape=[DRAWS], **known)

    ours, theirs = one(headrace.run(1, define)), one(live_dali.run(1, define))
    assert ours.dtype == theirs.dtype
    assert distance(ours.astype(float), theirs.astype(float)) < 0.02


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.83])
def test_coin_flip(probability: float, headrace: Engine) -> None:
    flips = one(
        headrace.run(1, lambda e: e.fn.random.coin_flip(probability=probability, shape=[DRAWS]))
    )
    assert abs(flips.mean() - probability) < 0.015


def test_samples_differ(headrace: Engine) -> None:
    """Samples of a batch draw independently of each other, and so do operators."""

    def define(engine: Engine) -> Any:
        return engine.fn.random.uniform(), engine.fn.random.uniform()

    result = headrace.run(512, define)
    assert not isinstance(result, Failure), result
    a, b = (np.array(out.samples) for out in result)
    assert len(np.unique(a)) > 500
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.15
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.15


def test_seeds(headrace: Engine) -> None:
    def define(engine: Engine) -> Any:
        uniform = engine.fn.random.uniform
        return uniform(seed=5), uniform(seed=5), uniform(seed=6)

    result = headrace.run(32, define)
    assert not isinstance(result, Failure), result
    a, b, c = (np.array(out.samples) for out in result)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


AREAS = [
    {},
    {"random_area": [0.3, 0.9]},
    {"random_area": [0.5, 0.6], "random_aspect_ratio": [2.0, 2.5]},
    {"random_area": [0.9, 1.0], "random_aspect_ratio": [3.0, 4.0], "num_attempts": 2},
    {"random_area": [0.2, 0.3], "num_attempts": 1},
]


@pytest.mark.parametrize("args", AREAS, ids=str)
def test_random_windows(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    """Sizes of the windows of `decoders.image_random_crop` on a file of 60 x 100 pixels."""
    count = 1500
    content = files(coded("PNG", 60, 100, mode="L"))

    def define(engine: Engine) -> Any:
        data = engine.feed(Data([content.samples[0]] * count))
        return engine.fn.decoders.image_random_crop(data, output_type=engine.types.GRAY, **args)

    shapes = []
    for engine in (headrace, live_dali):
        result = engine.run(count, define)
        assert not isinstance(result, Failure), result
        shapes.append(np.array([s.shape[:2] for s in result[0].samples], float))
    for measure in (lambda s: s[:, 0], lambda s: s[:, 1], lambda s: s[:, 0] / s[:, 1]):
        assert distance(measure(shapes[0]), measure(shapes[1])) < 0.065


def test_random_positions(headrace: Engine) -> None:
    """Windows may be at any position, which the first pixel of a ramp shows."""
    ramp = np.broadcast_to(np.arange(100, dtype=np.float32)[None, :, None], (20, 100, 1))
    count = 2000

    def define(engine: Engine) -> Any:
        data = engine.feed(Data([np.ascontiguousarray(ramp)] * count, "HWC"))
        return engine.fn.random_resized_crop(
            data,
            size=[4, 4],
            random_area=[0.05, 0.05],
            random_aspect_ratio=[1.0, 1.0],
            interp_type=engine.types.INTERP_NN,
        )

    result = headrace.run(count, define)
    assert not isinstance(result, Failure), result
    firsts = np.array([s[0, 0, 0] for s in result[0].samples])
    # Windows of 10 x 10: the first pixel is the window's start + 1; there are 91 positions.
    assert firsts.min() <= 2 and firsts.max() >= 90
    assert distance(firsts, np.arange(1, 92).astype(float)) < 0.04


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"mean": 3.0, "stddev": 0.5},
        {"stddev": -2.0},
        {"mean": 2.0, "stddev": 3.0, "dtype": "types.INT32"},
        {"mean": 250.0, "stddev": 10.0, "dtype": "types.UINT8"},
        {"dtype": "types.FLOAT64"},
    ],
    ids=str,
)
def test_normal(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    def define(engine: Engine) -> Any:
        known = {key: engine.value(value) for key, value in args.items()}
        return engine.fn.random.normal(shape=[DRAWS], **known)

    ours, theirs = one(headrace.run(1, define)), one(live_dali.run(1, define))
    assert ours.dtype == theirs.dtype
    assert distance(ours.astype(float), theirs.astype(float)) < 0.02


def test_normal_is_normal(headrace: Engine) -> None:
    """Compares with the distribution function itself, far into the tails."""
    draws = one(headrace.run(1, lambda e: e.fn.random.normal(shape=[400000])))
    normal = statistics.NormalDist()
    for z in (-4.0, -3.0, -2.0, -1.0, -0.2, 0.0, 0.7, 1.5, 2.5, 3.5):
        expected = normal.cdf(z)
        deviation = (expected * (1 - expected) / draws.size) ** 0.5
        assert abs(np.mean(draws <= z) - expected) < 4.5 * deviation


@pytest.mark.parametrize(
    "alpha, beta", [(1, 1), (0.5, 0.5), (2, 5), (8, 0.3), (30, 40), (0.01, 0.02), (1e4, 1e3)]
)
def test_beta(alpha: float, beta: float, headrace: Engine, live_dali: Engine) -> None:
    def define(engine: Engine) -> Any:
        return engine.fn.random.beta(alpha=alpha, beta=beta, shape=[DRAWS])

    ours, theirs = one(headrace.run(1, define)), one(live_dali.run(1, define))
    assert ours.min() >= 0 and ours.max() <= 1
    assert distance(ours, theirs) < 0.02
    mean = alpha / (alpha + beta)
    variance = mean * (1 - mean) / (alpha + beta + 1)
    assert abs(ours.astype(float).mean() - mean) < 4.5 * (variance / DRAWS) ** 0.5


@pytest.mark.parametrize("p", [None, 0.25, [0.1, 0.0, 0.2, 0.7], [0.25, 0.25, 0.5, 0.0]], ids=str)
def test_choice(p: float | list[float] | None, headrace: Engine) -> None:
    """Compares with the probabilities by chi-square."""

    def define(engine: Engine) -> Any:
        names = engine.feed(Data([np.array([3, 1, 4, 5], np.uint8)]))
        known = {} if p is None else {"p": p}
        return engine.fn.random.choice(names, shape=[DRAWS], **known)

    draws = one(headrace.run(1, define))
    expected = (np.zeros(4) + (p or 0.25)) * DRAWS
    counts = np.array([np.sum(draws == v) for v in (3, 1, 4, 5)])
    assert counts.sum() == DRAWS
    assert not counts[expected == 0].any()
    used = expected > 0
    assert np.sum((counts - expected)[used] ** 2 / expected[used]) < 16.3  # 0.1 % of 3 degrees


def test_choice_of_numbers(headrace: Engine) -> None:
    def define(engine: Engine) -> Any:
        return engine.fn.random.choice(engine.feed(Data([np.array(1000)])), shape=[DRAWS])

    draws = one(headrace.run(1, define))
    assert draws.dtype == np.int64 and draws.min() >= 0 and draws.max() < 1000
    assert distance(draws.astype(float), np.arange(1000.0)) < 0.015


@pytest.mark.parametrize("args", AREAS, ids=str)
def test_crop_generator(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    """Sizes and positions of windows of 300 x 500 pixels."""
    count = 3000

    def define(engine: Engine) -> Any:
        shapes = engine.feed(Data([np.array([300, 500])] * count))
        return tuple(engine.fn.random_crop_generator(shapes, **args))

    columns = []
    for engine in (headrace, live_dali):
        result = engine.run(count, define)
        assert not isinstance(result, Failure), result
        anchors, sizes = (np.array(out.samples, float) for out in result)
        assert (anchors >= 0).all() and (anchors + sizes <= [300, 500]).all()
        columns.append(np.concatenate([anchors, sizes], axis=1))
    for ours, theirs in zip(columns[0].T, columns[1].T, strict=True):
        assert distance(ours, theirs) < 0.055


@pytest.mark.parametrize(
    "args",
    [
        {"crop_shape": [3, 9], "roi_start": [5, 6], "roi_shape": [8, 3]},
        {"crop_shape": [3, 9], "roi_start": [5, 6], "roi_shape": [8, 3], "in_shape": [20, 10]},
        {"crop_shape": [15, 12], "roi_start": [2, 20], "roi_end": [9, 30], "in_shape": [20, 30]},
    ],
    ids=str,
)
def test_roi_crop(args: dict[str, Any], headrace: Engine, live_dali: Engine) -> None:
    count = 3000
    ours, theirs = (
        np.array(result[0].samples, float)
        for result in (
            engine.run(count, lambda e: e.fn.roi_random_crop(**args))
            for engine in (headrace, live_dali)
        )
        if not isinstance(result, Failure)
    )
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert (a.min(), a.max()) == (b.min(), b.max())
        assert distance(a, b) < 0.055


def test_same_draws_for_any_batch(headrace: Engine) -> None:
    """Samples keep their numbers for any batch size and number of threads."""

    def define(engine: Engine) -> Any:
        random = engine.fn.random
        shapes = engine.types.Constant(np.array([300, 500], np.int32))
        return (
            random.normal(shape=[5]),
            random.normal(dtype=engine.types.FLOAT64),
            random.beta(alpha=0.5, shape=[3]),
            random.choice(engine.types.Constant(np.array([3, 1, 4], np.int32)), shape=[4]),
            engine.fn.random_crop_generator(shapes)[0],
            engine.fn.roi_random_crop(crop_shape=[3, 9], roi_start=[5, 6], roi_shape=[80, 30]),
        )

    runs = [
        headrace.run(batch, define, 12 // batch, num_threads=threads)
        for batch, threads in ((12, 1), (4, 3), (1, 2))
    ]
    for result in runs[1:]:
        assert isinstance(result, list) and isinstance(runs[0], list)
        for ours, first in zip(result, runs[0], strict=True):
            np.testing.assert_array_equal(np.array(ours.samples), np.array(first.samples))


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_jitter(degree: int, headrace: Engine) -> None:
    """Every element comes from a neighbour; all neighbours are equally likely. DALI has it on GPUs only."""
    y, x = np.mgrid[0:150, 0:170]
    picture = np.stack([y * 1000.0 + x] * 3, -1).astype(np.float32)

    def define(engine: Engine) -> Any:
        return engine.fn.jitter(
            engine.feed(Data([picture, picture], "HWC")), nDegree=degree, seed=5
        )

    result = headrace.run(2, define)
    assert not isinstance(result, Failure), result
    first, second = (
        sample[20:-20, 20:-20] - picture[20:-20, 20:-20] for sample in result[0].samples
    )
    assert degree == 1 or np.mean(first != second) > 0.3
    down = np.round(first / 1000)
    right = first - 1000 * down
    steps = np.arange(degree) - degree // 2
    for moves in (down, right):
        assert set(np.unique(moves)) == set(steps)
        for step in steps:
            assert abs(np.mean(moves == step) - 1 / degree) < 0.01
    if degree > 1:
        assert abs(np.corrcoef(down.ravel(), right.ravel())[0, 1]) < 0.02
        assert abs(np.corrcoef(down[..., 0].ravel(), down[..., 1].ravel())[0, 1]) < 0.02
