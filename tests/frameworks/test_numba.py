# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Functions compiled by Numba as operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.numba import NumbaFunction  # noqa: E402
from headrace.plugin.numba.fn import numba_function  # noqa: E402
from headrace.plugin.numba.fn.experimental import numba_function as old_name  # noqa: E402

KEYS = {"batch_size": 4, "num_threads": 2, "device_id": None}
RNG = np.random.default_rng(3)
RAGGED = [RNG.integers(0, 255, (2 + i, 5, 3), np.uint8) for i in range(4)]
IMAGES = {"in_types": [types.UINT8], "out_types": [types.UINT8], "ins_ndim": [3], "outs_ndim": [3]}


def samples(definition: Any) -> list[list[Any]]:
    outputs = pipeline_def(**KEYS)(definition)().run()
    return [[np.asarray(sample) for sample in batch] for batch in outputs]


def ragged() -> Any:
    return fn.external_source(source=lambda: RAGGED)


def invert(out: Any, image: Any) -> None:
    out[:] = 255 - image[:]


@pytest.mark.parametrize("name", [numba_function, old_name])
def test_a_function_of_samples(name: Any) -> None:
    (found,) = samples(lambda: name(ragged(), run_fn=invert, **IMAGES))
    for out, image in zip(found, RAGGED, strict=True):
        np.testing.assert_array_equal(out, 255 - image)


def test_shapes_from_a_function_and_two_outputs() -> None:
    def shapes(outs: Any, ins: Any) -> None:
        turned, total = outs[0], outs[1]
        for i in range(len(turned)):
            for d in range(3):
                turned[i][d] = ins[0][i][(1, 0, 2)[d]]
            total[i][0] = 2

    def run(turned: Any, total: Any, image: Any, factor: Any) -> None:
        for y in range(image.shape[0]):
            for x in range(image.shape[1]):
                turned[x, y] = image[y, x]
        total[0] = image.shape[0]
        total[1] = image.sum() * factor[()]

    def definition() -> Any:
        return tuple(
            numba_function(
                ragged(),
                types.Constant(2, dtype=types.INT32),
                run_fn=run,
                setup_fn=shapes,
                in_types=[types.UINT8, types.INT32],
                ins_ndim=[3, 0],
                out_types=[types.UINT8, types.INT64],
                outs_ndim=[3, 1],
            )
        )

    turned, totals = samples(definition)
    for image, out, total in zip(RAGGED, turned, totals, strict=True):
        np.testing.assert_array_equal(out, image.transpose(1, 0, 2))
        assert total.tolist() == [len(image), 2 * image.sum(dtype=np.int64)]


def test_a_function_of_batches() -> None:
    def run(outs: Any, images: Any) -> None:
        for i in range(len(outs)):
            outs[i][:] = images[i][:] + i

    (found,) = samples(
        lambda: numba_function(ragged(), run_fn=run, batch_processing=True, **IMAGES)
    )
    for i, (out, image) in enumerate(zip(found, RAGGED, strict=True)):
        np.testing.assert_array_equal(out, image + np.uint8(i))


def test_wrong_arguments() -> None:
    with pytest.raises(AssertionError, match="input types"):
        NumbaFunction(invert, **{**IMAGES, "ins_ndim": [3, 3]})
    with pytest.raises(RuntimeError, match="FLOAT16"):
        NumbaFunction(invert, **{**IMAGES, "in_types": [types.FLOAT16]})
    with pytest.raises(RuntimeError, match="setup_fn"):
        NumbaFunction(invert, **{**IMAGES, "outs_ndim": [2]})
    with pytest.raises(RuntimeError, match="element type uint8"):
        kinds = {**IMAGES, "in_types": [types.FLOAT]}
        samples(lambda: numba_function(ragged(), run_fn=invert, **kinds))
    with pytest.raises(RuntimeError, match="3 dimensions"):
        kinds = {**IMAGES, "ins_ndim": [2], "outs_ndim": [2]}
        samples(lambda: numba_function(ragged(), run_fn=invert, **kinds))
    with pytest.raises(RuntimeError, match="1 input"):
        samples(lambda: numba_function(run_fn=invert, **IMAGES))


def test_scripts_may_ask_whether_the_operator_runs_on_a_gpu() -> None:
    for check in (
        NumbaFunction._check_minimal_numba_version,
        NumbaFunction._check_cuda_compatibility,
    ):
        if check(throw=False):  # tests/gpu/test_functions_gpu.py runs it
            continue
        assert check(False) is False
        with pytest.raises(RuntimeError, match="numba.cuda"):
            check()
        with pytest.raises(RuntimeError, match="numba.cuda"):
            NumbaFunction(invert, device="gpu", **IMAGES)
