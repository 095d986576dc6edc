# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""PyTorch features besides the main iterators, where live DALI also runs on the CPU: the same programs in both."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
importlib.import_module("headrace.plugin.pytorch")


@pytest.fixture(scope="session")
def packages(live_dali: Any) -> tuple[Any, Any]:
    """Both packages, with their PyTorch plug-ins."""
    importlib.import_module("nvidia.dali.plugin.pytorch")
    return importlib.import_module("headrace"), live_dali


def build(package: Any, size: int = 3, extent: tuple[int, ...] = (2,)) -> Any:
    pipe = package.Pipeline(size, 1, None, prefetch_queue_depth=1)

    def source(i: int) -> Any:
        if i == 3:
            raise StopIteration
        ragged = [np.full((j + 1, *extent), 10 * i + j, np.float32) for j in range(size)]
        return [np.full(4, i, np.int64)] * size, ragged

    with pipe:
        pipe.set_outputs(*package.fn.external_source(source, num_outputs=2))
    return pipe


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value.is_sparse:
        return "sparse", tuple(value.shape), value.to_dense().tolist()
    return str(value.dtype), value.tolist()


@pytest.mark.parametrize("tag", ["SPARSE_LIST_TAG", "SPARSE_COO_TAG"])
@pytest.mark.parametrize("auto_reset", [False, True])
def test_ragged_batches(tag: str, auto_reset: bool, packages: tuple[Any, Any]) -> None:
    extent = () if tag == "SPARSE_COO_TAG" else (2,)  # DALI's COO accepts only lists of numbers

    def run(package: Any) -> Any:
        kind = package.plugin.pytorch.DALIRaggedIterator
        it = kind(
            build(package, extent=extent),
            ["dense", "ragged"],
            output_types=[kind.DENSE_TAG, getattr(kind, tag)],
            auto_reset=auto_reset,
        )
        got = []
        for _ in range(2):
            got.append([{k: plain(v) for k, v in out[0].items()} for out in it])
            if not auto_reset:
                it.reset()
        return got

    ours, theirs = map(run, packages)
    assert len(ours[0]) == 3 and ours == theirs


def test_sparse_tensors_of_matrices() -> None:
    import headrace
    from headrace.plugin.pytorch import DALIRaggedIterator

    types = [DALIRaggedIterator.DENSE_TAG, DALIRaggedIterator.SPARSE_COO_TAG]
    it = DALIRaggedIterator(build(headrace), ["dense", "ragged"], output_types=types)
    dense = next(it)[0]["ragged"].to_dense()
    assert dense.shape == (3, 3, 2)
    assert dense[:, :, 1].tolist() == [[0, 0, 0], [1, 1, 0], [2, 2, 2]]


@pytest.mark.parametrize(
    "types", [["dense", "nonsense"], ["dense"], ["dense", "sparse_list", "dense"]]
)
def test_wrong_tags(types: list[str], packages: tuple[Any, Any]) -> None:
    for package in packages if len(types) == 2 else packages[:1]:  # DALI's own list.index fails
        with pytest.raises(AssertionError):
            package.plugin.pytorch.DALIRaggedIterator(
                build(package), ["dense", "ragged"], output_types=types
            )


def test_feed_ndarray(packages: tuple[Any, Any]) -> None:
    for package in packages:
        plugin = package.plugin.pytorch
        dense, ragged = build(package).run()
        target = torch.zeros((3, 4), dtype=torch.int64)
        tensor = dense.as_tensor()
        assert plugin.feed_ndarray(tensor, target) is target
        assert target.tolist() == [[0] * 4] * 3
        one = torch.zeros((2, 2))
        plugin.feed_ndarray(ragged[1], one)
        assert one.tolist() == [[1, 1], [1, 1]]
        with pytest.raises(AssertionError):
            plugin.feed_ndarray(tensor, torch.zeros((3, 4)))
        with pytest.raises(AssertionError):
            plugin.feed_ndarray(tensor, torch.zeros((4, 3), dtype=torch.int64))


def test_names_that_scripts_import(packages: tuple[Any, Any]) -> None:
    for package in packages:
        name = package.__name__
        utils = importlib.import_module(f"{name}.plugin.pytorch.torch_utils")
        dense, _ = build(package).run()
        for copy in (True, False):
            assert utils.to_torch_tensor(dense.as_tensor(), copy).shape == (3, 4)
        assert callable(importlib.import_module(f"{name}.plugin.pytorch.fn").torch_python_function)
        assert package.plugin.pytorch.TorchPythonFunction is not None
        base = importlib.import_module(f"{name}.plugin.base_iterator")
        assert {"LastBatchPolicy", "_DaliBaseIterator"} <= set(dir(base))
        assert callable(importlib.import_module(f"{name}.pickling").pickle_by_value)


@pytest.mark.parametrize("batch", [False, True])
def test_functions_on_tensors(batch: bool) -> None:
    """DALI requires a CUDA stream for these, even on the CPU."""
    import headrace
    from headrace.plugin.pytorch import TorchPythonFunction
    from headrace.plugin.pytorch.fn import torch_python_function

    def function(a: Any) -> Any:
        assert isinstance(a[0] if batch else a, torch.Tensor)
        return ([x * 2 for x in a], a) if batch else (a * 2, a)

    pipe = headrace.Pipeline(2, 2, None)
    with pipe:
        node = headrace.fn.external_source(lambda i: [np.arange(3.0) + i, np.arange(4.0) + i])
        twice, same = torch_python_function(
            node, function=function, num_outputs=2, batch_processing=batch, output_layouts="X"
        )
        pipe.set_outputs(twice, same, TorchPythonFunction(torch.neg)(twice))
    for i in range(3):
        a, b, c = pipe.run()
        assert a.layout() == "X" and a.at(1).tolist() == [2.0 * (k + i) for k in range(4)]
        assert b.at(0).tolist() == [k + i for k in range(3)]
        assert c.at(0).tolist() == [-2.0 * (k + i) for k in range(3)]
