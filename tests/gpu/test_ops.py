# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators on a GPU against the CPU: every case of tests/ops gives the same bytes, except those of NaNs.

Many cases share a pipeline, in which each runs on both devices.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

OPS = Path(__file__).resolve().parents[1] / "ops"
sys.path.append(str(OPS))
pytest.register_assert_rewrite("harness")
pytest.importorskip("headrace")

import grouped  # noqa: E402
from aliases import LARGE, aliased  # noqa: E402
from cases_generic import Expression  # noqa: E402
from collection import CASES, OURS, operator_of  # noqa: E402
from harness import Case, Data, Engine, Failure, Output, pictures, scalars  # noqa: E402

from headrace._graph import schema as _schema  # noqa: E402

pytestmark = pytest.mark.usefixtures("module")

TOGETHER = 24  # cases per pipeline
MOST = int(os.environ.get("HEADRACE_GPU_CASES", "400"))  # cases per operator, at most


# Their second input is a constant on the CPU, which no operator takes together with one on a GPU.
CPU_CONSTANTS = ("enum_cast_like_", "enum_cast_to_like_")


def on_gpu(op: Any) -> bool:
    return bool({"gpu", "mixed"} & set(op.devices) & set(op.runs_on))


def compared(case: Any) -> bool:
    """Whether a case of an operator that runs on a GPU can run there."""
    op = _schema.operators().get(operator_of(case))
    if op is None or "observes" in op.flags or getattr(case, "name", "").startswith(CPU_CONSTANTS):
        return False
    if op.name.startswith("decoders.") and getattr(case, "args", {}).get("all_pages"):
        return False  # it says that it runs on the CPU only
    return on_gpu(op)


CHOSEN = [case for case in [*CASES, *OURS] if compared(case)]


def seeded(case: Any) -> Any:
    """Random draws belong to the node: gives both nodes the same seed."""
    op = _schema.operators()[operator_of(case)]
    if not op.has_seed or not isinstance(case, Case):
        return case
    return Case(case.op, case.inputs, {**case.args, "seed": 5}, case.compare, case.size)


def outputs(case: Any, engine: Engine) -> list[Any]:
    """The outputs of the case."""
    if isinstance(case, Case) or engine.device == "cpu":
        made = case.define(engine)
    else:
        fed = [engine.feed(data) for data in case.inputs]
        indices = case.name.startswith("x[")  # inputs after the first are arguments, on the CPU
        rest = fed[1:] if indices else [engine.moved(node) for node in fed[1:]]
        made = case.apply(engine, engine.moved(fed[0]), *rest)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def both(cases: list[Any], **options: Any) -> list[tuple[Any, Output, Output]] | Failure:
    """One iteration of all cases: each output with its case, on CPU and GPU. `options` go to the pipeline."""
    cpu, gpu = Engine("headrace"), Engine("headrace", "gpu")
    owners: list[Any] = []

    def define(_: Engine) -> list[Any]:
        made = []
        for case in cases:
            pairs = list(zip(outputs(case, cpu), outputs(case, gpu), strict=True))
            made += itertools.chain.from_iterable(pairs)
            owners.extend([case] * len(pairs))
        return made

    made = gpu.run(cases[0].batch_size(), define, **options)
    if isinstance(made, Failure):
        return made
    return list(zip(owners, made[::2], made[1::2], strict=True))


def same(cpu: Output, gpu: Output) -> None:
    assert (gpu.layout, gpu.dtype) == (cpu.layout, cpu.dtype)
    for a, b in zip(cpu.samples, gpu.samples, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(b, a)
        if a.dtype.kind == "f":  # zeros have signs
            number = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(b)[number], np.signbit(a)[number])


def differences(cases: list[Any], **options: Any) -> list[tuple[str, str]]:
    """Cases and what differs between CPU and GPU. If the cases do not run together, each runs alone, to name the failing one."""
    made = both(cases, **options)
    if isinstance(made, Failure):
        alone = [differences([case], **options) for case in cases] if len(cases) > 1 else []
        return sum(alone, []) or [(str(cases[0]), f"{made.kind}: {made.message}")]
    found = []
    for case, cpu, gpu in made:
        try:
            same(cpu, gpu)
        except AssertionError as error:
            found.append((str(case), str(error)))
    return found


def check(cases: list[Any], **options: Any) -> None:
    grouped.fail(differences(cases, **options), len(cases))


SUBSCRIPTS = {
    "index": lambda x: x[2],
    "range": lambda x: x[1:4, ::2],
    "backwards": lambda x: x[::-1, 3:0:-2, ::-1],
    "column": lambda x: x[:, 1],
    "rows": lambda x: x[1:],
    "nothing": lambda x: x[2:2],
}


