# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.tfrecord: records of tf.train.Example, written here."""

from __future__ import annotations

import gzip
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
from headrace import fn, ops, pipeline_def, types  # noqa: E402
from headrace import tfrecord as tf  # noqa: E402
from records import ORDERS, needs_strace, system_calls  # noqa: E402
from tfrecords import example, feature, field, number_field, record, varint, write  # noqa: E402

Output = list[tuple[str, str, tuple[int, ...], Any]]
INT, FLOAT, TEXT = tf.int64, tf.float32, tf.string
FEATURES = {
    "image": ("fixed", (), TEXT, ""),
    "label": ("fixed", (1,), INT, -1),
    "box": ("var", (4,), FLOAT, 0.0),
    "ids": ("var", None, INT, 0),
}


def features(package: ModuleType, described: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Features of headrace.tfrecord or nvidia.dali.tfrecord."""
    module = importlib.import_module(f"{package.__name__}.tfrecord")
    made = {}
    for name, (kind, shape, dtype, default) in described.items():
        if kind == "fixed":
            made[name] = module.FixedLenFeature(shape, dtype, default)
        else:
            made[name] = module.VarLenFeature(*([] if shape is None else [shape]), dtype, default)
    return made


def samples(count: int, seed: int = 3) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    return [
        {
            "image": random.integers(0, 256, 1 + 37 * i, np.uint8).tobytes(),
            "label": [i],
            "box": [float(x) for x in random.standard_normal(4 * (i % 3)).astype(np.float32)],
            "ids": [int(x) for x in random.integers(-(2**63), 2**63, i % 5)],
            "unused": [b"a", b"b"],
        }
        for i in range(count)
    ]


def make(
    package: ModuleType,
    described: dict[str, Any],
    batch: int = 1,
    threads: int = 2,
    **arguments: Any,
) -> Any:
    pipe = package.Pipeline(batch, threads, None, seed=5)
    with pipe:
        out = package.fn.readers.tfrecord(
            features=features(package, described), name="Reader", **arguments
        )
        assert list(out) == list(described)
        pipe.set_outputs(*out.values())
    pipe.build()
    return pipe


def read(pipe: Any, count: int) -> list[Output]:
    """For each sample and output: name, type, shape, values."""
    out: list[Output] = []
    while len(out) < count:
        runs = pipe.run()
        for i in range(len(runs[0])):
            row = [(tensor[i].source_info(), np.array(tensor.at(i))) for tensor in runs]
            out.append([(info, str(x.dtype), x.shape, x.tolist()) for info, x in row])
    return out


def expected(items: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [
        [list(s["image"]), s["label"], np.array(s["box"]).reshape(-1, 4).tolist(), s["ids"]]
        for s in items
    ]


def values(outputs: list[Output]) -> list[list[Any]]:
    return [[output[3] for output in sample] for sample in outputs]


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("indexed", [True, False])
def test_records(files: int, indexed: bool, tmp_path: Path) -> None:
    items = samples(12)
    arguments: dict[str, Any] = dict(write(tmp_path, [example(s) for s in items], files))
    if not indexed:
        del arguments["index_path"]
    pipe = make(headrace, FEATURES, 4, check_crc=True, **arguments)
    assert pipe.reader_meta("Reader")["epoch_size"] == 12
    got = read(pipe, 24)
    assert values(got) == expected(items) * 2
    assert [x[1:3] for x in got[5]] == [
        ("uint8", (186,)),
        ("int64", (1,)),
        ("float32", (2, 4)),
        ("int64", (0,)),
    ]
    offsets = [int(sample[0][0].rpartition(" at index ")[2]) for sample in got[:12]]
    lines = [
        line for path in sorted(tmp_path.glob("*.idx")) for line in path.read_text().splitlines()
    ]
    assert [
        f"{offset} " == line[: len(str(offset)) + 1] for offset, line in zip(offsets, lines)
    ] == [True] * 12
    assert all(sample[0][0].startswith(str(tmp_path)) for sample in got)


def test_classes_and_old_names(tmp_path: Path) -> None:
    arguments = write(tmp_path, [example({"n": [3], "s": b"abc"})])
    described = {"n": tf.FixedLenFeature([], INT, 0), "s": tf.FixedLenFeature((), TEXT, "")}
    pipe = headrace.Pipeline(1, 1, None)
    reader = ops.readers.TFRecord(features=described, **arguments)
    with pipe:
        out = reader()
        with pytest.warns(DeprecationWarning):
            old = fn.tfrecord_reader(features=described, path=arguments["path"][0])
        pipe.set_outputs(out["n"] + 1, out["s"], old["s"])
    n, s, again = pipe.run()
    assert int(n.at(0)) == 4 and bytes(s.at(0)) == bytes(again.at(0)) == b"abc"
    assert repr(described["s"]) == "FixedLenFeature([], string, '')"


# The bytes of a record, and what to read from it. DALI leaves values without data uninitialised; where it does, or
# where it fails, the last element is False.
A = {"n": [1, -2, 3], "f": [1.5, -2.5], "s": b"hello"}
CASES: dict[str, tuple[bytes, dict[str, tuple[Any, ...]], list[Any], bool]] = {
    "fixed": (example(A), {"n": ("fixed", (3,), INT, 0), "f": ("fixed", (1, 2), FLOAT, 0.0)}, [[1, -2, 3], [[1.5, -2.5]]], True),
    "strings": (example(A), {"s": ("fixed", (1, 1), TEXT, "")}, [list(b"hello")], True),
    "first of several": (example({"s": [b"a", b"bc"]}), {"s": ("fixed", (), TEXT, "")}, [[97]], True),
    "empty string": (example({"s": b""}), {"s": ("fixed", (), TEXT, "x")}, [[]], True),
    "fewer": (example(A), {"n": ("fixed", (2, 2), INT, 7), "f": ("fixed", (3,), FLOAT, 0.5)}, [[[1, -2], [3, 7]], [1.5, -2.5, 0.5]], False),
    "partial": (example(A), {"n": ("var", (1, 3), INT, 0), "f": ("var", (), FLOAT, 0.0)}, [[[[1, -2, 3]]], [1.5, -2.5]], True),
    "empty list": (example({"n": []}), {"n": ("var", (2,), INT, 0)}, [[]], True),
    "no list": (example({"n": (b"",)}), {"n": ("var", None, INT, 5)}, [[]], True),
    "absent": (example({}), {"n": ("fixed", (3,), INT, -7), "f": ("var", None, FLOAT, 0.5), "s": ("fixed", (), TEXT, "x")}, [-7, 0.5, 120], False),
    "empty payload": (b"", {"n": ("fixed", (), INT, 3)}, [3], False),
    "no value": (example({"s": (field(1, b""),)}), {"s": ("fixed", (), TEXT, "de")}, [list(b"de")], False),
    "empty list of another kind": (example({"n": (field(2, b""),), "f": []}), {"n": ("var", None, INT, 0), "f": ("fixed", (1,), FLOAT, 2.5)}, [[], [2.5]], False),
    "unpacked": (example({"n": (feature(A["n"], False),), "f": (feature(A["f"], False),)}), {"n": ("var", None, INT, 0), "f": ("var", None, FLOAT, 0.0)}, [[1, -2, 3], [1.5, -2.5]], True),
    "partly packed": (example({"n": (field(3, field(1, varint(1) + varint(-2)) + number_field(1, 3)),)}), {"n": ("var", None, INT, 0)}, [[1, -2, 3]], True),
    "value before key": (field(1, field(1, field(2, feature([4, 5])) + field(1, b"n"))), {"n": ("var", None, INT, 0)}, [[4, 5]], True),
    "key twice": (example([("n", [1]), ("m", [9]), ("n", [2, 3])]), {"n": ("var", None, INT, 0)}, [[2, 3]], True),
    "features twice": (example({"n": [1]}) + example({"m": [2]}), {"n": ("var", None, INT, 0), "m": ("var", None, INT, 0)}, [[1], [2]], True),
    "lists of one kind": (example({"n": (feature([1]) + feature([2]),)}), {"n": ("var", None, INT, 0)}, [[1, 2]], True),
    "lists of two kinds": (example({"f": (feature([1]) + feature([2.0]),)}), {"f": ("var", None, FLOAT, 0.0)}, [[2.0]], True),
    "back to the first kind": (example({"n": (feature([1]) + feature([2.0]) + feature([3]),)}), {"n": ("var", None, INT, 0)}, [[3]], True),
    "unknown fields": (field(9, b"zz") + number_field(1, 5) + b"\x0b\x08\x01\x13\x14\x0c" + example(A), {"n": ("var", None, INT, 0)}, [[1, -2, 3]], True),
    "extremes": (example({"n": [2**63 - 1, -(2**63), -1]}), {"n": ("var", None, INT, 0)}, [[2**63 - 1, -(2**63), -1]], True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_payloads(name: str, tmp_path: Path) -> None:
    payload, described, result, _ = CASES[name]
    assert values(read(make(headrace, described, **write(tmp_path, [payload])), 1)) == [result]


@pytest.mark.live_dali
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][3]])
def test_payloads_as_dali(name: str, tmp_path: Path, live_dali: ModuleType) -> None:
    payload, described, _, _ = CASES[name]
    arguments = write(tmp_path, [payload])
    assert read(make(live_dali, described, **arguments), 1) == read(
        make(headrace, described, **arguments), 1
    )


def test_fill_missing(tmp_path: Path) -> None:
    described = {
        "n": ("fixed", (2,), INT, 7),
        "f": ("var", (2,), FLOAT, 0.0),
        "s": ("fixed", (), TEXT, "none"),
    }
    payloads = [example({"n": [1, 2], "f": [1.0, 2.0], "s": b"x"}), example({})]
    arguments = write(tmp_path, payloads)
    got = read(make(headrace, described, 2, fill_missing=True, **arguments), 2)
    assert values(got) == [[[1, 2], [[1.0, 2.0]], [120]], [[7, 7], [], list(b"none")]]
    assert got[1][1][2] == (0, 2)
    with pytest.raises(RuntimeError, match="number of dimensions"):
        read(make(headrace, described, 2, **arguments), 2)


N = {"n": ("var", None, INT, 0)}
WRONG: list[tuple[bytes, dict[str, tuple[Any, ...]], str]] = [
    (example(A), {"n": ("fixed", (2,), INT, 0)}, "feature 'n': it has 3 values, but its shape holds only 2"),
    (example(A), {"n": ("fixed", (), INT, 0)}, "holds only 1"),
    (example(A), {"n": ("var", (2,), INT, 0)}, "feature 'n': its 3 values are not a multiple of the 2"),
    (example(A), {"n": ("fixed", (), TEXT, "")}, "feature 'n': it contains INT64 numbers, not strings"),
    (example(A), {"f": ("fixed", (), TEXT, "")}, "feature 'f': it contains FLOAT numbers, not strings"),
    *((example(A), {name: (form, shape, dtype, 0.0 if dtype == FLOAT else 0)}, f"feature '{name}': it contains {there}, not {asked}")
      for form, shape in (("fixed", (3,)), ("var", None))
      for name, dtype, there, asked in (("s", INT, "strings", "INT64 numbers"), ("s", FLOAT, "strings", "FLOAT numbers"),
                                        ("f", INT, "FLOAT numbers", "INT64 numbers"), ("n", FLOAT, "INT64 numbers", "FLOAT numbers"))),
    (example([("n", [1]), ("n", b"x")]), N, "feature 'n': it contains strings, not INT64 numbers"),
    (example({"n": (feature([1]) + feature([2.0]),)}), N, "it contains FLOAT numbers, not INT64 numbers"),
    (example(A)[:-3], N, "is not a tf.train.Example: byte"),
    (example(A) + b"\xff", N, "byte 60 of 61"),
    (b"\x07", N, "byte 0 of 1"),
    (b"\x0b" * 100, N, "cannot be parsed"),
    (b"\x80" * 11, N, "cannot be parsed"),
    (b"\x0b\x14", N, "cannot be parsed"),
    (field(1, field(1, b"\x0a\x05n")), N, "cannot be parsed"),
    (example({"n": (field(3, field(1, b"\xff\xff")),)}), N, "feature 'n': .* cannot be parsed"),
    (example({"f": (field(2, field(1, b"123")),)}), {"f": ("var", None, FLOAT, 0.0)}, "feature 'f': .* cannot be parsed"),
    (example({"f": (b"\x12\x7f",)}), {"f": ("var", None, FLOAT, 0.0)}, "feature 'f': .* cannot be parsed"),
]  # fmt: skip


@pytest.mark.parametrize("payload, described, text", WRONG, ids=range(len(WRONG)))
def test_wrong_payloads(
    payload: bytes, described: dict[str, Any], text: str, tmp_path: Path
) -> None:
    arguments = write(tmp_path, [payload])
    with pytest.raises(RuntimeError, match="0.tfrecord at index 0: .*" + text):
        read(make(headrace, described, **arguments), 1)


@pytest.mark.live_dali
@pytest.mark.parametrize(
    "payload, described, text", [w for w in WRONG if "it contains" not in w[2]]
)
def test_wrong_payloads_as_dali(
    payload: bytes, described: dict[str, Any], text: str, tmp_path: Path, live_dali: ModuleType
) -> None:
    with pytest.raises(RuntimeError):
        read(make(live_dali, described, **write(tmp_path, [payload])), 1)


def test_wrong_arguments(tmp_path: Path) -> None:
    arguments = write(tmp_path, [example(A)])

    def fails(error: type[Exception], text: str, described: Any = N, **changed: Any) -> None:
        with pytest.raises(error, match=text):
            make(headrace, described, **{**arguments, **changed})

    fails(RuntimeError, "features is empty", {})
    fails(RuntimeError, "feature 's': tensors of strings", {"s": ("fixed", (2,), TEXT, "")})
    fails(RuntimeError, "feature 's': tensors of strings", {"s": ("var", None, TEXT, "")})
    fails(RuntimeError, "cannot have the extent -1", {"n": ("fixed", (-1,), INT, 0)})
    fails(RuntimeError, "partial_shape cannot have the extent 0", {"n": ("var", (0,), INT, 0)})
    fails(RuntimeError, "at most 7", {"n": ("var", (1,) * 8, INT, 0)})
    fails(RuntimeError, "2 index files for 1 files", index_path=arguments["index_path"] * 2)
    fails(RuntimeError, "use_o_direct needs dont_use_mmap", use_o_direct=True)
    fails(RuntimeError, "path 'nothing': cannot be opened", path="nothing")
    fails(RuntimeError, "index_path 'nothing': cannot be opened", index_path="nothing")
    make(headrace, N, use_o_direct=True, dont_use_mmap=True, **arguments)
    pipe = headrace.Pipeline(1, 1, None)
    with pipe, pytest.raises(TypeError, match='argument "features"'):
        fn.readers.tfrecord(features={"n": 3}, **arguments)
    for dtype, default in ((INT, 1.5), (INT, None), (FLOAT, 1), (TEXT, b"x"), (7, 0)):
        with pytest.raises(RuntimeError):
            tf.FixedLenFeature([], dtype, default)
    for dtype, wanted in (("int64", INT), (np.int64, INT), (np.dtype("float32"), FLOAT),
                          (types.FLOAT, FLOAT), (str, TEXT), ("string", TEXT)):  # fmt: skip
        default = {INT: 0, FLOAT: 0.0, TEXT: ""}[wanted]
        made = tf.FixedLenFeature([], dtype, default), tf.VarLenFeature(dtype, default)
        assert made == (tf.FixedLenFeature([], wanted, default), tf.VarLenFeature(wanted, default))
    for dtype in ("int32", np.uint8, types.FLOAT16, None):
        with pytest.raises(TypeError, match="must be tfrecord.int64"):
            tf.FixedLenFeature([], dtype, 0)
    for wrong in ((INT,), ((), INT), (INT, 0, ())):
        with pytest.raises(TypeError):
            tf.VarLenFeature(*wrong)


INDICES = [
    ("", "contain no records"),
    ("x 5\n", "line 1 of the index, 'x 5'"),
    ("0\n", "line 1 of the index, '0'"),
    ("\n0 9999999999999999999\n", "line 2"),
    ("-5 80\n", "line 1"),
    ("9000 20\n", "line 1 has the offset 9000, but the file has"),
    ("0 40\n", "at index 0: the payload has 60 bytes, but by the index it has 24"),
    ("0 9000\n", "at index 0: has 76 bytes, too few for 9000"),
    ("0 8\n", "at index 0: the index gives the record 8 bytes"),
    ("3 60\n", "at index 3: the checksum of the record's length is wrong"),
]


@pytest.mark.parametrize("text, message", INDICES, ids=range(len(INDICES)))
def test_wrong_indices(text: str, message: str, tmp_path: Path) -> None:
    arguments = write(tmp_path, [example(A)])
    Path(arguments["index_path"][0]).write_text(text)
    with pytest.raises(RuntimeError, match=message):
        read(make(headrace, N, **arguments), 1)


def test_damaged_files(tmp_path: Path) -> None:
    items = [example(A), example({"n": [4]})]
    path = Path(write(tmp_path, items)["path"][0])
    data = path.read_bytes()
    size = len(record(items[0]))
    for end in (size + 5, size + 15, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(RuntimeError, match=f"0.tfrecord': the record at offset {size} "):
            make(headrace, N, path=str(path))
    path.write_bytes(b"text" * 50)
    with pytest.raises(RuntimeError, match="0.tfrecord': at offset 0 .* not a TFRecord file"):
        make(headrace, N, path=str(path))
    path.write_bytes(gzip.compress(data))
    with pytest.raises(NotImplementedError, match=r"0.tfrecord': it is compressed \(gzip\)"):
        make(headrace, N, path=str(path))
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match="no records"):
        make(headrace, N, path=str(path))


@pytest.mark.parametrize("level", ["base", "v3"])
def test_checksums(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CPU_LEVEL", level)
    arguments = write(tmp_path, [example(A), example({"n": [4]})])
    path = Path(arguments["path"][0])
    data = bytearray(path.read_bytes())
    assert len(read(make(headrace, N, **arguments), 2)) == 2
    for at, text in (
        *((at, "record's length is wrong") for at in range(12)),
        *((at, "of the payload, 60 bytes, is wrong") for at in range(12, 76)),
    ):
        data[at] ^= 4
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match="at index 0: the checksum .*" + text):
            read(make(headrace, N, **arguments), 1)
        if at < 12:
            with pytest.raises(RuntimeError, match="length is wrong"):
                read(make(headrace, N, check_crc=False, **arguments), 1)
        if at >= 72:  # the checksum itself
            assert len(read(make(headrace, N, check_crc=False, **arguments), 2)) == 2
        data[at] ^= 4


@pytest.mark.parametrize("indexed", [False, True])
def test_every_byte_of_the_framing(indexed: bool, tmp_path: Path) -> None:
    """Whatever byte between the payloads is changed: an error with the file and the offset."""
    payloads = [example({"n": [i] * i}) for i in range(3)]
    arguments = dict(write(tmp_path, payloads))
    if not indexed:
        del arguments["index_path"]
    path = Path(arguments["path"][0])
    data, start = bytearray(path.read_bytes()), 0
    for payload in payloads:
        end = start + 12 + len(payload)
        for at in (*range(start, start + 12), *range(end, end + 4)):
            for flip in (0x01, 0x80, 0xFF):
                data[at] ^= flip
                path.write_bytes(data)
                with pytest.raises(RuntimeError, match=rf"{path}.* (offset|index) {start}\b"):
                    read(make(headrace, N, **arguments), 3)
                data[at] ^= flip
        start = end + 4


@pytest.mark.parametrize("zeros", [12, 16, 64, 1 << 40])
def test_zeros_are_no_records(zeros: int, tmp_path: Path) -> None:
    """A region that was never written, also one that no scan can go through."""
    path = Path(write(tmp_path, [example(A)])["path"][0])
    size = path.stat().st_size
    os.truncate(path, size + zeros)
    with pytest.raises(RuntimeError, match=f"0.tfrecord': .*offset {size} "):
        make(headrace, N, path=str(path))
    os.truncate(path, 0)
    os.truncate(path, zeros)
    with pytest.raises(RuntimeError, match="0.tfrecord': .*offset 0 "):
        make(headrace, N, path=str(path))


def test_bad_records_are_skipped(tmp_path: Path) -> None:
    arguments = write(tmp_path, [example({"n": [i]}) if i % 4 else b"\xff" for i in range(8)])
    pipe = headrace.Pipeline(8, 2, None, on_error="skip")
    with pipe:
        pipe.set_outputs(fn.readers.tfrecord(features=features(headrace, N), **arguments)["n"])
    (out,) = pipe.run()
    assert [out.at(i).tolist() for i in range(len(out))] == [[1], [2], [3], [5], [6], [7]]
    offsets = [
        int(line.split()[0]) for line in Path(arguments["index_path"][0]).read_text().splitlines()
    ]
    assert [int(e["source"].rpartition(" ")[2]) for e in pipe.errors()[:2]] == [
        offsets[0],
        offsets[4],
    ]


@pytest.mark.parametrize("fill", [1, 5, 1024])
def test_shuffled_and_resumed(fill: int, tmp_path: Path) -> None:
    arguments = write(tmp_path, [example({"n": [i]}) for i in range(40)], 3)

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=11, enable_checkpointing=True)
    def define() -> Any:
        out = fn.readers.tfrecord(
            **arguments,
            features=features(headrace, N),
            random_shuffle=True,
            initial_fill=fill,
            name="r",
            num_shards=2,
        )
        return fn.cast(out["n"], dtype=types.INT32)

    def take(pipe: Any, batches: int) -> list[int]:
        runs = [pipe.run()[0] for _ in range(batches)]
        return [int(out.at(i)[0]) for out in runs for i in range(len(out))]

    whole = take(define(), 30)
    assert sorted(whole[:40]) == list(range(40)) and whole[:40] != list(range(40))
    assert whole[:40] != whole[40:80]
    first = define()
    assert take(first, 7) == whole[:28]
    assert len(first.checkpoint()) < 1024
    assert take(define(checkpoint=first.checkpoint()), 23) == whole[28:]


def test_same_for_any_threads(tmp_path: Path) -> None:
    arguments = write(tmp_path, [example(s) for s in samples(30)], 2)
    one, many = (
        read(make(headrace, FEATURES, batch, threads, random_shuffle=True, **arguments), 60)[:60]
        for batch, threads in ((1, 1), (7, 8))
    )
    assert one == many


@needs_strace
def test_system_calls(tmp_path: Path) -> None:
    """1,000 records of one file open it once, and each is read with one call."""
    data = np.random.default_rng(1).integers(0, 255, 20_000, np.uint8).tobytes()
    arguments = write(tmp_path, [example({"image": data, "label": [1]})] * 1000)
    features = 'dict(image=tf.FixedLenFeature((), tf.string, ""))'
    outputs = f"[fn.readers.tfrecord(features={features}, **{arguments!r})['image']]"
    lines = system_calls(outputs, tmp_path / "log")
    assert sum("0.tfrecord" in line for line in lines) == 2  # once to measure it
    reads = sum("preadv2(" in line for line in lines)
    assert 1000 <= reads <= 1300  # those of the next epoch are read ahead
    assert sum("pread64(" in line for line in lines) <= 5


@pytest.mark.live_dali
@pytest.mark.parametrize("order", ORDERS, ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("files", [1, 3])
def test_records_as_dali(
    files: int, order: dict[str, Any], tmp_path: Path, live_dali: ModuleType
) -> None:
    arguments = {**write(tmp_path, [example(s) for s in samples(12)], files), **order}
    assert read(make(live_dali, FEATURES, 4, **arguments), 24) == read(
        make(headrace, FEATURES, 4, **arguments), 24
    )


@pytest.mark.live_dali
@pytest.mark.parametrize("shards", [1, 3])
def test_shuffled_set_as_dali(shards: int, tmp_path: Path, live_dali: ModuleType) -> None:
    arguments = write(tmp_path, [example({"n": [i]}) for i in range(30)], 2)
    order = {
        "random_shuffle": True,
        "num_shards": shards,
        "shard_id": shards - 1,
        "stick_to_shard": True,
    }
    ours, theirs = (
        sorted(values(read(make(package, N, 5, **order, **arguments), 30 // shards)))
        for package in (headrace, live_dali)
    )
    assert ours == theirs
