# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on decoded pictures, sequences and volumes."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, Interps, mostly, pictures, resampled, rotated, scalars, vectors

# Shapes of two samples per layout, with three channels, two frames and four slices.
SHAPES = {
    "HWC": [(31, 43, 3), (50, 28, 3)],
    "CHW": [(3, 31, 43), (3, 50, 28)],
    "FHWC": [(2, 21, 33, 3), (1, 30, 18, 3)],
    "FCHW": [(2, 3, 21, 33), (1, 3, 30, 18)],
    "CFHW": [(3, 2, 21, 33), (3, 1, 30, 18)],
    "DHWC": [(4, 11, 17, 2), (6, 14, 9, 2)],
    "CDHW": [(2, 4, 11, 17), (2, 6, 14, 9)],
    "FDHWC": [(2, 4, 11, 17, 1), (1, 6, 14, 9, 1)],
    "FCDHW": [(2, 1, 4, 11, 17), (1, 1, 6, 14, 9)],
    "CFDHW": [(1, 2, 4, 11, 17), (1, 1, 6, 14, 9)],
}
INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"]


def of(layout: str, dtype: str = "uint8") -> Data:
    return pictures(SHAPES[layout], dtype, layout)


HWC = of("HWC")
VOLUME = of("DHWC")
GREY = pictures([(31, 43, 1), (50, 28, 1)])
BARE = Data(HWC.samples)  # without a layout


# What `out_of_bounds_policy` calls the ways to repeat a picture.
REPEATS = ("clamp", "edge", "reflect_1001", "reflect", "reflect_101", "wrap")


def crop_cases() -> list[Case]:
    # DALI lists layouts of five dimensions for crop and refuses them.
    layouts = [layout for layout in SHAPES if len(layout) < 5]
    cases = [Case("crop", [of(layout)], {"crop": [8, 7]}) for layout in layouts]
    cases += [Case("crop", [of("HWC", t)], {"crop": (20, 13)}) for t in INTEGERS]
    cases += [
        Case("crop", [of("HWC", t)], {"crop": (20, 13)}) for t in ("float16", "float32", "float64")
    ]
    for args in (
        {},
        {"crop": [20.9, 13.2]},
        {"crop": [0, 13]},
        {"crop": [-4, 13]},
        {"crop": [2, 8, 7]},
        {"crop_h": 12.0, "crop_w": 9.0},
        {"crop_h": 12.0, "crop_w": 9.0, "crop_d": 2.0},
        {"crop": (20, 14), "crop_pos_x": 0.0, "crop_pos_y": 1.0},
        {"crop": (20, 14), "crop_pos_x": 0.37, "crop_pos_y": 0.62},
        {"crop": (20, 14), "crop_pos_x": 0.37, "crop_pos_y": 0.62, "rounding": "truncate"},
        {"crop": (20, 14), "rounding": "round"},
        {"crop": vectors((10, 12), (11, 9))},
        {"crop_h": scalars(10, 20), "crop_w": scalars(7, 8.7)},
        {"crop": (9, 9), "crop_pos_x": scalars(0.1, 0.9), "crop_pos_y": scalars(0.5, 0.25)},
        {"crop": (80, 14), "out_of_bounds_policy": "pad"},
        {"crop": (81, 60), "out_of_bounds_policy": "pad", "fill_values": [7.6]},
        {"crop": (80, 61), "out_of_bounds_policy": "pad", "fill_values": [1, -2, 300.5]},
        {"crop": (81, 60), "out_of_bounds_policy": "pad", "rounding": "truncate"},
        {"crop": (80, 14), "out_of_bounds_policy": "trim_to_shape"},
        {"crop": (20, 14), "out_of_bounds_policy": "error"},
        {"crop": (20, 14), "dtype": "types.FLOAT"},
        {"crop": (20, 14), "dtype": "types.FLOAT16"},
        {"crop": (80, 14), "out_of_bounds_policy": "pad", "dtype": "types.FLOAT",
         "fill_values": [0.25]},
        {"crop": (20, 14), "output_dtype": "types.FLOAT"},
        {"crop": (20, 14), "image_type": "types.RGB"},
    ):  # fmt: skip
        cases.append(Case("crop", [HWC], args))
    for policy in ("const", "constant", *REPEATS):
        over = {"crop": (81, 14), "crop_pos_y": 0.3, "out_of_bounds_policy": policy}
        cases += [Case("crop", [of(layout)], over) for layout in layouts]
        cases.append(Case("crop", [HWC], {**over, "crop": vectors((9, 99), (90, 5))}))
        cases.append(Case("crop", [HWC], {**over, "crop": (8, 9), "dtype": "types.FLOAT"}))
        cases.append(Case("crop", [HWC], {**over, "crop": (200, 150), "dtype": "types.FLOAT16"}))
        cases.append(Case("crop", [BARE], over))
    cases.append(Case("crop", [of("FHWC")], {"crop": (9, 60, 30), "out_of_bounds_policy": "wrap"}))
    ties = Data([np.array([[[0.5, 1.5, 2.5, -3, 300, 254.9]]], np.float32)], "HWC")
    cases.append(Case("crop", [ties], {"dtype": "types.UINT8"}))
    for args in (
        {"crop": [2, 8, 7]},
        {"crop": [3, 8, 7], "crop_pos_z": 0.0},
        {"crop": [3, 8, 7], "crop_pos_z": scalars(1.0, 0.3)},
        {"crop_d": 2.0, "crop_h": 4.0, "crop_w": 5.0},
        {"crop_d": scalars(2, 3), "crop_h": 4.0, "crop_w": 5.0},
        {"crop": [9, 8, 7], "out_of_bounds_policy": "pad"},
        {"crop": [9, 8, 70], "out_of_bounds_policy": "pad", "fill_values": [5, 9]},
        {"crop": [9, 8, 7], "out_of_bounds_policy": "trim_to_shape"},
        {"crop": [9, 8, 7], "out_of_bounds_policy": "pad", "dtype": "types.FLOAT"},
    ):
        cases.append(Case("crop", [VOLUME], args))
    cases.append(Case("crop", [of("CDHW")], {"crop": [9, 8, 7], "out_of_bounds_policy": "pad"}))
    cases.append(Case("crop", [BARE], {"crop": (20, 13)}))
    return cases


