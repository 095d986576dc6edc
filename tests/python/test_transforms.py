# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms over whole columns of samples: different matrices, per sample and per frame, against NumPy."""

from __future__ import annotations

import numpy as np

import headrace as hr
from headrace import fn

BATCH, FRAMES = 9, 4
OFFSETS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]


@hr.pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
def pipeline():
    one = fn.random.uniform(shape=[2, 3], seed=4)
    many = fn.reshape(fn.random.uniform(shape=[FRAMES, 2, 3], seed=5), layout="FRC")
    offset = fn.per_frame(fn.constant(fdata=sum(OFFSETS, []), shape=[FRAMES, 2]))
    return (
        one,
        many,
        fn.transforms.scale(one, scale=[2.0, 3.0]),
        fn.transforms.scale(many, scale=[2.0, 3.0], reverse_order=True),
        fn.transforms.scale(scale=[2.0, 3.0]),
        fn.transforms.translation(many, offset=offset),
        fn.transforms.combine(one, many),
        fn.transforms.combine(one, many, reverse_order=True),
    )


def square(matrix: np.ndarray) -> np.ndarray:
    """Adds the last row, which transforms omit."""
    last = np.broadcast_to([0.0, 0.0, 1.0], (*matrix.shape[:-2], 1, 3))
    return np.concatenate([matrix, last], -2)


def test_columns() -> None:
    pipe = pipeline()
    pipe.build()
    batch = list(zip(*[[np.array(out.at(i)) for i in range(BATCH)] for out in pipe.run()]))
    assert not np.array_equal(batch[0][0], batch[1][0])
    scale = np.diag([2.0, 3.0, 1.0])
    moves = np.stack([[[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]] for x, y in OFFSETS])
    for one, many, *outputs in batch:
        a, b = square(one), square(many)
        for out, want in zip(outputs, [scale @ a, b @ scale, scale, moves @ b, b @ a, a @ b], strict=True):
            np.testing.assert_allclose(out, want[..., :2, :], rtol=1e-6, atol=1e-6)
