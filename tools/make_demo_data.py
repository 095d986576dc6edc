#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Makes a small data set of class folders for trying Headrace, or with --tests the photographs of its tests.

The photographs come from the wheel of scikit-image, which is downloaded with pip but not installed. Each photograph
becomes a class of scaled crops. Most are baseline JPEG files of various qualities, chroma samplings and sizes. Some are
progressive, grey or rotated by EXIF, and a few are PNG or WebP. The tests' files are fewer: JPEG files of all kinds in
turn. With the same version of Pillow the files are always the same. Processes that want the same folder at the same time
wait for the first one, which makes it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import io
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

try:
    from PIL import Image
except ImportError:
    sys.exit(
        f"{sys.argv[0]}: {sys.executable} has no Pillow: `tools/setup.sh venv` makes .venv, which has"
    )

VERSION = "0.26.0"  # of scikit-image
PHOTOGRAPHS = (
    "astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png",
    "grass.png", "gravel.png", "hubble_deep_field.jpg", "motorcycle_left.png", "retina.jpg",
    "rocket.jpg",
)  # fmt: skip
LONG_SIDES = (300, 400, 500, 500, 640, 800)
QUALITIES = (75, 85, 92, 96)
SAMPLINGS = ("4:2:0", "4:2:0", "4:2:2", "4:4:4")

# For tests. As many files of a class as sizes; kinds and sizes follow one another, so that any eight files in the order
# of their names are of all kinds, and all kinds have all sizes.
TEST_LONG_SIDES = (97, 250, 333, 500, 641)
TEST_KINDS: tuple[dict[str, Any], ...] = (
    {"quality": 85, "subsampling": "4:2:0"},
    {"quality": 96, "subsampling": "4:4:4"},
    {"quality": 75, "subsampling": "4:2:2", "optimize": True},
    {"quality": 90, "grey": True},
    {"quality": 85, "subsampling": "4:2:0", "progressive": True},
    {"quality": 92, "subsampling": "4:2:2", "restart_marker_blocks": 5},
    {"quality": 85, "subsampling": "4:2:0", "orientation": 6},
    {"quality": 50, "subsampling": "4:4:4", "restart_marker_rows": 1, "orientation": 3},
)


def fetch_photographs(cache: Path) -> dict[str, Image.Image]:
    """Downloads the wheel into `cache` unless it is there. Returns its photographs by class name."""
    pattern = f"scikit_image-{VERSION}-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--dest", str(cache), f"scikit-image=={VERSION}"],
            check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    photographs = {}
    with zipfile.ZipFile(next(cache.glob(pattern))) as wheel:
        for name in PHOTOGRAPHS:
            data = wheel.read(f"skimage/data/{name}")
            photographs[name.split(".")[0]] = Image.open(io.BytesIO(data)).convert("RGB")
    return photographs


def variation(
    photograph: Image.Image, rng: random.Random, long_sides: tuple[int, ...]
) -> Image.Image:
    """A random crop of at least half of each side, scaled so that the longer side is one of `long_sides`."""
    width, height = photograph.size
    w = int(width * rng.uniform(0.5, 1.0))
    h = int(height * rng.uniform(0.5, 1.0))
    x = rng.randint(0, width - w)
    y = rng.randint(0, height - h)
    scale = rng.choice(long_sides) / max(w, h)
    size = (max(1, round(w * scale)), max(1, round(h * scale)))
    return photograph.resize(size, Image.Resampling.BICUBIC, box=(x, y, x + w, y + h))


def save_jpeg(
    image: Image.Image, path: Path, *, grey: bool = False, orientation: int = 1, **options: Any
) -> None:
    """Writes `image` with options of Pillow."""
    if orientation != 1:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    (image.convert("L") if grey else image).save(path.with_suffix(".jpg"), **options)


def save(image: Image.Image, path: Path, rng: random.Random) -> None:
    """Writes `image` to `path` with a suffix for its format. Nine files in ten are baseline JPEG."""
    kind = rng.random()
    if kind < 0.03:
        image.save(path.with_suffix(".png"))
        return
    if kind < 0.06:
        image.save(path.with_suffix(".webp"), quality=85)
        return
    options: dict[str, Any] = {
        "quality": rng.choice(QUALITIES),
        "subsampling": rng.choice(SAMPLINGS),
        "optimize": rng.random() < 0.3,
        "progressive": kind < 0.08,
    }
    if kind > 0.97:
        options["grey"] = True
        del options["subsampling"]
    elif kind > 0.95:
        options["orientation"] = rng.choice((3, 6, 8))
    save_jpeg(image, path, **options)


def make_demo(root: Path, photographs: dict[str, Image.Image], per_class: int) -> None:
    """Fills the folder `root`, which does not exist, with `per_class` files per class."""
    for name, photograph in photographs.items():
        folder = root / name
        folder.mkdir(parents=True)
        rng = random.Random(f"headrace {name}")
        for i in range(per_class):
            save(variation(photograph, rng, LONG_SIDES), folder / f"{name}_{i:03d}", rng)


def make_tests(root: Path, photographs: dict[str, Image.Image]) -> None:
    """Fills the folder `root`, which does not exist, with the tests' files."""
    count = 0
    for name, photograph in sorted(photographs.items()):
        folder = root / name
        folder.mkdir(parents=True)
        rng = random.Random(f"headrace {name}")
        for side in TEST_LONG_SIDES:
            kind = TEST_KINDS[count % len(TEST_KINDS)]
            save_jpeg(variation(photograph, rng, (side,)), folder / f"{name}_{side:03d}", **kind)
            count += 1


def make(
    root: Path, cache: Path, wanted: str, fill: Callable[[Path, dict[str, Image.Image]], None]
) -> int:
    """Has `fill` make `root`, unless this version of this file has made what is `wanted`. Returns the number of files."""

    def count() -> int:
        return sum(1 for path in root.rglob("*") if path.is_file())

    cache.mkdir(parents=True, exist_ok=True)
    mark = root.with_name(root.name + ".complete")
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.exists() and mark.read_text() == f"{version} {wanted} {count()}":
            return count()
        mark.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        fill(root, fetch_photographs(cache))
        mark.write_text(f"{version} {wanted} {count()}")
        return count()


def main() -> None:
    """The command `make_demo_data.py FOLDER`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("root", type=Path, metavar="FOLDER", help="folder to create")
    parser.add_argument("--per-class", type=int, default=50, help="files per class (default: 50)")
    parser.add_argument("--tests", action="store_true", help="make the photographs of the tests")
    parser.add_argument(
        "--cache", type=Path, help="folder for downloads (default: `downloads` next to FOLDER)"
    )
    args = parser.parse_args()
    cache = args.cache or args.root.parent / "downloads"
    if args.tests:
        count = make(args.root, cache, "tests", make_tests)
    else:
        wanted = f"{args.per_class} per class"
        fill = partial(make_demo, per_class=args.per_class)
        count = make(args.root, cache, wanted, fill)
    print(f"{args.root}: {count} images in {len(PHOTOGRAPHS)} classes")


if __name__ == "__main__":
    main()
