# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""multi_paste on batches that DALI refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import Data, Engine, Failure


def test_each_sample_has_its_own_canvas(headrace: Engine) -> None:
    """Without `output_size`, the images of a sample give its canvas, whatever the size of the other samples."""
    rng = np.random.default_rng(2)
    below = [rng.integers(0, 255, shape, np.uint8) for shape in [(9, 7, 3), (4, 12, 3)]]
    above = [rng.integers(0, 255, image.shape, np.uint8) for image in below]

    def define(engine: Engine) -> Any:
        images = [engine.feed(Data(part, "HWC")) for part in (below, above)]
        corner = engine.feed(Data([np.int32([[0, 0], [2, 3]])] * 2))
        return engine.fn.multi_paste(*images, in_anchors=corner, out_anchors=corner)

    result = headrace.run(2, define)
    assert not isinstance(result, Failure), result
    for found, under, over in zip(result[0].samples, below, above, strict=True):
        wanted = under.copy()
        wanted[2:, 3:] = over[2:, 3:]
        np.testing.assert_array_equal(found, wanted)
