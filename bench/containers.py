# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The files of a data set in containers, for bench/compare.py: written once, with the formats' own structures only."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import random
import struct
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
Sample = tuple[bytes, int]  # a coded picture and the number of its class


def samples(root: str) -> Iterator[Sample]:
    """All files of the class folders, mixed, as data sets are before they are packed."""
    folders = sorted(p for p in Path(root).iterdir() if p.is_dir())
    found = [(p, label) for label, folder in enumerate(folders) for p in sorted(folder.iterdir())]
    random.Random(4).shuffle(found)
    for path, label in found:
        yield path.read_bytes(), label


def write_webdataset(folder: Path, items: Iterable[Sample]) -> None:
    with tarfile.open(folder / "data.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, (picture, label) in enumerate(items):
            for name, data in ((f"{i:06}.jpg", picture), (f"{i:06}.i32", struct.pack("<i", label))):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    lines = []
    with tarfile.open(folder / "data.tar") as tar:
        members = tar.getmembers()
    for member in range(0, len(members), 2):
        pair = members[member : member + 2]
        lines.append(" ".join(f"{m.name[-3:]} {m.offset_data} {m.size} {m.name}" for m in pair) + "\n")
    (folder / "data.idx").write_text(f"v1.2 {len(lines)}\n" + "".join(lines))


def _field(number: int, data: bytes) -> bytes:
    """A field of protobuf's wire format with bytes."""
    size, varint = len(data), bytearray()
    while size > 127:
        varint.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *varint, size]) + data


def write_tfrecord(folder: Path, items: Iterable[Sample]) -> None:
    """Records of tf.train.Example. Their checksums are zero: neither reader verifies them here."""
    offset, lines = 0, []
    with open(folder / "data.tfrecord", "wb") as out:
        for picture, label in items:
            value = _field(1, b"image") + _field(2, _field(1, _field(1, picture)))
            number = _field(1, b"label") + _field(2, _field(3, _field(1, bytes([label & 127]))))
            example = _field(1, _field(1, value) + _field(1, number))
            record = struct.pack("<QI", len(example), 0) + example + bytes(4)
            out.write(record)
            lines.append(f"{offset} {len(record)}\n")
            offset += len(record)
    (folder / "data.idx").write_text("".join(lines))


def write_mxnet(folder: Path, items: Iterable[Sample]) -> None:
    """RecordIO. A picture that contains the format's magic number would have to be split: it is left out."""
    magic, offset, lines = 0xCED7230A, 0, []
    with open(folder / "data.rec", "wb") as out:
        for i, (picture, label) in enumerate(items):
            if struct.pack("<I", magic) in picture:
                continue
            data = struct.pack("<IfQQ", 0, float(label), i, 0) + picture
            record = struct.pack("<II", magic, len(data)) + data + bytes(-len(data) % 4)
            out.write(record)
            lines.append(f"{i}\t{offset}\n")
            offset += len(record)
    (folder / "data.idx").write_text("".join(lines))


def write_coco(folder: Path, items: Iterable[Sample]) -> None:
    """The pictures as files, and annotations with one to seven random boxes each."""
    chance = random.Random(4)
    images, annotations = [], []
    for i, (picture, _) in enumerate(items):
        name = f"{i:012}.jpg"
        (folder / name).write_bytes(picture)
        images.append({"id": i, "file_name": name, "width": 500, "height": 375})
        for _ in range(chance.randint(1, 7)):
            width, height = chance.uniform(25, 300), chance.uniform(19, 225)
            box = [chance.uniform(0, 500 - width), chance.uniform(0, 375 - height), width, height]
            annotations.append({"id": len(annotations) + 1, "image_id": i, "iscrowd": 0, "area": width * height,
                                "category_id": chance.randint(1, 80), "bbox": box})  # fmt: skip
    categories = [{"id": k} for k in range(1, 81)]
    (folder / "instances.json").write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories})
    )


def _webdataset(m: Any, folder: str, **order: Any) -> Any:
    return m.fn.readers.webdataset(
        paths=f"{folder}/data.tar", index_paths=f"{folder}/data.idx", ext=["jpg", "i32"],
        dtypes=[m.types.UINT8, m.types.INT32], **order,
    )  # fmt: skip


def _tfrecord(m: Any, folder: str, **order: Any) -> Any:
    tfrec = m.tfrecord
    features = {"image": tfrec.FixedLenFeature((), tfrec.string, ""),
                "label": tfrec.FixedLenFeature([1], tfrec.int64, 0)}  # fmt: skip
    out = m.fn.readers.tfrecord(
        path=f"{folder}/data.tfrecord", index_path=f"{folder}/data.idx", features=features, **order
    )
    return out["image"], out["label"]


def _mxnet(m: Any, folder: str, **order: Any) -> Any:
    return m.fn.readers.mxnet(
        path=[f"{folder}/data.rec"], index_path=[f"{folder}/data.idx"], **order
    )


# By pipeline: the writer, and the reader, which returns coded pictures and labels.
WRITERS: dict[str, Callable[[Path, Iterable[Sample]], None]] = {
    "webdataset": write_webdataset,
    "tfrecord": write_tfrecord,
    "mxnet": write_mxnet,
    "ssd": write_coco,
}
READERS: dict[str, Callable[..., Any]] = {
    "webdataset": _webdataset, "tfrecord": _tfrecord, "mxnet": _mxnet,
}  # fmt: skip


def made(kind: str, root: str) -> str:
    """The folder with the data of `root` in the format of the pipeline `kind`. Processes wait for the first one."""
    key = hashlib.sha256(str(Path(root).resolve()).encode()).hexdigest()[:12]
    folder = REPOSITORY / "build" / "bench-data" / f"{kind}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            WRITERS[kind](folder, samples(root))
            (folder / "complete").touch()
    return str(folder)
