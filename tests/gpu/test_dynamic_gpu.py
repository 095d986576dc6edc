# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Dynamic mode with tensors and batches in GPU memory: the bytes of the CPU, and memory that stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from conftest import Module
from headrace.experimental.dynamic import _operators

PICTURE = np.random.default_rng(5).integers(0, 256, (30, 40, 3), np.uint8)


@pytest.fixture(autouse=True)
def no_plans_stay(module: Module) -> Iterator[None]:
    yield
    _operators._plans._forget()


def one(device: str) -> ndd.Tensor:
    return ndd.as_tensor(PICTURE, layout="HWC", device=device)


def two(device: str) -> ndd.Batch:
    return ndd.batch([PICTURE, PICTURE[:20, 5:17].copy()], layout="HWC", device=device)


CASES: dict[str, Callable[[str], Any]] = {
    "tensor": lambda device: ndd.resize(one(device), size=[20, 10]),
    "tensor from the host": lambda device: ndd.resize(PICTURE[None][0], size=[20, 10], device=device),
    "batch": lambda device: ndd.resize(two(device), size=[20, 10]),
    "argument per sample": lambda device: ndd.rotate(two(device), angle=ndd.batch([90.0, 33.0])),
    "arithmetic": lambda device: one(device) + 1,
    "arithmetic of a batch": lambda device: two(device) * 0.5 > 20,
    "tensor and batch": lambda device: two(device).slice[:5, :6] + one(device)[:5, :6],
    "subscript": lambda device: one(device)[2:6, :, 1],
    "sample of a batch": lambda device: ndd.flip(two(device).tensors[1], horizontal=1),
    "some samples": lambda device: ndd.flip(two(device).tensors[[1, 0]], horizontal=1),
    "tensors as a batch": lambda device: ndd.as_batch([one(device), one(device)]),
    "rows as a batch": lambda device: ndd.as_batch(one(device)),
    "batch of a batch": lambda device: ndd.batch(two(device)),
    "another type": lambda device: ndd.as_tensor(one(device), dtype=ndd.int32),
    "another type, batch": lambda device: ndd.as_batch(two(device), dtype=ndd.float32),
    "copy": lambda device: ndd.tensor(one(device)),
    "ones like it": lambda device: ndd.ones_like(two(device)),
    "on the host": lambda device: ndd.bbox_rotate(
        ndd.as_tensor(np.float32([[0.1, 0.2, 0.5, 0.7]]), device=device),
        angle=20.0, input_shape=[30, 40],
    ),
}  # fmt: skip


def arrays(data: Any) -> list[np.ndarray[Any, Any]]:
    host = data.cpu()
    return [np.asarray(t) for t in (host if isinstance(host, ndd.Batch) else [host])]


@pytest.mark.parametrize("name", CASES)
def test_same_bytes(module: Module, name: str) -> None:
    expected, made = CASES[name]("cpu"), CASES[name]("gpu")
    assert expected.device.device_type == "cpu" and made.device.device_type == "gpu"
    pairs = list(zip(arrays(expected), arrays(made), strict=True))
    assert pairs and any(a.any() for a, _ in pairs)
    for a, b in pairs:
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    assert expected.layout == made.layout


def test_current_device_stays(module: Module) -> None:
    """Work runs on the caller's thread, whose current device is the caller's."""
    if module.fake is None:
        pytest.skip("needs two devices")
    before = module.fake.hr_fake_current()
    for device in ("gpu:0", "gpu:1"):
        ndd.flip(one(device), horizontal=1).evaluate()
        assert module.fake.hr_fake_current() == before


def test_decode_and_resize(module: Module, photos: Path) -> None:
    raw = [np.fromfile(path, np.uint8) for path in sorted(photos.rglob("*.jpg"))[:4]]
    for encoded in (raw[0], ndd.batch(raw)):
        images = [
            ndd.resize(ndd.decoders.image(encoded, device=device), size=[16, 16])
            for device in ("cpu", "gpu")
        ]
        for a, b in zip(arrays(images[0]), arrays(images[1]), strict=True):
            assert a.any() and a.tobytes() == b.tobytes()


def test_memory_is_shared(module: Module) -> None:
    source = one("gpu")
    shared = ndd.as_tensor(source)
    copied = ndd.tensor(source)
    address = [t._storage.__cuda_array_interface__["data"][0] for t in (source, shared, copied)]
    assert address[0] == address[1] != address[2]
