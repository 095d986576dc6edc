# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Formats that no codec reads are named in the error."""

from __future__ import annotations

import numpy as np
import pytest
from headrace import Pipeline, fn


FILES = {
    "OpenEXR": lambda: b"v/1\x01" + bytes(20),
}


@pytest.mark.parametrize("operator", ["decoders.image", "peek_image_shape"])
@pytest.mark.parametrize("name", FILES)
def test_named(name: str, operator: str) -> None:
    data = FILES[name]()
    run = fn.decoders.image if operator == "decoders.image" else fn.peek_image_shape
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(run(fn.external_source(lambda: [np.frombuffer(data, np.uint8)])))
    expected = f"{name} images are not supported; the formats are JPEG, "
    with pytest.raises(RuntimeError, match=expected):
        pipe.run()


def test_not_a_picture() -> None:
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(
            fn.decoders.image(fn.external_source(lambda: [np.frombuffer(b"text", np.uint8)]))
        )
    with pytest.raises(RuntimeError, match="not an image format that this build reads"):
        pipe.run()
