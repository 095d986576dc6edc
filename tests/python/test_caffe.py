# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.caffe and readers.caffe2: LMDB databases that the lmdb package wrote."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")
lmdb = pytest.importorskip("lmdb")

import headrace  # noqa: E402
from headrace import fn  # noqa: E402
from lmdbs import BYTE, FLOAT, INT32, INT64, STRING, datum, tensor, tensors, write  # noqa: E402

Outputs = list[tuple[str, tuple[int, ...], Any]]


def read(package: ModuleType, reader: str, count: int, batch: int = 1, **arguments: Any) -> list[Any]:
    """For each sample: its name, and type, shape and values of each output."""
    pipe = package.Pipeline(batch, 2, None, seed=5, prefetch_queue_depth=1)
    with pipe:
        nodes = getattr(package.fn.readers, reader)(**arguments)
        pipe.set_outputs(*(nodes if isinstance(nodes, (list, tuple)) else [nodes]))
    pipe.build()
    out: list[Any] = []
    while len(out) < count:
        batches = pipe.run()
        for i in range(len(batches[0])):
            arrays = [np.array(one.at(i)) for one in batches]
            outputs = [(str(x.dtype), x.shape, x.tolist(), one.layout()) for x, one in zip(arrays, batches)]
            out.append((batches[0][i].source_info(), outputs))
    return out


def samples(count: int, seed: int = 3) -> list[tuple[bytes, bytes]]:
    """Keys in no order, values of all sizes: in leaves and in pages of their own."""
    random = np.random.default_rng(seed)
    sizes = [int(10 ** random.uniform(0, 4.6)) for _ in range(count)]
    names = [f"{int(random.integers(0, 10**9))}_{'n' * int(random.integers(0, 200))}" for _ in sizes]
    return [
        (f"{i:06d}_{name}"[:500].encode(), datum(random.bytes(size), i))
        for i, (name, size) in enumerate(zip(names, sizes))
    ][::-1]


@pytest.mark.parametrize("count", [1, 30, 3000])
def test_every_value(count: int, tmp_path: Path) -> None:
    """Trees of one to three levels; what the lmdb package reads is what the reader reads, in the same order."""
    path = write(tmp_path / "d", samples(count))
    with lmdb.open(path, readonly=True) as database, database.begin() as transaction:
        stored = list(transaction.cursor())
        assert database.stat()["depth"] == {1: 1, 30: 2, 3000: 3}[count]
    got = read(headrace, "caffe", count, 30, path=path)
    assert [name for name, _ in got[:count]] == [f"{path} at key {key.decode()}" for key, _ in stored]
    for (_, value), (_, (picture, label)) in zip(stored, got):
        assert datum(bytes(picture[2]), label[2][0]) == value


def test_a_database_that_was_changed(tmp_path: Path) -> None:
    """Several transactions, values that were removed or replaced, and empty pages."""
    path = write(tmp_path / "d", samples(500))
    expected = dict(samples(500))
    random = np.random.default_rng(9)
    for step in range(6):
        with lmdb.open(path, map_size=1 << 28, sync=False) as database:
            with database.begin(write=True) as transaction:
                for key in sorted(expected)[step :: 2 + step]:
                    if random.random() < 0.6:
                        transaction.delete(key)
                        del expected[key]
                    else:
                        expected[key] = datum(random.bytes(int(random.integers(0, 9000))), step)
                        transaction.put(key, expected[key])
    got = read(headrace, "caffe", len(expected), 1, path=[path])
    assert len(expected) > 50 and len(got) == len(expected)
    for key, (name, (picture, label)) in zip(sorted(expected), got):
        assert name == f"{path} at key {key.decode()}"
        assert datum(bytes(picture[2]), label[2][0]) == expected[key]


def one(value: bytes, folder: Path) -> str:
    return write(folder, [(b"key", value)])


IMAGE = tensor(STRING, [b"abcd"])
ABCD = ("uint8", (4,), [97, 98, 99, 100], "")
LABELS = tensor(INT32, [1, 3])
WEIGHTS = tensor(FLOAT, [0.5, 0.25])
BOX = tensor(INT32, [1, 2, 3, 4])
SEVEN = ("int32", (1,), [7], "")


def ints(*values: int, name: str = "int32") -> tuple[str, tuple[int, ...], list[int], str]:
    return (name, (len(values),), list(values), "")


def floats(*values: float) -> tuple[str, tuple[int, ...], list[float], str]:
    return ("float32", (len(values),), list(values), "")


