# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images and volumes without channels on a GPU: the bytes of the CPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "ops"))
pytest.register_assert_rewrite("harness")
pytest.importorskip("headrace")

from harness import Data, Engine  # noqa: E402
from test_layouts import CALLS, samples  # noqa: E402

pytestmark = pytest.mark.usefixtures("module")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("layout, op", [(k, op) for k, calls in CALLS.items() for op in calls])
def test_no_channels(layout: str, op: str) -> None:
    shape = (5, 20, 24)[-len(layout) :]
    images = Data([np.random.default_rng(2).integers(0, 255, shape, np.uint8)] * 2, layout)

    def define(engine: Engine) -> Any:
        made = engine.operator(op)(engine.feed(images), **CALLS[layout][op])
        return made.cpu() if engine.device == "gpu" else made

    cpu, gpu = Engine("headrace"), Engine("headrace", "gpu")
    (ours,), (wanted,) = samples(gpu.run(2, define)), samples(cpu.run(2, define))
    assert ours.layout == wanted.layout == layout
    assert all(map(np.array_equal, ours.samples, wanted.samples))
