# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the decoders, on files that Pillow writes: formats, samplings, orientations, types, windows."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np

from harness import Case, Data, decoded, exact, scalars, vectors


def picture(height: int, width: int, channels: int = 3, seed: int = 3) -> np.ndarray:
    """Smooth colours with some noise, as in photographs."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (5 + 3 * c) + c) * np.cos(y / (9 - 2 * c)) for c in range(channels)]
    values = np.stack(waves, -1) * 90 + 128 + rng.normal(0, 8, (height, width, channels))
    return np.clip(values, 0, 255).astype(np.uint8)


@functools.cache
def coded(
    format: str, height: int = 61, width: int = 83, mode: str = "RGB", **options: Any
) -> bytes:
    """A file in memory."""
    image_module = __import__("PIL.Image").Image
    channels = {"RGB": 3, "L": 1, "RGBA": 4, "CMYK": 4, "LA": 2}.get(mode, 3)
    values = picture(height, width, channels)
    if mode == "I;16":
        image = image_module.fromarray(values[..., 0].astype(np.uint16) * 257 + 3)
    elif mode == "P":
        image = image_module.fromarray(values).quantize(64)
    elif mode == "1":
        image = image_module.fromarray(values[..., 0]).convert("1")
    else:
        squeezed = values[..., 0] if channels == 1 else values
        image = image_module.fromarray(squeezed, mode)
    options = dict(options)
    orientation = options.pop("orientation", None)
    if orientation:
        exif = image_module.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def files(*contents: bytes) -> Data:
    return Data([np.frombuffer(c, np.uint8) for c in contents])


def jpegs() -> Data:
    return files(coded("JPEG", 61, 83, quality=88), coded("JPEG", 90, 47, quality=70))


def image_cases() -> list[Case]:
    name = "decoders.image"
    cases = []
    for sampling in (0, 1, 2):
        for progressive in (False, True):
            data = files(
                coded("JPEG", 61, 83, quality=90, subsampling=sampling, progressive=progressive),
                coded("JPEG", 16, 16, quality=50, subsampling=sampling, progressive=progressive),
            )
            cases.append(Case(name, [data], {}))
    for orientation in range(1, 9):
        data = files(coded("JPEG", quality=90, orientation=orientation))
        cases.append(Case(name, [data], {}))
        cases.append(Case(name, [data], {"adjust_orientation": False}))
    grey = files(coded("JPEG", mode="L", quality=90))
    for data in (jpegs(), grey, files(coded("PNG")), files(coded("PNG", mode="RGBA"))):
        for kind in ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"):
            if data is grey and kind == "ANY_DATA":
                continue  # crashes DALI
            compare = decoded if kind in ("GRAY", "YCbCr") else exact
            cases.append(Case(name, [data], {"output_type": "types." + kind}, compare))
    for dtype in ("UINT8", "INT8", "UINT16", "INT16", "INT32", "FLOAT"):
        for data in (jpegs(), files(coded("PNG", mode="I;16"))):
            cases.append(Case(name, [data], {"dtype": "types." + dtype}))
    cases.append(Case(name, [files(coded("JPEG", mode="CMYK", quality=90))], {}, decoded))
    for mode in ("L", "LA", "P", "1"):
        cases.append(Case(name, [files(coded("PNG", mode=mode))], {}))
    for format in ("BMP", "PPM"):
        for mode in ("RGB", "L"):
            cases.append(Case(name, [files(coded(format, mode=mode))], {}))
    cases.append(Case(name, [files(coded("WEBP", lossless=True))], {}))
    cases.append(Case(name, [files(coded("WEBP", quality=80))], {}, decoded))
    for mode in ("RGB", "L", "RGBA", "I;16"):
        data = files(
            coded("JPEG2000", mode=mode), coded("JPEG2000", 40, 70, mode, tile_size=(32, 32))
        )
        for kind in ("RGB", "GRAY", "YCbCr", "ANY_DATA"):
            compare = decoded if kind == "YCbCr" else exact
            cases.append(Case(name, [data], {"output_type": "types." + kind}, compare))
        cases.append(Case(name, [data], {"dtype": "types.UINT16"}))
    lossy = coded("JPEG2000", irreversible=True, quality_layers=(30, 8))
    cases.append(Case(name, [files(lossy)], {}, decoded))
    ignored = {
        "affine": False, "cache_batch_copy": False, "cache_debug": True, "cache_size": 0,
        "cache_threshold": 1, "cache_type": "", "device_memory_padding": 1,
        "device_memory_padding_jpeg2k": 1, "host_memory_padding": 1,
        "host_memory_padding_jpeg2k": 1, "hw_decoder_load": 0.3, "hybrid_huffman_threshold": 5,
        "jpeg_fancy_upsampling": True, "preallocate_height_hint": 9, "preallocate_width_hint": 9,
        "use_fast_idct": False,
    }  # fmt: skip
    cases += [Case(name, [jpegs()], {key: value}) for key, value in ignored.items()]
    for old in ("memory_stats", "split_stages", "use_chunk_allocator"):
        cases.append(Case(name, [jpegs()], {old: False}))
    return cases


COMMON_IGNORED = (
    "affine device_memory_padding device_memory_padding_jpeg2k host_memory_padding "
    "host_memory_padding_jpeg2k hw_decoder_load hybrid_huffman_threshold jpeg_fancy_upsampling "
    "preallocate_height_hint preallocate_width_hint use_fast_idct memory_stats split_stages "
    "use_chunk_allocator"
).split()


def npy(*arrays: np.ndarray) -> Data:
    """NumPy files in memory."""
    contents = []
    for values in arrays:
        out = io.BytesIO()
        np.save(out, values)
        contents.append(out.getvalue())
    return files(*contents)


def numpy_cases() -> list[Case]:
    """DALI decodes arrays in Fortran order only where there is a CUDA driver: see tests/python/test_numpy.py."""
    name = "decoders.numpy"
    values = np.array([[1.5, -2.7, 300.4], [-1, 2.5, 3.5]])
    dtypes = "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 ?".split()
    cases = [Case(name, [npy(np.abs(values).astype(dtype))], {}) for dtype in dtypes]
    for dtype in "UINT8 INT8 UINT16 INT16 INT32 INT64 FLOAT16 FLOAT FLOAT64 BOOL".split():
        cases.append(Case(name, [npy(values, values[:1])], {"dtype": "types." + dtype}))
        cases.append(Case(name, [npy(values.astype("i4") * 99)], {"dtype": "types." + dtype}))
    for shape in ((), (0,), (0, 3), (1,) * 6, (50, 40)):
        cases.append(Case(name, [npy(np.zeros(shape, "f4"), np.ones(shape, "f4"))], {}))
    signed = Data([npy(values).samples[0].view(np.int8)])
    cases.append(Case(name, [signed], {}))
    return cases


def numpy_errors() -> list[Case]:
    name = "decoders.numpy"
    (good,) = npy(np.arange(6)).samples
    bad = [good[:-3], good[:40], np.append(good, good[:9]), good[:0], good[1:], good.view(np.int64)]
    unsupported = [np.arange(3) * 1j, np.array(["ab"]), np.zeros(2, "M8[D]")]
    return [
        *[Case(name, [Data([data])], {}) for data in bad],
        *[Case(name, [npy(values)], {}) for values in unsupported],
    ]


def crop_cases() -> list[Case]:
    name = "decoders.image_crop"
    cases = []
    turned = files(
        coded("JPEG", quality=90, orientation=6), coded("JPEG", quality=9, orientation=3)
    )
    for args in (
        {},
        {"crop": (30, 20)},
        {"crop": [30.9, 20.2]},
        {"crop": (31, 21), "crop_pos_x": 0.1, "crop_pos_y": 0.93},
        {"crop": (31, 21), "crop_pos_x": 0.1, "crop_pos_y": 0.93, "rounding": "truncate"},
        {"crop": (31, 21), "crop_pos_x": 1.0, "crop_pos_y": 1.0},
        {"crop_h": 12.0, "crop_w": 40.0},
        {"crop_h": scalars(12, 40), "crop_w": scalars(40, 3)},
        {"crop_h": 12.0, "crop_w": 40.0, "crop_d": 1.0, "crop_pos_z": 0.2},
        {"crop": vectors((1, 1), (17, 9))},
        {"crop": (30, 20), "output_type": "types.BGR"},
        {"crop": (30, 20), "dtype": "types.FLOAT"},
    ):
        cases.append(Case(name, [jpegs()], args))
        cases.append(Case(name, [turned], args))
    cases.append(Case(name, [turned], {"crop": (30, 20), "adjust_orientation": False}))
    cases += [Case(name, [jpegs()], {"crop": (9, 9), key: False}) for key in COMMON_IGNORED]
    for content in (
        coded("PNG"), coded("BMP"), coded("PPM"), coded("WEBP", lossless=True), coded("JPEG2000")
    ):  # fmt: skip
        cases.append(Case(name, [files(content)], {"crop": (30, 20), "crop_pos_x": 0.3}))
    return cases


def slice_cases() -> list[Case]:
    name = "decoders.image_slice"
    cases = []
    for args in (
        {"start": [10, 20], "shape": [30, 24]},
        {"start": [10, 20], "end": [30, 45]},
        {"start": [10, 20], "end": [45, 30], "axes": [0, 1]},
        {"start": [10, 20], "end": [45, 30], "axis_names": "HW"},
        {"start": [10, 20], "end": [45, 30], "axes": [-2, -1]},
        {"start": [10], "end": [45], "axes": [0]},
        {"start": 10, "end": 45},
        {"start": [10, 20]},
        {"end": [10, 20]},
        {"shape": [10, 20]},
        {"rel_start": [0.1, 0.2], "rel_shape": [0.3, 0.4]},
        {"rel_start": [0.1, 0.2], "rel_end": [0.55, 0.95]},
        {"rel_start": [0.1, 0.2], "shape": [30, 20]},
        {"start": [3, 5], "rel_shape": [0.3, 0.4]},
        {"rel_end": [0.13, 0.27]},
        {"start": vectors((1, 2), (3, 4), dtype=np.int32),
         "shape": vectors((5, 6), (7, 8), dtype=np.int32)},
        {"rel_start": vectors((0.1, 0.2), (0.3, 0.4)), "rel_end": vectors((0.5, 0.6), (0.7, 0.8))},
        {"start": [2, 3], "shape": [9, 8], "dtype": "types.INT16"},
        {"start": [2, 3], "shape": [9, 8], "output_type": "types.GRAY"},
        {"start": [2, 3], "shape": [9, 8], "adjust_orientation": False},
    ):  # fmt: skip
        cases.append(Case(name, [jpegs()], args))
    floats = [vectors((0.1, 0.2), (0.3, 0.4)), vectors((0.33, 0.47), (0.5, 0.6))]
    pixels = [vectors((1, 2), (3, 4)), vectors((9, 8), (7, 6))]
    whole = [vectors((1, 2), (3, 4), dtype=np.int32), vectors((9, 8), (7, 6), dtype=np.int32)]
    cases.append(Case(name, [jpegs(), *floats], {}))
    cases.append(Case(name, [jpegs(), *floats], {"axis_names": "HW"}))
    cases.append(Case(name, [jpegs(), *whole], {}))
    absolute = {"normalized_anchor": False, "normalized_shape": False}
    cases.append(Case(name, [jpegs(), *pixels], absolute))
    cases.append(Case(name, [jpegs(), floats[0], pixels[1]], {"normalized_shape": False}))
    cases += [Case(name, [jpegs()], {"shape": [9, 9], key: False}) for key in COMMON_IGNORED]
    return cases


def random_crop_cases() -> list[Case]:
    """Only cases whose result is not random: the whole of a square picture."""
    name = "decoders.image_random_crop"
    square = files(coded("JPEG", 64, 64, quality=90), coded("PNG", 40, 40))
    whole = {"random_area": [1.0, 1.0], "random_aspect_ratio": [1.0, 1.0], "num_attempts": 3}
    cases = [Case(name, [square], {**whole, key: False}) for key in COMMON_IGNORED]
    for args in (
        {},
        {"output_type": "types.BGR"},
        {"dtype": "types.FLOAT"},
        {"adjust_orientation": False},
    ):
        cases.append(Case(name, [square], {**whole, **args}))
    return cases


def peek_cases() -> list[Case]:
    name = "peek_image_shape"
    many = files(coded("JPEG"), coded("PNG", mode="RGBA"), coded("BMP"), coded("JPEG", mode="L"))
    cases = [
        Case(name, [many], {"dtype": "types." + dtype})
        for dtype in ("INT32", "UINT32", "INT64", "UINT64", "FLOAT", "FLOAT64")
    ]
    for kind in ("RGB", "GRAY", "YCbCr"):
        cases.append(Case(name, [many], {"image_type": "types." + kind}))
    turned = files(coded("JPEG", quality=90, orientation=6))
    cases.append(Case(name, [turned], {}))
    cases.append(Case(name, [turned], {"adjust_orientation": False}))
    return cases


def errors() -> list[Case]:
    data = jpegs()
    cases = [
        Case("decoders.image", [data], {"dtype": "types.FLOAT64"}),
        Case("decoders.image", [files(b"no picture at all")], {}),
        Case("decoders.image", [files(coded("JPEG", quality=90)[:200])], {}),
        Case("decoders.image", [Data([np.zeros((3, 3), np.uint8)])], {}),
        Case("decoders.image_crop", [data], {"crop": (300, 3)}),
        Case("decoders.image_crop", [data], {"crop_w": 3.0}),
        Case("peek_image_shape", [data], {"dtype": "types.UINT8"}),
        Case("peek_image_shape", [files(b"no picture at all")], {}),
        Case("decoders.image_random_crop", [data], {"random_area": [0.9, 0.1]}),
    ]
    for args in (
        {},
        {"start": [10, 20], "end": [5, 5]},
        {"start": [-1, 0], "shape": [5, 5]},
        {"start": [10, 20], "rel_start": [0.1, 0.1], "shape": [5, 5]},
        {"start": [10, 20], "shape": [5, 5], "end": [50, 50]},
        {"start": [10, 20], "shape": [5000, 5]},
        {"start": [10, 20], "axes": [0, 1], "axis_names": "WH", "end": [50, 40]},
        {"start": [1], "end": [2], "axes": [5]},
        {"start": [1, 1], "end": [2, 2], "axes": [0, 0]},
        {"start": [1, 1], "end": [2, 2], "axis_names": "WZ"},
    ):
        cases.append(Case("decoders.image_slice", [data], args))
    mixed = [vectors((1, 2), (3, 4), dtype=np.int32), vectors((0.1, 0.2), (0.3, 0.2))]
    cases.append(Case("decoders.image_slice", [data, *mixed], {}))
    return cases


def page_cases() -> list[Case]:
    """DALI takes the first page of a file."""
    pages = [__import__("PIL.Image").Image.fromarray(picture(61, 83, seed=i)) for i in range(2)]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    two = [out.getvalue()] * 2
    cases = []
    for name, args in (
        ("decoders.image", {}),
        ("decoders.image_crop", {"crop": (30, 40)}),
        ("decoders.image_slice", {"start": [3, 5], "shape": [40, 20]}),
        ("decoders.image_random_crop", {}),
        ("peek_image_shape", {}),
    ):
        cases.append(Case(name, [files(*two)], {"page": scalars(1, 0, dtype=np.int32), **args}))
        cases.append(Case(name, [files(*two)], {"all_pages": True, **args}))
    return cases


CASES = [
    *image_cases(),
    *crop_cases(),
    *slice_cases(),
    *random_crop_cases(),
    *peek_cases(),
    *numpy_cases(),
]
ERRORS = errors() + numpy_errors()
OURS = page_cases()
SHARED = {f"decoders.image_slice({argument})" for argument in ("axes", "end", "rel_shape")}
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {
    r"^decoders.image.*: dtype='types.UINT32'": "UINT32 is refused as a type of images",
    r"^decoders.image.*: use_fast_idct=True": "has no effect: the accurate transform is always used",
    r"^decoders.*: input 0 int8": "encoded files must be UINT8",
    r"^decoders.image_slice: (start|shape|rel_start|rel_shape|rel_end|end)=.*\[\]": "an empty list is accepted",
}  # fmt: skip