# Reader, value, arguments, outputs. The last element: whether DALI can do it.
GOOD: dict[str, tuple[str, bytes, dict[str, Any], list[Any], bool]] = {
    "coded": ("caffe", datum(b"abcd", 7), {}, [ABCD, SEVEN], True),
    "encoded": ("caffe", datum(b"abcd", 7, 1, (9, 9, 9)), {}, [ABCD, SEVEN], True),
    "pixels": ("caffe", datum(bytes(range(6)), 7, 0, (1, 2, 3)), {}, [("uint8", (2, 3, 1), [[[0], [1], [2]], [[3], [4], [5]]], ""), SEVEN], True),
    "no label": ("caffe", datum(b"abcd"), {}, [ABCD, ints()], True),
    "negative label": ("caffe", datum(b"abcd", -3), {}, [ABCD, ints(-3)], True),
    "no picture": ("caffe", datum(None, 7), {}, [("uint8", (0,), [], ""), SEVEN], True),
    "nothing": ("caffe", b"", {}, [("uint8", (0,), [], ""), ints()], True),
    "the last one counts": ("caffe", datum(b"x", 1) + datum(b"abcd", 7), {}, [ABCD, SEVEN], True),
    "unknown fields": ("caffe", b"\x4a\x01x\x50\x05" + datum(b"abcd", 7), {}, [ABCD, SEVEN], True),
    "only pictures": ("caffe", datum(b"abcd", 7), {"label_available": False}, [ABCD], True),
    "only labels": ("caffe", datum(b"abcd", 7), {"image_available": False}, [SEVEN], True),
    "caffe2": ("caffe2", tensors(IMAGE, tensor(INT32, [7])), {}, [ABCD, SEVEN], True),
    "a float": ("caffe2", tensors(IMAGE, tensor(FLOAT, [7.5])), {}, [ABCD, floats(7.5)], True),
    "no type": ("caffe2", tensors(IMAGE, tensor(None, [7.5])), {}, [ABCD, floats(7.5)], True),
    "not packed": ("caffe2", tensors(IMAGE, tensor(INT32, [7, -8], packed=False), tensor(FLOAT, [1.5], packed=False)), {"label_type": 2, "additional_inputs": 1}, [ABCD, ints(7, -8), floats(1.5)], True),
    "three dims": ("caffe2", tensors(tensor(BYTE, bytes(range(4)), (1, 2, 2)), tensor(INT32, [7])), {}, [("uint8", (1, 2, 2), [[[0, 1], [2, 3]]], ""), SEVEN], True),
    "two dims": ("caffe2", tensors(tensor(BYTE, bytes(range(2)), (1, 2)), tensor(INT32, [7])), {}, [("uint8", (1, 2, 1), [[[0], [1]]], ""), SEVEN], True),
    "the first string": ("caffe2", tensors(tensor(STRING, [b"abcd", b"e"]), tensor(INT32, [7])), {}, [ABCD, SEVEN], True),
    "dense": ("caffe2", tensors(IMAGE, WEIGHTS), {"label_type": 2}, [ABCD, floats(0.5, 0.25)], True),
    "no labels": ("caffe2", tensors(IMAGE), {"label_type": 4}, [ABCD], True),
    "no pictures": ("caffe2", tensors(tensor(INT32, [7])), {"image_available": False}, [SEVEN], True),
    "additional": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), WEIGHTS, tensor(INT64, [2**40, -6]), tensor(INT32, [])), {"additional_inputs": 3}, [ABCD, SEVEN, floats(0.5, 0.25), ints(2**40, -6, name="int64"), ints()], True),
    "box": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), BOX), {"bbox": True}, [ABCD, SEVEN, ints(1, 2, 3, 4)], True),
    "box and additional": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), WEIGHTS, BOX), {"bbox": True, "additional_inputs": 1}, [ABCD, SEVEN, floats(0.5, 0.25), ints(1, 2, 3, 4)], True),
    "box not wanted": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), BOX), {}, [ABCD, SEVEN], False),
    "sparse": ("caffe2", tensors(IMAGE, LABELS), {"label_type": 1, "num_labels": 5}, [ABCD, ints(0, 1, 0, 1, 0), ints(1, 3)], False),
    "sparse, none": ("caffe2", tensors(IMAGE, tensor(INT32, [])), {"label_type": 1, "num_labels": 3}, [ABCD, ints(0, 0, 0), ints()], False),
    "sparse, floats": ("caffe2", tensors(IMAGE, tensor(FLOAT, [2])), {"label_type": 1, "num_labels": 3}, [ABCD, floats(0, 0, 1), floats(2)], False),
    "sparse with weights": ("caffe2", tensors(IMAGE, LABELS, WEIGHTS, BOX), {"label_type": 1, "num_labels": 5, "bbox": True}, [ABCD, ints(0, 1, 0, 1, 0), ints(1, 3), ints(1, 2, 3, 4)], False),
    "weighted": ("caffe2", tensors(IMAGE, LABELS, WEIGHTS, BOX), {"label_type": 3, "num_labels": 5, "additional_inputs": 1}, [ABCD, floats(0, 0.5, 0, 0.25, 0), ints(1, 3), ints(1, 2, 3, 4)], False),
}  # fmt: skip
# Reader, value, arguments, part of the message.
BAD: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "junk": ("caffe", b"\xff\xff\xff", {}, "at key key: the value, 3 bytes, is not a Datum"),
    "cut": ("caffe", datum(b"abcd", 7)[:-1], {}, "is not a Datum"),
    "too few pixels": ("caffe", datum(b"abcd", 7, 0, (3, 2, 1)), {}, "4 bytes, but 2 rows of 1 pixels with 3"),
    "too many pixels": ("caffe", datum(b"abcd", 7, 0, (1, 1, 1)), {}, "but 1 rows"),
    "negative": ("caffe", datum(b"", 7, 0, (-1, 0, 5)), {}, "with -1 channels"),
    "no outputs": ("caffe", datum(b"abcd"), {"image_available": False, "label_available": False}, "the reader has no output"),
    "caffe2 junk": ("caffe2", b"\xff\xff", {}, "2 bytes, is not TensorProtos"),
    "a tensor of junk": ("caffe2", tensors(b"\xff"), {}, "is not TensorProtos"),
    "empty": ("caffe2", b"", {}, "none is left for the image"),
    "no label": ("caffe2", tensors(IMAGE), {}, "none is left for the label"),
    "two labels": ("caffe2", tensors(IMAGE, LABELS), {}, "2 labels, but label_type is 0"),
    "wrong label": ("caffe2", tensors(IMAGE, tensor(INT64, [3])), {}, "label: the tensor's type is 10"),
    "wrong picture": ("caffe2", tensors(LABELS, LABELS), {}, "image: the tensor's type is 2"),
    "no string": ("caffe2", tensors(tensor(STRING, []), LABELS), {}, "image: the tensor is empty"),
    "no dims": ("caffe2", tensors(tensor(BYTE, b"abc"), LABELS), {}, "it has 0 dimensions"),
    "wrong dims": ("caffe2", tensors(tensor(BYTE, b"abc", (2**40, 2**40)), LABELS), {}, "Image data size mismatch: .*cannot have 3 bytes"),
    "missing": ("caffe2", tensors(IMAGE, tensor(INT32, [7])), {"additional_inputs": 1}, "an additional input"),
    "strings": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), IMAGE), {"additional_inputs": 1}, "type is 4; it must"),
    "no box": ("caffe2", tensors(IMAGE, tensor(INT32, [7])), {"bbox": True}, "none is left for the box"),
    "half a box": ("caffe2", tensors(IMAGE, tensor(INT32, [7]), LABELS), {"bbox": True}, "box: 2 numbers of type INT32"),
    "label too large": ("caffe2", tensors(IMAGE, LABELS), {"label_type": 1, "num_labels": 3}, "Label index out of bounds: 3; .*num_labels, 3"),
    "label negative": ("caffe2", tensors(IMAGE, tensor(INT32, [-1])), {"label_type": 1, "num_labels": 3}, "bounds: -1"),
    "label NaN": ("caffe2", tensors(IMAGE, tensor(FLOAT, [float("nan")])), {"label_type": 1}, "bounds: -?nan"),
    "too few weights": ("caffe2", tensors(IMAGE, tensor(INT32, [1]), WEIGHTS), {"label_type": 3, "num_labels": 5}, "2 weights of type FLOAT for 1"),
    "label and weights": ("caffe2", tensors(IMAGE, tensor(INT32, [9]), WEIGHTS), {"label_type": 3, "num_labels": 5}, "bounds: 9"),
    "no weights": ("caffe2", tensors(IMAGE, LABELS), {"label_type": 3, "num_labels": 5}, "none is left for the weights"),
    "label_type": ("caffe2", tensors(IMAGE), {"label_type": 5}, "label_type"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_values(name: str, tmp_path: Path) -> None:
    reader, value, arguments, expected, _ = GOOD[name]
    path = one(value, tmp_path / "d")
    assert read(headrace, reader, 1, path=path, **arguments) == [(f"{path} at key key", expected)]


@pytest.mark.live_dali
@pytest.mark.parametrize("name", [name for name in GOOD if GOOD[name][-1]])
def test_values_as_dali(name: str, tmp_path: Path, live_dali: ModuleType) -> None:
    reader, value, arguments, _, _ = GOOD[name]
    arguments = {"path": one(value, tmp_path / "d"), **arguments}
    ours, theirs = (read(package, reader, 1, **arguments) for package in (headrace, live_dali))
    assert ours[0][1] == theirs[0][1] and (theirs[0][0] in ("", ours[0][0]))


@pytest.mark.parametrize("name", BAD)
def test_bad_values(name: str, tmp_path: Path) -> None:
    reader, value, arguments, message = BAD[name]
    with pytest.raises(RuntimeError, match=message):
        read(headrace, reader, 1, path=one(value, tmp_path / "d"), **arguments)


ORDERS: list[dict[str, Any]] = [
    {},
    {"num_shards": 3, "shard_id": 1},
    {"num_shards": 5, "shard_id": 2, "pad_last_batch": True},
    {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "dont_use_mmap": True},
]


def databases(folder: Path) -> list[str]:
    items = samples(25)
    return [write(folder / str(i), items[at : at + n]) for i, (at, n) in enumerate([(0, 10), (10, 1), (11, 14)])]


@pytest.mark.live_dali
@pytest.mark.parametrize("order", ORDERS, ids=lambda o: " ".join(o) or "plain")
def test_order_as_dali(order: dict[str, Any], tmp_path: Path, live_dali: ModuleType) -> None:
    arguments = {"path": databases(tmp_path), "label_available": False, **order}
    ours, theirs = (read(package, "caffe", 60, 4, **arguments) for package in (headrace, live_dali))
    assert ours == theirs


def test_shuffled(tmp_path: Path) -> None:
    paths = databases(tmp_path)
    plain, shuffled = (
        [name for name, _ in read(headrace, "caffe", 25, 5, path=paths, random_shuffle=on)] for on in (False, True)
    )
    assert len(set(plain)) == 25 and sorted(plain) == sorted(shuffled) and plain != shuffled


def test_old_names(tmp_path: Path) -> None:
    path = one(datum(b"abcd", 7), tmp_path / "d")
    with pytest.warns(DeprecationWarning):
        assert read_old(path) == b"abcd"
    assert hasattr(fn, "caffe2_reader") and headrace.ops.readers.Caffe2 and headrace.ops.CaffeReader


def read_old(path: str) -> bytes:
    pipe = headrace.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.caffe_reader(path=path))
    return bytes(pipe.run()[0].at(0))


