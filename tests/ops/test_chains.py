# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random chains of operators on pictures: fused and unfused give the same bytes, and DALI's values.

DALI runs one operator after the other, so its results show whether composing windows, mirrors, regions and types
into one image program changed anything.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import grouped
from cases_decoders import coded, files
from harness import Engine, Failure, agree, exact
from recorded import Recorded

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
    # Sizes that are not multiples of powers of two, for which DALI meets few exact ties.
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
    """Two to five steps. resize does not follow a cast from INT16 to FLOAT and back; everything else is allowed."""
    rng = random.Random(seed)
    steps = [rng.choice(STEPS)(rng) for _ in range(rng.randint(2, 5))]
    if rng.random() < 0.6:
        steps.append(normalize(rng))
    return steps


@dataclasses.dataclass
class Chain:
    """A chain on two coded pictures."""

    steps: list[Step]
    op = "chains"  # for the file of recorded results
    inputs = [files(coded("JPEG", 47, 61, quality=90), coded("PNG", 33, 52))]

    def __str__(self) -> str:
        return str(self.steps)

    def define(self, engine: Engine) -> Any:
        node = engine.fn.decoders.image(engine.feed(self.inputs[0]))
        for name, args in self.steps:
            known = {key: engine.value(value) for key, value in args.items()}
            node = engine.operator(name)(node, **known)
        return node

    def batch_size(self) -> int:
        return 2

    def compare(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        """A u8 step may differ by 1; later steps carry that on, and cubic filters enlarge it slightly."""
        resized = sum(name == "resize" for name, _ in self.steps)
        scale = 50.0 if self.steps[-1][0] == "crop_mirror_normalize" else 1.0
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) * scale
        assert difference.max(initial=0) <= (1.6 * resized if resized else 1e-3)


class ColourChain(Chain):
    """A chain with colour steps. DALI rounds some ties of a conversion to the other side, and the next one doubles that."""

    def compare(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        scale = 50.0 if self.steps[-1][0] == "crop_mirror_normalize" else 1.0
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) * scale
        assert difference.max(initial=0) <= 3 and difference.mean() <= 0.1


def convert(source: str, target: str) -> Step:
    types = {"image_type": f"types.{source}", "output_type": f"types.{target}"}
    return "color_space_conversion", types


def table(gamma: float, dtype: str = "types.UINT8") -> Step:
    values = [float(round(255 * (v / 255) ** gamma)) for v in range(256)]
    return "lookup_table", {"keys": list(range(256)), "values": values, "dtype": dtype}


def colour_chains() -> list[Chain]:
    there, back = convert("RGB", "YCbCr"), convert("YCbCr", "RGB")
    crop: Step = ("crop", {"crop": [20, 31], "crop_pos_x": 0.3})
    larger: Step = ("crop", {"crop": [70, 70], "out_of_bounds_policy": "pad"})
    mirror: Step = ("flip", {"horizontal": 1, "vertical": 1})
    stored: Step = (
        "crop_mirror_normalize",
        {"mean": [100.0, 110.0, 120.0], "std": [50.0], "mirror": 1, "pad_output": True},
    )
    grey: Step = ("crop_mirror_normalize", {"mean": [100.0], "std": [50.0]})
    chains = [
        [there, table(1.3), back],
        [crop, there, table(1.3), back, stored],
        [mirror, there, table(1.3), back, mirror],
        [there, larger, table(1.3), back],
        [table(0.8), larger, there],
        [convert("RGB", "GRAY"), table(0.8), crop, grey],
        [convert("RGB", "GRAY"), convert("GRAY", "YCbCr"), stored],
        [convert("RGB", "BGR"), table(0.8, "types.FLOAT"), mirror],
        [
            convert("RGB", "BGR"),
            table(0.8, "types.INT16"),
            ("cast", {"dtype": "types.UINT8"}),
            there,
        ],
    ]
    turn: Step = ("rotate", {"angle": 25.0, "keep_size": True, "fill_value": 40.0})
    turned: Step = ("rotate", {"angle": 70.0})
    chains += [
        [turn, mirror, stored],
        [crop, turned, convert("RGB", "GRAY"), table(0.8)],
        [turned, there, table(1.3), crop],
        [turned, larger, ("cast", {"dtype": "types.INT16"})],
    ]
    return [ColourChain(steps) for steps in chains]


CHAINS = [*[Chain(chain(seed)) for seed in range(120)], *colour_chains()]


@grouped.by_operator(CHAINS)
def test_fused_is_unfused_is_dali(cases: list[Chain], headrace: Engine, dali: Any) -> None:
    grouped.run(cases, lambda case: compare(case, headrace, dali))


def compare(case: Chain, headrace: Engine, dali: Any) -> None:
    theirs = dali.result(case)
    fused = headrace.result(case)
    alone = headrace.run(2, case.define, fuse=False)
    if isinstance(theirs, Failure):
        for ours in (fused, alone):
            assert isinstance(ours, Failure) and ours.kind == theirs.kind, (theirs, ours)
        return
    assert isinstance(fused, list) and isinstance(alone, list), (fused, alone)
    agree(fused, alone, exact)
    agree(fused, theirs, case.compare)


def test_most_chains_run() -> None:
    """Chains that both engines refuse prove little."""
    ran = sum(isinstance(Recorded().result(case), list) for case in CHAINS)
    assert ran > 0.8 * len(CHAINS)
