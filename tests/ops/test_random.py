# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random operators: their distributions against DALI's, and that equal seeds give equal draws."""

from __future__ import annotations

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
    """Kolmogorov and Smirnov's: the largest difference of the two distribution functions."""
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
def test_uniform(args: dict[str, Any], headrace: Engine, dali: Engine) -> None:
    def define(engine: Engine) -> Any:
        known = {key: engine.value(value) for key, value in args.items()}
        return engine.fn.random.uniform(shape=[DRAWS], **known)

    ours, theirs = one(headrace.run(1, define)), one(dali.run(1, define))
    assert ours.dtype == theirs.dtype
    assert distance(ours.astype(float), theirs.astype(float)) < 0.02


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.83])
def test_coin_flip(probability: float, headrace: Engine) -> None:
    flips = one(
        headrace.run(1, lambda e: e.fn.random.coin_flip(probability=probability, shape=[DRAWS]))
    )
    assert abs(flips.mean() - probability) < 0.015


def test_samples_differ(headrace: Engine) -> None:
    """Samples of a batch, and operators, draw independently of each other."""

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
def test_random_windows(args: dict[str, Any], headrace: Engine, dali: Engine) -> None:
    """Sizes of windows of `decoders.image_random_crop` on a file of 60 x 100 pixels."""
    count = 1500
    content = files(coded("PNG", 60, 100, mode="L"))

    def define(engine: Engine) -> Any:
        data = engine.feed(Data([content.samples[0]] * count))
        return engine.fn.decoders.image_random_crop(data, output_type=engine.types.GRAY, **args)

    shapes = []
    for engine in (headrace, dali):
        result = engine.run(count, define)
        assert not isinstance(result, Failure), result
        shapes.append(np.array([s.shape[:2] for s in result[0].samples], float))
    for measure in (lambda s: s[:, 0], lambda s: s[:, 1], lambda s: s[:, 0] / s[:, 1]):
        assert distance(measure(shapes[0]), measure(shapes[1])) < 0.065


def test_random_places(headrace: Engine) -> None:
    """Windows lie anywhere: a ramp's first pixel says where."""
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
    # Windows of 10 x 10: the first of four pixels is the window's start + 1; 91 places.
    assert firsts.min() <= 2 and firsts.max() >= 90
    assert distance(firsts, np.arange(1, 92).astype(float)) < 0.04