def crop_errors() -> list[Case]:
    return [
        Case("crop", [HWC], args)
        for args in (
            {"crop": (99, 3)},
            {"crop": (3, 3), "crop_pos_x": 1.5},
            {"crop": [3]},
            {"crop_w": 3.0},
            {"crop": (3, 3), "crop_h": 3.0, "crop_w": 3.0},
            {"crop": (3, 3), "rounding": "up"},
            {"crop": (3, 3), "dtype": "types.INT16"},
            {"crop": (3, 3), "out_of_bounds_policy": "anything"},
            {"crop": (99, 3), "out_of_bounds_policy": "pad", "fill_values": [1, 2]},
            {"krop": (3, 3)},
        )
    ]


def flip_cases() -> list[Case]:
    layouts = ["HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW", "FDHWC", "FCDHW"]
    cases = [Case("flip", [of(layout)], {"vertical": 1}) for layout in layouts]
    cases += [Case("flip", [of(layout)], {"depthwise": 1}) for layout in layouts]
    cases += [Case("flip", [of("HWC", t)], {}) for t in [*INTEGERS, "float32", "float64"]]
    for args in (
        {"horizontal": 0},
        {"horizontal": 2, "vertical": 3},
        {"horizontal": 0, "vertical": 1},
        {"horizontal": scalars(0, 1, dtype=np.int32), "vertical": scalars(1, 0, dtype=np.int32)},
    ):
        cases.append(Case("flip", [HWC], args))
    depthwise = scalars(0, 1, dtype=np.int32)
    cases.append(Case("flip", [VOLUME], {"horizontal": 0, "depthwise": depthwise}))
    cases.append(Case("flip", [BARE], {}))
    return cases


def flip_errors() -> list[Case]:
    return [Case("flip", [of("CFHW")], {}), Case("flip", [HWC], {"horizontally": 1})]


