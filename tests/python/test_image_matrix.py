# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every combination that an image format has gives the right pixels, or an error that names what is not supported."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from pathlib import Path

import image_matrix_others  # noqa: F401 (enters its cases)
import image_matrix_tiff  # noqa: F401
import numpy as np
import pytest
from headrace import Pipeline, fn, types
from image_matrix import FORMATS, Case

BATCH = 64
ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def cases(name: str) -> list[Case]:
    return list(FORMATS[name]())


def decode(batch: list[Case]) -> list[tuple[np.ndarray, ...]]:
    """Of each file: its pixels, the same as RGB, a window of the pixels, and the shape from the header."""
    pipe = Pipeline(len(batch), 2, None)
    kwargs = {"output_type": types.ANY_DATA, "dtype": types.FLOAT}
    with pipe:
        files = fn.external_source(lambda: [np.frombuffer(case.data, np.uint8) for case in batch])
        pixels = fn.decoders.image(files, **kwargs)
        colours = fn.decoders.image(files, output_type=types.RGB)
        window = fn.decoders.image_slice(
            files, rel_start=[0.3, 0.4], rel_end=[0.9, 0.8], axes=[0, 1], **kwargs
        )
        crop = fn.decoders.image_crop(files, crop=(3, 2), crop_pos_x=1.0, crop_pos_y=1.0, **kwargs)
        shape = fn.peek_image_shape(files, image_type=types.ANY_DATA)
        pipe.set_outputs(pixels, colours, window, crop, shape)
    return list(zip(*([np.array(t) for t in out] for out in pipe.run())))


def problem(case: Case, found: tuple[np.ndarray, ...]) -> str:
    pixels, colours, window, crop, shape = found
    assert case.pixels is not None
    height, width, channels = case.pixels.shape
    if pixels.shape != case.pixels.shape or tuple(shape) != pixels.shape:
        return f"{pixels.shape}, the header {tuple(shape)}, not {case.pixels.shape}"
    if not np.abs(pixels - case.pixels).max() <= case.slack:
        return f"off by {np.abs(pixels - case.pixels).max()}"
    rgb = np.clip(case.pixels if channels > 2 else case.pixels[..., :1].repeat(3, 2), 0, 1)
    if np.abs(colours - 255 * rgb[..., :3]).max() > 0.51 + 256 * case.slack:
        return f"as RGB, off by {np.abs(colours - 255 * rgb[..., :3]).max()}"
    y, x = round(0.3 * height), round(0.4 * width)
    if not np.array_equal(window, pixels[y : y + window.shape[0], x : x + window.shape[1]]):
        return "a window is not that of the whole"
    if not np.array_equal(crop, pixels[-3:, -2:]):
        return "a crop is not that of the whole"
    return "" if window.size else "an empty window"


@pytest.mark.parametrize("name", FORMATS)
def test_pixels(name: str) -> None:
    read = [case for case in cases(name) if case.pixels is not None]
    assert read
    problems = []
    for i in range(0, len(read), BATCH):
        batch = read[i : i + BATCH]
        for case, found in zip(batch, decode(batch)):
            text = problem(case, found)
            if text:
                problems.append(f"{case}: {text}")
    assert not problems, "\n".join([f"{len(problems)} of {len(read)}:", *problems[:20]])


@pytest.mark.parametrize("name", FORMATS)
def test_refusals(name: str) -> None:
    refused = [case for case in cases(name) if case.pixels is None]
    for case in refused:
        try:
            decode([case])
        except RuntimeError as error:
            assert re.search(case.error, str(error)), f"{case}: {error}"
        else:
            pytest.fail(f"{case}: is read, but {case.error!r} was expected")


def test_the_page_is_current() -> None:
    """docs/image-formats.md lists what these tests read."""
    sys.path.insert(0, str(ROOT / "tools" / "docs"))
    formats = importlib.import_module("formats")
    text = formats.PAGE.read_text("utf-8")
    assert text == formats.made(text), "run tools/docs/formats.py"
