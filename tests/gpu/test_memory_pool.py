# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Device memory comes from a pool of our own: the default pool of the process keeps its settings."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, fn

RELEASE_THRESHOLD, RESERVED, USED_MOST = 4, 5, 8  # CUmemPool_attribute


def default_pool() -> dict[int, int]:
    cuda = ctypes.CDLL("libcuda.so.1")
    device, pool, value = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert cuda.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device) == 0
    values = {}
    for attribute in (RELEASE_THRESHOLD, RESERVED, USED_MOST):
        assert cuda.cuMemPoolGetAttribute(pool, attribute, ctypes.byref(value)) == 0
        values[attribute] = value.value
    return values


def test_default_pool_is_left_alone(module: Any) -> None:
    if module.fake is not None:
        pytest.skip("needs a GPU: the fake module has no pools")
    before = default_pool()
    for _ in range(2):  # the second pipeline uses the pool of the first one
        pipe = Pipeline(2, 1, 0, prefetch_queue_depth=1)
        with pipe:
            data = fn.external_source(lambda: [np.full((64, 64, 3), 7, np.uint8)] * 2)
            pipe.set_outputs(fn.resize(data.gpu(), size=[300, 200]))
        pipe.build()
        (out,) = pipe.run()
        del pipe
        assert (np.array(out.as_cpu()[1]) == 7).all()  # memory outlives the pipeline
        assert default_pool() == before
        del out
    assert default_pool() == before
