# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.mxnet: records of RecordIO files, written here."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
from headrace import Pipeline, fn, pipeline_def  # noqa: E402
from records import ORDERS, needs_strace, system_calls  # noqa: E402

MAGIC = 0xCED7230A


def part(data: bytes, kind: int = 0) -> bytes:
    return struct.pack("<II", MAGIC, kind << 29 | len(data)) + data + bytes(-len(data) % 4)


def record(picture: bytes, labels: Sequence[float] | float) -> bytes:
    """One record. Data that contains the magic number is split there, as MXNet's writer does."""
    many = [] if isinstance(labels, float) else list(labels)
    first = labels if isinstance(labels, float) else 0.0
    data = struct.pack("<IfQQ", len(many), first, 7, 0) + np.array(many, "<f4").tobytes() + picture
    cuts = [k for k in range(0, len(data) - 3, 4) if data[k : k + 4] == struct.pack("<I", MAGIC)]
    if not cuts:
        return part(data)
    starts, ends = [0, *(k + 4 for k in cuts)], [*cuts, len(data)]
    kinds = [1, *[2] * (len(cuts) - 1), 3]
    return b"".join(part(data[a:b], k) for a, b, k in zip(starts, ends, kinds, strict=True))


def samples(count: int, seed: int = 3) -> list[tuple[bytes, Any]]:
    random = np.random.default_rng(seed)
    out: list[tuple[bytes, Any]] = []
    for i in range(count):
        picture = random.integers(0, 256, 1 + 37 * i, np.uint8).tobytes()
        if i % 5 == 4:
            at = 4 * (len(picture) // 8)
            picture = picture[:at] + struct.pack("<I", MAGIC) * (i % 3 + 1) + picture[at:]
        out.append((picture, float(i) if i % 3 else [float(i), 0.5, -1.0]))
    return out


def write(folder: Path, items: Sequence[tuple[bytes, Any]], files: int = 1) -> dict[str, Any]:
    """A data set in `files` files, cut without regard to records. Returns the reader's arguments."""
    offsets, data = [], b""
    for picture, labels in items:
        offsets.append(len(data))
        data += record(picture, labels)
    paths = []
    for i in range(files):
        paths.append(folder / f"data{i}.rec")
        paths[i].write_bytes(data[len(data) * i // files : len(data) * (i + 1) // files])
    lines = [f"{i}\t{offset}" for i, offset in enumerate(offsets)]
    (folder / "data.idx").write_text("\n".join(lines[::-1]) + "\n")  # in any order
    return {"path": [str(p) for p in paths], "index_path": str(folder / "data.idx")}


def read(package: ModuleType, count: int, batch: int = 4, **arguments: Any) -> list[tuple[bytes, list[float]]]:
    pipe = package.Pipeline(batch, 2, None, seed=5)
    with pipe:
        pipe.set_outputs(*package.fn.readers.mxnet(**arguments))
    out = []
    while len(out) < count:
        pictures, labels = pipe.run()
        for i in range(len(pictures)):
            picture, label = np.array(pictures.at(i)), np.array(labels.at(i))
            assert picture.dtype == np.uint8 and label.dtype == np.float32
            out.append((picture.tobytes(), label.tolist()))
    return out


def expected(items: Sequence[tuple[bytes, Any]]) -> list[tuple[bytes, list[float]]]:
    return [(p, [v] if isinstance(v, float) else v) for p, v in items]


@pytest.mark.parametrize("files", [1, 3, 30])
def test_records(files: int, tmp_path: Path) -> None:
    items = samples(12)
    arguments = write(tmp_path, items, files)
    assert read(headrace, 24, **arguments) == expected(items) * 2


def test_names(tmp_path: Path) -> None:
    arguments = write(tmp_path, samples(4), 1)
    pipe = Pipeline(4, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.mxnet(**arguments))
    pictures, _ = pipe.run()
    assert pictures[0].source_info() == f"{arguments['path'][0]} at index 0"
    assert pictures[3].source_info().startswith(f"{arguments['path'][0]} at index ")
    assert len({pictures[i].source_info() for i in range(4)}) == 4


@pytest.mark.parametrize("fill", [1, 5, 1024])
def test_shuffled_and_resumed(fill: int, tmp_path: Path) -> None:
    items = samples(40)
    arguments = write(tmp_path, items, 2)

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=11, enable_checkpointing=True)
    def define() -> Any:
        return tuple(
            fn.readers.mxnet(**arguments, random_shuffle=True, initial_fill=fill, name="r", num_shards=2)
        )

    def take(pipe: Pipeline, batches: int) -> list[bytes]:
        runs = [pipe.run() for _ in range(batches)]
        return [np.array(out[0].at(i)).tobytes() for out in runs for i in range(len(out[0]))]

    whole = take(define(), 30)
    assert sorted(whole[:40]) == sorted(p for p, _ in items) and whole[:40] != [p for p, _ in items]
    assert whole[:40] != whole[40:80]
    first = define()
    assert take(first, 7) == whole[:28]
    assert take(define(checkpoint=first.checkpoint()), 23) == whole[28:]


def test_damage(tmp_path: Path) -> None:
    items = samples(6)
    arguments = write(tmp_path, items)
    path = Path(arguments["path"][0])
    data = bytearray(path.read_bytes())
    offset = len(record(*items[0])) + len(record(*items[1]))

    def fails(text: str, **changed: Any) -> None:
        with pytest.raises(RuntimeError, match=text):
            read(headrace, 6, **{**arguments, **changed})

    data[offset] ^= 1
    path.write_bytes(data)
    fails(f"at index {offset}: no RecordIO record begins")
    data[offset] ^= 1
    data[offset + 8 : offset + 12] = b"\xff\xff\xff\x7f"  # the number of labels
    path.write_bytes(data)
    fails("cannot have 2147483647 labels")
    data[offset + 4 : offset + 8] = b"\xff\xff\xff\x1f"  # the length
    path.write_bytes(data)
    fails("says that it has 536870911 bytes")
    path.write_bytes(data[:offset])
    fails("but the files have")
    fails("cannot be opened", path=str(tmp_path / "missing.rec"))
    fails("cannot be opened", index_path=str(tmp_path / "missing.idx"))
    index = tmp_path / "bad.idx"
    for text in ("", "x y\n", "1\n", "1\t-5\n", "1\t99999999999999999999\n"):
        index.write_text(text)
        fails("bad.idx", index_path=str(index))


@needs_strace
def test_system_calls(tmp_path: Path) -> None:
    """1,000 records of one file open it once, and each is read with one call."""
    data = np.random.default_rng(1).integers(0, 255, 20_000, np.uint8).tobytes()
    arguments = write(tmp_path, [(data, 1.0)] * 1000)
    lines = system_calls(f"fn.readers.mxnet(**{arguments!r})", tmp_path / "log")
    assert sum("data0.rec" in line for line in lines) == 2  # once to measure it
    reads = [line for line in lines if "preadv2(" in line]
    assert 1000 <= len(reads) <= 1300  # those of the next epoch are read ahead
    assert sum("pread64(" in line for line in lines) <= 5


@pytest.mark.live_dali
@pytest.mark.parametrize("order", ORDERS, ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("files", [1, 3])
def test_records_as_dali(
    files: int, order: dict[str, Any], tmp_path: Path, live_dali: ModuleType
) -> None:
    items = samples(12)
    arguments = {**write(tmp_path, items, files), **order}
    arguments["index_path"] = [arguments["index_path"]]
    ours = read(headrace, 24, **arguments)
    assert read(live_dali, 24, **arguments) == ours
    assert order or ours == expected(items) * 2
