# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches and pipelines in notebooks: pictures, the graph, and hostile names."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from headrace._base import images
from headrace.tensors import TensorListCPU
from photos import photo
from PIL import Image

HOSTILE = "<script>alert(1)<b>&'\"=.png"


def shown(html: str) -> list[np.ndarray]:
    """The pictures in a text of HTML, read by Pillow."""
    data = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(text)))) for text in data]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 31), (160, 2)])
def test_png(size: tuple[int, int], channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*size, channels), np.uint8)
    read = np.asarray(Image.open(io.BytesIO(images.png(pixels))))
    np.testing.assert_array_equal(read.reshape(pixels.shape), pixels)


def test_uint8_pictures_are_the_samples() -> None:
    images = np.random.default_rng(1).integers(0, 256, (3, 20, 30, 3), np.uint8)
    for batch in (
        TensorListCPU(images, "HWC"),
        TensorListCPU(np.ascontiguousarray(images.transpose(0, 3, 1, 2)), "CHW"),
        TensorListCPU(images),
    ):
        html = batch._repr_html_()
        np.testing.assert_array_equal(shown(html), images)
        assert "3 samples, UINT8" in html


def test_floats_are_stretched() -> None:
    image = np.array([[[-1.0], [0.0], [1.0], [np.nan], [np.inf]]], np.float32)
    html = TensorListCPU([image], "HWC")._repr_html_()
    np.testing.assert_array_equal(shown(html)[0], [[0, 128, 255, 0, 255]])
    assert shown(TensorListCPU([np.full((4, 4, 1), np.nan)], "HWC")._repr_html_())[0].max() == 0


@pytest.mark.parametrize("shape", [(), (5,), (0, 5, 3), (5, 0, 3), (5, 6, 7), (2, 2, 2, 2, 2)])
def test_not_pictures(shape: tuple[int, ...]) -> None:
    html = TensorListCPU([np.zeros(shape, np.uint8)])._repr_html_()
    assert shown(html) == []
    assert (" × ".join(map(str, shape)) or ">0<") in html


def test_large_batches_are_abbreviated() -> None:
    html = TensorListCPU(np.zeros((20, 400, 900, 3), np.uint8), "HWC")._repr_html_()
    assert [p.shape for p in shown(html)] == [(67, 150, 3)] * 8
    assert "and 12 more" in html
    assert "0 samples" in TensorListCPU([np.zeros((1, 1, 3))] * 0)._repr_html_()


def pipeline(folder: Path) -> Pipeline:
    """Files of a folder, decoded, resized and normalised."""
    pipe = Pipeline(batch_size=2, num_threads=1, seed=1)
    with pipe:
        files, labels = fn.readers.file(file_root=str(folder), name="<img src=x>")
        images = fn.resize(fn.decoders.image(files), size=[32, 48])
        pipe.set_outputs(
            fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=[99.0], std=[50.0]), images
        )
    return pipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two pictures, one with a hostile name."""
    (tmp_path / "set" / "a").mkdir(parents=True)
    for i, name in enumerate((HOSTILE, "b.png")):
        photo(i).save(tmp_path / "set" / "a" / name)
    return tmp_path / "set"


def test_file_names_are_escaped(folder: Path) -> None:
    images = pipeline(folder).run()[1]
    html = images._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;alert(1)&lt;b&gt;&amp;&#x27;&quot;" in html
    np.testing.assert_array_equal(shown(html), images.as_array())


def test_graph(folder: Path) -> None:
    pipe = pipeline(folder)
    before = pipe._repr_html_()
    assert before is not None and ">cpu, test_pictures.py" not in before
    pipe.build()
    html = pipe._repr_html_()
    assert html is not None and "<img" not in html
    svg = ElementTree.fromstring(html[: html.index("</svg>") + 6])
    texts = [text.text or "" for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("readers.file '<img src=x>'") for text in texts)
    assert {"resize", "decoders.image", "crop_mirror_normalize"} <= set(texts)
    assert texts.count("output ↓") == 2
    assert any("fused" in text for text in texts)
    assert "fused" not in before.replace("fused with", "")


def test_pipeline_without_outputs() -> None:
    assert Pipeline(batch_size=1, num_threads=1)._repr_html_() is None
