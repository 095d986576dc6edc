# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What gpu_ops_peers.py measures. A case is a small pipeline, written once for both libraries."""

from __future__ import annotations

import dataclasses
import importlib
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 512
# kind: shape of a sample, type, layout
INPUTS: dict[str, tuple[tuple[int, ...], str, str]] = {
    "image": ((SIDE, SIDE, 3), "uint8", "HWC"),
    "other image": ((SIDE, SIDE, 3), "uint8", "HWC"),
    "floats": ((SIDE, SIDE, 3), "float32", "HWC"),
    "other floats": ((SIDE, SIDE, 3), "float32", "HWC"),
    "tiny": ((8, 8, 3), "uint8", "HWC"),
    "signal": ((64000,), "float32", ""),
    "spectrum": ((257, 400), "float32", "ft"),
    "mel": ((80, 400), "float32", "ft"),
    "points": ((1000, 2), "float32", ""),
    "boxes": ((100, 4), "float32", ""),
}


class Library:
    """Headrace or DALI, by the name of its package."""

    def __init__(self, package: str) -> None:
        self.package = importlib.import_module(package)
        self.fn: Any = self.module("fn")
        self.types: Any = self.module("types")
        self.auto_aug: Any = self.module("auto_aug")
        for policy in ("auto_augment", "rand_augment", "trivial_augment"):
            self.module(f"auto_aug.{policy}")

    def module(self, name: str) -> Any:
        return importlib.import_module(f"{self.package.__name__}.{name}")


@dataclasses.dataclass
class Case:
    """`make` gets the library and the inputs, and returns a node. `files`: the suffix and the options of Pillow."""

    name: str
    group: str
    make: Callable[..., Any]
    inputs: tuple[str, ...] = ("image",)
    batch: int = 64
    conditionals: bool = False
    listed: bool = False  # a batch is a list of tensors
    files: tuple[str, dict[str, Any]] | None = None
    side: int = 1024  # of the images in files


CASES: list[Case] = []


def op(name: str, operator: str, inputs: str = "image", **given: Any) -> None:
    """A plain call. Strings "types.X" are looked up."""

    def make(lib: Library, *nodes: Any) -> Any:
        target = lib.fn
        for part in operator.split("."):
            target = getattr(target, part)
        known = {
            key: getattr(lib.types, value[6:]) if str(value).startswith("types.") else value
            for key, value in given.items()
        }
        return target(*nodes, **known)

    kinds = tuple(inputs.split(", ")) if inputs else ()
    CASES.append(Case(name, "operators", make, kinds))


def case(name: str, make: Callable[..., Any], *inputs: str, **more: Any) -> None:
    CASES.append(Case(name, "operators", make, inputs or ("image",), **more))


MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
TURNED = (0.9, -0.43, 130.0, 0.43, 0.9, -80.0)
TILTED = np.array([[0.9, 0.2, 10.0], [-0.1, 1.1, 20.0], [1e-4, 2e-4, 1.0]], np.float32)


def normalised(lib: Library, x: Any, **more: Any) -> Any:
    half = lib.types.FLOAT16
    return lib.fn.crop_mirror_normalize(x, dtype=half, mean=MEAN, std=STD, **more)


def cropped(lib: Library, x: Any) -> Any:
    return lib.fn.random_resized_crop(x, size=(224, 224))


def color(lib: Library, x: Any) -> Any:
    return lib.fn.color_twist(x, hue=20.0, saturation=1.3, brightness=1.1, contrast=0.9)


def color_pipeline(lib: Library, x: Any) -> Any:
    return normalised(lib, color(lib, cropped(lib, x)))


def simclr(lib: Library, x: Any) -> Any:
    sigma = lib.fn.random.uniform(range=(0.1, 2.0))
    return normalised(lib, lib.fn.gaussian_blur(cropped(lib, x), sigma=sigma, window_size=23))


def rotated(lib: Library, x: Any) -> Any:
    angle = lib.fn.random.uniform(range=(-30.0, 30.0))
    return lib.fn.rotate(x, angle=angle, keep_size=True, fill_value=0)


def nonsilent(lib: Library, x: Any) -> Any:
    begin, length = lib.fn.nonsilent_region(x)
    return begin, length