def cmn_cases() -> list[Case]:
    name = "crop_mirror_normalize"
    stats = {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}
    cases = [Case(name, [of(layout)], {"output_layout": layout}) for layout in SHAPES]
    cases += [
        Case(name, [of("HWC", t)], stats)
        for t in ("uint8", "uint16", "int16", "int32", "float16", "float32")
    ]
    for dtype in ("FLOAT", "FLOAT16", "UINT8", "INT8"):
        for layout in ("HWC", "CHW"):
            args = {"mean": [100.0], "std": [1.7], "dtype": "types." + dtype}
            cases.append(Case(name, [HWC], {**args, "output_layout": layout, "mirror": 1}))
            cases.append(Case(name, [of("CHW")], {**args, "output_layout": layout}))
    pad = {"out_of_bounds_policy": "pad"}
    for args in (
        {},
        {"output_layout": ""},
        {"output_layout": "WHC"},
        {"output_layout": "CWH", "mirror": 1},
        {**stats, "crop": (24, 22), "mirror": scalars(1, 0, dtype=np.int32)},
        {**stats, "scale": 0.5, "shift": 2.0},
        {**stats, "scale": 3.0, "dtype": "types.FLOAT16"},
        {"mean": vectors((1, 2, 3), (4, 5, 6)), "std": vectors((2, 2, 2), (3, 4, 5))},
        {"mean": [10.0, 20.0, 30.0], "std": [2.0]},
        {"mean": [10.0], "std": [2.0, 3.0, 4.0]},
        {"std": [0.0]},
        {**stats, "pad_output": True},
        {**stats, "pad_output": True, "output_layout": "HWC"},
        {**stats, "pad_output": True, "fill_values": [7.0]},
        {**stats, **pad, "pad_output": True, "fill_values": [7.0]},
        {**stats, **pad, "crop": (60, 24), "fill_values": [0.5]},
        {**stats, **pad, "crop": (60, 55), "fill_values": [0.5, 1.5, 2.5], "mirror": 1},
        {**stats, **pad, "crop": (60, 55), "fill_values": [1, 2, 3, 4], "pad_output": True},
        {**stats, **pad, "crop": (60, 55), "fill_values": [1, 2, 3], "pad_output": True},
        {**stats, **pad, "crop": (60, 24), "fill_values": [1, 2], "pad_output": True, "mirror": 1},
        {**stats, **pad, "crop": (60, 55), "fill_values": [7.6], "dtype": "types.UINT8"},
        {**stats, **pad, "crop": (60, 55), "fill_values": [-7.6], "dtype": "types.INT8"},
        {**stats, **pad, "crop": (60, 55), "crop_pos_x": 0.1, "crop_pos_y": 0.8, "mirror": 1},
        {**stats, "crop": (90, 20), "out_of_bounds_policy": "trim_to_shape"},
        {"crop": (21, 20), "crop_pos_x": 0.25, "crop_pos_y": 0.75, "rounding": "truncate"},
        {"crop_h": 20.0, "crop_w": scalars(10, 12)},
        {"crop_h": 20.0, "crop_w": 9.0, "crop_d": 3.0},
        {"output_dtype": "types.FLOAT16"},
        {"image_type": "types.RGB"},
        {"mirror": 2},
    ):
        cases.append(Case(name, [HWC], args))
    cases.append(Case(name, [GREY], {"mean": [10.0], "mirror": 1}))
    cases.append(Case(name, [pictures([(9, 8, 5)])], {"pad_output": True, "mirror": 1}))
    for args in (
        {"crop": [2, 8, 7], "crop_pos_z": 0.0},
        {"crop_d": 2.0, "crop_h": 4.0, "crop_w": 4.0, "mirror": 1},
        {"crop": [9, 20, 7], "out_of_bounds_policy": "pad", "fill_values": [3.0], "mirror": 1},
    ):
        cases.append(Case(name, [VOLUME], {**args, "output_layout": "CDHW", "mean": [9.0]}))
    cases.append(Case(name, [BARE], {}))
    return cases


def cmn_errors() -> list[Case]:
    name = "crop_mirror_normalize"
    return (
        [
            Case(name, [HWC], args)
            for args in (
                {"output_layout": "HW"},
                {"output_layout": "ABC"},
                {"dtype": "types.INT16"},
                {"mean": [1.0, 2.0]},
                {"std": [1.0, 2.0]},
                {"crop": (99, 99)},
                {"crop": (99, 99), "out_of_bounds_policy": "wrap"},
                {"crop": (99, 99), "out_of_bounds_policy": "pad", "fill_values": [1, 2]},
            )
        ]
        + [Case(name, [of("HWC", t)], {}) for t in ("int8", "uint32", "int64", "float64")]
        + [Case(name, [of("FHWC")], {})]
    )


FILTERS = ["NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN"]


