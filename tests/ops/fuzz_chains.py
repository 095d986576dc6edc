#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random chains of operators on samples of ordinary and extreme shapes.

    fuzz_chains.py                    as in the test suite
    fuzz_chains.py --chains 5000      more chains
    fuzz_chains.py --seed 7           other chains
    fuzz_chains.py --only 123         only this one, with its text

Most chains start with pictures, some with boxes. A chain gives a result or a documented exception, never a crash or a
hang. If it gives a result, it gives the same bytes without fusion and on three threads, and no two samples share memory
unless one is a view of the other.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import fuzz
import pool
from aliases import VIEWS
from harness import Data, Engine, Failure
from headrace._graph import schema as _schema

CHUNK = 10  # chains per job
CHAINS = int(os.environ.get("HEADRACE_FUZZ_CHAINS", "300"))
SEED = os.environ.get("HEADRACE_FUZZ_SEED", "1")
OUTPUTS = 1 << 27  # bytes of outputs per chain, which also limits its time

# Ordinary pictures, empty pictures, lines, and aspect ratios that no photograph has.
PICTURES: list[tuple[int, ...]] = [
    (33, 47, 3), (64, 64, 3), (20, 31, 1), (47, 33, 3), (21, 8, 4), (1, 1, 3), (1, 1, 1), (0, 0, 3), (0, 9, 3),
    (9, 0, 3), (4, 5, 0), (1, 300, 3), (300, 1, 3), (200000, 1, 1), (1, 200000, 1), (2, 60000, 3), (60000, 2, 3),
    (8, 8000, 3), (8000, 8, 3), (3, 3, 17),
]  # fmt: skip
SIZES = [1, 2, 3, 7, 14, 16, 17, 64, 65, 224, 300, 0, 1000, 20000]
WEIGHTS = [3, 3, 3, 5, 5, 5, 5, 5, 5, 4, 3, 1, 1, 0.5]
FLOATS = [0.0, 0.25, 0.5, 1.0, 1e-10, 1.5, -0.5, 3.0]
INTERPS = ["NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN"]
TYPES = (
    ["UINT8"] * 6
    + ["FLOAT"] * 4
    + ["INT16", "INT32", "FLOAT16", "INT8", "UINT16", "BOOL", "FLOAT64"]
)
POLICIES = ["pad", "pad", "pad", "trim_to_shape", "trim_to_shape", "error"]
SUBSCRIPTS = ["[1:]", "[:, :1]", "[::2]", "[-1:]", "[0:0]", "[:, ::-1]", "[1:, 1:]", "[0]"]
ARITHMETIC = ["+ 1", "* 2.5", "// 3", "> 100", "- x", "& 3", "/ 0", "** 2", "% 7"]

Args = dict[str, Any]
Maker = Callable[[random.Random, int], Args]  # the number of samples, too


def size(rng: random.Random) -> int:
    return rng.choices(SIZES, WEIGHTS)[0]


def interp(rng: random.Random) -> str:
    return "types.INTERP_" + rng.choice(INTERPS)


def dtype(rng: random.Random) -> str:
    return "types." + rng.choice(TYPES)


def resize(rng: random.Random, count: int) -> Args:
    args: Args = {"interp_type": interp(rng), "antialias": rng.random() < 0.6}
    how = rng.random()
    if how < 0.6:
        args["size"] = [size(rng), size(rng)]
    else:
        args[rng.choice(["resize_shorter", "resize_longer", "resize_x", "resize_y"])] = size(rng)
    if rng.random() < 0.3:
        args |= {"roi_start": [rng.choice(FLOATS)] * 2, "roi_end": [rng.choice(FLOATS)] * 2,
                 "roi_relative": True}  # fmt: skip
    if rng.random() < 0.3:
        args["dtype"] = dtype(rng)
    return args


def crop(rng: random.Random, count: int) -> Args:
    return {
        "crop": [size(rng), size(rng)],
        "crop_pos_x": rng.choice([0.0, 0.5, 1.0]),
        "out_of_bounds_policy": rng.choice(POLICIES),
    }


