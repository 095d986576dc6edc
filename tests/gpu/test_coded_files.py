# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files of many kinds, decoded by the kernels that run in the emulator, and compared with the CPU's pixels."""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from headrace import Pipeline, _core, fn, types
from tiffs import tiff

BUILD = Path(_core.__file__).resolve().parents[2]
PROGRAM = BUILD / "tests/gpu/test_gpu_coded_files"


def decode(folder: Path, files: dict[str, bytes]) -> int:
    """Compares all windows of the files; returns how many files the device decodes."""
    if not PROGRAM.exists():
        pytest.skip("the emulator is built with the C tests")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    env = {
        **os.environ,
        "HEADRACE_CUDA_MODULE": str(BUILD / "tests/gpu/libheadrace_cuda_emulated.so"),
        "HEADRACE_JPEG2000_MODULE": str(Path(_core.__file__).parent / "libheadrace_jpeg2000.so"),
    }
    done = subprocess.run([PROGRAM, folder], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(files)} inputs replayed" in done.stdout
    found = re.search(r"(\d+) files decoded by the device", done.stdout)
    assert found, done.stdout
    return int(found[1])


def picture(height: int, width: int, channels: int, noise: int, seed: int = 0) -> np.ndarray:
    """Waves with noise of some levels; without noise there are long strings of equal bytes."""
    draw = np.random.default_rng(seed)
    y, x, c = np.mgrid[:height, :width, :channels]
    waves = 128 + 90 * np.sin(x / 11 + c) * np.cos(y / 7)
    if noise == 0:
        waves = np.where(x + y < width, 200, 30)
    return np.clip(waves + draw.integers(-noise, noise + 1, waves.shape), 0, 255).astype(np.uint8)


# ---- TIFF ----


def lzw_files() -> Iterator[tuple[str, bytes]]:
    """Files that the device decodes."""
    kinds: dict[str, dict[str, Any]] = {
        "one": {},
        "strips": {"rows_per_strip": 9},
        "tiles": {"tile": (16, 32)},
        "large-tile": {"tile": (64, 80)},
        "big": {"rows_per_strip": 16, "big": True, "order": ">"},
    }
    for i, noise in enumerate((0, 1, 40, 255)):
        for channels in (1, 2, 3, 4):
            image = picture(37 + 7 * i, 51 + i, channels, noise, i)
            photometric = 1 if channels < 3 else 2
            for predictor in (1, 2):
                for name, options in kinds.items():
                    data = tiff(image, photometric, compression=5, predictor=predictor, **options)
                    yield f"{name}-{noise}-{channels}-{predictor}.tif", data
    for mode in ("L", "RGB", "RGBA"):  # libtiff clears its table at other places
        channels = len(Image.new(mode, (1, 1)).getbands())
        saved = Image.fromarray(picture(120, 90, channels, 30).squeeze(), mode)
        for predictor in (1, 2):
            out = io.BytesIO()
            saved.save(out, "TIFF", compression="tiff_lzw", tiffinfo={317: predictor, 278: 50})
            yield f"libtiff-{mode}-{predictor}.tif", out.getvalue()
    flat = np.full((300, 250, 3), 77, np.uint8)  # the longest strings
    yield "flat.tif", tiff(flat, 2, compression=5)


def test_lzw(tmp_path: Path) -> None:
    files = dict(lzw_files())
    assert decode(tmp_path, files) == len(files)


def test_lzw_that_the_cpu_decodes(tmp_path: Path) -> None:
    image = picture(40, 50, 3, 9)
    files = {
        "planes": tiff(image, 2, compression=5, planar=True),
        "inks": tiff(picture(40, 50, 4, 9), 5, compression=5),
        "wide": tiff(image.astype(np.uint16) * 255, 2, compression=5),
        "bits": tiff(picture(40, 50, 1, 9) >> 4, 1, compression=5, bits=4),
        "reversed": tiff(image, 2, compression=5, reverse=True),
        "white": tiff(picture(40, 50, 1, 9), 0, compression=5),
        "packed": tiff(image, 2, compression=32773),
        "deflate": tiff(image, 2, compression=8),
    }
    assert decode(tmp_path, files) == 0


def test_damaged_lzw(tmp_path: Path) -> None:
    """Where the CPU finds damage, the kernels do, and where it does not, they give its bytes."""
    draw = np.random.default_rng(1)
    files = {}
    image = picture(40, 50, 3, 20)
    sound = tiff(image, 2, compression=5, rows_per_strip=16)
    begin = sound.index(bytes([0x80]))  # of the first strip: a code that clears the table
    for i in range(80):
        damaged = bytearray(sound)
        for at in draw.integers(begin, len(sound), 1 + i % 3):
            damaged[at] ^= 1 << int(draw.integers(8))
        files[f"flipped-{i}"] = bytes(damaged)
    for i in range(30):  # codes of chance
        data = bytearray(tiff(image[:16, :16], 2, compression=5))
        data[-120:] = draw.integers(0, 256, 120, dtype=np.uint8).tobytes()
        data[begin : begin + 2] = b"\x80\x00"
        files[f"noise-{i}"] = bytes(data)
    assert decode(tmp_path, files) > 60


# ---- JPEG 2000 ----


def jpeg2000(image: np.ndarray, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image.squeeze()).save(out, "JPEG2000", **options)
    return out.getvalue()


