# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Noise: its distribution against the formulas, that elements are independent, and that the bytes are reproducible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from harness import Data, Engine, Failure
from test_random import distance

SIDE = 300


def noisy(engine: Engine, name: str, data: Data, **args: Any) -> list[np.ndarray]:
    given = {key: engine.value(value) for key, value in args.items()}
    seed = given.pop("seed", 3)

    def define(e: Engine) -> Any:
        return e.operator("noise." + name)(e.feed(data), seed=seed, **given)

    result = engine.run(len(data.samples), define)
    assert not isinstance(result, Failure), result
    assert result[0].layout == data.layout
    return result[0].samples


def flat(value: float, dtype: Any = np.float32, shape: tuple[int, ...] = (SIDE, SIDE, 3)) -> Data:
    return Data([np.full(shape, value, dtype)], "HWC"[: len(shape)])


def uncorrelated(values: np.ndarray) -> None:
    """Neither with neighbours nor at the distances at which elements share draws."""
    v = values.astype(np.float64).ravel()
    v = (v - v.mean()) / v.std()
    for shift in (1, 2, 3, 4, 255, 256, 257, 512, 768, 1024, SIDE * 3):
        assert abs(np.mean(v[shift:] * v[:-shift])) < 5 / math.sqrt(v.size), shift


def normal_cdf(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-t / math.sqrt(2)) for t in x])


def test_gaussian(headrace: Engine) -> None:
    (out,) = noisy(headrace, "gaussian", flat(0.0), mean=2.0, stddev=3.0)
    z = np.sort((out.ravel().astype(np.float64) - 2) / 3)
    ranks = (np.arange(z.size) + 0.5) / z.size
    assert np.abs(normal_cdf(z[::97]) - ranks[::97]).max() < 2 / math.sqrt(z.size)
    assert 3.9 < np.abs(z).max() < 6.6
    assert abs((z**4).mean() - 3) < 0.1
    uncorrelated(out)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64"]
)
def test_gaussian_types(dtype: str, headrace: Engine) -> None:
    """The same noise for every type, rounded and saturated."""
    base = 20 if dtype == "int8" else 100
    (out,) = noisy(headrace, "gaussian", flat(base, dtype), mean=3.5, stddev=40.0)
    (exact,) = noisy(headrace, "gaussian", flat(base), mean=3.5, stddev=40.0)
    info = np.iinfo(dtype)
    rounded = np.sign(exact) * np.floor(np.abs(exact.astype(np.float64)) + 0.5)
    np.testing.assert_array_equal(out, np.clip(rounded, info.min, info.max).astype(dtype))


@pytest.mark.parametrize("mean", [0.2, 1.0, 6.0, 12.75, 59.0, 61.0, 300.0, 5000.0, 30000.0, 1e7])
def test_shot(mean: float, headrace: Engine) -> None:
    """Mean, variance and distribution of Poisson numbers in all ranges of the mean."""
    factor = 0.5
    (out,) = noisy(headrace, "shot", flat(mean * factor), factor=factor)
    k = out.ravel().astype(np.float64) / factor
    np.testing.assert_array_equal(k, np.round(k))
    count = k.size
    assert abs(k.mean() - mean) < 5 * math.sqrt(mean / count)
    assert abs(k.var() / mean - 1) < 5 * math.sqrt((2 + 1 / mean) / count)
    third = ((k - mean) ** 3).mean() / mean**1.5
    assert abs(third - 1 / math.sqrt(mean)) < 5 * math.sqrt(6 / count) * (1 + 4 / math.sqrt(mean))
    if mean < 400:
        for n in range(
            max(0, int(mean - 3 * math.sqrt(mean))), int(mean + 3 * math.sqrt(mean)) + 1
        ):
            p = math.exp(n * math.log(mean) - mean - math.lgamma(n + 1))
            assert abs((k == n).mean() - p) < 5 * math.sqrt(p / count), n
    uncorrelated(out)