def resize_cases() -> list[Case]:
    cases = []
    for interp in FILTERS:
        for size in ((13, 17), (70, 90), (13, 90)):
            for dtype in ("uint8", "float32"):
                args = {"size": size, "interp_type": "types.INTERP_" + interp}
                cases.append(Case("resize", [of("HWC", dtype)], args, resampled))
        args = {"size": (13, 17), "interp_type": "types.INTERP_" + interp, "antialias": False}
        cases.append(Case("resize", [HWC], args, resampled))
    for layout in ("CHW", "FHWC", "FCHW", "CFHW"):
        cases.append(Case("resize", [of(layout)], {"size": (11, 40)}, resampled))
    for layout in ("DHWC", "CDHW", "FDHWC", "FCDHW", "CFDHW"):
        cases.append(Case("resize", [of(layout)], {"size": (3, 8, 20)}, resampled))
    for dtype in ("int16", "uint16"):
        cases.append(Case("resize", [of("HWC", dtype)], {"size": (13, 90)}, resampled))
        args = {"size": (13, 90), "dtype": "types.FLOAT"}
        cases.append(Case("resize", [of("HWC", dtype)], args, resampled))
    for args in (
        {"size": 20},
        {"size": [20.0]},
        {"size": [-13, 17]},
        {"size": [13, -17]},
        {"size": [0, 17]},
        {"size": [0, 0]},
        {"size": [33.4, 20.7]},
        {"size": [33.4, 20.7], "subpixel_scale": False},
        {"size": [0.5, 100.5]},
        {"resize_x": 17.0},
        {"resize_y": 90.0},
        {"resize_x": 17.0, "resize_y": 90.0},
        {"resize_x": 17.0, "mode": "stretch"},
        {"resize_x": 17.0, "resize_z": 9.0},
        {"resize_x": 0.2},
        {"resize_shorter": 19.0},
        {"resize_longer": 19.0},
        {"resize_shorter": -19.0},
        {"resize_shorter": 40.0, "max_size": 45.0},
        {"resize_longer": 90.0, "max_size": [45.0, 60.0]},
        {"size": [40, 90], "max_size": 45.0},
        {"size": [40, 90], "mode": "not_larger"},
        {"size": [40, 90], "mode": "not_smaller"},
        {"size": [40, 0], "mode": "not_larger"},
        {"size": [40, 90], "mode": "not_smaller", "max_size": 50.0},
        {"size": [40, 90], "mode": "stretch", "max_size": [30.0, 50.0]},
        {"size": [40, 90], "mode": "default"},
        {"size": vectors((10, 12), (60, 9))},
        {"resize_x": scalars(11, 60.5)},
        {"resize_x": scalars(11, 60.5), "resize_y": scalars(33, 12)},
        {"resize_shorter": scalars(11, 60)},
        {"resize_longer": scalars(11, 60)},
        {"size": (17, 31), "roi_start": (5, 7), "roi_end": (25, 22)},
        {"size": (17, 31), "roi_start": (25, 22), "roi_end": (5, 7)},
        {"size": (20, 30), "roi_start": (5.5, 7.25), "roi_end": (25, 22.5)},
        {"size": (0, 30), "roi_start": (5.5, 7.25), "roi_end": (25, 22.5)},
        {"size": (20, 30), "roi_start": (0.1, 0.2), "roi_end": (0.7, 1.0), "roi_relative": True},
        {"size": (17, 31), "roi_start": vectors((1, 2), (3, 4)),
         "roi_end": vectors((21, 22), (23, 24))},
        {"size": (20, 30), "roi_start": (-5, -7), "roi_end": (60, 70)},
        {"size": (13, 90), "min_filter": "types.INTERP_NN"},
        {"size": (13, 90), "mag_filter": "types.INTERP_NN"},
        {"size": (13, 90), "min_filter": "types.INTERP_CUBIC", "mag_filter": "types.INTERP_NN",
         "interp_type": "types.INTERP_LANCZOS3"},
        {"size": (13, 90), "min_filter": "types.INTERP_CUBIC",
         "interp_type": "types.INTERP_LANCZOS3"},
        {"size": (13, 90), "interp_type": Interps([0, 2])},
        {"size": (13, 90), "min_filter": Interps([2, 0]), "mag_filter": Interps([0, 5])},
        {"size": (13, 17), "dtype": "types.FLOAT"},
        {"size": (13, 17), "dtype": "types.UINT8"},
        {"size": (13, 17), "save_attrs": True},
        {"size": (13, 17), "minibatch_size": 2, "temp_buffer_hint": 100},
        {"size": (13, 17), "image_type": "types.RGB"},
    ):  # fmt: skip
        cases.append(Case("resize", [HWC], args, resampled))
    for args in (
        {"size": 6},
        {"size": [4, 7, 0]},
        {"size": [-5, 7, -9]},
        {"resize_z": 3.0},
        {"resize_z": scalars(5, 7), "mode": "stretch", "dtype": "types.FLOAT"},
        {"resize_x": 7.0},
        {"resize_x": 8.0, "resize_y": 30.0},
        {"resize_shorter": 7.0},
        {"size": [3, 20, 7], "save_attrs": True},
        {"size": [3, 20, 7], "roi_start": (1, 2, 3), "roi_end": (4, 9, 8)},
        {"size": [3, 20, 7], "dtype": "types.FLOAT", "interp_type": "types.INTERP_CUBIC"},
        {"size": [3, 20, 7], "interp_type": "types.INTERP_NN"},
        {"size": [9, 20, 7], "interp_type": "types.INTERP_LANCZOS3", "antialias": False},
    ):
        cases.append(Case("resize", [VOLUME], args, resampled))
    cases.append(Case("resize", [of("FHWC")], {"size": (9, 9), "save_attrs": True}, resampled))
    cases.append(Case("resize", [BARE], {"size": (9, 9)}, resampled))
    cases.append(Case("resize", [GREY], {"size": (9, 90)}, resampled))
    two = pictures([(9, 8, 2)])
    five = pictures([(9, 8, 5)])
    cases += [Case("resize", [x], {"size": (17, 5)}, resampled) for x in (two, five)]
    return cases


