# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""encoders.jpeg on a GPU: the files of Pillow, as on the CPU (tests/python/test_encoders.py), and its two parts in graphs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from conftest import Module
from headrace.experimental.dynamic import _operators
from PIL import Image
from test_encoders import SUBSAMPLINGS, contrast, noise, pictures, saved, smooth

from headrace import Pipeline, fn, pipeline_def

pytestmark = pytest.mark.usefixtures("module")


def files(batch: Any) -> list[bytes]:
    return [np.asarray(t).tobytes() for t in batch.as_cpu()]


def run(images: list[np.ndarray], layout: str = "HWC", **kwargs: Any) -> list[bytes]:
    pipe = Pipeline(len(images), 2, 0, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout=layout)
        pipe.set_outputs(fn.encoders.jpeg(source.gpu(), **kwargs))
    return files(pipe.run()[0])


def check(images: list[np.ndarray], **kwargs: Any) -> None:
    for image, file in zip(images, run(images, **kwargs), strict=True):
        expected = saved(image, **kwargs)
        assert file == expected, (image.shape, kwargs, len(file), len(expected))


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("restart_rows", [0, 1, 3])
def test_the_files_are_pillows(subsampling: str, optimize: bool, restart_rows: int) -> None:
    for quality in (1, 75, 100):
        images = [*pictures(), contrast((40, 50, 3))]
        check(
            images,
            quality=quality,
            subsampling=subsampling,
            optimize=optimize,
            restart_rows=restart_rows,
        )


def test_bytes_that_many_blocks_share() -> None:
    """Blocks of one value take 4 bits, or 2 with their own tables."""
    flat = np.full((90, 130, 3), 77, np.uint8)
    spots = flat.copy()
    spots[40:44, 60:64] = noise((4, 4, 3))
    for optimize in (False, True):
        for subsampling in SUBSAMPLINGS:
            check([flat, spots], optimize=optimize, subsampling=subsampling, restart_rows=0)


def test_intervals_of_many_blocks() -> None:
    """More blocks than threads between two markers."""
    check([noise((203, 410, 3)), smooth((500, 333, 1))], restart_rows=0, quality=85)
    check([noise((203, 410, 3)), smooth((500, 333, 1))], restart_rows=0, optimize=True)


def test_without_an_axis_of_channels() -> None:
    image = smooth((21, 30, 1))
    assert run([image[..., 0]], layout="HW")[0] == saved(image)


def test_a_quality_for_every_image() -> None:
    images, qualities = [smooth((40, 30, 3)) for _ in range(3)], [5, 60, 98]
    pipe = Pipeline(3, 2, 0, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout="HWC")
        quality = fn.external_source(lambda: [np.int32(q) for q in qualities])
        pipe.set_outputs(fn.encoders.jpeg(source.gpu(), quality=quality))
    for file, image, q in zip(files(pipe.run()[0]), images, qualities, strict=True):
        assert file == saved(image, q)


def chain(photos: Path, device: str) -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=7)
    def define() -> Any:
        data, label = fn.readers.file(file_root=str(photos), name="Reader")
        images = fn.decoders.image(data, device="cpu" if device == "cpu" else "mixed")
        images = fn.resize(images, size=[70, 60])
        coded = fn.encoders.jpeg(images, quality=90, name="coded")
        return coded, coded.shape(), label

    return define()


def test_after_other_operators(photos: Path) -> None:
    """Decoded, resized and encoded; several iterations are under way."""
    cpu, gpu = chain(photos, "cpu"), chain(photos, "gpu")
    for _ in range(5):
        expected, found = cpu.run(), gpu.run()
        assert [np.asarray(t).tobytes() for t in expected[0]] == files(found[0])
        for a, b in zip(expected[1:], found[1:], strict=True):
            np.testing.assert_array_equal(a.as_array(), b.as_cpu().as_array())


def test_a_stored_pipeline(photos: Path) -> None:
    pipe = chain(photos, "gpu")
    again = Pipeline.deserialize(pipe.serialize())
    assert files(pipe.run()[0]) == files(again.run()[0])


