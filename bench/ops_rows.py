# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What bench_ops.py measures. A row is an operator with inputs and typical arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

# kind: shape, type, layout, samples per batch. "jpeg" is handled separately.
INPUTS: dict[str, tuple[tuple[int, ...], str, str, int]] = {
    "picture": ((375, 500, 3), "uint8", "HWC", 8),
    "floats": ((375, 500, 3), "float32", "HWC", 8),
    "small": ((224, 224, 3), "uint8", "HWC", 8),
    "planes": ((3, 224, 224), "float32", "CHW", 8),
    "frames": ((8, 112, 112, 3), "uint8", "FHWC", 4),
    "volume": ((32, 64, 64, 1), "float32", "DHWC", 4),
    "scalar": ((), "float32", "", 64),
    "number": ((), "int32", "", 64),
    "vector": ((4,), "float32", "", 64),
    "labels": ((256,), "int32", "", 64),
    "sizes": ((2,), "int64", "", 64),
    "bytes": ((10000,), "uint8", "", 16),
    "points": ((1000, 2), "float32", "", 16),
    "signal": ((16000,), "float32", "", 16),
    "matrix": ((2, 3), "float32", "", 64),
    "kernel": ((3, 3), "float32", "", 8),
    "kernel5": ((5, 5), "float32", "", 8),
    "bayer": ((374, 500), "uint8", "HW", 8),
    "mask": ((375, 500), "uint8", "HW", 8),
    "boxes": ((20, 4), "float32", "", 64),
    "classes": ((20,), "int32", "", 64),
    "picture boxes": ((20, 4), "float32", "", 8),
    "picture classes": ((20,), "int32", "", 8),
    "one": ((1,), "int32", "", 64),
    "polygons": ((6, 3), "int32", "", 64),
    "vertices": ((60, 2), "float32", "", 64),
    "columns": ((375, 500), "float32", "HW", 8),
    "rows": ((375, 500), "float32", "HW", 8),
}
RANGES = {"one": (0, 3), "labels": (0, 10), "sizes": (100, 500), "classes": (0, 10), "picture classes": (0, 10)}


