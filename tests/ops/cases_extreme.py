# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases at the edges of what operators accept: empty and tiny extents, arguments that mean "all", unusual layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cases_normalize import normal
from harness import Case, Data, pictures, resampled, rotated, vectors

SEQUENCES = {
    "FHWC": pictures([(4, 6, 8, 3), (5, 7, 9, 3)], layout="FHWC"),
    "FCHW": pictures([(4, 3, 6, 8), (5, 3, 7, 9)], layout="FCHW"),
    "CFHW": pictures([(3, 4, 6, 8), (3, 5, 7, 9)], layout="CFHW"),
    "DHWC": pictures([(4, 6, 8, 3), (5, 7, 9, 3)], layout="DHWC"),
}
FLOATS = pictures([(2, 4, 3), (4, 5, 3)], np.float32)
CHANNELS = np.array([[[1.0, 2.0, 3.0]]], np.float32)


def depth_cases() -> list[Case]:
    """Frames can be cropped as depth."""
    windows: list[dict[str, Any]] = [
        {"crop": (2, 3, 4)},
        {"crop": (3, 4), "crop_pos_z": 0.1},
        {"crop_d": 2.0, "crop_h": 3.0, "crop_w": 4.0, "crop_pos_z": 0.0},
        {"crop": (9, 3, 4), "out_of_bounds_policy": "pad", "fill_values": 7.0},
        {"crop": (9, 3, 4), "out_of_bounds_policy": "trim_to_shape"},
        {"crop": vectors([2, 3, 4], [3, 2, 5])},
    ]
    cases = []
    for layout, data in SEQUENCES.items():
        for window in windows:
            cases.append(Case("crop", [data], window))
            args = {**window, "output_layout": layout, "mirror": 1}
            cases.append(Case("crop_mirror_normalize", [data], args))
    return cases


def normalize_cases() -> list[Case]:
    """Mean and deviation tensors that are the same for all samples, and zero deviations."""
    args: list[dict[str, Any]] = [
        {"mean": CHANNELS, "axes": [0, 1]},
        {"mean": CHANNELS, "stddev": CHANNELS, "axes": [0, 1]},
        {"mean": CHANNELS, "stddev": CHANNELS},
        {"mean": 1.0, "stddev": CHANNELS, "axes": [0, 1]},
        {"mean": CHANNELS, "stddev": 2.0, "epsilon": 1.0},
    ]
    for ddof in (1, 2, 3, 24, 100):
        args += [
            {"ddof": ddof, "epsilon": 1.0},
            {"ddof": ddof, "epsilon": 1.0, "mean": 1.0},
            {"ddof": ddof, "epsilon": 0.5, "axes": [0]},
            {"ddof": ddof, "axes": [0]},
        ]
    cases = [Case("normalize", [FLOATS], a, normal) for a in args]
    batch = {"batch": True, "ddof": 1000, "epsilon": 1.0, "axes": [0, 1]}
    return [*cases, Case("normalize", [FLOATS], batch, normal)]


def slice_cases() -> list[Case]:
    """`axes=[]` means all axes."""
    return [
        Case("slice", [FLOATS], {"start": [0, 1, 0], "end": [1, 2, 3], "axes": []}),
        Case("slice", [FLOATS], {"rel_start": [0.0, 0.5, 0.0], "rel_end": [0.5, 1.0, 1.0], "axes": []}),
        Case("slice", [FLOATS, vectors([0, 1, 1], [1, 0, 0]), vectors([1, 1, 1], [2, 2, 2])],
             {"axes": [], "normalized_anchor": False, "normalized_shape": False}),
    ]  # fmt: skip


def fill_cases() -> list[Case]:
    """Without a shape, the output is a scalar: the first element."""
    values = Data([np.array([1, 2], np.int64), np.array([3, 4], np.int64)])
    numbers = Data([np.array(5.5, np.float32), np.array(6.5, np.float32)])
    return [
        Case("full", [values], {}),
        Case("full", [pictures([(2, 3), (2, 3)], layout="")], {}),
        Case("full_like", [numbers, values], {}),
    ]


def empty(*shapes: Sequence[int], dtype: Any = np.uint8, layout: str = "") -> Data:
    return Data([np.zeros(shape, dtype) for shape in shapes], layout)


PICTURES = pictures([(6, 8, 3), (7, 5, 3)])


def resize_cases() -> list[Case]:
    """Pictures without pixels, and sizes close to zero."""
    args: list[dict[str, Any]] = [
        {"size": [4.0, 5.0]},
        {"size": [0.0, 4.0]},
        {"resize_shorter": 3.0},
        {"resize_longer": 3.0},
        {"resize_x": 3.0},
        {"size": [3.0, 4.0], "mode": "not_larger"},
        {"size": [3.0, 4.0], "roi_start": [0.0, 0.0], "roi_end": [2.0, 2.0]},
        {"size": [3.0, 4.0], "dtype": "types.FLOAT", "save_attrs": True},
    ]
    nothing = [empty((0, 5, 3), (5, 0, 3), layout="HWC"), empty((0, 0, 3), (0, 0, 3), layout="HWC")]
    cases = [Case("resize", [data], a) for data in nothing for a in args]
    for size in (0.3, 0.05, 1e-3, 1e-10, -1e-10, 1e-20):
        for interp in ("LINEAR", "NN", "LANCZOS3"):
            a = {"size": [size, 3.3], "interp_type": "types.INTERP_" + interp}
            cases.append(Case("resize", [PICTURES], a, resampled))
    return cases