def resize_errors() -> list[Case]:
    return [
        Case("resize", [HWC], args)
        for args in (
            {},
            {"max_size": 20.0},
            {"size": [10, 20], "resize_x": 3.0},
            {"resize_shorter": 3.0, "resize_longer": 3.0},
            {"resize_shorter": 3.0, "mode": "stretch"},
            {"size": [10, 20], "mode": "largest"},
            {"size": [1, 2, 3]},
            {"size": [9, 9], "max_size": [1.0, 2.0, 3.0]},
            {"size": [9, 9], "roi_start": (1, 2)},
            {"size": [9, 9], "dtype": "types.INT16"},
            {"size": [9, 9], "dtype": "types.FLOAT16"},
        )
    ] + [
        Case("resize", [of("HWC", t)], {"size": 9})
        for t in ("int8", "uint32", "int32", "int64", "float16", "float64")
    ] + [
        Case("resize", [VOLUME], {"size": (3, 4)}),
    ]  # fmt: skip


def random_resized_crop_cases() -> list[Case]:
    """Only cases whose result is not random: the window is the whole picture."""
    name = "random_resized_crop"
    whole = {"random_area": [1.0, 1.0], "random_aspect_ratio": [0.01, 100.0], "num_attempts": 1}
    square = pictures([(41, 41, 3), (23, 23, 3)])
    ratio = {"random_area": [1.0, 1.0], "random_aspect_ratio": [1.0, 1.0]}
    cases = [Case(name, [square], {**ratio, "size": size}, resampled) for size in ((20, 60), [30])]
    cases += [Case(name, [square], {**ratio, "size": size}) for size in (0, (0, 5), (5, 0))]
    for args in (
        {"interp_type": "types.INTERP_CUBIC"},
        {"interp_type": Interps([0, 4])},
        {"min_filter": "types.INTERP_NN"},
        {"mag_filter": "types.INTERP_NN"},
        {"antialias": False},
        {"dtype": "types.FLOAT"},
        {"minibatch_size": 3, "temp_buffer_hint": 1},
    ):
        cases.append(Case(name, [square], {**ratio, "size": (20, 60), **args}, resampled))
    for layout, shape in (
        ("CHW", (3, 30, 30)),
        ("FHWC", (2, 30, 30, 3)),
        ("FCHW", (2, 3, 30, 30)),
        ("CFHW", (3, 2, 30, 30)),
    ):
        data = pictures([shape], layout=layout)
        cases.append(Case(name, [data], {**ratio, "size": (20, 60)}, resampled))
    # Too wide for the minimum area: the window has the full height and a random column; constant rows hide the
    # column.
    columns = Data([np.full((10, 100, 1), 9, np.uint8)], "HWC")
    cases.append(Case(name, [columns], {**whole, "size": (7, 9)}, resampled))
    return cases