def trivial(lib: Library, x: Any) -> Any:
    return lib.auto_aug.trivial_augment.trivial_augment_wide(x)


def rand(lib: Library, x: Any) -> Any:
    return lib.auto_aug.rand_augment.rand_augment(x, n=2, m=9)


def auto(lib: Library, x: Any) -> Any:
    return lib.auto_aug.auto_augment.auto_augment(x)


op("resize 224", "resize", size=(224, 224))
op("resize cubic", "resize", size=(224, 224), interp_type="types.INTERP_CUBIC")
op("resize up 1024", "resize", size=(1024, 1024))
op("resize nearest", "resize", size=(224, 224), interp_type="types.INTERP_NN")
case("random_resized_crop", cropped)
case("crop_mirror_normalize f16", lambda lib, x: normalised(lib, x, crop=(448, 448), mirror=1))
op("crop", "crop", crop=(448, 448))
op("slice", "slice", start=[32, 32], shape=[448, 448], axes=[0, 1])
op("flip", "flip")
op("pad", "pad", axes=(0, 1), shape=(600, 600))
op("transpose", "transpose", perm=[2, 0, 1])
case("rotate", rotated)
op("warp_affine", "warp_affine", matrix=TURNED, fill_value=0)
case(
    "warp_perspective",
    lambda lib, x: lib.fn.experimental.warp_perspective(x, matrix=TILTED, fill_value=0),
)
op("water", "water", fill_value=0.0)
op("sphere", "sphere", fill_value=0.0)
case("color_twist", color)
op("hsv", "hsv", hue=20.0, saturation=1.3, value=0.9)
op("brightness_contrast", "brightness_contrast", brightness=1.2, contrast=0.8)
YCBCR, GREY = "types.YCbCr", "types.GRAY"
op("RGB to YCbCr", "color_space_conversion", image_type="types.RGB", output_type=YCBCR)
op("RGB to grey", "color_space_conversion", image_type="types.RGB", output_type=GREY)
op("gaussian_blur 7", "gaussian_blur", window_size=7)
op("gaussian_blur 21", "gaussian_blur", window_size=21)
op("random.uniform", "random.uniform", "", device="gpu", range=(0.0, 1.0), shape=(SIDE, SIDE, 3))
op("random.normal", "random.normal", "", device="gpu", shape=(SIDE, SIDE, 3))
case("crop, twist, normalise", color_pipeline)
case("SimCLR", simclr)
case("TrivialAugment", trivial, conditionals=True)
case("RandAugment", rand, conditionals=True)
case("AutoAugment", auto, conditionals=True)
op("laplacian", "laplacian")
op("equalize", "equalize")
op("median_blur 3", "experimental.median_blur", window_size=3)
op("dilate", "experimental.dilate")
op("erode", "experimental.erode")
op("clahe", "clahe", tiles_x=8, tiles_y=8, clip_limit=2.0)
op("erase", "erase", anchor=[100, 100, 300, 50], shape=[80, 200, 90, 90], axis_names="HW")
op("grid_mask", "grid_mask", ratio=0.5, tile=40)
op("paste", "paste", ratio=1.25, fill_value=7)
op("noise.gaussian", "noise.gaussian", stddev=10.0)
op("noise.salt_and_pepper", "noise.salt_and_pepper")
op("noise.shot", "noise.shot", factor=20.0)
op("jpeg_compression_distortion", "jpeg_compression_distortion", quality=50)
op("cast float", "cast", dtype="types.FLOAT")
op("normalize", "normalize", axes=(0, 1))
op("reductions.mean", "reductions.mean", axes=(0, 1))
op("reductions.max", "reductions.max", axes=(0, 1))
op(
    "lookup_table", "lookup_table", dtype="types.UINT8", keys=list(range(256)),
    values=list(range(255, -1, -1)),
)  # fmt: skip
case("a * 2 + b / 3", lambda lib, a, b: a * 2.0 + b / 3.0, "floats", "other floats")
op("cat", "cat", "image, other image", axis=0)
op("stack", "stack", "image, other image")
op("spectrogram 512", "spectrogram", "signal", nfft=512, window_length=512, window_step=160)
op("spectrogram 400", "spectrogram", "signal", nfft=400, window_length=400, window_step=160)
op("mel_filter_bank", "mel_filter_bank", "spectrum", sample_rate=16000.0, nfilter=80)
op("to_decibels", "to_decibels", "mel", reference=1.0, cutoff_db=-100.0)
op("mfcc", "mfcc", "mel", n_mfcc=20)
op("preemphasis_filter", "preemphasis_filter", "signal")
case("nonsilent_region", nonsilent, "signal")
op("audio_resample", "audio_resample", "signal", in_rate=16000.0, out_rate=44100.0)
op("coord_transform", "coord_transform", "points", M=[0.9, -0.1, 0.2, 1.1], T=[3.0, -2.0])
op("bb_flip", "bb_flip", "boxes", ltrb=True)