def broken(path: str, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        read(headrace, "caffe", 1, path=path)


def test_bad_databases(tmp_path: Path) -> None:
    broken(str(tmp_path / "none"), "none/data.mdb': cannot be opened")
    broken(write(tmp_path / "empty", []), "the databases of path '.*empty' contain no values$")
    with lmdb.open(str(tmp_path / "named"), max_dbs=2) as database:
        database.open_db(b"train")
    broken(str(tmp_path / "named"), "contains named databases")
    good = write(tmp_path / "good", samples(200))
    data = (Path(good) / "data.mdb").read_bytes()
    for name, changed, text in [
        ("no", b"", "is not an LMDB database: it ends at byte 0"),
        ("text", b"a" * 9000, "is not an LMDB database"),
        ("format", data[:20] + b"\2" + data[21:], "of format 2"),
        ("several", data[:92] + b"\4" + data[93:], "keys have several values"),
        ("pages", data[:40] + b"\1\0\0\0" + data[44:], "pages of 1 bytes"),
        ("cut", data[: len(data) // 2], "cut off|does not exist"),
        ("zeros", data[:8192] + bytes(len(data) - 8192), "page [0-9]+ is damaged"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.mdb").write_bytes(changed)
        broken(str(tmp_path / name), text)
        broken(str(tmp_path / name), f"{name}/data.mdb'")


def test_damage(tmp_path: Path) -> None:
    """Every change of a page gives other values or an error that names the file."""
    path = Path(write(tmp_path / "d", samples(40)[:12])) / "data.mdb"
    data = path.read_bytes()
    random = np.random.default_rng(4)
    failed = 0
    for _ in range(150):
        changed = bytearray(data)
        page = int(random.integers(0, len(data) // 4096))
        for _ in range(int(random.integers(1, 4))):
            changed[4096 * page + int(random.integers(0, 200))] = int(random.integers(0, 256))
        path.write_bytes(changed)
        try:
            read(headrace, "caffe", 12, path=str(path.parent))
        except RuntimeError as error:
            assert str(path.parent) in str(error)
            failed += 1
    assert failed > 10