SPACES = {"RGB": 3, "BGR": 3, "GRAY": 1, "YCbCr": 3}


def color_space_cases() -> list[Case]:
    name = "color_space_conversion"
    ramp = np.stack(np.meshgrid(*[np.arange(0, 256, 17)] * 3), -1).reshape(64, 64, 3)
    colours = Data([ramp.astype(np.uint8), ramp[::-1, :40].astype(np.uint8)], "HWC")
    greys = Data([np.arange(256, dtype=np.uint8).reshape(16, 16, 1)] * 2, "HWC")
    cases = []
    for source, channels in SPACES.items():
        for target in SPACES:
            if source != target:
                args = {"image_type": f"types.{source}", "output_type": f"types.{target}"}
                cases.append(Case(name, [greys if channels == 1 else colours], args, resampled))
    args = {"image_type": "types.RGB", "output_type": "types.YCbCr"}
    volume = pictures([(4, 11, 17, 3), (6, 14, 9, 3)], layout="DHWC")
    frames = pictures([(2, 4, 11, 17, 3), (1, 6, 14, 9, 3)], layout="FDHWC")
    cases += [Case(name, [data], args, resampled) for data in (of("FHWC"), volume, frames)]
    cases.append(Case(name, [BARE], {**args, "output_type": "types.GRAY"}, resampled))
    return cases


def color_space_errors() -> list[Case]:
    types = {"image_type": "types.RGB", "output_type": "types.GRAY"}
    return [
        Case("color_space_conversion", [GREY], types),
        Case("color_space_conversion", [of("HWC", "int16")], types),
        Case("color_space_conversion", [of("CHW")], types),
        Case("color_space_conversion", [HWC], {**types, "output_type": "types.RGB"}),
        Case("color_space_conversion", [HWC], {**types, "output_type": "types.ANY_DATA"}),
        Case("color_space_conversion", [HWC], {"image_type": "types.RGB"}),
    ]


def rotate_cases() -> list[Case]:
    cases = []
    for layout in ("HWC", "FHWC"):
        for angle in (0.0, 30.0, 90.0, -45.0, 180.0, 271.5, 725.0):
            cases.append(Case("rotate", [of(layout)], {"angle": angle}, rotated))
    nearest = {"interp_type": "types.INTERP_NN"}
    for angle in (10.0, 90.0, 180.0, -33.0):
        cases.append(Case("rotate", [HWC], {"angle": angle, **nearest}, mostly))
    for dtype in ("int16", "float32"):
        cases.append(Case("rotate", [of("HWC", dtype)], {"angle": 20.0, **nearest}, mostly))
    small = Data([s // 1024 for s in of("HWC", "int32").samples], "HWC")
    cases.append(Case("rotate", [small], {"angle": 20.0}, rotated))
    floats = of("HWC", "float32")
    for dtype in ("UINT8", "INT16", "INT32", "FLOAT"):
        cases.append(Case("rotate", [floats], {"angle": 20.0, "dtype": "types." + dtype}, rotated))
    for args in (
        {"angle": 20.0, "dtype": "types.FLOAT"},
        {"angle": 20.0, "output_dtype": "types.FLOAT"},
        {"angle": 20.0, "keep_size": True},
        {"angle": 20.0, "size": (20, 60.5)},
        {"angle": 20.0, "size": vectors((20, 30), (40, 21))},
        {"angle": 20.0, "size": (20, 60), "keep_size": True},
        {"angle": 20.0, "fill_value": 77.0},
        {"angle": 20.0, "fill_value": 77.4, "dtype": "types.FLOAT"},
        {"angle": 20.0, "fill_value": 77.0, **nearest},
        {"angle": scalars(10, -70)},
        {"angle": scalars(10, -70), "axis": (0.0, 0.0, 1.0)},
    ):
        compare = mostly if "interp_type" in args else rotated
        cases.append(Case("rotate", [HWC], args, compare))
    frames = pictures([(3, 20, 31, 2)], layout="FHWC")
    for values in ((10, 20, 50), (80, 10, 10), (90, 0, 0), (0, 90, 90), (90, 90, 90), (10, 50, 50)):
        angles = Data([np.array(values, np.float32)], "F")
        cases.append(Case("rotate", [frames], {"angle": angles}, rotated))
    for args in ({"keep_size": True}, {"size": (12, 40)}):
        cases.append(Case("rotate", [frames], {"angle": angles, **args}, rotated))
    volumes = pictures([(2, 4, 11, 17, 1)], layout="FDHWC")
    angles = Data([np.array([30, 75], np.float32)], "F")
    axes = Data([np.array([[0, 0, 1], [1, 1, 0]], np.float32)], "FX")
    cases.append(Case("rotate", [volumes], {"angle": angles, "axis": axes}, rotated))
    for layout in ("DHWC", "FDHWC"):
        for axis in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1), (0, 0, -2), (0.3, -1, 0.2)):
            args = {"angle": 30.0, "axis": [float(v) for v in axis]}
            cases.append(Case("rotate", [of(layout)], args, rotated))
    axes = vectors((0, 1, 0), (1, 2, 3))
    for args in (
        {"angle": 90.0, "axis": (0.0, 1.0, 0.0)},
        {"angle": 30.0, "axis": axes, "keep_size": True},
        {"angle": 30.0, "axis": axes, "size": (3, 14, 9)},
        {"angle": 30.0, "axis": axes, "fill_value": 9.0},
    ):
        cases.append(Case("rotate", [VOLUME], args, rotated))
    cases.append(Case("rotate", [VOLUME], {"angle": 30.0, "axis": axes, **nearest}, mostly))
    cases.append(Case("rotate", [BARE], {"angle": 20.0}, rotated))
    return cases