def layout_cases() -> list[Case]:
    """A letter that occurs twice in a layout means the first dimension of this name."""
    data = pictures([(2, 3, 3), (2, 4, 3)], layout="HHC")
    return [
        Case("copy", [data], {}),
        Case("transpose", [data], {"perm": [2, 0, 1]}),
        Case("slice", [data], {"start": [0], "shape": [1], "axis_names": "H"}),
        Case("pad", [data], {"axis_names": "H", "shape": [5]}),
        Case("reductions.sum", [data], {"axis_names": "H"}),
        Case("get_property", [data], {"key": "layout"}),
        Case("reshape", [data], {"layout": "WWW"}),
        Case("zeros", [], {"shape": [1, 2], "layout": "HH"}),
    ]


def empty_cases() -> list[Case]:
    """Squeezing an empty tensor is allowed if it stays empty; any map can be applied to no points."""
    shapes: list[tuple[tuple[int, ...], list[int]]] = [
        ((0, 1, 3), [1]), ((0, 0, 3), [0]), ((0, 2, 3), [1]), ((0, 2), [1]),
    ]  # fmt: skip
    cases = [Case("squeeze", [empty(s, s)], {"axes": axes}) for s, axes in shapes]
    points = empty((0, 0), (0, 0), dtype=np.float32)
    cases += [Case("coord_transform", [points], {key: [1.0, 2.0]}) for key in ("M", "MT", "T")]
    some = pictures([(3, 2), (4, 2)], np.float32, layout="")
    return [*cases, Case("coord_transform", [some], {"MT": 2.0})]


def pad_cases() -> list[Case]:
    """An empty list of fill values means zero."""
    window = {"crop": (9, 9), "out_of_bounds_policy": "pad", "fill_values": []}
    layouts = [{"output_layout": layout} for layout in ("HWC", "CHW")]
    cases = [
        Case("crop_mirror_normalize", [PICTURES], {**window, "pad_output": padded, **layout})
        for padded in (False, True)
        for layout in layouts
    ]
    return [*cases, Case("crop", [PICTURES], window)]


def rotate_cases() -> list[Case]:
    """Wide pictures of noise, in which a small error of the position shows, and canvases at 45 degrees."""
    wide = pictures([(90, 900, 3), (400, 620, 3)])
    args: list[dict[str, Any]] = [{"angle": a} for a in (-15.0, 10.0, 45.0, -45.0, 135.0, 201.5)]
    args += [{"angle": -15.0, "keep_size": True, "fill_value": 255.0}]
    return [Case("rotate", [wide], a, rotated) for a in args]


CASES: list[Any] = [
    *depth_cases(), *normalize_cases(), *slice_cases(), *fill_cases(), *resize_cases(), *layout_cases(),
    *empty_cases(),
    *rotate_cases(), *pad_cases(),
]  # fmt: skip

ERRORS: list[Any] = [
    Case("crop", [SEQUENCES["FHWC"]], {"crop": (9, 3, 4)}),
    Case("crop_mirror_normalize", [SEQUENCES["FHWC"]], {"crop": (9, 3, 4), "output_layout": "FHWC"}),
    Case("normalize", [FLOATS], {"mean": CHANNELS, "axes": [0]}),
    Case("normalize", [FLOATS], {"mean": CHANNELS, "batch": True, "axes": [0, 1]}),
    Case("normalize", [FLOATS], {"mean": 1.0, "stddev": 2.0, "axes": [0, 1]}),
    Case("slice", [FLOATS], {"start": [0, 0], "shape": [1, 2], "axes": []}),
    Case("resize", [PICTURES], {}),
    Case("squeeze", [empty((0, 2), (0, 2))], {"axes": [0]}),
    Case("random.beta", [], {"alpha": float("nan")}),
    Case("random.beta", [], {"beta": float("inf")}),
    Case("random.beta", [], {"alpha": np.ones((1, 1))}),
    Case("random.beta", [], {"beta": np.ones(2)}),
    Case("random.beta", [], {"alpha": Data([np.ones((1, 1), np.float32)])}),
    Case("random.beta", [], {"alpha": Data([np.array(1, np.int32)])}),
    Case("sequence_rearrange", [SEQUENCES["FHWC"]], {"new_order": np.array([[0, 1]])}),
    Case("sequence_rearrange", [SEQUENCES["FHWC"]], {"new_order": Data([np.zeros((1, 2), np.int32)] * 2)}),
    Case("roi_random_crop", [], {"crop_shape": [-1, 2], "roi_start": [0, 0], "roi_end": [4, 4], "in_shape": [6, 8]}),
]  # fmt: skip
