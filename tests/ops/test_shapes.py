# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Shapes for which DALI is no reference: random orders, per-sample values that it ignores, its defects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases_shapes import PLAIN, ROWS, ints, matrices
from harness import Case, Engine, Failure, pictures


def run(engine: Engine, case: Case, **options: Any) -> list[np.ndarray]:
    result = engine.run(case.batch_size(), case.define, **options)
    assert not isinstance(result, Failure), result
    return result[0].samples


def orders(engine: Engine, size: int, iterations: int, **args: Any) -> np.ndarray:
    """Runs `batch_permutation` several times."""

    @engine.root.pipeline_def(batch_size=size, num_threads=2, device_id=None, seed=3)
    def pipeline() -> Any:
        return engine.fn.batch_permutation(**args)

    pipe = pipeline()
    return np.array([np.stack([np.array(v) for v in pipe.run()[0]]) for _ in range(iterations)])


def test_permutations_are_uniform(headrace: Engine) -> None:
    found = orders(headrace, 5, 1200)
    assert (np.sort(found, axis=1) == np.arange(5)).all()
    for position in range(5):  # each of 5 numbers 240 times: 6 standard deviations are 83
        assert (abs(np.bincount(found[:, position], minlength=5) - 240) < 83).all()
    assert len({tuple(row) for row in found}) > 100  # of 120


def test_no_fixed_points(headrace: Engine) -> None:
    found = orders(headrace, 4, 400, no_fixed_points=True)
    assert (np.sort(found, axis=1) == np.arange(4)).all()
    assert (found != np.arange(4)).all()
    assert len({tuple(row) for row in found}) == 9  # all derangements of 4
    assert orders(headrace, 1, 3, no_fixed_points=True).tolist() == [[0]] * 3


def test_repetitions(headrace: Engine) -> None:
    found = orders(headrace, 6, 500, allow_repetitions=True)
    assert found.min() == 0 and found.max() == 5
    assert (np.sort(found, axis=1) != np.arange(6)).any(axis=1).mean() > 0.9
    assert (found == np.arange(6)).any()
    found = orders(headrace, 6, 500, allow_repetitions=True, no_fixed_points=True)
    assert (found != np.arange(6)).all()
    assert (np.sort(found, axis=1) != np.arange(6)).any(axis=1).mean() > 0.9


def test_equal_seeds_give_equal_orders(headrace: Engine) -> None:
    assert (orders(headrace, 7, 5, seed=1) == orders(headrace, 7, 5, seed=1)).all()
    assert (orders(headrace, 7, 5, seed=1) != orders(headrace, 7, 5, seed=2)).any()


def test_permuted_batch_keeps_pairs_together(headrace: Engine) -> None:
    @headrace.root.pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=5)
    def pipeline() -> Any:
        data = headrace.fn.external_source(
            source=lambda: [np.full((k + 1, 2), k, np.int32) for k in range(8)]
        )
        order = headrace.fn.batch_permutation()
        return headrace.fn.permute_batch(data, indices=order), order

    samples, order = pipeline().run()
    for sample, index in zip(samples, order, strict=True):
        expected = np.full((int(np.array(index)) + 1, 2), np.array(index))
        np.testing.assert_array_equal(np.array(sample), expected)


def test_axes_of_squeeze_a_sample(headrace: Engine) -> None:
    from cases_shapes import ONES

    case = Case("squeeze", [ONES], {"axes": ints([0], [2])})
    assert [s.shape for s in run(headrace, case)] == [(3, 1, 4), (1, 2, 4)]


@pytest.mark.parametrize("op", ["reshape", "reinterpret"])
def test_source_dimensions_a_sample(op: str, headrace: Engine) -> None:
    case = Case(op, [PLAIN], {"src_dims": ints([1, 0, 2], [0, 2, 1])})
    ours = run(headrace, case)
    for mine, sample, shape in zip(ours, PLAIN.samples, [(3, 2, 4), (4, 4, 3)], strict=True):
        np.testing.assert_array_equal(mine, sample.reshape(shape))


def test_new_shapes_drop_the_layout(headrace: Engine) -> None:
    """DALI requires the input's layout for a per-sample shape with another number of dimensions."""
    case = Case("reshape", [ROWS], {"shape": ints([6, 4], [12, 4])})
    output = headrace.run(2, case.define)[0]
    assert output.layout == "" and [s.shape for s in output.samples] == [(6, 4), (12, 4)]


def test_numbers_have_no_last_extent(headrace: Engine) -> None:
    """DALI divides by zero here."""
    result = headrace.run(1, Case("reinterpret", [ints(1)], {"dtype": "types.UINT8"}).define)
    assert isinstance(result, Failure) and "last dimension" in result.message


def test_padding_of_doubles(headrace: Engine) -> None:
    """DALI does not pad this type."""
    ours = run(headrace, Case("pad", [matrices(np.float64)], {"fill_value": 2.5, "align": 4}))
    for mine, sample in zip(ours, matrices(np.float64).samples, strict=True):
        expected = np.full((4, 4), 2.5)
        expected[: sample.shape[0], : sample.shape[1]] = sample
        np.testing.assert_array_equal(mine, expected)


def test_only_padding_to_the_batch_looks_at_it(headrace: Engine) -> None:
    for args, stage in (({}, True), ({"shape": [5, 5]}, False), ({"shape": [5, 0]}, True)):
        case = Case("pad", [matrices()], args)

        @headrace.root.pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def pipeline(case: Case = case) -> Any:
            return case.define(headrace)

        pipe = pipeline()
        pipe.build()
        assert ("over the batch" in pipe.describe()) == stage, args


@pytest.mark.parametrize("policy", ["error", "pad", "trim_to_shape"])
def test_slices_of_pictures_join_programs(policy: str, headrace: Engine) -> None:
    images = pictures([(40, 50, 3), (33, 47, 3)])
    low, high = (3, 19) if policy == "error" else (-4, 40)
    window = {"start": [low, 2], "end": [high, 21], "axis_names": "WH"}

    def define(engine: Engine) -> Any:
        small = engine.fn.resize(engine.feed(images), size=[24, 30])
        part = engine.fn.slice(small, **window, out_of_bounds_policy=policy, fill_values=[7, 8, 9])
        return engine.fn.flip(part, horizontal=1)

    fused = headrace.run(2, define)
    plain = headrace.run(2, define, fuse=False)
    assert isinstance(fused, list) and isinstance(plain, list)
    for a, b in zip(fused[0].samples, plain[0].samples, strict=True):
        assert a.shape == b.shape and a.tobytes() == b.tobytes()

    @headrace.root.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline() -> Any:
        return define(headrace)

    pipe = pipeline()
    pipe.build()
    assert "fused" in pipe.describe()