def special(kind: str, i: int) -> Any:
    """Sample `i` of a kind whose values are not just random, or None."""
    import numpy as np

    rng = np.random.default_rng(i)
    if kind.endswith("boxes"):  # left, top, right, bottom
        return np.sort(rng.random((20, 2, 2)), axis=1).reshape(20, 4).astype(np.float32)
    y, x = np.mgrid[0:375, 0:500].astype(np.float32)
    if kind == "mask":  # discs
        return ((x // 50 + y // 50) % 3 * (np.hypot(x % 50 - 25, y % 50 - 25) < 20)).astype(np.uint8)
    if kind == "columns":
        return x + 3 * np.sin(y / 20)
    if kind == "rows":
        return y + 3 * np.cos(x / 20)
    if kind == "polygons":  # mask, first vertex, end
        return np.array([[k // 2, 10 * k, 10 * k + 10] for k in range(6)], np.int32)
    return None


@dataclasses.dataclass
class Row:
    """`call` gets the modules fn and types, the number of the call and the inputs, and returns one or more nodes."""

    name: str
    op: str
    inputs: tuple[str, ...]
    call: Callable[..., Any]
    times: int = 1  # calls in the pipeline, where a single one is too cheap to measure
    batch: int = 64  # if there are no inputs
    opencv: Callable[..., Any] | None = None  # what DALI has on a GPU only: a call of OpenCV with a sample


def row(name: str, inputs: str, times: int = 1, op: str | None = None, **args: Any) -> Row:
    """A plain call of the operator with which the name begins; "types.X" is looked up."""

    def value(types: Any, given: Any) -> Any:
        known = isinstance(given, str) and given.startswith("types.")
        return getattr(types, given[6:]) if known else given

    operator = op or name.split(" ")[0]

    def call(fn: Any, types: Any, i: int, *nodes: Any) -> Any:
        target = fn
        for part in operator.split("."):
            target = getattr(target, part)
        given = {key: v(i) if callable(v) else value(types, v) for key, v in args.items()}
        return target(*nodes, **given)

    return Row(name, operator, tuple(kind.replace("-", " ") for kind in inputs.split()), call, times)


def opencv(name: str, inputs: str, function: Callable[..., Any], **args: Any) -> Row:
    """A plain call, compared with `function`, which gets the module cv2 and the arrays of a sample."""
    return dataclasses.replace(row(name, inputs, **args), opencv=function)


def nodes(name: str, inputs: str, times: int, function: Callable[..., Any]) -> Row:
    """An expression on nodes."""
    call = lambda fn, types, i, *given: function(i, *given)  # noqa: E731
    return Row(name, "", tuple(inputs.split()), call, times)


def math_row(name: str, function: str, *more: float) -> Row:
    """A function of the module math on numbers from 0 to 1, which all of them accept."""

    def call(fn: Any, types: Any, i: int, x: Any) -> Any:
        return getattr(module(fn).math, function)(x * (1 / 255), *more)

    return Row(name, "", ("floats",), call)


def corners(types: Any) -> Any:
    import numpy as np

    return types.Constant(np.array([[0, 0], [0, 224], [224, 0], [224, 224]], np.int32))


def ones(size: int) -> Any:
    import numpy as np

    return np.ones((size, size), np.uint8)


def anchors() -> list[float]:
    """The 8732 anchors of SSD300."""
    from augmentations import ssd_anchors

    return ssd_anchors()


STATS = {"mean": [123.7, 116.3, 103.5], "std": [58.4, 57.1, 57.4]}
INTERPS = ("NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN")

ROWS = [
    # decoders
    row("decoders.image", "jpeg"),
    row("decoders.image GRAY", "jpeg", output_type="types.GRAY"),
    row("decoders.image_crop", "jpeg", crop=(224, 224)),
    row("decoders.image_slice", "jpeg", start=[50, 50], shape=[200, 200]),
    row("decoders.image_random_crop", "jpeg"),
    row("peek_image_shape", "jpeg", 1),
    # pictures
    row("crop", "picture", crop=(224, 224)),
    row("crop to FLOAT", "picture", crop=(224, 224), dtype="types.FLOAT"),
    row("flip", "picture"),
    row("flip vertical", "picture", horizontal=0, vertical=1),
    row("flip FLOAT", "floats"),
    *[row(f"resize {i}", "picture", size=(224, 224), interp_type="types.INTERP_" + i) for i in INTERPS],
    row("resize up LINEAR", "small", size=(448, 448)),
    row("resize up CUBIC", "small", size=(448, 448), interp_type="types.INTERP_CUBIC"),
    row("resize FLOAT", "floats", size=(224, 224)),
    row("resize frames", "frames", size=(64, 64)),
    row("resize volume", "volume", size=(16, 48, 48)),
    row("gaussian_blur sigma 1", "picture", sigma=1.0),
    row("gaussian_blur sigma 3", "picture", sigma=3.0),
    row("gaussian_blur floats", "floats", sigma=1.0),
    row("gaussian_blur volume", "volume", sigma=1.0),
    row("laplacian", "picture"),
    row("laplacian 7 FLOAT", "picture", window_size=7, dtype="types.FLOAT"),
    row("tensor_resize", "planes", sizes=[3, 112, 112]),
    row("random_resized_crop", "picture", size=(224, 224)),
    row("color_space_conversion YCbCr", "picture", image_type="types.RGB", output_type="types.YCbCr"),
    row("color_space_conversion GRAY", "picture", image_type="types.RGB", output_type="types.GRAY"),
    # colours
    row("brightness_contrast", "picture", brightness=1.2, contrast=0.8),
    row("brightness_contrast FLOAT", "floats", brightness=1.2, contrast=0.8),
    row("brightness_contrast to FLOAT", "picture", brightness=1.2, contrast=0.8, dtype="types.FLOAT"),
    row("color_twist", "picture", hue=20.0, saturation=1.2, brightness=0.9, contrast=1.1),
    row("color_twist FLOAT", "floats", hue=20.0, saturation=1.2, brightness=0.9, contrast=1.1),
    row("hsv", "picture", hue=20.0, saturation=1.2, value=0.9),
    row("brightness", "picture", brightness=1.2),
    row("contrast", "picture", contrast=1.2),
    row("hue", "picture", hue=20.0),
    row("saturation", "picture", saturation=1.2),
    row("equalize", "picture"),
    row("clahe", "picture", tiles_x=8, tiles_y=8, clip_limit=2.0),
    row("clahe all channels", "picture", tiles_x=8, tiles_y=8, clip_limit=2.0, luma_only=False),
    row("debayer bilinear", "bayer", op="debayer", blue_position=[0, 0], algorithm="bilinear_ocv"),
    row("debayer VNG", "bayer", op="debayer", blue_position=[0, 0], algorithm="vng_ocv"),
    opencv("experimental.median_blur 3", "picture", lambda cv2, x: cv2.medianBlur(x, 3), window_size=3),
    opencv("experimental.median_blur 7", "picture", lambda cv2, x: cv2.medianBlur(x, 7), window_size=7),
    opencv("experimental.dilate 3", "picture", lambda cv2, x: cv2.dilate(x, ones(3)), mask_size=3),
    opencv("experimental.erode 7", "picture", lambda cv2, x: cv2.erode(x, ones(7)), mask_size=7),
    row("jpeg_compression_distortion", "picture"),
    row("filter 3x3", "picture kernel"),
    row("filter 5x5", "picture kernel5"),
    row("resize_crop_mirror", "picture", resize_shorter=256.0, crop=(224, 224), mirror=1),
    # pixels
    row("erase", "picture", anchor=[100.0, 150.0], shape=[100.0, 120.0], fill_value=[1, 2, 3]),
    row("erase FLOAT", "floats", anchor=[100.0, 150.0], shape=[100.0, 120.0]),
    row("grid_mask", "picture", tile=50, angle=0.3),
    row("grid_mask FLOAT", "floats", tile=50, angle=0.3),
    row("paste", "picture", fill_value=[1, 2, 3], ratio=1.5),
    Row("multi_paste", "multi_paste", ("small",),
        lambda fn, t, i, x: fn.multi_paste(x, in_ids=[0, 1, 2, 3], output_size=[448, 448], out_anchors=corners(t))),
    row("sphere", "picture"),
    row("sphere LINEAR", "picture", interp_type="types.INTERP_LINEAR"),
    row("water", "picture"),
    row("water LINEAR", "picture", interp_type="types.INTERP_LINEAR"),
    row("rotate", "small", angle=30.0),
    row("rotate NN", "small", angle=30.0, interp_type="types.INTERP_NN"),
    row("rotate keep_size", "small", angle=30.0, keep_size=True),
    row("rotate 90", "small", angle=90.0),
    row("noise.gaussian", "picture", stddev=10.0),
    row("noise.shot", "picture"),
    row("noise.salt_and_pepper", "picture"),
    row("rotate volume", "volume", angle=20.0, axis=(0.0, 0.0, 1.0)),
    row("warp_affine", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0]),
    row("warp_affine NN", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0], interp_type="types.INTERP_NN"),
    row("experimental.warp_perspective", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0, 0.0005, -0.0002, 1.0]),
    row("experimental.warp_perspective floats", "planes", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0, 0.0005, -0.0002, 1.0]),
    row("experimental.warp_perspective CUBIC", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0, 0.0005, -0.0002, 1.0], interp_type="types.INTERP_CUBIC"),
    row("experimental.warp_perspective NN", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0, 0.0005, -0.0002, 1.0], interp_type="types.INTERP_NN"),
    row("experimental.warp_perspective reflect", "small", matrix=[0.9, 0.2, -10.0, -0.2, 0.9, 20.0, 0.0005, -0.0002, 1.0], border_mode="reflect_101"),
    opencv("experimental.remap", "picture columns rows", lambda cv2, x, u, v: cv2.remap(x, u, v, cv2.INTER_LINEAR)),
    opencv("experimental.remap NN", "picture columns rows",
           lambda cv2, x, u, v: cv2.remap(x, u, v, cv2.INTER_NEAREST), interp="types.INTERP_NN"),
    row("crop_mirror_normalize", "picture", crop=(224, 224), mirror=1, **STATS),
    row("crop_mirror_normalize FLOAT16", "picture", crop=(224, 224), dtype="types.FLOAT16", **STATS),
    row("crop_mirror_normalize HWC", "picture", output_layout="HWC", **STATS),
    # shapes and layout
    row("slice", "picture", op="slice", start=[50, 60], shape=[224, 224], axes=[0, 1]),
    row("slice pad", "picture", op="slice", start=[-50, 60], shape=[300, 600], axes=[0, 1],
        out_of_bounds_policy="pad"),
    row("transpose HWC to CHW", "small", perm=[2, 0, 1]),
    row("transpose CHW to HWC FLOAT", "planes", perm=[1, 2, 0]),
    row("transpose HW", "small", perm=[1, 0, 2]),
    row("pad", "picture", axes=[0, 1], shape=[512, 512]),
    row("cat", "picture picture", axis=0),
    row("cat last axis", "small small", axis=2),
    row("stack", "picture picture"),
    row("reshape", "picture", 8, shape=lambda i: [-1, (1, 3, 5, 15, 25, 75, 125, 375)[i]]),
    row("squeeze", "volume", 8, axes=[3]),
    row("expand_dims", "picture", 8, axes=lambda i: [i % 4]),
    row("reinterpret", "picture", 8, shape=lambda i: [-1, i + 1] if i < 1 else [-1, 3]),
    Row("shapes", "", ("picture",),
        lambda fn, t, i, x: x.shape(dtype=(t.INT64, t.INT32, t.FLOAT, t.UINT32)[i]), 4),
    row("get_property", "picture", 1, key="layout"),
    row("element_extract", "frames", element_map=[0, 3, 5]),
    row("sequence_rearrange", "frames", new_order=[7, 6, 5, 4, 3, 2, 1, 0]),
    row("per_frame", "frames"),
    row("permute_batch", "picture", indices=[7, 6, 5, 4, 3, 2, 1, 0]),
    Row("batch_permutation", "batch_permutation", (), lambda fn, t, i: fn.batch_permutation(seed=i), 8),
    # types, constants
    row("cast to FLOAT", "picture", dtype="types.FLOAT"),
    row("cast to UINT8", "floats", dtype="types.UINT8"),
    row("cast to FLOAT16", "floats", dtype="types.FLOAT16"),
    row("cast scalars", "scalar", 8, op="cast", dtype="types.INT32"),
    row("cast_like", "picture floats"),
    row("copy", "picture"),
    Row("constant", "constant", (), lambda fn, t, i: fn.constant(fdata=[1.0, 2.0, i]), 8),
    Row("zeros", "zeros", (), lambda fn, t, i: fn.zeros(shape=[64, 64 + i]), 4),
    Row("ones", "ones", (), lambda fn, t, i: fn.ones(shape=[64, 64 + i]), 4),
    Row("full", "full", (), lambda fn, t, i: fn.full(2.5, shape=[64, 64 + i]), 4),
    row("zeros_like", "picture"),
    row("ones_like", "picture"),
    Row("full_like", "full_like", ("picture",), lambda fn, t, i, x: fn.full_like(x, 7)),
    row("lookup_table", "labels", keys=list(range(10)), values=[float(v) * 2 for v in range(10)]),
    row("lookup_table image", "picture", keys=[1, 5, 200], values=[3.0, 4.0, 5.0]),
    row("one_hot", "labels", num_classes=10),
    row("normalize", "floats", axes=[0, 1]),
    row("normalize given", "floats", op="normalize", mean=120.0, stddev=60.0),
    row("normalize UINT8", "picture", dtype="types.FLOAT"),
    # reductions
    *[row(f"reductions.{name} all", "floats")
      for name in ("sum", "mean", "max", "min", "mean_square", "rms", "std_dev", "variance")
      if name not in ("std_dev", "variance")],
    *[row(f"reductions.{name} HW", "floats", axes=[0, 1]) for name in ("sum", "mean", "max")],
    row("reductions.mean UINT8", "picture", axes=[0, 1]),
    row("reductions.max UINT8", "picture"),
    row("reductions.sum last axis", "floats", axes=[2]),
    Row("reductions.std_dev", "reductions.std_dev", ("floats",),
        lambda fn, t, i, x: fn.reductions.std_dev(x, fn.reductions.mean(x))),
    Row("reductions.variance", "reductions.variance", ("floats",),
        lambda fn, t, i, x: fn.reductions.variance(x, fn.reductions.mean(x))),
    # arithmetic
    nodes("arithmetic u8 * constant", "picture", 1, lambda i, x: x * 0.5),
    nodes("arithmetic u8 + u8", "picture picture", 1, lambda i, x, y: x + y),
    nodes("arithmetic f32 + f32", "floats floats", 1, lambda i, x, y: x + y),
    nodes("arithmetic f32 * 2 + 1", "floats", 1, lambda i, x: x * 2 + 1),
    nodes("arithmetic f32 > 100", "floats", 1, lambda i, x: x > 100.0),
    nodes("arithmetic broadcast", "floats", 1, lambda i, x: x - np_row()),
    nodes("arithmetic scalars", "scalar", 8, lambda i, x: x * (2.0 + i) + 1.0),
    Row("math.sqrt", "", ("floats",), lambda fn, t, i, x: module(fn).math.sqrt(x)),
    Row("math.exp", "", ("floats",), lambda fn, t, i, x: module(fn).math.exp(x * 0.01)),
    *[math_row(f"math.{name}", name)
      for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
                   "log", "log2", "log10", "rsqrt", "cbrt", "floor", "ceil", "fabs")],
    *[math_row(f"math.{name}", name, 1.7) for name in ("pow", "atan2", "min", "max")],
    nodes("arithmetic f32 % 3", "floats", 1, lambda i, x: x % 3.0),
    Row("math.clamp", "", ("floats",), lambda fn, t, i, x: module(fn).math.clamp(x, 10, 200)),
    nodes("subscript x[10:100, 20:200]", "picture", 1, lambda i, x: x[10:100, 20:200]),
    nodes("subscript scalars x[1]", "vector", 4, lambda i, x: x[i]),
    # random
    Row("random.uniform", "random.uniform", (), lambda fn, t, i: fn.random.uniform(range=[0.0, 2.0 + i]), 8),
    Row("random.uniform 10,000", "random.uniform", (),
        lambda fn, t, i: fn.random.uniform(range=[0.0, 2.0], shape=[10000]), 1, 8),
    Row("random.coin_flip", "random.coin_flip", (), lambda fn, t, i: fn.random.coin_flip(probability=0.1 * i), 8),
    Row("random.normal", "random.normal", (), lambda fn, t, i: fn.random.normal(mean=float(i)), 8),
    Row("random.normal 10,000", "random.normal", (), lambda fn, t, i: fn.random.normal(shape=[10000]), 1, 8),
    Row("random.beta", "random.beta", (), lambda fn, t, i: fn.random.beta(alpha=1.0 + i, beta=2.0), 8),
    Row("random.choice", "random.choice", (), lambda fn, t, i: fn.random.choice(10 + i, shape=[16]), 8),
    row("random_crop_generator", "sizes", 4, random_area=lambda i: [0.1, 0.5 + 0.1 * i]),
    Row("roi_random_crop", "roi_random_crop", (),
        lambda fn, t, i: fn.roi_random_crop(crop_shape=[20, 30], roi_start=[i, 5], roi_end=[60, 70],
                                            in_shape=[100, 100]), 8),
    row("roi_random_crop image", "picture", 4, op="roi_random_crop", crop_shape=[224, 224, 3],
        roi_start=lambda i: [50 + i, 50, 0], roi_end=[150, 150, 3]),
    # transforms and coordinates
    Row("transforms.translation", "transforms.translation", (),
        lambda fn, t, i: fn.transforms.translation(offset=[1.0, float(i)]), 8),
    Row("transforms.rotation", "transforms.rotation", (),
        lambda fn, t, i: fn.transforms.rotation(angle=10.0 + i), 8),
    Row("transforms.scale", "transforms.scale", (),
        lambda fn, t, i: fn.transforms.scale(scale=[1.0, 2.0 + i]), 8),
    Row("transforms.shear", "transforms.shear", (),
        lambda fn, t, i: fn.transforms.shear(shear=[1.0, 2.0 + i]), 8),
    Row("transforms.crop", "transforms.crop", (),
        lambda fn, t, i: fn.transforms.crop(from_start=[0.0, 1.0 * i], from_end=[9.0, 9.0]), 8),
    Row("transforms.combine", "transforms.combine", ("matrix",),
        lambda fn, t, i, m: fn.transforms.combine(m, fn.transforms.rotation(angle=10.0 + i)), 8),
    row("coord_transform", "points", M=[0.5, 0.1, 0.2, 0.7], T=[1.0, 2.0]),
    row("coord_flip", "points"),
    # boxes and masks
    row("bb_flip", "boxes", 4, ltrb=True, horizontal=lambda i: i % 2),
    row("bbox_paste", "boxes", 4, ltrb=True, ratio=lambda i: 1.5 + i),
    row("bbox_rotate", "boxes classes", 4, angle=lambda i: 10.0 + i, input_shape=[375, 500]),
    row("random_bbox_crop", "boxes classes", bbox_layout="xyXY", thresholds=[0.0, 0.3, 0.7],
        aspect_ratio=[0.5, 2.0], scaling=[0.3, 1.0]),
    row("ssd_random_crop", "picture picture-boxes picture-classes"),
    row("box_encoder", "boxes classes", anchors=anchors(), criteria=0.5),
    row("segmentation.random_mask_pixel", "mask", foreground=1),
    row("segmentation.random_object_bbox", "mask", foreground_prob=1.0, output_class=True),
    row("segmentation.select_masks", "one polygons vertices", op="segmentation.select_masks"),
]  # fmt: skip


def module(fn: Any) -> Any:
    """The engine that the module `fn` belongs to."""
    import importlib

    root = importlib.import_module(fn.__name__.rpartition(".")[0])
    importlib.import_module(root.__name__ + ".math")
    return root


def np_row() -> Any:
    """Three numbers, one per channel."""
    import numpy as np

    return np.array([1.0, 2.0, 3.0], np.float32)