def rotate_errors() -> list[Case]:
    return [
        Case("rotate", [HWC], args)
        for args in (
            {},
            {"angle": 3.0, "size": [4]},
            {"angle": 3.0, "size": [0, 5]},
            {"angle": 3.0, "dtype": "types.INT16"},
            {"angle": 3.0, "interp_type": "types.INTERP_CUBIC"},
        )
    ] + [
        Case("rotate", [VOLUME], {"angle": 3.0}),
        Case("rotate", [VOLUME], {"angle": 3.0, "axis": [1.0, 2.0]}),
        Case("rotate", [of("CHW")], {"angle": 3.0}),
        Case("rotate", [of("HWC", "uint16")], {"angle": 3.0}),
    ]


CASES = [
    *crop_cases(),
    *flip_cases(),
    *cmn_cases(),
    *resize_cases(),
    *random_resized_crop_cases(),
    *color_space_cases(),
    *rotate_cases(),
]
ERRORS = [
    *crop_errors(),
    *flip_errors(),
    *cmn_errors(),
    *resize_errors(),
    *color_space_errors(),
    *rotate_errors(),
    Case("random_resized_crop", [HWC], {}),
]
# All operators that crop share the function that finds the window; all that resize share the one for sizes.
SHARED = {
    f"{op}({argument})"
    for op in ("crop_mirror_normalize", "decoders.image_crop", "crop")
    for argument in (
        *("crop", "crop_d", "crop_h", "crop_w"),
        *("crop_pos_x", "crop_pos_y", "crop_pos_z"),
    )
} | {"resize(resize_y)", "random_resized_crop(min_filter)", "random_resized_crop(mag_filter)"}
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {
    r"^(resize|rotate|warp_affine): input 0 DHW ": "DALI refuses volumes without channels; arguments are those of volumes",
    r"^(crop|crop_mirror_normalize|decoders.image_crop): crop_pos_[xyz]=": "a position outside 0..1 is refused, even if it is not used",
    r"^crop_mirror_normalize: (mean|std)=\[": "two values for three channels are refused",
    r"^crop_mirror_normalize: scale=0.0$": "0 scales by zero; DALI computes 0 / 0",
    r"^(random_resized_crop|decoders.image_random_crop): random_(area|aspect_ratio)=": "both ends of a range must be positive",
    r"^(random_resized_crop|decoders.image_random_crop): num_attempts=-?\d": "at least one attempt is required",
    r"^random_resized_crop: size=.*-1": "negative sizes are refused",
    r"^(resize|random_resized_crop): input 0 empty": "empty images cannot be resampled",
    r"^rotate: angle=\[": "a list of angles is one per frame, also as a constant",
    r"^rotate: axis=": "DALI ignores the axis for images",
    r"^rotate: size=per sample": "DALI rounds constant sizes and truncates per-sample sizes",
}  # fmt: skip
BASES = {"resize": Case("resize", [HWC], {"size": (13, 17)}, resampled)}
