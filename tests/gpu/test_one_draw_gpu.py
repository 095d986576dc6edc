# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A random operator on a GPU called with lists of nodes draws once."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "ops"))
pytest.register_assert_rewrite("harness")
pytest.importorskip("headrace")

from random_calls import BATCH, CALLS, call  # noqa: E402

from headrace import pipeline_def  # noqa: E402
from headrace._graph import schema  # noqa: E402

pytestmark = pytest.mark.usefixtures("module")

ON_GPU = [name for name in CALLS if {"gpu", "mixed"} & set(schema.operators()[name].devices)]


def test_there_are_operators() -> None:
    assert {"jitter", "noise.gaussian", "random_resized_crop"} <= set(ON_GPU)


@pytest.mark.parametrize("name", ON_GPU)
def test_sets_on_a_gpu(name: str) -> None:
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, seed=11)
    def define() -> Any:
        return tuple(node for row in call(name, 3, "gpu") for node in row)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated operators
        pipe = define()
        taken = []
        for _ in range(2):
            batches = [[np.array(sample) for sample in batch.as_cpu()] for batch in pipe.run()]
            count = len(batches) // 3
            first = batches[:count]
            for k, samples in enumerate(batches):
                np.testing.assert_equal(samples, first[k % count])
            taken.append(first)
    assert any(
        not np.array_equal(a, b)
        for one, other in zip(*taken, strict=True)
        for a, b in zip(one, other, strict=True)
    )