def test_decoded_again_on_the_device() -> None:
    images = [smooth((50, 70, 3)), noise((33, 20, 3))]
    pipe = Pipeline(2, 2, 0, prefetch_queue_depth=1)
    with pipe:
        source = fn.external_source(lambda: images, layout="HWC")
        coded = fn.encoders.jpeg(source.gpu())
        pipe.set_outputs(fn.decoders.image(coded.cpu(), device="mixed"), coded)
    pixels, coded = pipe.run()
    for decoded, file in zip(pixels.as_cpu(), files(coded), strict=True):
        np.testing.assert_array_equal(np.asarray(decoded), np.asarray(Image.open(io.BytesIO(file))))


def test_in_a_branch() -> None:
    image = [smooth((30, 40, 3)) for _ in range(4)]

    @pipeline_def(
        batch_size=4, num_threads=2, device_id=0, enable_conditionals=True, prefetch_queue_depth=1
    )
    def define() -> Any:
        source = fn.external_source(lambda: image, layout="HWC").gpu()
        which = fn.external_source(lambda: [np.array(i % 2 == 0) for i in range(4)])
        if which:
            coded = fn.encoders.jpeg(source, quality=30)
        else:
            coded = fn.encoders.jpeg(source, quality=95, optimize=True)
        return coded

    found = files(define().run()[0])
    for i, file in enumerate(found):
        expected = saved(image[i], 95, optimize=True) if i % 2 else saved(image[i], 30)
        assert file == expected


@pytest.fixture
def no_plans_stay(module: Module) -> Iterator[None]:
    yield
    _operators._plans._forget()


@pytest.mark.usefixtures("no_plans_stay")
def test_dynamic_mode() -> None:
    image = smooth((30, 40, 3))
    made = ndd.encoders.jpeg(ndd.as_tensor(image, layout="HWC", device="gpu"), quality=60)
    assert made.device.device_type == "gpu"
    assert np.asarray(made.cpu()).tobytes() == saved(image, 60)


@pytest.mark.parametrize(
    ("image", "kwargs", "text"),
    [
        (np.zeros((4, 4, 3), np.float32), {}, r"encoders\.jpeg.*the input is FLOAT"),
        (np.zeros((4, 4, 2), np.uint8), {}, r"encoders\.jpeg.*the input has 2 channels"),
        (np.zeros((0, 4, 3), np.uint8), {}, r"encoders\.jpeg.*the image has 0 x 4 pixels"),
        (np.zeros((4, 4, 3), np.uint8), {"quality": 101}, "quality"),
        (np.zeros((4, 400, 3), np.uint8), {"restart_rows": 3000}, "are 75000 blocks"),
    ],
)
def test_what_is_refused(image: np.ndarray, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=text):
        run([image], **kwargs)


def test_names() -> None:
    """The user's name is that of the node whose output it is; a second node cannot have it."""
    pipe = Pipeline(1, 1, 0)
    with pipe:
        source = fn.external_source(lambda: [smooth((8, 8, 3))], layout="HWC").gpu()
        fn.encoders.jpeg(source, name="coded")
        with pytest.raises(RuntimeError, match=r"encoders\.jpeg 'coded'.*already has this name"):
            fn.encoders.jpeg(source, name="coded", quality=3)


def test_the_second_part_takes_only_what_the_first_one_gives() -> None:
    """It is not offered in `fn`; a stored graph could have it with anything."""
    from headrace._graph.graph import Instance

    pipe = Pipeline(1, 1, 0, prefetch_queue_depth=1)
    with pipe:
        work = fn.external_source(lambda: [np.zeros(512, np.uint8)]).gpu()
        info = fn.external_source(lambda: [np.zeros(100, np.uint8)])
        (out,) = Instance("_jpeg_file", [work, info], {}, {}, device="gpu").nodes()
        pipe.set_outputs(out)
    with pytest.raises(RuntimeError, match="the inputs must be the outputs of _jpeg_scan"):
        pipe.run()