def jpeg2000_files(irreversible: bool) -> Iterator[tuple[str, bytes]]:
    """Files that the device decodes."""
    few = {"num_resolutions": 3}
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "layers": {"quality_mode": "rates", "quality_layers": [40, 10, 2]},
        "tiles": {"tile_size": (32, 24)},
        "offset": {"offset": (5, 3), "tile_size": (64, 32), "tile_offset": (1, 2), **few},
        "blocks": {"codeblock_size": (8, 16), "num_resolutions": 3},
        "flat-blocks": {"codeblock_size": (256, 4)},
        "tall-blocks": {"codeblock_size": (4, 256)},
        "precincts": {"precinct_size": (32, 16), "codeblock_size": (8, 8), "num_resolutions": 2},
        "one-resolution": {"num_resolutions": 1},
        "raw": {"no_jp2": True, "mct": 0},
        "length-markers": {"plt": True},
        **{
            f"order-{order}": {
                "progression": order,
                "precinct_size": (64, 32),
                "num_resolutions": 3,
                "tile_size": (75, 60),
                "quality_layers": [20, 4],
            }
            for order in ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
        },
    }
    for i, (name, options) in enumerate(kinds.items()):
        for channels in (1, 3) if i % 3 else (1, 2, 3, 4):
            for noise in (0, 20):
                image = picture(59 + 5 * i, 83 - 3 * i, channels, noise, i)
                data = jpeg2000(image, irreversible=irreversible, **options)
                yield f"{name}-{channels}-{noise}.jp2", data
    for height, width in ((1, 1), (1, 7), (9, 1), (2, 2), (3, 5), (130, 3)):
        image = picture(height, width, 3, 50)
        # OpenJPEG cannot encode a line of one sample with the 9/7 wavelet
        levels = {"num_resolutions": min(height, width).bit_length()} if irreversible else {}
        for offset in ((0, 0), (1, 1), (2, 1)):
            data = jpeg2000(
                image, irreversible=irreversible, offset=offset, tile_size=(256, 256), **levels
            )
            yield f"size-{height}-{width}-{offset[0]}-{offset[1]}.jp2", data
    image = picture(70, 150, 3, 255)
    yield "noise.jp2", jpeg2000(image, irreversible=irreversible)
    rates = {"quality_mode": "dB", "quality_layers": [30]}
    yield "quality.jp2", jpeg2000(picture(90, 70, 3, 20), irreversible=irreversible, **rates)


@pytest.mark.parametrize("irreversible", [False, True], ids=["5/3", "9/7"])
def test_jpeg2000(tmp_path: Path, irreversible: bool) -> None:
    files = dict(jpeg2000_files(irreversible))
    assert decode(tmp_path, files) == len(files)


def test_jpeg2000_that_the_cpu_decodes(tmp_path: Path) -> None:
    image = picture(40, 50, 3, 9)
    wide = Image.fromarray(image[:, :, 0].astype(np.uint16) * 200)
    out = io.BytesIO()
    wide.save(out, "JPEG2000")
    plain = jpeg2000(image, no_jp2=True)
    style = plain.index(b"\xff\x52") + 12  # of code-blocks
    files = {
        "wide": out.getvalue(),
        "signed": jpeg2000(image, signed=True),
        "cut": plain[:-100],
        "followed": plain[:-2] + b"\0\0" + plain[-2:],
        "causal": plain[:style] + b"\x08" + plain[style + 1 :],
    }
    assert decode(tmp_path, files) == 0


def test_damaged_jpeg2000(tmp_path: Path) -> None:
    """The device takes what it understands, and gives the CPU's bytes for it."""
    draw = np.random.default_rng(2)
    files = {}
    image = picture(70, 61, 3, 20)
    for irreversible in (False, True):
        options = {"precinct_size": (64, 64), "num_resolutions": 3, "quality_layers": [20, 3]}
        kinds: list[dict[str, Any]] = [{}, options, {"tile_size": (40, 40)}]
        for k, more in enumerate(kinds):
            sound = jpeg2000(image, irreversible=irreversible, no_jp2=True, **more)
            headers = sound.index(b"\xff\x93")
            for i in range(40):
                damaged = bytearray(sound)
                begin = 40 if i % 4 == 0 else headers
                for at in draw.integers(begin, len(sound), 1 + i % 2):
                    damaged[at] ^= 1 << int(draw.integers(8))
                files[f"{irreversible}-{k}-{i}"] = bytes(damaged)
    assert 50 < decode(tmp_path, files) < len(files)


# ---- pipelines ----


@pytest.mark.parametrize("kind", ["tiff", "5/3", "9/7"])
def test_pipelines(module: object, kind: str) -> None:
    """Batches of different files are the same on both devices: with a GPU, this runs the kernels there."""
    made = lzw_files() if kind == "tiff" else jpeg2000_files(kind == "9/7")
    files = [np.frombuffer(data, np.uint8) for _, data in made][::3]
    results = []
    for device in ("cpu", "mixed"):
        pipe = Pipeline(batch_size=len(files), num_threads=2, device_id=0, seed=1)
        with pipe:
            encoded = fn.external_source(source=lambda: files, batch=True)
            images = fn.decoders.image(encoded, device=device, output_type=types.RGB)
            pipe.set_outputs(images)
        (out,) = pipe.run()
        out = out.as_cpu() if device == "mixed" else out
        results.append([np.array(out[i]) for i in range(len(files))])
    for on_cpu, on_gpu in zip(*results, strict=True):
        np.testing.assert_array_equal(on_cpu, on_gpu)
