# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipelines of the examples for PyTorch give the same batches on a GPU as on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("headrace")
pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("module")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pytorch"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports an example."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def compare(make: Callable[[bool, int | None], Any]) -> None:
    """`make(gpu, device_id)` is a pipeline; both devices give the same two batches."""
    ours, theirs = make(False, None), make(True, 0)
    for _ in range(2):
        for a, b in zip(ours.run(), theirs.run(), strict=True):
            x, y = np.asarray(a.as_tensor()), np.asarray(b.as_cpu().as_tensor())
            assert x.shape == y.shape and x.tobytes() == y.tobytes()


def test_ssd(example: Any, tmp_path: Path) -> None:
    ssd = example("ssd_train")
    annotations = ssd.draw_pictures(tmp_path, 8)
    anchors = ssd.corners(ssd.make_anchors()).flatten().tolist()
    compare(
        lambda gpu, device: ssd.training_pipeline(
            ssd.Coco(tmp_path, annotations), anchors, gpu,
            batch_size=4, num_threads=2, device_id=device, seed=1,
        )
    )  # fmt: skip


def test_simclr(example: Any, photos: Path) -> None:
    two_views = example("simclr_train").two_views
    compare(
        lambda gpu, device: two_views(
            str(photos), 32, 0.5, gpu, batch_size=12, num_threads=2, device_id=device, seed=1
        )
    )


@pytest.mark.parametrize("training", [True, False])
def test_efficientnet(example: Any, photos: Path, training: bool) -> None:
    image_pipeline = example("efficientnet_train").image_pipeline
    compare(
        lambda gpu, device: image_pipeline(
            str(photos), 32, "disabled", training, 0, 1, gpu,
            batch_size=12, num_threads=2, device_id=device, seed=1,
        )
    )  # fmt: skip
