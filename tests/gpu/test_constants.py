# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tables, windows and filters that are the same for all samples are copied to a device once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headrace import fn, pipeline_def, types

BATCH, LATER = 8, 4
rng = np.random.default_rng(3)
# Of several shapes, so that records differ.
PICTURES = [rng.integers(0, 256, (40 + i, 50 - i, 3), np.uint8) for i in range(BATCH)]
# More than the records of a sample, its addresses included, ever take.
RECORDS = 900
TABLE = list(range(255, -1, -1))
CASES: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "matrix": lambda x, a: fn.color_twist(x, hue=a(20.0), saturation=a(1.3)),
    "affine": lambda x, a: fn.brightness(x, brightness=a(1.3), dtype=types.FLOAT),
    "table": lambda x, a: fn.lookup_table(x, keys=TABLE, values=TABLE, dtype=types.UINT8),
    "window": lambda x, a: fn.gaussian_blur(x, sigma=a(6.0)),
    "windows": lambda x, a: fn.laplacian(x, window_size=a(17), dtype=types.FLOAT),
    "curve": lambda x, a: fn.resize(x, size=[30, 30], interp_type=types.INTERP_LANCZOS3),
    "map": lambda x, a: fn.warp_affine(x, matrix=a([0.9, 0.1, 3.0, -0.1, 0.9, 4.0])),
    "mean": lambda x, a: fn.crop_mirror_normalize(
        x, crop=(60, 60), mean=a([1.0, 2.0, 3.0]), out_of_bounds_policy="pad"
    ),
    "fill": lambda x, a: fn.pad(x, fill_value=a(7)),
    "chain": lambda x, a: fn.saturation(
        fn.lookup_table(fn.hue(x, hue=a(9.0)), keys=TABLE, values=TABLE, dtype=types.UINT8),
        saturation=a(0.4),
    ),
}


def definition(make: Callable[..., Any], argument: Callable[[Any], Any], device: str) -> Any:
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, prefetch_queue_depth=1)
    def pipe() -> Any:
        x = fn.external_source(lambda: PICTURES, layout="HWC")
        return make(x.gpu() if device == "gpu" else x, argument)

    return pipe()


def run(pipe: Any) -> list[bytes]:
    (out,) = pipe.run()
    return [np.asarray(t).tobytes() for t in out.as_cpu()]


@pytest.mark.parametrize("name", CASES)
def test_constants_are_copied_once(fake: Any, name: str) -> None:
    pipe = definition(CASES[name], lambda v: v, "gpu")
    fed = sum(x.nbytes for x in PICTURES)
    outputs = [run(pipe) for _ in range(4)]
    before = fake.counts().copied
    outputs += [run(pipe) for _ in range(LATER)]
    made = sum(map(len, outputs[0]))
    # what is read back, and outputs that are copied into one piece of memory
    copied = (fake.counts().copied - before) / LATER - fed - made
    most = 1150 if name == "fill" else RECORDS  # pad has a record for every part of its output
    assert copied <= BATCH * most, copied / BATCH
    cpu = run(definition(CASES[name], lambda v: v, "cpu"))
    varying = definition(
        CASES[name],
        lambda v: fn.external_source(
            lambda: [np.asarray(v, np.int32 if isinstance(v, int) else np.float32)] * BATCH
        ),
        "gpu",
    )
    assert all(out == cpu for out in [*outputs, run(varying)])
