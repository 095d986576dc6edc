# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Readers whose samples go to a GPU: arrays in Fortran order, and items that stay in pinned memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import fn, pipeline_def, types

pytestmark = pytest.mark.usefixtures("module")


def arrays_of(batch: Any) -> list[np.ndarray]:
    return [np.array(sample) for sample in batch.as_cpu()]


@pytest.mark.parametrize("dtype", ["u1", "<i4", ">f4", "<f8"])
def test_arrays_in_fortran_order(tmp_path: Path, dtype: str) -> None:
    values = np.arange(37 * 50 * 3).reshape(37, 50, 3).astype(dtype)
    window = {"roi_start": [3, 0, 1], "roi_shape": [20, 50, 2]}
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    np.save(tmp_path / "b.npy", np.asfortranarray(values[:5, ::-1]))
    np.save(tmp_path / "c.npy", values)

    @pipeline_def(batch_size=3, num_threads=2, device_id=0)
    def define() -> Any:
        files = {"files": [str(tmp_path / f"{name}.npy") for name in "abc"], "device": "gpu"}
        whole = fn.readers.numpy(**files)
        some = fn.readers.numpy(**files, out_of_bounds_policy="trim_to_shape", **window)
        return whole, fn.cast(whole, dtype=types.FLOAT64), some

    whole, cast, some = (arrays_of(batch) for batch in define().run())
    for k, expected in enumerate([values, values[:5, ::-1], values]):
        expected = expected.astype(np.dtype(dtype).newbyteorder("="))
        np.testing.assert_array_equal(whole[k], expected)
        np.testing.assert_array_equal(cast[k], expected.astype(np.float64))
        np.testing.assert_array_equal(some[k], expected[3:23, :, 1:])


@pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=3)
def cached(root: Path, cache_size: int) -> Any:
    files, labels = fn.readers.file(
        file_root=str(root), random_shuffle=True, cache_size=cache_size, name="reader"
    )
    images = fn.decoders.image(files, device="mixed")
    return fn.resize(images, size=[40, 40]), files.gpu(), labels.gpu()


@pytest.mark.parametrize("room", ["all", "some"])
def test_items_that_stay_in_memory(photos: Path, module: Any, room: str) -> None:
    """The outputs are those without a cache, although later epochs read nothing that is kept."""
    sizes = [file.stat().st_size for file in photos.rglob("*.jpg")]
    size = 1 << 30 if room == "all" else sum(sizes) // 2
    plain, kept = cached(photos, 0), cached(photos, size)
    epochs = 5
    for _ in range(epochs * kept.epoch_size("reader") // 4):
        for a, b in zip(plain.run(), kept.run(), strict=True):
            for x, y in zip(arrays_of(a), arrays_of(b), strict=True):
                np.testing.assert_array_equal(x, y)
    stats = kept.stats()
    assert stats["cache_hits"] > 0 and stats["cache_bytes"] <= size
    if room == "all":
        assert stats["cache_items"] == kept.epoch_size("reader") and stats["cache_refused"] == 0
    else:
        assert 0 < stats["cache_items"] < kept.epoch_size("reader")
    if module.fake:
        assert module.counts().pinned > 0
