# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random chains of operators on pictures: fused and unfused give the same bytes, and DALI's values.

DALI runs one operator after the other, so what it gives says whether composing windows, mirrors, regions and
types into one image program changed anything.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cases_decoders import coded, files
from harness import Engine, Failure, Output

Step = tuple[str, dict[str, Any]]


def window(rng: random.Random) -> Step:
    pad = rng.random() < 0.35
    low, high = (4, 70) if pad else (4, 14)
    args: dict[str, Any] = {
        "crop": [rng.randint(low, high), rng.randint(low, high)],
        "crop_pos_x": rng.choice([0.0, 0.5, 1.0, 0.3]),
        "crop_pos_y": rng.choice([0.0, 0.5, 1.0, 0.7]),
    }
    if pad:
        args["out_of_bounds_policy"] = rng.choice(["pad", "trim_to_shape"])
        args["fill_values"] = rng.choice([[7.0], [1.0, 2.0, 3.0]])
    if rng.random() < 0.2:
        args["dtype"] = "types.FLOAT"
    return "crop", args


def flip(rng: random.Random) -> Step:
    return "flip", {"horizontal": rng.randint(0, 1), "vertical": rng.randint(0, 1)}


def resize(rng: random.Random) -> Step:
    # Lengths that no power of two divides: few exact ties for DALI to tip.
    args: dict[str, Any] = {"size": [rng.choice([17, 19, 23, 29]), rng.choice([17, 19, 31, 37])]}
    args["interp_type"] = rng.choice(
        ["types.INTERP_LINEAR", "types.INTERP_CUBIC", "types.INTERP_NN"]
    )
    if rng.random() < 0.3:
        args |= {"roi_start": [0.1, 0.2], "roi_end": [0.9, 0.7], "roi_relative": True}
    if rng.random() < 0.2:
        args["size"][0] *= -1
    return "resize", args


def cast(rng: random.Random) -> Step:
    return "cast", {"dtype": rng.choice(["types.FLOAT", "types.UINT8", "types.INT16"])}


def normalize(rng: random.Random) -> Step:
    args: dict[str, Any] = {
        "mean": [100.0, 110.0, 120.0],
        "std": [50.0],
        "mirror": rng.randint(0, 1),
        "output_layout": rng.choice(["CHW", "HWC"]),
        "pad_output": rng.random() < 0.3,
    }
    if rng.random() < 0.5:
        args |= window(rng)[1]
        args.pop("dtype", None)
        args.pop("fill_values", None)
    return "crop_mirror_normalize", args


STEPS: list[Callable[[random.Random], Step]] = [window, flip, flip, resize, cast]


def chain(seed: int) -> list[Step]:
    """Two to five steps; resize takes no INT16 after a cast to FLOAT and back, all else goes."""
    rng = random.Random(seed)
    steps = [rng.choice(STEPS)(rng) for _ in range(rng.randint(2, 5))]
    if rng.random() < 0.6:
        steps.append(normalize(rng))
    return steps


def run(engine: Engine, steps: list[Step], **options: Any) -> list[Output] | Failure:
    source = files(coded("JPEG", 47, 61, quality=90), coded("PNG", 33, 52))

    def define(e: Engine) -> Any:
        node = e.fn.decoders.image(e.feed(source))
        for name, args in steps:
            node = e.operator(name)(node, **{key: e.value(value) for key, value in args.items()})
        return node

    return engine.run(2, define, **options)


def samples(result: list[Output] | Failure) -> list[np.ndarray]:
    assert isinstance(result, list), result
    return result[0].samples


@pytest.mark.parametrize("seed", range(120))
def test_fused_is_unfused_is_dali(seed: int, headrace: Engine, dali: Engine) -> None:
    steps = chain(seed)
    theirs = run(dali, steps)
    fused = run(headrace, steps)
    alone = run(headrace, steps, fuse=False)
    if isinstance(theirs, Failure):
        for ours in (fused, alone):
            assert isinstance(ours, Failure) and ours.kind == theirs.kind, (steps, theirs, ours)
        return
    assert isinstance(fused, list) and isinstance(alone, list), (steps, fused, alone)
    assert (fused[0].layout, fused[0].dtype) == (theirs[0].layout, theirs[0].dtype), steps
    for a, b, other in zip(samples(fused), samples(alone), samples(theirs), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=str(steps))
        assert a.shape == other.shape, steps
        # A step of u8 may differ by 1; what follows carries that on, cubic filters a little enlarged.
        resized = sum(name == "resize" for name, _ in steps)
        scale = 50.0 if steps[-1][0] == "crop_mirror_normalize" else 1.0
        difference = np.abs(a.astype(np.float64) - other.astype(np.float64)) * scale
        assert difference.max(initial=0) <= (1.6 * resized if resized else 1e-3), steps
