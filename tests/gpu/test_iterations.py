# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Iterations with little work: what samples share, and which thread does it, changes no byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace import fn, pipeline_def, types
from headrace.tensors import TensorListCPU

pytestmark = pytest.mark.usefixtures("module")


@pytest.mark.parametrize("threads", [1, 4])
def test_samples_alike_and_different(threads: int) -> None:
    """Work that is prepared once for samples alike gives each of them its own bytes."""
    rng = np.random.default_rng(5)
    shapes = [(6, 5, 3)] * 9 + [(4, 5, 3), (6, 5, 3), (4, 5, 3), (4, 7, 1), (6, 5, 3), (4, 5, 3)]
    data = [rng.integers(0, 256, shape, np.uint8) for shape in shapes]

    @pipeline_def(batch_size=len(data), num_threads=threads, device_id=0, seed=3)
    def pipe(gpu: bool) -> Any:
        images = fn.external_source(lambda: data, layout="HWC")
        images = images.gpu() if gpu else images
        flipped = fn.flip(images)
        return (
            flipped,
            fn.copy(images),
            fn.resize(flipped, size=[8, 8]),
            fn.reductions.sum(images, axes=[0, 1]),
            fn.reshape(flipped, rel_shape=[-1], layout=""),
            fn.brightness(fn.cast(images, dtype=types.FLOAT), brightness=0.5),
        )

    here, there = pipe(False), pipe(True)
    for _ in range(3):
        for i, (mine, other) in enumerate(zip(here.run(), there.run(), strict=True)):
            assert len(other) == len(data) and other.layout() == mine.layout(), i
            for k in range(len(data)):
                np.testing.assert_array_equal(other[k].as_cpu(), mine[k], err_msg=f"{i}, {k}")


ORDERS = {
    "in order": list(range(8)),
    "backwards": list(range(7, -1, -1)),
    "with gaps": [0, 1, 2, 5, 6, 7, 3, 4],
    "one twice": [0, 1, 1, 2, 3, 3, 3, 4],
    "every second": [0, 2, 4, 6, 1, 3, 5, 7],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_fed_samples_anywhere_in_memory(order: str, device: str) -> None:
    """Samples are described together where they follow one another; each has its own bytes."""
    array = np.random.default_rng(6).integers(0, 256, (8, 3, 5), np.uint8)
    whole: Any = TensorListCPU(array)
    whole = whole._as_gpu() if device == "gpu" else whole
    empty = np.zeros((0, 5), np.uint8)

    @pipeline_def(batch_size=9, num_threads=3, device_id=0)
    def pipe(data: Any) -> Any:
        x = fn.external_source(lambda: data, device=device, no_copy=True, layout="HW")
        return fn.copy(x), fn.flip(x), x

    given = [whole[i] for i in ORDERS[order]]
    none: Any = TensorListCPU([empty])
    for more in ([], [(none._as_gpu() if device == "gpu" else none)[0]]):
        expected = [array[i] for i in ORDERS[order]] + [empty] * len(more)
        running = pipe(given + more)
        for _ in range(4):
            for k, out in enumerate(running.run()):
                assert out.layout() == "HW" and len(out) == len(expected)
                for i, sample in enumerate(out):
                    right = expected[i][:, ::-1] if k == 1 else expected[i]
                    np.testing.assert_array_equal(sample.as_cpu(), right, err_msg=f"{k}, {i}")


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_cheap_iterations(threads: int, depth: int, module: Any) -> None:
    """Iterations with little work, which the thread that feeds may bring to the device itself."""
    batches = [np.full((4, 2, 3), i, np.int32) for i in range(200)]
    on_gpu: list[Any] = [TensorListCPU(batch)._as_gpu() for batch in batches]
    before = module.fake.hr_fake_current() if module.fake else None

    @pipeline_def(
        batch_size=4,
        num_threads=threads,
        device_id=1 if module.fake else 0,
        prefetch_queue_depth=depth,
    )
    def pipe() -> Any:
        x = fn.external_source(lambda i: batches[i] if i < 200 else stop(), layout="HW")
        return fn.flip(x.gpu()) + 1, fn.flip(x.gpu()).cpu()

    @pipeline_def(batch_size=4, num_threads=threads, device_id=0, prefetch_queue_depth=depth)
    def fed() -> Any:
        x = fn.external_source(lambda i: on_gpu[i] if i < 200 else stop(), device="gpu", no_copy=True)
        return fn.flip(x) + 1

    def stop() -> Any:
        raise StopIteration

    for running in (pipe(), fed()):
        for _ in range(2):
            for i in range(200):
                outs = running.run()
                np.testing.assert_array_equal(outs[0].as_cpu().as_array(), batches[i] + 1)
                for out in outs[1:]:
                    np.testing.assert_array_equal(out.as_array(), batches[i])
            with pytest.raises(StopIteration):
                running.run()
            running.reset()
        if module.fake:  # the device of this thread is still that of its user
            assert module.fake.hr_fake_current() == before
