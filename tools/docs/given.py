# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What examples take as given: imports, variables and data sets."""

from __future__ import annotations

import functools
import io
import json
import shutil
import tarfile
import tempfile
import wave
from pathlib import Path

import numpy as np

import paths
import chart
import dicoms
import tfrecords

PRELUDE = """
import numpy as np
import headrace
from headrace import Pipeline, fn, pipeline_def, types
"""

# Variables by page.
PAGES = {
    "docs/conditionals.md": "folder = 'photos'",
    "docs/debug.md": "folder = 'photos'",
    "docs/dynamic.md": "folder = 'photos'",
    "docs/from-pytorch.md": """
import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
transform = v2.Compose([v2.Resize(256), v2.CenterCrop(224), v2.ToImage()])
def step(images, labels):
    assert tuple(images.shape[1:]) == (3, 224, 224) and len(images) == len(labels)
""",
    "docs/notebooks.md": """
@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def pipeline():
    files, labels = fn.readers.file(file_root="photos", name="Reader")
    return fn.resize(fn.decoders.image(files), size=[32, 32]), labels
pipe = pipeline()
""",
    "docs/pytorch.md": """
import torch
epochs = 2
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 224 * 224, 2))
@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def train_one():
    files, labels = fn.readers.file(file_root="photos", name="Reader")
    return fn.resize(fn.decoders.image(files), size=[32, 32]), labels
pipe = train_one()
def step(images, labels):
    assert tuple(images.shape[1:]) == (32, 32, 3) and len(images) == len(labels)
""",
    "docs/readers.md": """
root = 'photos'
shards = 'imagenet/train-000.tar'
weights = [1.0] * 16
indices = [3, 1, 2]
""",
    "docs/torchvision.md": """
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
image = Image.open("photos/house/0000.jpg")
dataset = ImageFolder("photos")
transform = v2.Compose([
    v2.Resize(256), v2.Lambda(lambda image: image), v2.CenterCrop(224), v2.ToImage()])
def step(images, labels):
    assert images.shape == (80, 3, 224, 224) and sorted(set(labels.tolist())) == [0, 1]
""",
}


def _member(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _archive(path: Path, extensions: tuple[str, str], label: str) -> None:
    """A WebDataset archive of images with labels, as text or as four bytes."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for i in range(16):
            text = str(i % 2).encode() if label == "text" else np.int32(i % 2).tobytes()
            _member(archive, f"{i:06}.{extensions[0]}", chart.jpeg(chart.variation(i)))
            _member(archive, f"{i:06}.{extensions[1]}", text)


def _archives(root: Path) -> None:
    """Two sets of archives: 147 names each, of one file."""
    for folder, first, extensions, label in (
        ("imagenet", "train-{:03}.tar", ("jpg", "cls"), "text"),
        ("OUT", "shard-{:06}.tar", ("jpeg", "i32"), "bytes"),
    ):
        (root / folder).mkdir(exist_ok=True)
        _archive(root / folder / first.format(0), extensions, label)
        for i in range(1, 147):
            (root / folder / first.format(i)).symlink_to(first.format(0))


def _table(root: Path) -> None:
    """Parquet files as Hugging Face's `datasets` writes images with labels."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (root / "pets" / "data").mkdir(parents=True)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    for k in range(2):
        numbers = range(8 * k, 8 * k + 8)
        files = [{"bytes": chart.jpeg(chart.variation(i)), "path": f"{i}.jpg"} for i in numbers]
        labels = pa.array([i % 3 for i in numbers], pa.int64())
        table = pa.table({"image": pa.array(files, image), "label": labels})
        path = root / "pets" / "data" / f"train-{k:05}-of-00002.parquet"
        pq.write_table(table, path, row_group_size=4, compression="none")


def _records(root: Path) -> None:
    records = []
    for i in range(8):
        features = {
            "image/encoded": chart.jpeg(chart.variation(i)),
            "image/class/label": [i % 2],
            "image/object/bbox": [float(x) for x in chart.boxes().ravel()],
        }
        records.append(tfrecords.example(features))
    for i, path in enumerate(tfrecords.write(root, records, files=2)["path"]):
        Path(path).rename(root / f"train-{i:03}.tfrecord")


def _coco(root: Path) -> None:
    (root / "train2017").mkdir()
    images, annotations = [], []
    for i in range(8):
        (root / "train2017" / f"{i}.jpg").write_bytes(chart.jpeg(chart.chart()))
        images.append({"id": i, "file_name": f"{i}.jpg", "height": 160, "width": 240})
        polygon = [40, 40, 110, 40, 110, 118, 40, 118]
        entry = {"bbox": [40, 40, 70, 78], "segmentation": [polygon], "iscrowd": 0, "area": 5460}
        annotations.append({"id": i, "image_id": i, "category_id": 1, **entry})
    document = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "house"}],
    }
    (root / "instances_train2017.json").write_text(json.dumps(document))