def normalize(rng: random.Random, count: int) -> Args:
    args: Args = {"mean": [100.0], "std": [50.0], "mirror": rng.randint(0, 1)}
    args |= {"output_layout": rng.choice(["CHW", "HWC"]), "pad_output": rng.random() < 0.3}
    args |= crop(rng, count) if rng.random() < 0.6 else {}
    if rng.random() < 0.5:
        args["dtype"] = rng.choice(["types.UINT8", "types.FLOAT16", "types.INT8"])
    return args


def window(rng: random.Random, count: int) -> Args:
    return {
        "rel_start": [rng.choice(FLOATS)] * 2,
        "rel_shape": [rng.choice(FLOATS)] * 2,
        "axes": [0, 1],
        "out_of_bounds_policy": rng.choice(POLICIES),
    }


def axes(rng: random.Random) -> list[int]:
    return rng.sample(range(3), rng.randint(1, 3))


def each(rng: random.Random, count: int, *values: Any) -> Any:
    """One of the values, for all samples or drawn for each."""
    if rng.random() < 0.5:
        return rng.choice(values)
    kind = np.float32 if isinstance(values[0], float) else np.int32
    return Data([np.array(rng.choice(values), kind) for _ in range(count)])


def factor(rng: random.Random, count: int) -> Any:
    return each(rng, count, 1.0, 0.5, 0.0, 1.7, -1.0, 1e9)


def retyped(rng: random.Random) -> Args:
    kind = rng.choice(["types.UINT8", "types.FLOAT", "types.INT16", dtype(rng)])
    return {"dtype": kind} if rng.random() < 0.3 else {}


def boxes(rng: random.Random, count: int) -> Data:
    """Boxes within the picture: left, top, right, bottom. Some have no extent, some samples have no boxes."""
    samples = []
    for _ in range(count):
        ends = np.random.default_rng(rng.randrange(1000)).uniform(0, 1, (rng.choice([0, 1, 2, 9]), 2, 2))
        ends = np.round(ends, rng.choice([0, 1, 6]))
        samples.append(np.sort(ends, axis=1).reshape(-1, 4).astype(np.float32))
    return Data(samples)


def pasted(rng: random.Random, count: int) -> Args:
    """Regions of samples of the batch."""
    many = [rng.choice([0, 1, 1, 2, 5]) for _ in range(count)]

    def parts(*choices: float) -> Data:
        return Data([np.array([[rng.choice(choices)] * 2] * k, np.float32).reshape(k, 2) for k in many])

    ids = Data([np.array([rng.randrange(count) for _ in range(k)], np.int32) for k in many])
    args: Args = {"in_ids": ids, "output_size": [rng.choice([64, 300, size(rng)]) for _ in range(2)]}
    args |= {"shapes_rel": parts(0.0, 0.2, 0.5), "in_anchors_rel": parts(0.0, 0.3, 0.5)}
    return args | ({"out_anchors_rel": parts(0.0, 0.1, 0.4)} if rng.random() < 0.7 else {})


def warp(rng: random.Random, count: int) -> Args:
    matrices = [[1, 0, 0, 0, 1, 0], [0.8, -0.6, 3, 0.6, 0.8, -2], [2, 0, 0, 0, 3, 0], [0, 0, 5, 0, 0, 5],
                [1e9, 1, 0, 0, 1e-9, 0]]  # fmt: skip
    drawn = [np.array(rng.choice(matrices), np.float32).reshape(2, 3) for _ in range(count)]
    args: Args = {"matrix": Data(drawn) if rng.random() < 0.5 else rng.choice(matrices)}
    args |= {"interp_type": rng.choice(["types.INTERP_NN", "types.INTERP_LINEAR"])}
    if rng.random() < 0.5:
        args["fill_value"] = 3.0
    if rng.random() < 0.5:
        args["size"] = [size(rng), size(rng)]
    return args


