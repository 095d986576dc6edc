# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""clahe without a limit, against OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from headrace import Pipeline, fn


@pytest.mark.parametrize("limit", [0.0, -1.0, float("inf"), float("nan"), 1e30])
def test_no_limit(limit: float) -> None:
    """OpenCV and DALI convert large limits to integers that overflow and so become the lowest limit."""
    picture = np.random.default_rng(1).integers(0, 60, (40, 52), np.uint8)
    with Pipeline(1, 1) as pipe:
        data = fn.external_source(lambda: [picture[..., None]], layout="HWC")
        pipe.set_outputs(fn.clahe(data, tiles_x=4, tiles_y=2, clip_limit=limit))
    (out,) = pipe.run()
    expected = cv2.createCLAHE(0.0, (4, 2)).apply(picture)
    np.testing.assert_array_equal(np.array(out[0])[..., 0], expected)
