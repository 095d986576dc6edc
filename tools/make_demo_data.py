#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Makes a small data set of class folders for trying Headrace.

The photographs come from the wheel of scikit-image, which is downloaded with pip but not installed. Each photograph
becomes a class of scaled crops. Most are baseline JPEG files of various qualities, chroma samplings and sizes. Some are
progressive, grey or rotated by EXIF, and a few are PNG or WebP. With the same version of Pillow the files are always
the same.
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from PIL import Image

PACKAGE = "scikit-image==0.26.0"
PHOTOGRAPHS = (
    "astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png",
    "grass.png", "gravel.png", "hubble_deep_field.jpg", "motorcycle_left.png", "retina.jpg",
    "rocket.jpg",
)  # fmt: skip
LONG_SIDES = (300, 400, 500, 500, 640, 800)
QUALITIES = (75, 85, 92, 96)
SAMPLINGS = ("4:2:0", "4:2:0", "4:2:2", "4:4:4")


def fetch_photographs(cache: Path) -> dict[str, Image.Image]:
    """Downloads the wheel into `cache` unless it is there. Returns its photographs by class name."""
    wheels = sorted(cache.glob("scikit_image-*.whl"))
    if not wheels:
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--dest", str(cache), PACKAGE],
            check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        wheels = sorted(cache.glob("scikit_image-*.whl"))
    photographs = {}
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in PHOTOGRAPHS:
            data = wheel.read(f"skimage/data/{name}")
            photographs[name.split(".")[0]] = Image.open(io.BytesIO(data)).convert("RGB")
    return photographs


def variation(photograph: Image.Image, rng: random.Random) -> Image.Image:
    """A random crop of at least half of each side, scaled so that the longer side is one of LONG_SIDES."""
    width, height = photograph.size
    w = int(width * rng.uniform(0.5, 1.0))
    h = int(height * rng.uniform(0.5, 1.0))
    x = rng.randint(0, width - w)
    y = rng.randint(0, height - h)
    scale = rng.choice(LONG_SIDES) / max(w, h)
    size = (max(1, round(w * scale)), max(1, round(h * scale)))
    return photograph.resize(size, Image.Resampling.BICUBIC, box=(x, y, x + w, y + h))


def save(image: Image.Image, path: Path, rng: random.Random) -> None:
    """Writes `image` to `path` with a suffix for its format. Nine files in ten are baseline JPEG."""
    kind = rng.random()
    if kind < 0.03:
        image.save(path.with_suffix(".png"))
        return
    if kind < 0.06:
        image.save(path.with_suffix(".webp"), quality=85)
        return
    options: dict[str, object] = {
        "quality": rng.choice(QUALITIES),
        "subsampling": rng.choice(SAMPLINGS),
        "optimize": rng.random() < 0.3,
        "progressive": kind < 0.08,
    }
    if kind > 0.97:
        image = image.convert("L")
        del options["subsampling"]
    elif kind > 0.95:
        exif = Image.Exif()
        exif[0x0112] = rng.choice((3, 6, 8))
        options["exif"] = exif
    image.save(path.with_suffix(".jpg"), **options)


def make(root: Path, cache: Path, per_class: int) -> int:
    """Fills `root`, unless it is complete already. Returns the number of files."""
    mark = root.with_name(root.name + ".complete")
    wanted = per_class * len(PHOTOGRAPHS)
    if mark.exists() and sum(1 for p in root.rglob("*") if p.is_file()) == wanted:
        return wanted
    shutil.rmtree(root, ignore_errors=True)
    for name, photograph in fetch_photographs(cache).items():
        folder = root / name
        folder.mkdir(parents=True)
        rng = random.Random(f"headrace {name}")
        for i in range(per_class):
            save(variation(photograph, rng), folder / f"{name}_{i:03d}", rng)
    mark.touch()
    return wanted


def main() -> None:
    """The command `make_demo_data.py FOLDER`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("root", type=Path, metavar="FOLDER", help="folder to create")
    parser.add_argument("--per-class", type=int, default=50, help="files per class (default: 50)")
    parser.add_argument(
        "--cache", type=Path, help="folder for downloads (default: `downloads` next to FOLDER)"
    )
    args = parser.parse_args()
    cache = args.cache or args.root.parent / "downloads"
    count = make(args.root, cache, args.per_class)
    print(f"{args.root}: {count} images in {len(PHOTOGRAPHS)} classes")


if __name__ == "__main__":
    main()