def perspective(rng: random.Random, count: int) -> Args:
    matrices = [[1, 0, 0, 0, 1, 0, 0, 0, 1], [1.13, 0.21, -3, -0.14, 0.93, 4, 0.0021, -0.0013, 1.02],
                [1, 0, 0, 0, 1, 0, 0.1, -0.1, 0], [1e9, 1, 0, 0, 1e-9, 0, 1, 1, 1]]  # fmt: skip
    drawn = [np.array(rng.choice(matrices), np.float32).reshape(3, 3) for _ in range(count)]
    args: Args = {"matrix": Data(drawn) if rng.random() < 0.5 else rng.choice(matrices)}
    args |= {"interp_type": rng.choice(["types.INTERP_NN", "types.INTERP_LINEAR", "types.INTERP_CUBIC"])}
    args |= {"border_mode": rng.choice(["constant", "replicate", "reflect", "reflect_101", "wrap"])}
    return args | ({"size": [size(rng), size(rng)]} if rng.random() < 0.5 else {})


# The arguments of each operator: mostly useful ones, for pictures of any size.
MAKERS: dict[str, Maker] = {
    "resize": resize,
    "crop": crop,
    "crop_mirror_normalize": normalize,
    "slice": window,
    "flip": lambda r, n: {"horizontal": each(r, n, 0, 1), "vertical": each(r, n, 0, 1)},
    "rotate": lambda r, n: {"angle": each(r, n, 0.0, 30.0, 90.0, -45.0), "fill_value": 3.0,
                         "keep_size": r.random() < 0.7, "interp_type": "types.INTERP_LINEAR"},
    "random_resized_crop": lambda r, n: {"size": [size(r), size(r)], "antialias": r.random() < 0.5},
    "tensor_resize": lambda r, n: {"sizes": [size(r), size(r)], "axes": [0, 1], "interp_type": interp(r)},
    "cast": lambda r, n: {"dtype": dtype(r)},
    "color_space_conversion": lambda r, n: {"image_type": r.choice(["types.RGB", "types.GRAY"]),
                                         "output_type": r.choice(["types.YCbCr", "types.BGR"])},
    "copy": lambda r, n: {},
    "pad": lambda r, n: {"axes": [0, 1], "align": [r.choice([1, 16, 64])], "fill_value": 5.0},
    "transpose": lambda r, n: {"perm": r.sample(range(3), 3)},
    "reshape": lambda r, n: {"shape": r.choice([[-1], [-1, 1], [1, -1, 1], [-1, 3]]), "layout": ""},
    "reinterpret": lambda r, n: {"dtype": r.choice(["types.INT8", "types.UINT8", "types.BOOL", dtype(r)])},
    "expand_dims": lambda r, n: {"axes": [r.randint(0, 3)]},
    "squeeze": lambda r, n: {"axes": r.choice([[], [], [0], [2]])},
    "normalize": lambda r, n: {"axes": axes(r), "epsilon": 0.1},
    "reductions.mean": lambda r, n: {"axes": axes(r), "keep_dims": r.random() < 0.7},
    "reductions.sum": lambda r, n: {"axes": axes(r), "keep_dims": r.random() < 0.7},
    "lookup_table": lambda r, n: {"keys": [1, 3], "values": [2.0, 5.0], "dtype": dtype(r)},
    "shapes": lambda r, n: {},
    "subscript": lambda r, n: {"text": r.choice(SUBSCRIPTS)},
    "arithmetic": lambda r, n: {"text": r.choice(ARITHMETIC)},
    "cat": lambda r, n: {"axis": r.randint(0, 2)},
    "stack": lambda r, n: {"axis": r.randint(0, 2)},
    "brightness": lambda r, n: {"brightness": factor(r, n), "brightness_shift": each(r, n, 0.0, -0.3, 0.5)}
                               | retyped(r),
    "contrast": lambda r, n: {"contrast": factor(r, n), "contrast_center": each(r, n, 128.0, 0.5)} | retyped(r),
    "brightness_contrast": lambda r, n: {"brightness": factor(r, n), "contrast": factor(r, n)} | retyped(r),
    "hue": lambda r, n: {"hue": each(r, n, 0.0, 20.0, -90.0, 1000.0)} | retyped(r),
    "saturation": lambda r, n: {"saturation": factor(r, n)} | retyped(r),
    "hsv": lambda r, n: {"hue": each(r, n, 0.0, 20.0), "saturation": factor(r, n), "value": factor(r, n)}
                        | retyped(r),
    "color_twist": lambda r, n: {"hue": each(r, n, 0.0, 30.0), "saturation": factor(r, n),
                                 "brightness": factor(r, n), "contrast": factor(r, n)} | retyped(r),
    "equalize": lambda r, n: {},
    "clahe": lambda r, n: {"tiles_x": r.choice([1, 2, 8, 300]), "tiles_y": r.choice([1, 3, 8]),
                           "clip_limit": r.choice([0.0, 0.5, 2.0, 40.0, 1e30]), "luma_only": r.random() < 0.5},
    "debayer": lambda r, n: {"blue_position": [r.randint(0, 1), r.randint(0, 1)],
                             "algorithm": r.choice(["bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv"])},
    "gaussian_blur": lambda r, n: {"sigma": each(r, n, 0.1, 0.5, 1.0, 3.0)} if r.random() < 0.5
                                  else {"window_size": r.choice([1, 3, 7, 15])},
    "laplacian": lambda r, n: {"window_size": r.choice([3, 5, 7]), "normalized_kernel": True,
                               "dtype": r.choice(["types.FLOAT", "types.UINT8"])},
    "filter": lambda r, n: {"border": r.choice(["reflect_101", "wrap", "clamp", "constant"]),
                            "mode": r.choice(["same", "same", "valid"])},
    "jpeg_compression_distortion": lambda r, n: {"quality": each(r, n, 1, 50, 100)},
    "erase": lambda r, n: {"anchor": [r.choice(FLOATS)] * 2, "shape": [r.choice(FLOATS)] * 2, "axes": [0, 1],
                           "normalized": r.random() < 0.7, "fill_value": r.choice([0.0, 77.0, [1.0, 2.0, 3.0]])},
    "grid_mask": lambda r, n: {"tile": each(r, n, 1, 7, 100), "ratio": each(r, n, 0.25, 0.5, 1.0),
                               "angle": each(r, n, 0.0, 0.5, 2.0)},
    "paste": lambda r, n: {"ratio": each(r, n, 1.0, 1.3, 2.0), "fill_value": [9], "n_channels": 3,
                           "paste_x": each(r, n, 0.0, 0.3, 1.0)},
    "multi_paste": pasted,
    "jitter": lambda r, n: {"nDegree": r.choice([1, 2, 9]), "fill_value": 4.0, "mask": each(r, n, 0, 1)},
    "sphere": lambda r, n: {"fill_value": 4.0, "mask": each(r, n, 0, 1), "interp_type": "types.INTERP_LINEAR"},
    "water": lambda r, n: {"fill_value": 4.0, "ampl_x": r.choice([0.0, 3.0, 1e9]), "mask": each(r, n, 0, 1)},
    "noise.gaussian": lambda r, n: {"mean": each(r, n, 0.0, 5.0), "stddev": each(r, n, 0.0, 1.0, 30.0)},
    "noise.salt_and_pepper": lambda r, n: {"prob": each(r, n, 0.0, 0.05, 1.0), "per_channel": r.random() < 0.5},
    "noise.shot": lambda r, n: {"factor": each(r, n, 0.0, 1.0, 20.0)},
    "warp_affine": warp,
    "experimental.warp_perspective": perspective,
    "resize_crop_mirror": lambda r, n: {**resize(r, n), "crop": [size(r), size(r)], "mirror": each(r, n, 0, 1)},
    "auto_aug": lambda r, n: {"scheme": r.choice(sorted(SCHEMES)), "fill_value": r.choice([None, 128])},
    "box_window": lambda r, n: {"boxes": boxes(r, n), "scaling": [0.3, 1.0], "aspect_ratio": [0.5, 2.0],
                                "thresholds": [0.0, 0.5, 0.9], "num_attempts": 5},
}  # fmt: skip

