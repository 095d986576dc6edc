# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""headrace.experimental.torchvision on a device: the bytes of the CPU, also of random transforms.

With the fake module PyTorch has no CUDA, so batches are copied to the CPU before they become its tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

from headrace.experimental import torchvision as tv  # noqa: E402
from headrace.experimental.torchvision.v2 import _batches, _calls, functional  # noqa: E402
from PIL import Image  # noqa: E402

PIXELS = np.random.default_rng(1).integers(0, 256, (37, 53, 3), np.uint8)
CHW = torch.from_numpy(PIXELS.transpose(2, 0, 1).copy())


@pytest.fixture
def devices(module: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The devices of the batches that pipelines returned; -1: the CPU."""
    found: list[int] = []
    dense = _batches.dense

    def noting(batch: Any) -> Any:
        found.append(batch._device)
        return torch.from_numpy(batch.as_cpu().as_array().copy()) if module.fake else dense(batch)

    monkeypatch.setattr(_batches, "dense", noting)
    yield found
    for pipelines in _calls._pipelines._idle.values():
        for pipe in pipelines:
            pipe.close()
    _calls._pipelines._idle.clear()


def transforms(device: str) -> list[Any]:
    """Chains that together have all transforms."""
    on: dict[str, Any] = {"device": device}
    flips = [tv.RandomHorizontalFlip(**on), tv.RandomVerticalFlip(**on)]
    return [
        [tv.Resize(30, **on), tv.CenterCrop((20, 60), **on), tv.Pad(3, (1, 2, 3), **on), *flips],
        [tv.RandomCrop(60, 1, True, padding_mode="reflect", **on), tv.GaussianBlur(5, **on)],
        [tv.ColorJitter(0.5, 0.5, 0.5, 0.2, **on), tv.RandomGrayscale(0.5, **on)],
        [tv.Grayscale(**on), tv.Normalize([9.0], [2.0], **on), tv.ToPureTensor(**on)],
        [tv.RandomApply([tv.RandomResizedCrop(20, **on), tv.Resize((37, 53), **on)], **on)],
    ]


@pytest.mark.parametrize("chain", range(5))
def test_the_bytes_of_the_cpu(chain: int, devices: list[int]) -> None:
    for picture in (Image.fromarray(PIXELS), CHW, torch.stack([CHW, 255 - CHW, CHW.flip(1)])):
        one, other = (
            tv.Compose(transforms(device)[chain], num_threads=1, seed=7)(picture)
            for device in ("cpu", "gpu")
        )
        assert type(one) is type(other)
        other = other.cpu() if isinstance(other, torch.Tensor) else other
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert devices == [-1, 0] * 3


def test_both_devices_in_one_chain(devices: list[int]) -> None:
    mixed = [tv.Resize(30, device="gpu"), tv.CenterCrop(20), tv.GaussianBlur(3, 1.0, device="gpu")]
    plain = [tv.Resize(30), tv.CenterCrop(20), tv.GaussianBlur(3, 1.0)]
    one, other = tv.Compose(mixed)(CHW), tv.Compose(plain)(CHW)
    assert other.equal(one.cpu()) and devices == [0, -1]


def test_functions(devices: list[int]) -> None:
    for device in ("gpu", "cpu", torch.device("cuda")):
        made = functional.resized_crop(CHW, 2, 3, 20, 30, [9, 11], device=device)
        assert made.cpu().equal(functional.resized_crop(CHW, 2, 3, 20, 30, [9, 11]))
    assert devices == [0, -1, -1, -1, 0, -1]
