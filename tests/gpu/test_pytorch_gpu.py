# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""PyTorch iterators with batches in GPU memory.

With the fake module PyTorch has no CUDA: its from_dlpack is replaced by our own import of the same capsules.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from headrace import Pipeline, _core, fn, pipeline_def, types  # noqa: E402
from headrace.plugin import pytorch as plugin  # noqa: E402
from headrace.plugin.pytorch import _tensors  # noqa: E402
from headrace.plugin.pytorch import (  # noqa: E402
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
    feed_ndarray,
)
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU  # noqa: E402

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


class Tensor:
    """The part of torch.Tensor that the iterators use, on the fake device."""

    def __init__(self, given: Any) -> None:
        try:
            self.tensor: Any = TensorGPU(given)
        except TypeError:
            self.tensor = TensorCPU(given)
        self.is_cuda = isinstance(self.tensor, TensorGPU)
        self.device = f"cuda:{self.tensor.device_id()}" if self.is_cuda else "cpu"
        self.array = np.array(self.tensor.as_cpu())

    def __getitem__(self, part: slice) -> Tensor:
        self.array = self.array[part]
        return self

    def numpy(self) -> Any:
        return self.array

    def cpu(self) -> Tensor:
        return self


@pytest.fixture(autouse=True)
def streams(module: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The devices whose current stream the iterators queried."""
    asked: list[int] = []
    if module.fake is None:
        if not torch.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")
        return asked

    def current(device: int) -> int:
        asked.append(device)
        return 0

    monkeypatch.setattr(plugin, "from_capsule", lambda capsule: Tensor(_again(capsule)))
    monkeypatch.setattr(plugin, "current_stream", current)
    for used in (plugin, _tensors):
        monkeypatch.setattr(used, "from_dlpack", Tensor)
    return asked


def _again(capsule: Any) -> Any:
    """A capsule is imported once, on its own device."""
    try:
        return TensorGPU(capsule)
    except TypeError:
        raise AssertionError("only outputs on the GPU are asked for here") from None


@pipeline_def(batch_size=4, num_threads=2, seed=8)
def training(root: Any, gpu: bool, shard_id: int = 0, num_shards: int = 1) -> Any:
    files, labels = fn.readers.file(
        file_root=str(root), name="reader", shard_id=shard_id, num_shards=num_shards
    )
    images = fn.decoders.image(files, device="mixed" if gpu else "cpu")
    images = fn.resize(images, size=(16, 20))
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT)
    return images, labels.gpu() if gpu else labels


def numbers(item: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.cpu().numpy() for name, tensor in item.items()}


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
def test_batches(photos: Path, policy: LastBatchPolicy) -> None:
    cpu = training(photos, False)
    iterator = DALIClassificationIterator(
        training(photos, True, device_id=0),
        reader_name="reader",
        last_batch_policy=policy,
        auto_reset=True,
    )
    for _ in range(2):
        count = 0
        for (item,) in iterator:
            assert item["data"].is_cuda and item["label"].is_cuda
            got = numbers(item)
            images, labels = cpu.run()
            np.testing.assert_array_equal(got["data"], images.as_array())
            np.testing.assert_array_equal(got["label"], labels.as_array())
            count += 1
        assert count == len(iterator) == 6


def test_current_stream_is_noted(photos: Path, fake: Any, streams: list[int]) -> None:
    iterator = DALIGenericIterator(
        [training(photos, True, device_id=i) for i in range(1)], ["image", "label"], auto_reset=True
    )
    for _, _ in zip(range(5), iterator, strict=False):
        pass
    assert streams and set(streams) == {0}


def test_several_devices(photos: Path, fake: Any) -> None:
    pipes = [training(photos, True, device_id=i, shard_id=i, num_shards=2) for i in range(2)]
    iterator = DALIGenericIterator(pipes, ["image", "label"], reader_name="reader")
    for items in iterator:
        assert [item["image"].device for item in items] == ["cuda:0", "cuda:1"]


def test_ragged(photos: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=2, device_id=0)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(photos), name="reader")
        return fn.decoders.image(files, device="mixed")

    iterator = DALIRaggedIterator(
        pipe(), ["image"], output_types=[DALIRaggedIterator.SPARSE_LIST_TAG], reader_name="reader"
    )
    (item,) = next(iterator)
    assert len(item["image"]) == 4 and all(tensor.is_cuda for tensor in item["image"])


def test_feed_ndarray() -> None:
    tensor = TensorCPU(ARRAY)._as_gpu()
    target = torch.zeros(2, 3, 4)
    assert feed_ndarray(tensor, target) is target
    np.testing.assert_array_equal(target.numpy(), ARRAY)
    target = torch.zeros(2, 3, 4)
    feed_ndarray(TensorListCPU(ARRAY)._as_gpu(), target)
    np.testing.assert_array_equal(target.numpy(), ARRAY)
    with pytest.raises(AssertionError, match="Shapes do not match"):
        feed_ndarray(tensor, torch.zeros(3, 2, 4))
    with pytest.raises(AssertionError, match="element type"):
        feed_ndarray(tensor, torch.zeros(2, 3, 4, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="differ in shape"):
        feed_ndarray(TensorListCPU([ARRAY[0], ARRAY[1, :2]])._as_gpu(), torch.zeros(2, 3, 4))


def test_on_a_stream(module: Any) -> None:
    """Only with CUDA: memory is reused after the work queued on the iterator's stream."""
    if module.fake is not None:
        pytest.skip("needs a GPU")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        source = torch.arange(1 << 20, device="cuda", dtype=torch.float32).reshape(4, 1 << 18)

        @pipeline_def(batch_size=4, num_threads=2, device_id=0)
        def pipe() -> Any:
            return fn.external_source(source=lambda i: source + i, device="gpu")

        iterator = DALIGenericIterator(pipe(), ["data"])
        sums = []
        for i, (item,) in zip(range(20), iterator, strict=False):
            sums.append((item["data"] - source - i).abs().sum())
        target = torch.empty_like(source)
        feed_ndarray(TensorGPU(source), target, cuda_stream=stream)
        stream.synchronize()
        assert [float(s) for s in sums] == [0.0] * 20
        assert torch.equal(target, source)


def test_memory_is_torchs(photos: Path, module: Any) -> None:
    """PyTorch's allocator counts outputs and gets all memory back with the last tensor."""
    if module.fake is not None:
        pytest.skip("needs a GPU")
    before = torch.cuda.memory_allocated()
    cpu = training(photos, False)
    iterator = DALIClassificationIterator(training(photos, True, device_id=0), auto_reset=True)
    held = [next(iterator)[0]["data"] for _ in range(12)]
    assert torch.cuda.memory_allocated() - before >= 8 * held[0].nbytes
    for tensor in held:
        np.testing.assert_array_equal(tensor.cpu().numpy(), cpu.run()[0].as_array())
    del held, iterator, tensor
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_arrays_of_torch(module: Any) -> None:
    if module.fake is not None:
        pytest.skip("needs a GPU")
    pipe = Pipeline(2, 1, 0, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="in", device="gpu"))
    for given in (torch.ones(2, 3, device="cuda"), [torch.ones(3, device="cuda")] * 2):
        pipe.feed_input("in", given)
        (out,) = pipe.run()
        assert torch.equal(torch.from_dlpack(out.as_tensor()).cpu(), torch.ones(2, 3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use")
@pytest.mark.parametrize("other_stream", [False, True])
@pytest.mark.parametrize("copy", [False, True])
def test_lists_of_torch(module: Any, other_stream: bool, copy: bool) -> None:
    """Lists of tensors that the current stream, the default one or another, is still writing. They
    are views of one tensor, or not, and PyTorch reuses their memory once they are dropped."""
    if module.fake is not None:
        pytest.skip("needs a GPU")

    @pipeline_def(batch_size=16, num_threads=4, device_id=0)
    def pipe() -> Any:
        x = fn.external_source(batches, device="gpu", batch=True, no_copy=not copy, cycle=False)
        return fn.flip(x), fn.copy(x)

    busy = torch.ones(2000, 2000, device="cuda")
    stream = torch.cuda.Stream() if other_stream else torch.cuda.current_stream()

    def batches() -> Any:
        for i in range(30):
            with torch.cuda.stream(stream):
                for _ in range(3):
                    busy.copy_(busy @ busy / 2000)  # the data is late
                whole = (busy[:16, :6].reshape(16, 2, 3) * 0 + i).to(torch.int32)
                whole += torch.arange(16, device="cuda", dtype=torch.int32)[:, None, None]
                whole += torch.arange(3, device="cuda", dtype=torch.int32)
                yield list(whole) if i % 2 else [sample.clone() for sample in whole]
            del whole

    right = np.arange(16)[:, None, None] + np.arange(3) + np.zeros((1, 2, 1), int)
    running = pipe()
    for i in range(30):
        flipped, copied = running.run()
        np.testing.assert_array_equal(copied.as_cpu().as_array(), right + i)
        np.testing.assert_array_equal(flipped.as_cpu().as_array(), right[:, :, ::-1] + i)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use")
def test_tensors_that_require_gradients(module: Any) -> None:
    """PyTorch refuses to export them, also where the table for C would not."""
    if module.fake is not None:
        pytest.skip("needs a GPU")
    tensors = [torch.ones(3, device="cuda"), torch.ones(3, device="cuda", requires_grad=True)]
    for given in (tensors, tensors[::-1]):
        with pytest.raises((RuntimeError, BufferError, TypeError), match="grad"):
            _core.make_batch(TensorListGPU, given, None, False, None, 0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use")
def test_loader_puts_a_cpu_pipeline_on_the_gpu(tmp_path: Path) -> None:
    """`Loader(device=)` moves outputs of a pipeline without GPU operators; the values stay."""
    from headrace.torch import Loader

    for i in range(10):
        (tmp_path / f"{i}").write_bytes(bytes([i, 2 * i]))

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=3)
    def numbers() -> Any:
        files = [str(tmp_path / f"{i}") for i in range(10)]
        data, labels = fn.readers.file(files=files, random_shuffle=True, pad_last_batch=True)
        return data, labels

    plain = [tuple(batch) for batch in Loader(numbers())]
    loader = Loader(numbers(), device="cuda")
    for (data, labels), (expected, numbered) in zip(loader, plain, strict=True):
        assert data.is_cuda and labels.is_cuda and labels.dtype == torch.int64
        assert torch.equal(data.cpu(), expected) and torch.equal(labels.cpu(), numbered)
    pinned = next(iter(Loader(numbers(), pin_memory=True)))
    assert all(tensor.is_pinned() for tensor in pinned)
    with pytest.raises(RuntimeError, match="built"):
        built = numbers()
        built.build()
        Loader(built, device="cuda")
