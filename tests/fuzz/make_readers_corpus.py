# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the seeds of the fuzz targets `lmdb`, `messages` and `readers`: corpus/<target>/<name>.

The first byte says what the rest is; see the targets. Needs the package lmdb. Seeds that exist stay as they are.
"""

from __future__ import annotations

import io
import struct
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python"))
import lmdbs  # noqa: E402
from lmdbs import BYTE, FLOAT, INT32, INT64, STRING, datum, tensor, tensors  # noqa: E402
from tfrecords import example, record  # noqa: E402


def database(*sizes: int) -> bytes:
    """A database with values of these sizes."""
    items = [(f"{i:03d}".encode(), bytes([i]) * size) for i, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as folder:
        return b"\0" + (Path(lmdbs.write(Path(folder), items)) / "data.mdb").read_bytes()


def lmdb() -> dict[str, bytes]:
    scan = struct.pack("<q", 2) + struct.pack("<4q", 100, 20, 4112, 5000) + struct.pack("<2q", 3, 7) + b"keykey2"
    return {
        "leaf": database(1, 20, 300),
        "empty": database(),
        "big": database(5000),
        "branch": database(*[1000] * 8),
        "scan": b"\1" + scan,
    }


def messages() -> dict[str, bytes]:
    sample = {"s": b"text", "n": [1, -2], "f": [0.5, 1.5]}
    image, labels, weights = tensor(STRING, [b"abcd"]), tensor(INT32, [1, 3]), tensor(FLOAT, [0.5, 0.25])
    box = tensor(INT32, [1, 2, 3, 4], packed=False)
    # The remainder by 3 is the message; of 2, bit 2: no picture, bits 3 to 5: label_type (modulo 5), bit 6: an
    # additional tensor, bit 7: a box.
    return {
        "example": b"\0" + example(sample),
        "example_filled": b"\6" + example({"s": b"x"}),  # 6 = 0 modulo 3, with bit 4
        "datum": b"\1" + datum(b"abcd", 7),
        "datum_pixels": b"\1" + datum(bytes(6), 7, 0, (1, 2, 3)),
        "one_label": bytes([2]) + tensors(image, tensor(INT32, [7])),
        "pixels": bytes([2]) + tensors(tensor(BYTE, bytes(6), (1, 2, 3)), tensor(FLOAT, [7], packed=False)),
        "sparse": bytes([8]) + tensors(image, labels),
        "weighted": bytes([224]) + tensors(image, labels, weights, tensor(INT64, [5, 6]), box),
        "dense": bytes([98]) + tensors(image, weights, tensor(INT64, [-1])),
        "no_picture": bytes([5]) + tensors(tensor(INT32, [7])),
    }


def recordio(data: bytes, kind: int = 0) -> bytes:
    return struct.pack("<II", 0xCED7230A, kind << 29 | len(data)) + data + bytes(-len(data) % 4)


def archive(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()[: 512 * (2 * len(members) + 2)]


def readers() -> dict[str, bytes]:
    def seed(reader: int, index: str, data: bytes) -> bytes:
        return bytes([reader]) + struct.pack("<H", len(index)) + index.encode() + data

    plain = struct.pack("<IfQQ", 0, 3.0, 7, 0) + b"picture"
    labels = struct.pack("<IfQQ2f", 2, 0.0, 7, 0, 1.0, 2.0) + b"picture"
    first, split = recordio(plain), recordio(labels[:24], 1) + recordio(labels[24:32], 2) + recordio(labels[32:], 3)
    one, two = record(example({"s": b"text", "n": [1, -2], "f": [0.5]})), record(example({"s": b"x"}))
    tar = archive(("a.jpg", b"first"), ("a.cls", b"0"), ("b.png", b"second"))
    return {
        "mxnet": seed(0, f"0\t0\n1\t{len(first)}\n", first + split),
        "tfrecord": seed(1, f"0 {len(one)}\n{len(one)} {len(two)}\n", one + two),
        "tfrecord_scan": seed(2, "", one + two),
        "webdataset": seed(3, "v1.2 2\njpg 512 5 a.jpg cls 1536 1 a.cls\npng 2560 6 b.png\n", tar),
        "webdataset_scan": seed(4, "", tar),
    }


def main() -> None:
    for make in (lmdb, messages, readers):
        folder = HERE / "corpus" / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in make().items():
            if not (folder / name).exists():
                (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