# The arguments of each operator on boxes.
BOX_MAKERS: dict[str, Maker] = {
    "bb_flip": lambda r, n: {"horizontal": each(r, n, 0, 1), "vertical": each(r, n, 0, 1), "ltrb": True},
    "bbox_paste": lambda r, n: {"ratio": each(r, n, 1.0, 1.5, 3.0), "paste_x": each(r, n, 0.0, 0.4, 1.0),
                                "ltrb": True},
    "bbox_rotate": lambda r, n: {"angle": each(r, n, 0.0, 30.0, 90.0), "input_shape": [40, 60],
                                 "keep_size": r.random() < 0.5, "bbox_layout": "xyXY",
                                 "mode": r.choice(["expand", "fixed", "halfway"])},
    "random_bbox_crop": lambda r, n: {"thresholds": [0.0, 0.3, 0.7], "scaling": [0.3, 1.0], "num_attempts": 3,
                                      "bbox_layout": "xyXY", "aspect_ratio": [0.5, 2.0]},
    "box_encoder": lambda r, n: {"anchors": [0.0, 0.0, 0.5, 0.5, 0.3, 0.3, 0.9, 1.0, 0.0, 0.0, 1.0, 1.0],
                                 "offset": r.random() < 0.5, "criteria": r.choice([0.0, 0.5, 1.0])},
    "coord_transform": lambda r, n: {"M": [0.5], "T": [0.25]},
    "cat": lambda r, n: {"axis": 0},
    "slice": lambda r, n: {"rel_start": [0.0], "rel_shape": [r.choice([0.0, 0.5, 1.0])], "axes": [0]},
    "cast": lambda r, n: {"dtype": dtype(r)},
    "subscript": lambda r, n: {"text": r.choice(["[1:]", "[:, :2]", "[::-1]", "[0:0]"])},
    "arithmetic": lambda r, n: {"text": r.choice(["* 2.5", "- x", "+ 1"])},
}  # fmt: skip

