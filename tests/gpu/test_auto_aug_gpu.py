# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Automatic augmentation on a GPU: pictures that stay there have the bytes that they have on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace import fn, pipeline_def
from headrace.auto_aug.auto_augment import auto_augment
from headrace.auto_aug.rand_augment import rand_augment
from headrace.auto_aug.trivial_augment import trivial_augment_wide

pytestmark = pytest.mark.usefixtures("module")

RNG = np.random.default_rng(4)
PICTURES = [RNG.integers(i, 256 - i, (31 + i, 47, 3)).astype(np.uint8) for i in range(16)]
SCHEMES = {
    "image_net": lambda x, **k: auto_augment(x, "image_net", seed=5, **k),
    "svhn": lambda x, **k: auto_augment(x, "svhn", seed=5, **k),
    "rand": lambda x, **k: rand_augment(x, 3, 17, seed=5, **k),
    "trivial": lambda x, **k: trivial_augment_wide(x, seed=5, **k),
}


def outputs(name: str, shape: bool, gpu: bool) -> list[np.ndarray]:
    @pipeline_def(
        batch_size=16, num_threads=2, device_id=0, seed=3, enable_conditionals=True
    )  # type: ignore[misc]
    def definition() -> Any:
        data = fn.external_source(lambda: PICTURES, layout="HWC")
        known = {"shape": data.shape()} if shape else {}
        return SCHEMES[name](data.gpu() if gpu else data, **known)

    pipe = definition()
    batches = [pipe.run()[0].as_cpu() for _ in range(4)]
    return [np.array(batch[i]) for batch in batches for i in range(len(batch))]


@pytest.mark.parametrize("shape", [False, True])
@pytest.mark.parametrize("name", SCHEMES)
def test_same_bytes(name: str, shape: bool) -> None:
    changed = 0
    pairs = zip(outputs(name, shape, False), outputs(name, shape, True), strict=True)
    for i, (cpu, gpu) in enumerate(pairs):
        np.testing.assert_array_equal(gpu, cpu)
        changed += not np.array_equal(gpu, PICTURES[i % 16])
    assert changed >= 40
