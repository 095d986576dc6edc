# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The class style of the first DALI articles: subclasses of Pipeline, operators as classes, old names."""

import os
from pathlib import Path

import numpy as np
import pytest
from headrace import Pipeline, ops, types
from headrace.tensors import TensorListCPU
from PIL import Image


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    for label, name in enumerate(("ant", "bee")):
        (root / name).mkdir()
        for i in range(4):
            picture = np.full((20 + i, 30, 3), 40 * label + 10 * i, np.uint8)
            Image.fromarray(picture).save(root / name / f"{i}.png")
    return os.fspath(root)


class SimplePipeline(Pipeline):
    def __init__(self, root, batch_size, num_threads, device_id):
        super().__init__(batch_size, num_threads, device_id, seed=12)
        with pytest.warns(DeprecationWarning):
            self.input = ops.FileReader(file_root=root)
            self.decode = ops.HostDecoder(device="cpu", output_type=types.RGB)

    def define_graph(self):
        jpegs, labels = self.input()
        images = self.decode(jpegs)
        return (images, labels)


def test_simple_pipeline(folders):
    pipe = SimplePipeline(folders, 8, 1, 0)
    pipe.build()
    images, labels = pipe.run()
    assert isinstance(images, TensorListCPU)
    assert not images.is_dense_tensor() and labels.is_dense_tensor()
    assert labels.as_tensor().shape() == [8, 1]
    assert labels.as_array().ravel().tolist() == [0] * 4 + [1] * 4
    assert images.at(3).shape == (23, 30, 3) and images.at(3).mean() == 30
    assert images.as_cpu().at(5).mean() == 50 and images.asCPU().at(0).mean() == 0


class RotatedPipeline(SimplePipeline):
    def __init__(self, root, batch_size, num_threads, device_id):
        super().__init__(root, batch_size, num_threads, device_id)
        self.rotate = ops.Rotate(device="cpu")
        with pytest.warns(DeprecationWarning):
            self.rng = ops.Uniform(range=(-10.0, 10.0))

    def define_graph(self):
        jpegs, labels = self.input()
        angle = self.rng()
        return self.rotate(self.decode(jpegs), angle=angle), labels, angle


def test_rotated_pipeline(folders):
    pipe = RotatedPipeline(folders, 4, 2, None)
    images, labels, angles = pipe.run()
    assert len(images) == 4 and images.ndim() == 3
    angles = np.array([float(angles.at(i)) for i in range(4)])
    assert (np.abs(angles) <= 10).all() and len(set(angles.tolist())) == 4


class ExternalPipeline(Pipeline):
    def __init__(self, batches):
        super().__init__(2, 1, None)
        self.input = ops.ExternalSource()
        self.cast = ops.Cast(dtype=types.FLOAT)
        self.batches = iter(batches)

    def define_graph(self):
        self.images = self.input()
        return self.cast(self.images)

    def iter_setup(self):
        self.feed_input(self.images, next(self.batches))


def test_iter_setup_feeds():
    pipe = ExternalPipeline([np.full((2, 3), i, np.uint8) for i in range(4)])
    pipe.build()
    assert [pipe.run()[0].at(1)[0] for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]
    for _ in range(2):
        with pytest.raises(StopIteration):
            pipe.run()
    pipe.batches = iter([np.full((2, 3), 9, np.uint8)])
    pipe.reset()
    assert pipe.run()[0].at(0)[0] == 9


def test_arguments_of_class_and_call(folders):
    with pytest.raises(KeyError, match='"foo" is not defined for operator "Cast"'):
        ops.Cast(foo=1)
    cast = ops.Cast(dtype=types.FLOAT, name="mine")
    with Pipeline(2, 1, None):
        node = types.Constant([1, 2], device="cpu")
        assert cast(node).name == "mine"
        with pytest.raises(ValueError, match="already specified in __init__"):
            cast(node, dtype=types.INT8)
        with pytest.raises(ValueError, match="already specified in __init__"):
            cast(node, name="other")
        assert ops.Cast(dtype=types.FLOAT)(node, dtype=None).source.args == {"dtype": types.FLOAT}
    assert ops.decoders.Image(device="mixed").device == "mixed"
    with pytest.raises(ValueError, match="tpu"):
        ops.decoders.Image(device="tpu")
    with pytest.raises(AttributeError):
        _ = ops.NoSuchOperator


def test_compose(folders):
    pipe = Pipeline(2, 1, None)
    with pipe:
        both = ops.Compose([ops.Cast(dtype=types.INT32), ops.Cast(dtype=types.FLOAT)])
        pipe.set_outputs(both(types.Constant([1.7], device="cpu")))
    (out,) = pipe.run()
    assert out.dtype == types.FLOAT and out.at(0)[0] in (1.0, 2.0)
    with pytest.raises(ValueError):
        ops.Compose([])


@pytest.mark.parametrize("old", ["HostDecoder", "ImageDecoder", "decoders.Image"])
def test_names_of_the_decoder(folders, old):
    made = ops
    for part in old.split("."):
        made = getattr(made, part)
    pipe = Pipeline(2, 1, None)
    with pipe, pytest.warns() if "." not in old else _nothing():
        reader = ops.readers.File(files=[str(p) for p in sorted(Path(folders).rglob("*.png"))])
        pipe.set_outputs(made()(reader()[0]))
    assert pipe.run()[0].at(1).shape == (21, 30, 3)


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False