# Functions of auto_aug: their modules, and their arguments.
SCHEMES: dict[str, tuple[str, tuple[int, ...]]] = {
    "auto_augment": ("auto_augment", ()),
    "rand_augment": ("rand_augment", (2, 9)),
    "trivial_augment_wide": ("trivial_augment", ()),
}


def augment(engine: Engine, x: Any, args: Args) -> Any:
    module, numbers = SCHEMES[args["scheme"]]
    made = importlib.import_module(f"{engine.name}.auto_aug.{module}")
    return getattr(made, args["scheme"])(x, *numbers, fill_value=args["fill_value"])


def box_window(engine: Engine, x: Any, args: Args) -> Any:
    """The window that random_bbox_crop draws."""
    known = {key: value for key, value in args.items() if key != "boxes"}
    start, shape, _ = engine.fn.random_bbox_crop(args["boxes"], **known)
    return engine.fn.slice(x, start, shape)


def kernel(engine: Engine, x: Any, args: Args) -> Any:
    taps = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 78
    return engine.fn.filter(x, taps, **args)


def labelled(engine: Engine, x: Any, args: Args) -> Any:
    """The number of the box is its label."""
    labels = engine.fn.cast(engine.fn.reductions.sum(x * 0, axes=[1]), dtype=engine.types.INT32)
    return engine.fn.box_encoder(x, labels + 1, **args)


