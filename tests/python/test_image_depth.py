# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`dtype=types.ANY` keeps the depth of a file; where 16 bits become 8, this is said once."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from PIL import Image
from tiffs import tiff

RNG = np.random.default_rng(3)
GREY16 = RNG.integers(0, 65536, (9, 12), np.uint16)
COLOURS = RNG.integers(0, 256, (9, 12, 3), np.uint8)


def png(pixels: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return np.frombuffer(file.getvalue(), np.uint8)


def run(files: list[np.ndarray], **kwargs: Any) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    operator = kwargs.pop("operator", fn.decoders.image)
    own = kwargs.pop("pipeline", {})
    with Pipeline(len(files), 3, None, **own) as pipe:
        pipe.set_outputs(
            operator(fn.external_source(lambda: files), output_type=types.ANY_DATA, **kwargs)
        )
    pixels = [np.array(sample) for sample in pipe.run()[0]]
    pipe.run()
    return pixels, pipe.errors()


@pytest.mark.parametrize("operator", ["image", "image_crop", "image_slice", "image_random_crop"])
def test_any_keeps_the_depth(operator: str) -> None:
    arguments: dict[str, Any] = {
        "image": {},
        "image_crop": {"crop": (9, 12)},
        "image_slice": {"rel_start": [0, 0], "rel_end": [1, 1]},
        "image_random_crop": {"random_area": [1, 1], "random_aspect_ratio": [1.33, 1.34]},
    }[operator]
    for pixels in (GREY16, COLOURS):
        (found,), errors = run(
            [png(pixels)], dtype=types.ANY, operator=getattr(fn.decoders, operator), **arguments
        )
        assert found.dtype == pixels.dtype
        assert not errors
        np.testing.assert_array_equal(found.reshape(pixels.shape), pixels)


def test_floats() -> None:
    pixels = RNG.random((5, 7, 1), np.float32)
    (found,), errors = run([np.frombuffer(tiff(pixels, 1), np.uint8)], dtype=types.ANY)
    assert found.dtype == np.float32
    assert not errors
    np.testing.assert_array_equal(found, pixels)


def test_types_of_a_batch_must_agree() -> None:
    with pytest.raises(RuntimeError, match="type"):
        run([png(GREY16), png(COLOURS[..., 0])], dtype=types.ANY)


@pytest.mark.parametrize("pipeline", [{}, {"strict": True}])
def test_narrowing_is_said_once(pipeline: dict[str, Any]) -> None:
    files = [png(COLOURS[..., 0])] + [png(GREY16)] * 20
    found, errors = run(files, pipeline=pipeline)
    assert {pixels.dtype for pixels in found} == {np.dtype(np.uint8)}
    np.testing.assert_array_equal(found[1][..., 0], (GREY16 + 128.0) // 257)
    assert [(e["action"], e["iteration"], e["index"]) for e in errors] == [("notice", 0, 1)]
    assert "dtype=types.ANY" in errors[0]["message"]
    assert errors[0]["operator"] == "decoders.image"
    for dtype in (types.UINT16, types.FLOAT, types.INT32):
        assert not run(files, dtype=dtype)[1]
    assert not run(files[:1])[1]


def test_other_operators_have_no_any() -> None:
    with Pipeline(1, 1, None), pytest.raises(ValueError, match='argument "dtype": must be one of'):
        fn.cast(1.0, dtype=types.ANY)