def _speech(root: Path) -> None:
    """Eight tones with their names, and their manifest."""
    (root / "speech").mkdir()
    lines = []
    for i in range(8):
        path = f"speech/{i}.wav"
        with wave.open(str(root / path), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            tone = 8000 * np.sin(np.arange(8000) * (0.02 + 0.01 * i))
            file.writeframes(tone.astype(np.int16).tobytes())
        lines.append(json.dumps({"audio_filepath": path, "duration": 0.5, "text": f"tone {i}"}))
    (root / "train.json").write_text("\n".join(lines))


def _clips(root: Path) -> None:
    """A video of 20 frames, alone and in two class folders."""
    clip = paths.ROOT / "tests" / "ops" / "videos" / "h264.mp4"
    for place in ("clip.mp4", "clips/run/0.mp4", "clips/walk/0.mp4"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clip, root / place)


def _scans(root: Path) -> None:
    """Volumes with masks as NIfTI files, lists of them, and a slice in DICOM."""
    import nibabel

    z, y, x = np.mgrid[:20, :40, :48]
    for kind in ("ct", "masks"):
        (root / "scans" / kind).mkdir(parents=True)
        names = [f"{kind}/{i}.nii.gz" for i in range(8)]
        (root / "scans" / f"{kind}.txt").write_text("".join(f"{name} 0\n" for name in names))
        for i, name in enumerate(names):
            ball = (z - 10) ** 2 + (y - 20) ** 2 + (x - 14 - 2 * i) ** 2 < 64
            values = (
                (600 * ball - 100 + x).astype(np.int16) if kind == "ct" else ball.astype(np.uint8)
            )
            nibabel.Nifti1Image(values.T, np.eye(4)).to_filename(root / "scans" / name)
    pixels = (np.arange(64 * 64, dtype=np.int16) % 997).reshape(1, 64, 64)
    (root / "scans" / "slice.dcm").write_bytes(dicoms.of(pixels, slope="1", intercept="-1024"))


def _arrays(root: Path) -> None:
    from astropy.io import fits

    for name in ("volumes", "frames/scene"):
        (root / name).mkdir(parents=True)
    for i in range(4):
        np.save(root / "volumes" / f"{i}.npy", np.full((128, 128, 128), i, np.uint8))
        np.savez(root / "photos" / f"{i}.npz", image=chart.variation(i), label=np.int32(i))
    for i in range(40):
        moved = np.roll(chart.chart(), 5 * i, axis=1)
        (root / "frames" / "scene" / f"{i:03}.jpg").write_bytes(chart.jpeg(moved))
    gray = chart.chart()[..., 1]
    units = [fits.PrimaryHDU(gray.astype(np.float32)), fits.ImageHDU((gray > 128).astype(np.uint8))]
    for i in range(2):
        fits.HDUList(units).writeto(root / "frames" / f"{i}.fits")


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def prepared() -> Path:
    """The data of all pages, made once per process."""
    _KEPT.append(tempfile.TemporaryDirectory())
    root = Path(_KEPT[0].name)
    chart.make_folders(root / "photos")
    _archives(root)
    (root / "imagenet" / "train").symlink_to("../photos")
    _table(root)
    _records(root)
    _coco(root)
    _arrays(root)
    _scans(root)
    _speech(root)
    _clips(root)
    return root


def make_data(folder: Path) -> None:
    """Copies the data into a folder."""
    shutil.copytree(prepared(), folder, symlinks=True, dirs_exist_ok=True)