# What is more than the call of an operator with nodes and arguments.
SPECIAL: dict[str, Callable[[Engine, Any, Args], Any]] = {
    "subscript": lambda e, x, args: eval("x" + args["text"], {"x": x}),
    "arithmetic": lambda e, x, args: eval("x " + args["text"], {"x": x}),
    "auto_aug": augment,
    "box_window": box_window,
    "filter": kernel,
    "box_encoder": labelled,
    "random_bbox_crop": lambda e, x, args: e.fn.random_bbox_crop(x, **args)[2],
}

# Chosen more often: operators that can be fused, and views.
OFTEN = [
    "resize",
    "crop",
    "flip",
    "crop_mirror_normalize",
    "slice",
    "subscript",
    "reinterpret",
    "copy",
]


@dataclasses.dataclass
class Node:
    """An operator, its arguments, and the numbers of its input nodes (0: the fed source)."""

    name: str
    args: Args
    inputs: list[int]


class Chain:
    """One random chain."""

    def __init__(self, number: int) -> None:
        rng = random.Random(f"{SEED} {number}")
        self.number = number
        self.count = rng.choice([1, 1, 2, 3])
        shape = rng.choice(PICTURES)
        if rng.random() < 0.3:
            shapes = [rng.choice(PICTURES) for _ in range(self.count)]
        else:
            shapes = [shape] * self.count
        kind = rng.choice(["uint8"] * 6 + ["float32", "float32", "int16", "float16"])
        layout = rng.choice(["HWC"] * 8 + ["", "CHW"])
        self.fed = Data([fuzz.tensor(s, kind, rng) for s in shapes], layout)
        self.makers, self.often = MAKERS, OFTEN
        if rng.random() < 0.15:
            self.makers, self.often = BOX_MAKERS, sorted(BOX_MAKERS)
            self.fed = boxes(rng, self.count)
        self.nodes = [self.node(i, rng) for i in range(rng.randint(2, 6))]
        given = {rng.randint(0, len(self.nodes)) for _ in range(rng.randint(0, 2))}
        self.outputs = sorted(given | {len(self.nodes)})

    def node(self, before: int, rng: random.Random) -> Node:
        source = before if rng.random() < 0.8 else rng.randint(0, before)
        choice = rng.random()
        if choice < 0.06:
            return self.anything(source, rng)
        name = rng.choice(self.often if choice < 0.4 else sorted(self.makers))
        more = [rng.randint(0, before)] if name in ("cat", "stack") else []
        return Node(name, self.makers[name](rng, self.count), [source, *more])

    def anything(self, source: int, rng: random.Random) -> Node:
        """Any operator that takes one input, with any arguments."""
        ops = [op for name in fuzz.usable() if (op := _schema.operators()[name]).in_min == 1]
        op = rng.choice(ops)
        keys = rng.sample(sorted(op.args), min(len(op.args), rng.randint(0, 2)))
        keys += [key for key, argument in op.args.items() if argument.required and key not in keys]
        args = {key: fuzz.value_for(op.args[key], self.count, rng) for key in keys}
        return Node(op.name, args, [source])

    def __str__(self) -> str:
        shapes = [s.shape for s in self.fed.samples]
        lines = [f"chain {self.number}: {self.fed.samples[0].dtype} {shapes} {self.fed.layout!r}"]
        for i, node in enumerate(self.nodes, 1):
            args = {key: fuzz.text(value) for key, value in node.args.items()}
            lines.append(f"  {i} = {node.name}({node.inputs}, {args})")
        return "\n".join([*lines, f"  outputs {self.outputs}"])

    def define(self, engine: Engine) -> Any:
        made = [engine.feed(self.fed)]
        for node in self.nodes:
            inputs = [made[i] for i in node.inputs]
            known = {key: engine.value(value) for key, value in node.args.items()}
            if node.name in SPECIAL:
                result = SPECIAL[node.name](engine, inputs[0], known)
            else:
                result = engine.operator(node.name)(*inputs, **known)
            made.append(result[0] if isinstance(result, (list, tuple)) else result)
        return tuple(made[i] for i in self.outputs)

    def root(self, i: int) -> int:
        """The node whose memory node i may share."""
        while i > 0 and self.nodes[i - 1].name in VIEWS:
            i = self.nodes[i - 1].inputs[0]
        return i

    def run(self, engine: Engine, **options: Any) -> list[list[np.ndarray]] | Failure:
        """The samples of the outputs, without a copy."""
        options = {"num_threads": 1, "seed": 7, "host_memory_limit": OUTPUTS, **options}
        options["enable_conditionals"] = any(node.name == "auto_aug" for node in self.nodes)
        batches: list[Any] = []
        result = engine.run(self.count, self.define, taken=batches.extend, **options)
        if isinstance(result, Failure):
            return result
        return [[np.asarray(batch[i]) for i in range(len(batch))] for batch in batches]

    def shared(self, outputs: list[list[np.ndarray]]) -> str:
        """The first two samples that share memory although neither is a view of the other, or nothing."""
        spans = [
            (sample.ctypes.data, sample.ctypes.data + sample.nbytes, self.root(node), i, node)
            for node, samples in zip(self.outputs, outputs, strict=True)
            for i, sample in enumerate(samples)
            if sample.nbytes
        ]
        for a, b in itertools.combinations(spans, 2):
            if a[0] < b[1] and b[0] < a[1] and (a[2] != b[2] or a[3] != b[3]):
                return f"sample {a[3]} of node {a[4]} and sample {b[3]} of node {b[4]} share memory"
        return ""

    def check(self, engine: Engine) -> tuple[bool, str]:
        """Runs the chain in all ways. Returns whether it gave a result, and what went wrong."""
        plain = self.run(engine)
        if isinstance(plain, Failure):
            known = plain.kind in fuzz.DOCUMENTED and (plain.message or plain.kind == "MemoryError")
            return False, "" if known else f"{plain.kind}: {plain.message[:300]}"
        if what := self.shared(plain):
            return True, what
        other = self.run(engine, fuse=False, num_threads=3)
        if isinstance(other, Failure):  # unfused chains need more memory at once
            enough = other.kind == "MemoryError" or "memory_limit" in other.message
            return True, "" if enough else f"unfused: {other.kind}: {other.message[:300]}"
        for node, ours, theirs in zip(self.outputs, plain, other, strict=True):
            for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                if a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes():
                    return True, f"unfused, sample {i} of node {node} differs: {a.shape} {b.shape}"
        return True, ""