@pytest.mark.parametrize("name", SUBSCRIPTS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_subscripts(name: str, dtype: str) -> None:
    data = pictures([(7, 6, 3), (5, 9, 2), (6, 64, 16)], dtype)
    case = Expression(name, lambda engine, x: SUBSCRIPTS[name](x), [data])
    made = both([case])
    if isinstance(made, Failure) and "not part of this version" in made.message:
        pytest.skip(made.message)
    check([case])


WINDOWS: dict[str, dict[str, Any]] = {
    "inside": {"start": [1, 2, 0], "shape": [3, 2, 2], "axes": [0, 1, 2]},
    "around": {"start": [-2, -1, -3], "shape": [70, 40, 40], "axes": [0, 1, 2]},
    "beside": {"start": [90, 0], "shape": [4, 48], "axes": [0, 1]},
    "rows": {"start": [-16], "shape": [96], "axes": [1]},
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("layout", ["", "HCW", "XYC"])
def test_windows(name: str, dtype: str, layout: str) -> None:
    """Elements of all sizes, one fill value and several, also of another type."""
    shape = (9, 48, 5) if layout == "XYC" else (9, 48, 16)
    data = pictures([(7, 9, shape[2]), shape], dtype, layout)
    policy = {**WINDOWS[name], "out_of_bounds_policy": "pad"}
    cases = []
    for out in ({}, {"dtype": "types.FLOAT"}, {"dtype": "types.UINT8"}, {"dtype": "types.FLOAT16"}):
        cases.append(Case("slice", [data], {**policy, "fill_values": [77.7], **out}))
        if layout == "XYC":  # one value per channel: needs all channels
            of = {k: v[:2] for k, v in WINDOWS[name].items()}
            fills = {"fill_values": [3.0, -4.5, 250.0, 7.0, 1.0]}
            cases.append(Case("slice", [data], {**policy, **of, **fills, **out}))
    check(cases)


def test_pads() -> None:
    data = pictures([(3, 65), (0, 7), (17, 128), (1, 1)], "uint8", "")
    args = ({}, {"fill_value": -1.5}, {"align": [16]}, {"axes": [1], "shape": [200]})
    check([Case("pad", [data], each) for each in args])


@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT64", "UINT8", "INT16", "INT64", "UINT64"])
def test_draws(dtype: str) -> None:
    """Many draws, also with a partly used last block."""
    like = pictures([(17, 31, 3), (1, 1, 1), (0, 5, 3), (5, 5, 5)])
    arguments: list[tuple[str, dict[str, Any]]] = [
        ("random.uniform", {"range": [-3.0, 100.5]}),
        ("random.uniform", {"values": [1.5, 2.5, -300.0, 7.0, 1e9]}),
        ("random.coin_flip", {"probability": 0.3}),
        ("random.normal", {"mean": -3.0, "stddev": 50.0}),
    ]
    for op, args in arguments:
        typed = {**args, "dtype": "types." + dtype}
        if op == "random.coin_flip":
            typed["dtype"] = {"FLOAT": "types.INT32", "INT16": "types.BOOL"}.get(
                dtype, "types.UINT8"
            )
        check([seeded(Case(op, [like], typed))])


@pytest.mark.parametrize("shape", [(64, 64, 4), (65, 43, 3), (1, 7, 1)])
def test_groups_of_elements(shape: tuple[int, ...]) -> None:
    """Types of all sizes, and samples that begin at all alignments: 4, 8 or 16 elements at a time."""
    data = [
        pictures([shape] * 5, dtype) for dtype in ("uint8", "int8", "uint16", "int16", "float32")
    ]
    cases: list[Any] = []
    for each in data:
        for dtype in ("UINT8", "INT8", "BOOL", "INT16", "UINT16", "FLOAT16", "FLOAT", "INT32"):
            cases.append(Case("cast", [each], {"dtype": "types." + dtype}))
        cases.append(Expression("sum", lambda e, x: x + x, [each]))
        cases.append(Expression("scaled", lambda e, x: 3 * x, [each]))
    for dtype in ("UINT8", "INT16", "FLOAT"):
        table = {"keys": [0, 3, 77], "values": [5.0, 6.0, 7.0], "dtype": "types." + dtype}
        cases += [Case("lookup_table", [each], table) for each in (data[0], data[2])]
    check(cases)


def test_shots() -> None:
    """Distributions of UINT8 elements come from tables; means above 60 are computed one by one."""
    data = pictures([(80, 90, 3), (1, 1, 3), (70, 51, 3), (9, 300, 3)])
    factors: list[Any] = [20.0, 4.25, 3.0, 0.07, 300.0, 0.0, scalars(30.0, 30.0, 1.5, 255.0)]
    check([seeded(Case("noise.shot", [data], {"factor": factor})) for factor in factors])


@pytest.mark.parametrize("op", ["sphere", "water"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_displaced(op: str, dtype: str) -> None:
    cases = []
    for channels in (1, 3, 4):
        data = pictures([(40, 71, channels), (1, 1, channels), (53, 2, channels)], dtype)
        for interp in ("types.INTERP_NN", "types.INTERP_LINEAR"):
            cases.append(Case(op, [data], {"interp_type": interp, "fill_value": 33.0}))
    check(cases)


def test_resampled_in_tiles() -> None:
    """Signals of several tiles: rates whose outputs share weights after few outputs, after many, and never; samples that
    fit into shared memory for a whole tile, for a part of one, and not at all."""
    rng = np.random.default_rng(9)
    waves = [rng.normal(0, 0.3, n).astype(np.float32) for n in (5000, 1, 700, 2049, 12000, 3)]
    mono, stereo = Data(waves, "t"), Data([np.stack([w, w[::-1], w * 2], 1) for w in waves], "tc")
    rates = [(16000, 44100), (44100, 16000), (1, 2), (3, 1), (48000, 44101), (1, 1), (1000, 31), (25, 24.3), (1, 40)]
    cases = []
    for source, target in rates:
        args = {"in_rate": float(source), "out_rate": float(target)}
        cases += [Case("audio_resample", [data], args) for data in (mono, stereo)]
    cases.append(Case("audio_resample", [mono], {"scale": 2.7, "quality": 90.0}))
    whole = Data([(w * 9000).astype(np.int16) for w in waves], "t")
    cases.append(Case("audio_resample", [whole], {"scale": 2.75625, "quality": 0.0}))
    check(cases)


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8", "int32"])
def test_nonsilent_in_blocks(dtype: str) -> None:
    """Signals whose ends several blocks look for; all of it loud, and none of it."""
    rng = np.random.default_rng(10)
    signals = []
    for n, first, behind in ((70000, 30000, 50001), (9000, 0, 9000), (5000, 5000, 5000), (4097, 4096, 4097), (1, 0, 1)):
        loud = np.zeros(n, np.float32)
        loud[first:behind] = rng.normal(0, 30, behind - first)
        signals.append(np.abs(loud).astype(dtype))
    data = Data(signals, "")
    args: list[dict[str, Any]] = [{}, {"window_length": 1}, {"window_length": 256, "cutoff_db": -5.0}]
    args += [{"reference_power": 100.0, "cutoff_db": -10.0}, {"reset_interval": 512, "window_length": 512}]
    check([Case("nonsilent_region", [data], more) for more in args])


@pytest.mark.parametrize("interp", ["types.INTERP_NN", "types.INTERP_LINEAR"])
def test_rgb_moved(interp: str) -> None:
    """RGB images of bytes: threads make four pixels, from inside the image, at its ends, and outside."""
    shapes = [(70, 131, 3), (9, 6, 3), (130, 64, 3), (2, 3, 3), (5, 201, 3), (1, 4, 3), (3, 1, 3), (40, 66, 3)]
    data, fill = pictures(shapes), {"interp_type": interp, "fill_value": 77}
    tilted = Data([np.array([[0.9, 0.2, 1.0], [-0.1, 1.1, 2.0], [1e-3, -2e-3, 1.0]], np.float32)] * len(shapes))
    moves: list[tuple[str, list[Data], dict[str, Any]]] = [
        ("warp_affine", [data], {"matrix": [0.9, -0.43, 9.0, 0.43, 0.9, -5.0]}),
        ("warp_affine", [data], {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0], "size": [75, 150]}),
        ("rotate", [data], {"angle": 33.0}),
        ("sphere", [data], {}),
        ("water", [data], {}),
        ("water", [data], {"ampl_x": 0.0, "ampl_y": 0.0}),
        ("experimental.warp_perspective", [data, tilted], {}),
        ("experimental.warp_perspective", [data], {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]}),
    ]
    cases = []
    for op, inputs, args in moves:
        cases.append(Case(op, inputs, {**args, **fill}))
        if "perspective" in op:
            cases.append(Case(op, inputs, {**args, **fill, "border_mode": "replicate"}))
    check(cases)


def test_erased() -> None:
    """Regions that overlap or reach beyond the edges, with one fill or one per channel."""
    data = pictures([(40, 71, 3), (1, 1, 3), (53, 2, 3)])
    regions = {"anchor": [3, 5, 10, -4, -9, 60], "shape": [20, 30, 300, 17, 10, 10]}
    args = {**regions, "axis_names": "HW"}
    fills = ({}, {"fill_value": [7.0]}, {"fill_value": [7.0, 8.0, 9.0]})
    cases = [Case("erase", [data], {**args, **fill}) for fill in fills]
    cases.append(Case("erase", [data], {"anchor": [1], "shape": [1], "axis_names": "C"}))
    check(cases)


def test_division_by_zero() -> None:
    """Integers divided by zero are 0: a kernel cannot raise."""
    data = Data([np.array([5, -7, 0], np.int32)])

    def define(engine: Engine) -> Any:
        x = engine.moved(engine.feed(data))
        return x // 0, x % (x - x), x / 0

    made = Engine("headrace", "gpu").run(1, define)
    assert not isinstance(made, Failure), made
    for output in made[:2]:
        np.testing.assert_array_equal(output.samples[0], [0, 0, 0])
    np.testing.assert_array_equal(made[2].samples[0], [np.inf, -np.inf, np.nan])


def test_batch_of_shapes() -> None:
    """Samples of different sizes in one launch, some of them empty."""
    shapes = [(3, 5), (0, 5), (1, 5), (700, 5), (2, 5)]
    data = [pictures(shapes, "float32", ""), pictures([(5,)] * 5, "int16", "", 2)]
    case = Expression("mixed", lambda engine, x, y: (x * y - 3) / (y + 0.5), data)
    check([case])


@pytest.mark.parametrize("dtype", ["uint8", "float32", "uint16"])
def test_axes(dtype: str) -> None:
    """Resampling axis by axis: some samples need fewer passes than others, or none."""
    shapes = [(8, 20, 24, 3), (6, 9, 13, 3), (8, 20, 24, 3), (0, 9, 13, 3), (1, 30, 50, 1)]
    data = pictures(shapes, dtype, "DHWC")
    for args in (
        {"sizes": [6, 9, 13, 4]},
        {"scales": [1, 1, 1, 1], "dtype": "types.FLOAT"},
        {"scales": [1, 0.5, 1.5, 1], "interp_type": "types.INTERP_LANCZOS3"},
    ):
        check([Case("tensor_resize", [data], args)])
    filled = pictures([s for s in shapes if s[0]], dtype, "DHWC")
    args = {"size": [6, 7, 30], "save_attrs": True, "interp_type": "types.INTERP_CUBIC"}
    check([Case("resize", [filled], args)])


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_extreme_shapes(dtype: str, antialias: bool) -> None:
    """Very wide, very high and tiny pictures: outputs are so far apart that a tile has few of them."""
    shapes = [(1, 200000, 1), (200000, 1, 3), (2, 8000, 3), (8000, 3, 4), (1, 1, 1)]
    data = pictures(shapes, dtype, "HWC")
    for size in ([24, 224], [224, 1], [1, 14]):
        for op, args in (
            ("resize", {"size": size}),
            ("tensor_resize", {"sizes": size, "axes": [0, 1]}),
        ):
            check([Case(op, [data], {**args, "antialias": antialias})])


def test_axes_in_parts() -> None:
    """So little memory that the buffers between passes do not fit for all samples at once."""
    data = pictures([(2, 10, 1000), (2, 10, 10), (2, 10, 1000), (2, 10, 1000)], "uint8", "")
    args = {"sizes": [200, 2], "axes": [0, 1], "interp_type": "types.INTERP_LINEAR"}
    check([Case("tensor_resize", [data], args)], device_memory_limit=1 << 27)


def test_equalized_in_parts() -> None:
    """Pictures that several blocks count, and so many small ones that their counters do not fit."""
    check([Case("equalize", [pictures([(300, 301, 3), (0, 4, 3), (5, 7, 3), (299, 300, 3)])], {})])
    many = pictures([(60000, 2, 3), (2, 300, 301), (0, 1, 1), (60000, 3, 1)], layout="FHW")
    check([Case("equalize", [many], {})], device_memory_limit=1 << 27)


def test_distorted_at_edges() -> None:
    """Blocks that reach beyond the edges of luma, of chroma, or of both."""
    shapes = [(h, w, 3) for h in (1, 2, 7, 9, 16, 17, 24, 31) for w in (1, 2, 3, 8, 15, 18, 25, 33)]
    for quality in (5, 60):
        check([Case("jpeg_compression_distortion", [pictures(shapes)], {"quality": quality})])


def test_distorted_at_all_qualities() -> None:
    """Largest errors and largest coefficients: of noise, of black and white pixels, and of waves and steps of a block."""
    rng = np.random.default_rng(8)
    y, x = np.mgrid[0:40, 0:48]
    patterns = [rng.integers(0, 2, (40, 48)), (x + y) % 2, x // 4 % 2, y // 8 % 2, x // 8 * y // 8 % 2, x % 8 < 1]
    planes = [rng.integers(0, 256, (40, 48, 3)), *(np.stack([p * 255] * 3, 2) for p in patterns)]
    planes += [np.stack([patterns[0] * 255, patterns[2] * 255, 255 - patterns[0] * 255], 2)]
    data = Data([plane.astype(np.uint8) for plane in planes], "HWC")
    check([Case("jpeg_compression_distortion", [data], {"quality": q}) for q in (1, 2, 10, 30, 50, 75, 95, 100)])
    per_sample = Data([np.int32(q) for q in (1, 7, 100, 50, 1, 92, 33, 250)], "")
    check([Case("jpeg_compression_distortion", [data], {"quality": per_sample})])


def test_distorted_in_parts() -> None:
    """Samples whose planes do not fit into scratch memory together, some of them empty."""
    sizes = [(1, 2000, 1999, 3), (2, 0, 4, 3), (0, 9, 9, 3), (3, 5, 7, 3), (1, 2001, 1000, 3)]
    case = Case("jpeg_compression_distortion", [pictures(sizes, layout="FHWC")], {"quality": 80})
    check([case], device_memory_limit=1 << 27)


def test_large_filters() -> None:
    """Pictures of several tiles; filters that fit into shared memory, and larger ones."""
    rng = np.random.default_rng(7)
    data = [pictures([(20, 150, 3), (9, 300, 3)], dtype) for dtype in ("uint8", "float32", "int16")]
    for shape in ((3, 3), (17, 22), (18, 3), (2, 23)):
        kernels = Data([rng.normal(0, 0.2, shape).astype(np.float32) for _ in range(2)])
        for border in ("reflect_101", "constant"):
            check([Case("filter", [each, kernels], {"border": border}) for each in data])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float32"])
def test_windows_in_tiles(dtype: str) -> None:
    """Pictures of several tiles; windows that fit into shared memory with many rows of outputs, with few, and not at all."""
    data = pictures([(70, 150, 3), (33, 129, 1), (5, 260, 2), (64, 128, 1)], dtype)
    sizes = ([3, 3], [5, 3], [9, 2], [31, 41], [3, 120])
    for op in ("experimental.dilate", "experimental.erode"):
        check(
            [
                Case(op, [data], {"mask_size": size, "border_mode": border})
                for size in sizes
                for border in ("constant", "reflect_101", "wrap")
            ]
        )
    few = pictures([(40, 150, 3), (33, 129, 1)], dtype)
    check(
        [
            Case("experimental.median_blur", [few], {"window_size": size})
            for size in ([3, 3], [3, 5], [5, 1], [1, 9])
        ]
    )
    check([Case("experimental.median_blur", [pictures([(3, 40, 1)], dtype)], {"window_size": [3, 255]})])


MAPS = {
    "turned": [0.8, -0.6, 9.0, 0.6, 0.8, -20.0],
    "far": [1e6, 3e5, -7.0, -2e5, 1e7, 0.0],
    "inverted": [-1.0, 0.0, 599.0, 0.0, -1.0, 69.0],
}
AFTER: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda e, x: x,
    "cropped": lambda e, x: e.fn.crop(x, crop=(33, 301), crop_pos_x=0.9),
    "normalised": lambda e, x: e.fn.crop_mirror_normalize(x, mean=[3.0], std=[5.0], mirror=1),
    "coloured": lambda e, x: e.fn.color_twist(x, hue=20.0, saturation=1.5),
    "grey": lambda e, x: e.fn.color_space_conversion(
        x, image_type=e.types.RGB, output_type=e.types.GRAY
    ),
}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("name", MAPS)
def test_warps(name: str, after: str) -> None:
    """More than one tile, and more pixels in a row than are summed up; positions far outside."""
    data = pictures([(70, 600, 3), (300, 40, 3), (1, 1, 3)])
    cases = []
    for interp in ("INTERP_NN", "INTERP_LINEAR"):
        for fill in ({}, {"fill_value": 77.4}, {"fill_value": -3e38}):
            args = {"matrix": MAPS[name], "size": [67, 600], **fill}

            def apply(e: Engine, x: Any, args: Any = args, interp: str = interp) -> Any:
                warped = e.fn.warp_affine(x, interp_type=getattr(e.types, interp), **args)
                return AFTER[after](e, warped)

            cases.append(Expression(name, apply, [data]))
    check(cases)


def cancelling(shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """Large numbers whose sums along axes are 0 except for rounding: any other order of additions shows."""
    rng = np.random.default_rng(3)
    order = [d for d in range(len(shape)) if d not in axes] + list(axes)
    count = int(np.prod([shape[d] for d in axes]))
    groups = int(np.prod(shape)) // count
    half = rng.normal(size=(groups, count // 2))
    half *= 10.0 ** np.minimum(rng.exponential(4, half.shape), 37)
    values = np.concatenate([half, -half, np.ones((groups, count % 2))], 1).astype(np.float32)
    values = rng.permuted(values, axis=1).reshape([shape[d] for d in order])
    return np.ascontiguousarray(values.transpose(np.argsort(order)))


ADDED = {  # passes, lanes, rows that are left over; axes before and behind others
    "all": ((300, 211, 3), {}),
    "few columns": ((300, 211, 3), {"axes": [0, 1]}),
    "many columns": ((301, 211, 3), {"axes": [0]}),
    "short rows": ((301, 40, 3), {"axes": [2]}),
    "long rows": ((5, 5003), {"axes": [1]}),
    "apart": ((40, 3, 300, 2), {"axes": [0, 2]}),
    "apart, many columns": ((40, 3, 70, 65), {"axes": [0, 2]}),
    "apart, no columns": ((40, 3, 12, 2, 70), {"axes": [0, 2, 4]}),
}


@pytest.mark.parametrize("name", ADDED)
def test_order_of_additions(name: str) -> None:
    shape, args = ADDED[name]
    axes = tuple(args.get("axes", range(len(shape))))
    samples = [cancelling((shape[0] - k, *shape[1:]), axes) for k in (0, 1)]
    data = Data(samples)
    means = Data([sample.mean(axis=axes) + np.float32(0.5) for sample in samples])
    for op in ("sum", "mean", "mean_square", "rms", "max"):
        check([Case("reductions." + op, [data], args)])
    for op in ("std_dev", "variance"):
        check([Case("reductions." + op, [data, means], args)])
    check([Case("normalize", [data], args)])
    if 0 in axes:
        check([Case("normalize", [data], {"batch": True, **args})])


def test_normalized_together() -> None:
    """Samples with incompatible shapes are an error that names the node."""
    case = Case("normalize", [pictures([(4, 5, 3), (4, 6, 3)])], {"batch": True, "axes": [0]})
    gpu = Engine("headrace", "gpu")
    made = gpu.run(2, lambda _: outputs(case, gpu))
    assert isinstance(made, Failure)
    assert (
        made.message.startswith("normalize")
        and "sample 1 has 6 elements along axis 1" in made.message
    )


def ids(*lists: list[int]) -> Data:
    return Data([np.array(some, np.int32) for some in lists])


def test_pasted_pictures() -> None:
    """Channels are those of the sources; the last region covers the others; anything may be empty."""
    mixed = pictures([(4, 5, 1), (6, 3, 3), (0, 7, 3)])
    frames = [pictures([(3, 9, 8, 3)] * 3, "float32", layout="FHWC", seed=k) for k in range(2)]
    places = Data([np.arange(12, dtype=np.int32).reshape(3, 2, 2) % (3 + k) for k in range(3)])
    size = {"output_size": [16, 17]}
    empty = pictures([(2, 2, 3)] * 3)
    cases = [
        Case("multi_paste", [mixed], {"in_ids": ids([1, 2, 1], [0], []), **size}),
        Case("multi_paste", frames, {"out_anchors": places, "dtype": "types.UINT8", **size}),
        Case("multi_paste", [empty], {"in_ids": ids([], [], []), "output_size": [0, 5]}),
    ]
    check(cases)


@pytest.mark.parametrize(
    ("ids_of", "args", "message"),
    [
        ([[0], [2]], {}, "Got in_idx: 2. Input batch size is: 2."),
        ([[0], [1]], {"out_anchors": [3, 0]}, "must be within the canvas: region 0 is 4 elements"),
        ([[0, 1], [0]], {}, "same number of channels, but they have 3 and 1"),
    ],
)
def test_bad_pastes(ids_of: list[list[int]], args: dict[str, Any], message: str) -> None:
    data = pictures([(4, 5, 3), (4, 5, 1)])
    case = Case("multi_paste", [data], {"in_ids": ids(*ids_of), "output_size": [6, 9], **args})
    for device in ("cpu", "gpu"):
        engine = Engine("headrace", device)
        made = engine.run(2, lambda _, engine=engine: outputs(case, engine))
        assert isinstance(made, Failure)
        assert made.message.startswith("multi_paste") and message in made.message


def signals(*lengths: int) -> Data:
    rng = np.random.default_rng(5)
    return Data([rng.standard_normal(length).astype(np.float32) for length in lengths])


# In shared memory, the largest and the smallest; in scratch memory, with small factors and with large primes.
@pytest.mark.parametrize("nfft", [1, 2, 4096, 4098, 2047, 8192, 4097, 6001])
def test_spectra(nfft: int) -> None:
    """Groups of windows that are not full, and samples with one window."""
    data = signals(9000, 1, nfft // 3 + 1, 17000)
    hop = {"window_step": max(nfft // 3, 50)}
    window = max(nfft * 3 // 4, 1)
    cases = []
    for layout in ("ft", "tf"):
        args = {"nfft": nfft, "window_length": window, "layout": layout, **hop}
        cases.append(Case("spectrogram", [data], args))
        cases.append(Case("spectrogram", [data], {**args, "power": 1, "reflect_padding": False}))
    check(cases)


def test_spectra_in_turns() -> None:
    """So little scratch memory that windows take turns in it, and samples one after the other."""
    args = {"nfft": 1 << 18, "window_length": 1 << 18, "window_step": 1 << 15}
    check([Case("spectrogram", [signals(200000, 90000, 1)], args)], device_memory_limit=1 << 27)


def test_power_spectra() -> None:
    """Axes that are the last one and that are not; sizes in shared and in scratch memory, in one batch; no signal."""
    rng = np.random.default_rng(4)
    shapes = [(3, 40, 5), (1, 40, 1), (2, 0, 5), (0, 40, 5), (3, 4098, 2), (4, 40, 300)]
    data = Data([rng.standard_normal(shape).astype(np.float32) for shape in shapes])
    rows = Data([rng.standard_normal((k, 30 * k + 7)).astype(np.float32) for k in range(1, 40, 6)])
    cases = [Case("power_spectrum", [rows], {}), Case("power_spectrum", [signals(9000, 1, 77)], {})]
    for axis in (0, 1, 2):
        for args in ({"nfft": 64}, {"nfft": 33, "power": 1}, {"nfft": 5000}):
            cases.append(Case("power_spectrum", [data], {"axis": axis, **args}))
    for size in sorted({case.batch_size() for case in cases}):
        check([case for case in cases if case.batch_size() == size])


def test_fills() -> None:
    """Values of other types, broadcast along all kinds of axes, for outputs with and without elements."""
    shapes = [(4, 3, 5), (0, 3, 5), (1, 3, 1), (7, 3, 33)]
    cases = []
    for like in ("uint8", "float16", "int64", "float32"):
        data = pictures(shapes, "float32", "")
        data = Data([(x / 9).astype(like) for x in data.samples])
        for fill in ("float32", "int16", "float64", "uint8"):
            for shape in ((), (1,), (3, 1), (1, 3, 1)):
                value = np.arange(np.prod(shape, dtype=int)).reshape(shape) * 77.7 + 2.5
                value = np.asarray(value, fill)
                cases.append(Case("full_like", [data, Data([value] * 4)], {}))
        cases += [Case(op, [data], {}) for op in ("zeros_like", "ones_like")]
        cases += [Case("ones_like", [data], {"dtype": "types.INT16"})]
    for dtype in ("UINT8", "FLOAT16", "INT32", "FLOAT64", "BOOL"):
        for shape in ([], [0], [3, 4000], [17]):
            args = {"shape": shape, "dtype": "types." + dtype}
            cases += [Case(op, [], args, size=4) for op in ("ones", "zeros")]
    wide = pictures([(3, 1), (1, 1), (3, 7), (1, 7)], "float32", "")
    cases += [Case("full", [wide], {"shape": shape}) for shape in ([5, 3, 7], [3, 7])]
    check(cases)


def test_largest_values() -> None:
    """Of samples that several blocks look through: the last element, NaN, infinity, nothing positive."""
    samples = [np.abs(x) for x in signals(70000, 8193, 8192, 300, 300, 0).samples]
    samples[0][-1], samples[1][8192], samples[2][7] = 1e3, 2e3, np.nan
    samples[3][5] = np.inf
    samples[4] *= -1
    for args in ({}, {"reference": 0.5}, {"multiplier": 20.0, "cutoff_db": -1000.0}):
        check([Case("to_decibels", [Data(samples)], args)])


def test_bands_of_batches() -> None:
    """Samples with different numbers of bins, one of them empty; the axis is the first, in the middle, the last."""
    rng = np.random.default_rng(6)
    for layout, shapes in {
        "ft": [(257, 31), (201, 7), (257, 0), (257, 31)],
        "tf": [(31, 257), (7, 201), (0, 257), (1, 300)],
        "ftc": [(257, 4, 3), (30, 2, 3), (257, 4, 3), (1, 4, 3)],
    }.items():
        data = Data([rng.random(shape, np.float32) for shape in shapes], layout)
        check(
            [
                Case("mel_filter_bank", [data], {"nfilter": n, "sample_rate": 16000.0})
                for n in (1, 80)
            ]
        )


def test_resampled_in_blocks() -> None:
    """Outputs of several thread blocks, at their edges; NaN and infinity; channels; every type; the shortest window."""
    samples = signals(5000, 2048, 2049, 1, 40).samples
    samples[0][2000], samples[1][-1], samples[4][3] = np.nan, np.inf, -np.inf
    pairs = [x[: len(x) // 3 * 3].reshape(-1, 3) for x in signals(9000, 30).samples]
    options = [{"scale": 1.0}, {"scale": 0.01}, {"scale": 3.7}, {"out_length": 2049}]
    options += [{"scale": 0.9, "quality": q} for q in (0.0, 100.0)]
    for data in (Data(samples), Data(pairs)):
        check([Case("audio_resample", [data], args) for args in options])
    # what a block reads fits into shared memory, just so, and not
    long = signals(30000, 9000)
    check([Case("audio_resample", [long], {"scale": 1 / step}) for step in (3.0, 7.6, 7.7, 7.9, 9.0)])
    cases = []
    kinds = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
    for kind in kinds:
        wide = np.iinfo(kind).max if kind != "float32" else 1
        loud = Data([(np.abs(x) / 4 * wide).astype(kind) for x in signals(3000, 7).samples])
        for dtype in kinds:
            to = "FLOAT" if dtype == "float32" else dtype.upper()
            args = {"in_rate": 16000.0, "out_rate": 22050.0, "dtype": f"types.{to}"}
            cases.append(Case("audio_resample", [loud], args))
    check(cases)


def test_regions_of_long_signals() -> None:
    """Several intervals; loud parts within and across them, NaN, no element; types with and without exact means."""
    rng = np.random.default_rng(8)
    samples = []
    for length, first, last in (
        (30000, 9000, 9100),
        (8192, 8191, 8192),
        (20000, 0, 20000),
        (0, 0, 0),
    ):
        samples.append(rng.normal(0, 1e-3, length).astype(np.float32))
        samples[-1][first:last] += rng.normal(0, 0.5, last - first).astype(np.float32)
    odd = [x.copy() for x in samples[:2]]
    odd[0][0], odd[1][5000] = np.nan, np.nan
    args = {"window_length": 512, "cutoff_db": -30.0}
    for some in (samples, odd):
        cases = [{"reset_interval": interval, **args} for interval in (512, 8192, -1)]
        check([Case("nonsilent_region", [Data(some)], each) for each in cases])
    args = {"window_length": 700, "cutoff_db": -20.0}
    cases = []
    for dtype in (np.int16, np.uint8, np.int32, np.uint64):
        numbers = Data([np.abs(x * 100).astype(dtype) for x in samples])
        for more in ({}, {"reference_power": 9.0}, {"window_length": 5000}, {"window_length": 1}):
            cases.append(Case("nonsilent_region", [numbers], {**args, **more}))
    for window, interval in ((1, 1), (1, 3), (5000, 10000), (9000, -1)):
        short = {"window_length": window, "reset_interval": interval}
        cases.append(Case("nonsilent_region", [Data(samples)], short))
    check(cases)


ELSEWHERE = {  # in all pipelines, and in files of their own
    "external_source",
    "decoders.inflate",
    "optical_flow",
    "dl_tensor_python_function",
    "dump_image",
    "python_function",
}


def test_every_operator_has_cases() -> None:
    """Those that run on a GPU; ELSEWHERE of the cases files is not enough, they also need OURS."""
    names = {n for n, op in _schema.operators().items() if on_gpu(op) and "hidden" not in op.flags}
    missing = names - set(map(operator_of, CHOSEN)) - ELSEWHERE
    assert not missing, (
        f"no case runs on a GPU: add CASES or OURS to tests/ops/cases_*.py for {sorted(missing)}"
    )


@grouped.by_operator(CHOSEN, MOST)
def test_same_bytes(cases: list[Any]) -> None:
    found = []
    for size in sorted({case.batch_size() for case in cases}):
        of_size = [seeded(case) for case in cases if case.batch_size() == size]
        for k in range(0, len(of_size), TOGETHER):
            found += differences(of_size[k : k + TOGETHER])
    grouped.fail(found, len(cases))


@pytest.mark.parametrize("case", [c for c in LARGE if compared(c)], ids=str)
def test_outputs_have_their_own_memory(case: Case) -> None:
    assert aliased(case, Engine("headrace", "gpu")) == []