@pytest.mark.parametrize("factor", [1.0, 3.7, 20.0, 100.0])
def test_shot_tables(factor: float, headrace: Engine) -> None:
    """UINT8 pictures have the noise of FLOAT, whether they are large enough for tables or not."""
    ramp = np.arange(SIDE * SIDE * 3).reshape(SIDE, SIDE, 3) % 256
    (out,) = noisy(headrace, "shot", Data([ramp.astype(np.uint8)], "HWC"), factor=factor)
    (exact,) = noisy(headrace, "shot", Data([ramp.astype(np.float32)], "HWC"), factor=factor)
    np.testing.assert_array_equal(out, np.clip(np.floor(exact + 0.5), 0, 255).astype(np.uint8))
    small = Data([ramp[:20].astype(np.uint8)], "HWC")
    np.testing.assert_array_equal(noisy(headrace, "shot", small, factor=factor)[0], out[:20])
    assert len(np.unique(out)) > 2


def test_salt_and_pepper(headrace: Engine) -> None:
    (out,) = noisy(headrace, "salt_and_pepper", flat(7, "uint8"), prob=0.2, salt_vs_pepper=0.3)
    assert (out == out[..., :1]).all()
    pixels = out[..., 0]
    for value, p in ((255, 0.06), (0, 0.14), (7, 0.8)):
        assert abs((pixels == value).mean() - p) < 5 * math.sqrt(p / pixels.size)
    uncorrelated(pixels)
    (each,) = noisy(headrace, "salt_and_pepper", flat(7, "uint8"), prob=0.2, per_channel=True)
    assert (each != each[..., :1]).mean() > 0.1
    assert abs((each != 7).mean() - 0.2) < 5 * math.sqrt(0.2 / each.size)
    uncorrelated(each != 7)


def test_planes(headrace: Engine) -> None:
    """The same pixels in another layout."""
    args = {"prob": 0.3, "salt_val": 9.0, "pepper_val": 1.0}
    (hwc,) = noisy(headrace, "salt_and_pepper", flat(7, "int16", (40, 50, 3)), **args)
    planes = Data([np.full((3, 40, 50), 7, np.int16)], "CHW")
    (chw,) = noisy(headrace, "salt_and_pepper", planes, **args)
    np.testing.assert_array_equal(hwc, chw.transpose(1, 2, 0))
    assert len(np.unique(hwc)) == 3


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("gaussian", {"stddev": 20.0}),
    ("shot", {"factor": 12.0}),
    ("salt_and_pepper", {"prob": 0.3}),
]


@pytest.mark.parametrize(("name", "args"), CALLS)
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int16"])
def test_against_dali(
    name: str, args: dict[str, Any], dtype: str, headrace: Engine, live_dali: Engine
) -> None:
    data = flat(90, dtype, (120, 120, 3))
    ours, theirs = (noisy(e, name, data, **args)[0].ravel() for e in (headrace, live_dali))
    assert distance(ours.astype(float), theirs.astype(float)) < 0.02


@pytest.mark.parametrize(("name", "args"), CALLS)
def test_reproducible(name: str, args: dict[str, Any], headrace: Engine) -> None:
    """Equal for threads and batch sizes; different for samples and seeds."""
    data = Data([np.full((70, 80, 3), 90, np.uint8)] * 6, "HWC")

    def run(batch: int, threads: int, seed: int = 3) -> list[np.ndarray]:
        headrace.cycle = batch
        result = headrace.run(
            batch,
            lambda e: e.operator("noise." + name)(e.feed(data), seed=seed, **args),
            iterations=6 // batch,
            num_threads=threads,
        )
        headrace.cycle = 0
        assert not isinstance(result, Failure), result
        return result[0].samples

    one = run(6, 1)
    for other in (run(6, 3), run(2, 2), run(1, 1)):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert (one[0] != one[1]).mean() > 0.05
    assert (one[0] != run(6, 1, 4)[0]).mean() > 0.05