def run(number: int) -> list[Any]:
    """A job: the number of chains of a chunk that gave a result, and those that failed."""
    ran, wrong = 0, []
    for i in range(number * CHUNK, (number + 1) * CHUNK):
        chain = Chain(i)
        pool.stage(str(chain))
        gave, what = chain.check(fuzz.engine())
        ran += gave
        if what:
            wrong.append(f"{what}\n{chain}")
    return [ran, wrong]


def results(chains: int = CHAINS, run: pool.Run = pool.run) -> tuple[int, list[str]]:
    """The number of chains that gave a result, and those that failed."""
    environment = {"HEADRACE_FUZZ_SEED": SEED}
    ran, wrong = 0, []
    numbers = list(range(-(-chains // CHUNK)))
    for answer in run("fuzz_chains:run", numbers, 120.0, environment).values():
        if isinstance(answer, dict):
            wrong.append(f"{answer['ended']}: {answer['words'][-1500:]}\n{answer['stage']}")
        else:
            ran += answer[0]
            wrong += answer[1]
    return ran, wrong


def main() -> int:
    global SEED
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chains", type=int, default=CHAINS)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    SEED = args.seed
    if args.only is not None:
        chain = Chain(args.only)
        print(chain)
        print(chain.check(fuzz.engine()), chain.run(fuzz.engine()))
        return 0
    ran, wrong = results(args.chains)
    for what in wrong:
        print(what)
    print(f"{args.chains} chains, {ran} gave a result, {len(wrong)} went wrong")
    return bool(wrong) or ran < args.chains // 4


if __name__ == "__main__":
    sys.exit(main())