# ---- what the host does ----


def flipped(lib: Library, x: Any) -> Any:
    return lib.fn.flip(x)


CASES.append(Case("list of tensors", "feeding", flipped, ("image",), listed=True))
CASES.append(Case("one tensor", "feeding", flipped, ("image",)))
CASES.append(Case("flip of 8 x 8", "iteration", flipped, ("tiny",)))
CASES.append(Case("copy of 8 x 8", "iteration", lambda lib, x: lib.fn.copy(x), ("tiny",)))


# ---- whole files ----


def decoded(lib: Library, files: Any) -> Any:
    return lib.fn.decoders.image(files, device="mixed", output_type=lib.types.RGB)


def image(name: str, suffix: str, side: int = 1024, **options: Any) -> None:
    files = (suffix, options)
    CASES.append(Case(name, "formats", decoded, (), batch=32, files=files, side=side))


image("JPEG 4:2:0", "jpg", quality=90, subsampling=2)
image("JPEG 4:4:4", "jpg", quality=90, subsampling=0)
image("JPEG of 4096", "jpg", 4096, quality=90, subsampling=2)
image("JPEG grey", "jpg", quality=90, mode="L")
image("JPEG progressive", "jpg", quality=90, progressive=True)
image("JPEG CMYK", "jpg", quality=90, mode="CMYK")
image("JPEG of 64", "jpg", 64, quality=90)
image("JPEG 2000 lossy", "jp2", irreversible=True, quality_mode="rates", quality_layers=[10])
image("JPEG 2000 lossless", "jp2")
image("TIFF LZW", "tif", 512, compression="tiff_lzw")
image("TIFF raw", "tif", 512)
image("PNG", "png")
image("WebP", "webp", quality=90)
image("BMP", "bmp", 512)


def image(side: int, seed: int) -> np.ndarray:
    """A smooth image with some noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:side, 0:side].astype(np.float32) / side
    waves = rng.uniform(1, 9, (3, 2)), rng.uniform(0, 6, 3)
    planes = [np.sin(x * a + y * b + c) for (a, b), c in zip(*waves, strict=True)]
    noise = rng.normal(0, 6, (side, side, 1)).astype(np.float32)
    return (np.stack(planes, 2) * 100 + 128 + noise).clip(0, 255).astype(np.uint8)


def encode(case: Case, number: int) -> bytes:
    """A file of the case."""
    from PIL import Image

    assert case.files is not None
    suffix, options = case.files[0], dict(case.files[1])
    made = Image.fromarray(image(case.side, number)).convert(options.pop("mode", "RGB"))
    formats = {"jpg": "JPEG", "jp2": "JPEG2000", "tif": "TIFF"}
    to = io.BytesIO()
    made.save(to, formats.get(suffix, suffix.upper()), **options)
    return to.getvalue()


def write_files(case: Case, folder: Path, threads: int) -> list[str]:
    """The files of a batch: a few, several times; of small ones, all are different."""
    assert case.files is not None
    stem = case.name.replace(" ", "-").replace(":", "")
    different = case.batch if case.side < 512 else min(case.batch, 8 if case.side < 4096 else 4)
    names = [str(folder / f"{stem}-{i}.{case.files[0]}") for i in range(different)]
    with ThreadPoolExecutor(threads) as pool:
        encoded = pool.map(lambda i: encode(case, i), range(different))
    for name, data in zip(names, encoded, strict=True):
        Path(name).write_bytes(data)
    return (names * case.batch)[: case.batch]
