# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace pack --resize` and `headrace.pack`: shards of smaller images."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import cli
from photos import photo
from PIL import Image

SIZES = {  # height, width
    "ant/tall.jpg": (301, 203),
    "ant/wide.png": (150, 400),
    "ant/small.jpg": (60, 50),
    "bee/square.jpg": (128, 128),
    "bee/turned.jpg": (200, 260),
    "bee/grey.jpg": (180, 181),
    "wasp/long.webp": (100, 700),
}
GOOD = {"ant": 0, "bee": 1, "wasp": 3}  # "empty" is a class, too


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    for folder in ("ant", "bee", "empty", "wasp"):
        (root / folder).mkdir()
    for i, (name, size) in enumerate(SIZES.items()):
        picture = photo(i, size)
        options: dict[str, Any] = {"lossless": True} if name.endswith("webp") else {}
        if name.endswith("turned.jpg"):
            exif = Image.Exif()
            exif[0x0112] = 6  # its top is on the right
            options["exif"] = exif
        picture.convert("L" if "grey" in name else "RGB").save(root / name, **options)
    return root


def members(out: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(out.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                found[member.name] = tar.extractfile(member).read()  # type: ignore[union-attr]
    return found


def shown(path: Path) -> Image.Image:
    """As it is to be seen."""
    from PIL import ImageOps

    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(255**2 / np.mean((a.astype(float) - b.astype(float)) ** 2)))


@pytest.mark.parametrize("quality", [50, 90])
def test_images_are_smaller(root: Path, tmp_path: Path, quality: int) -> None:
    done = headrace.pack(root, tmp_path, resize=96, quality=quality, shuffle=False, threads=2)
    assert (done.files, done.samples, done.bad, done.extensions) == (7, 7, [], ["jpg"])
    found = members(tmp_path)
    assert len(found) == 3 * 7 and done.written == sum(
        len(v) for k, v in found.items() if k.endswith(".jpg")
    )
    reference = io.BytesIO()
    photo(0, (64, 64)).save(reference, "JPEG", quality=quality)
    for name in SIZES:
        key = name.rpartition(".")[0]
        coded = Image.open(io.BytesIO(found[f"{key}.jpg"]))
        before = shown(root / name)
        scale = min(1.0, 96 / min(before.size))
        size = tuple(round(side * scale) for side in before.size)
        assert coded.format == "JPEG" and coded.mode == "RGB"
        assert max(abs(a - b) for a, b in zip(coded.size, size, strict=True)) <= 1
        assert min(coded.size) == min(96, *before.size)
        assert coded.quantization == Image.open(reference).quantization  # type: ignore[attr-defined]
        expected = before.resize(coded.size, Image.Resampling.BILINEAR)
        assert psnr(np.asarray(coded), np.asarray(expected)) > (28 if quality == 50 else 32), name
        label = GOOD[name.partition("/")[0]]
        assert found[f"{key}.cls"] == str(label).encode()
        assert found[f"{key}.i32"] == label.to_bytes(4, "little")
    assert list(found) == [
        f"{name.rpartition('.')[0]}.{kind}"
        for name in sorted(SIZES)
        for kind in ("jpg", "cls", "i32")
    ]


def test_the_classes_are_recorded(root: Path, tmp_path: Path) -> None:
    headrace.pack(root, tmp_path)
    assert json.loads((tmp_path / "pack.json").read_text())["classes"] == [
        "ant",
        "bee",
        "empty",
        "wasp",
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_same_bytes_with_any_threads_and_repeated(root: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    headrace.pack(root, one, resize=40, threads=1, shard_size=1500)
    done = headrace.pack(str(root), str(two), resize=40, threads=5, shard_size=1500)
    whole = contents(one)
    assert len(done.shards) > 2 and contents(two) == whole
    Path(done.shards[1]).unlink()
    again = headrace.pack(root, two, resize=40, shard_size=1500)
    assert contents(two) == whole and 0 < again.samples < done.samples
    for other in ({"resize": 41}, {"resize": 40, "quality": 91}, {}):
        with pytest.raises(ValueError, match="other options"):
            headrace.pack(root, two, shard_size=1500, **other)


def test_bad_files_are_left_out_and_listed(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(root, copy)
    whole = (copy / "ant" / "tall.jpg").read_bytes()
    (copy / "ant" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (copy / "bee" / "text.jpg").write_bytes(b"this is no image")
    (copy / "bee" / "nothing.jpg").write_bytes(b"")
    arguments = [
        "pack",
        str(copy),
        str(out),
        "--no-progress",
        "--resize",
        "64",
        "--shard-size",
        "2K",
    ]
    assert cli.main(arguments) == 1
    text = capsys.readouterr().out
    lines = (out / "bad-files.txt").read_text().splitlines()
    assert len(lines) == 3 and "unreadable: 3;" in text and "samples written: 7," in text
    for name in ("ant/cut.jpg", "bee/text.jpg", "bee/nothing.jpg"):
        assert sum(line.startswith(f"{copy / name}: ") for line in lines) == 1
        assert str(copy / name) in text
    good = {name for name in members(out) if name.endswith(".jpg")}
    assert good == {f"{name.rpartition('.')[0]}.jpg" for name in SIZES}
    assert cli.main(arguments) == 1  # they are still known
    assert (out / "bad-files.txt").read_text().splitlines() == lines
    assert "samples written: 0," in capsys.readouterr().out
    clean = tmp_path / "clean"
    headrace.pack(root, clean, resize=64)
    assert {k: v for k, v in members(out).items() if k.endswith(".jpg")} == {
        k: v for k, v in members(clean).items() if k.endswith(".jpg")
    }


def test_progress(root: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    headrace.pack(
        root, tmp_path, resize=40, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(i + 1, 7) for i in range(7)]
    headrace.pack(
        root, tmp_path, resize=40, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[7:] == [(7, 7)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"resize": 0}, "resize is 0"),
        ({"resize": 65501}, "resize is 65501"),
        ({"resize": 9, "quality": 0}, "quality is 0"),
        ({"resize": 9, "quality": 101}, "quality is 101"),
        ({"shard_size": 0}, "shard_size is 0"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_wrong_arguments(root: Path, tmp_path: Path, arguments: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        headrace.pack(root, tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_no_images(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no images in class folders"):
        headrace.pack(tmp_path, tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        headrace.pack(tmp_path / "nowhere", tmp_path / "out")
