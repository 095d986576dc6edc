# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.parquet against pyarrow: types of columns, orders, resuming, and files that are not as they should be."""

from __future__ import annotations

import datetime
import decimal
import os
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import s3_server
from headrace import Pipeline, fn
from servers import Server, has_curl
from waiting import HANG_S

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GROUPS = [5, 3, 0, 7, 1, 4]  # rows of the row groups of two files
ROWS = sum(GROUPS)


def image(i: int) -> bytes:
    return bytes([i]) * (i % 4)


def table(first: int, rows: int) -> Any:
    numbers = range(first, first + rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "image": pa.array(
                [{"bytes": image(i), "path": f"{i}.jpg"} for i in numbers],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
            "text": pa.array([f"row {i} ä" for i in numbers], pa.string()),
        }
    )


def write(path: Path, groups: list[int], first: int = 0, **arguments: Any) -> None:
    """A file with row groups of these sizes, or a stream of batches."""
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, table(0, 1).schema, **arguments) as writer:
            for rows in groups:
                writer.write_table(table(first, rows), row_group_size=max(rows, 1))
                first += rows
        assert pq.read_metadata(path).num_row_groups == len(groups)
        return
    make = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
    with make(path, table(0, 1).schema) as writer:
        for rows in groups:
            (batch,) = table(first, rows).to_batches() or [
                pa.RecordBatch.from_pylist([], table(0, 1).schema)
            ]
            writer.write_batch(batch)
            first += rows


@pytest.fixture(scope="module", params=[".parquet", ".arrow", ".feather"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("tables")
    write(root / f"a{request.param}", GROUPS[:3])
    write(root / f"b{request.param}", GROUPS[3:], sum(GROUPS[:3]))
    return f"{root}/*{request.param}"


def pipeline(
    paths: Any, columns: Any, batch: int = 4, state: bytes | None = None, **more: Any
) -> Pipeline:
    options = {k: more.pop(k) for k in ("on_error", "cache_size") if k in more}
    pipe = Pipeline(batch, 2, None, seed=7, enable_checkpointing=True, checkpoint=state, **options)
    with pipe:
        nodes = fn.readers.parquet(paths=paths, columns=columns, name="R", **more)
        pipe.set_outputs(*(nodes if isinstance(nodes, list) else [nodes]))
    return pipe


def rows_of(pipe: Pipeline, count: int) -> list[list[Any]]:
    """Rows as lists of arrays."""
    rows: list[list[Any]] = []
    while len(rows) < count:
        outputs = pipe.run()
        rows += [[np.asarray(column[i]) for column in outputs] for i in range(len(outputs[0]))]
    return rows[:count]


def ids(pipe: Pipeline, count: int = ROWS) -> list[int]:
    return [int(row[0]) for row in rows_of(pipe, count)]


def test_rows_in_order(folder: str) -> None:
    pipe = pipeline(folder, ["id", "image", "image.path", "text"])
    for i, (number, data, path, text) in enumerate(rows_of(pipe, ROWS + 3)):
        i %= ROWS
        assert number.dtype == np.int32 and number.shape == () and number == i
        assert data.dtype == np.uint8 and data.tobytes() == image(i)
        assert path.tobytes() == b"%d.jpg" % i and text.tobytes().decode() == f"row {i} ä"
    assert pipe.epoch_size("R") == ROWS
    # a single column is one node, as for other readers
    assert ids(pipeline(folder, "id")) == list(range(ROWS))


def test_source_info(folder: str) -> None:
    pipe = pipeline(folder, "id", batch=ROWS)
    (numbers,) = pipe.run()
    name = folder.rpartition("/")[0] + "/b" + folder.rpartition("*")[2]
    assert numbers[9].source_info() == f"{name}: row 1 of row group 0"
    assert numbers[16].source_info() == f"{name}: row 0 of row group 2"


def group_numbers(numbers: list[int]) -> list[int]:
    """The row groups of rows, each once per visit."""
    starts = np.cumsum(GROUPS)
    found = [int(np.searchsorted(starts, i, "right")) for i in numbers]
    return [g for k, g in enumerate(found) if k == 0 or found[k - 1] != g]


def test_groups_are_shuffled_as_wholes(folder: str) -> None:
    pipe = pipeline(folder, "id", random_shuffle=True, initial_fill=1)
    orders = [ids(pipe) for _ in range(1)]
    epochs = [
        ids(pipeline(folder, "id", random_shuffle=True, initial_fill=1, seed=s)) for s in range(8)
    ]
    for numbers in orders + epochs:
        assert sorted(numbers) == list(range(ROWS))
        assert len(group_numbers(numbers)) == 5  # each group at once; one is empty
    assert len({tuple(numbers) for numbers in epochs}) > 4
    mixed = ids(pipeline(folder, "id", random_shuffle=True, initial_fill=100))
    assert sorted(mixed) == list(range(ROWS)) and len(group_numbers(mixed)) > 6


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"random_shuffle": True},
        {"shuffle_after_epoch": True},
        {"random_shuffle": True, "shuffle_after_epoch": True},
        {"sampler": {"order": [3, 19, 0, 3]}, "random_shuffle": True},
        {"sampler": {"weights": [1.0] * ROWS}},
    ],
)
@pytest.mark.parametrize("shards", [1, 3])
def test_shards_and_samplers(folder: str, shards: int, more: dict[str, Any]) -> None:
    """What several shards read together is what one reads, as multisets; an order and draws are kept."""
    size = 4 if "order" in more.get("sampler", {}) else ROWS
    pipes = [
        pipeline(
            folder,
            "id",
            batch=1,
            num_shards=shards,
            shard_id=k,
            stick_to_shard="shuffle_after_epoch" not in more,
            initial_fill=4,
            **more,
        )
        for k in range(shards)
    ]
    parts = [size * (k + 1) // shards - size * k // shards for k in range(shards)]
    taken = Counter(i for pipe, n in zip(pipes, parts) for i in ids(pipe, n))
    whole = Counter(ids(pipeline(folder, "id", batch=1, initial_fill=4, **more), size))
    assert taken == whole
    if "weights" not in more.get("sampler", {}):
        assert taken == Counter([3, 19, 0, 3] if size == 4 else range(ROWS))


def test_resume_is_exact(folder: str) -> None:
    arguments = {"random_shuffle": True, "initial_fill": 6, "batch": 3}
    pipe = pipeline(folder, ["id", "image"], **arguments)
    for _ in range(4):
        rows_of(pipe, 3)
        state = pipe.checkpoint()
        again = pipeline(folder, ["id", "image"], state=state, **arguments)
        expected = [(int(a), b.tobytes()) for a, b in rows_of(pipe, 3 * ROWS)]
        assert [(int(a), b.tobytes()) for a, b in rows_of(again, 3 * ROWS)] == expected


TYPES = [
    *[
        (kind, [1, 0, 100], None)
        for kind in (
            pa.int8(),
            pa.uint8(),
            pa.int16(),
            pa.uint16(),
            pa.int32(),
            pa.uint32(),
            pa.int64(),
            pa.uint64(),
        )
    ],
    (pa.float16(), [np.float16(1.5), np.float16(-2), np.float16(0)], None),
    (pa.float32(), [1.5, -2.0, 0.0], None),
    (pa.float64(), [1.5, -2.0, 1e300], None),
    (pa.bool_(), [True, False, True], None),
    (pa.list_(pa.int64()), [[1, 2, 3], [], [4]], None),
    (pa.large_list(pa.float32()), [[1.5], [2.5, 3.5], []], None),
    (pa.list_(pa.uint8(), 2), [[1, 2], [3, 4], [5, 6]], None),
    (pa.list_(pa.bool_()), [[True], [], [False, True]], None),
    (pa.binary(), [b"a", b"", b"abc"], None),
    (pa.large_binary(), [b"a", b"", b"abc"], None),
    (pa.binary(3), [b"abc", b"def", b"\0\0\0"], None),
    (pa.string(), ["a", "", "ä"], None),
    (pa.large_string(), ["a", "", "ä"], None),
    (pa.dictionary(pa.int8(), pa.string()), ["x", "y", "x"], None),
]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    "kind, values", [(k, v) for k, v, _ in TYPES], ids=[str(t[0]) for t in TYPES]
)
def test_types(kind: Any, values: list[Any], suffix: str, tmp_path: Path) -> None:
    if pa.types.is_dictionary(kind) and suffix == ".arrow":
        pytest.skip("refused, see below")
    path = tmp_path / f"x{suffix}"
    data = pa.table({"x": pa.array(values * 2, kind)}).slice(1, 5)  # an offset in the buffers
    if suffix == ".parquet":
        pq.write_table(data, path)
    else:
        with pa.ipc.new_stream(path, data.schema) as writer:
            writer.write_table(data)
    for expected, (found,) in zip((values * 2)[1:6], rows_of(pipeline(str(path), "x"), 5)):
        if isinstance(expected, (bytes, str)):
            want = expected if isinstance(expected, bytes) else expected.encode()
            assert found.dtype == np.uint8 and found.tobytes() == want
            continue
        value_type = kind.value_type if isinstance(expected, list) else kind
        want = np.array(expected, value_type.to_pandas_dtype())
        assert found.dtype == want.dtype and found.shape == want.shape
        np.testing.assert_array_equal(found, want)


NOW = datetime.datetime(2020, 1, 2)
REFUSED = [
    (pa.timestamp("us"), NOW),
    (pa.date32(), NOW.date()),
    (pa.time64("us"), NOW.time()),
    (pa.duration("s"), 1),
    (pa.decimal128(9, 2), decimal.Decimal("1.50")),
    (pa.null(), None),
    (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    (pa.list_(pa.string()), ["a"]),
    (pa.list_(pa.list_(pa.int32())), [[1]]),
    (pa.struct([("u", pa.int32())]), {"u": 1}),
]


@pytest.mark.parametrize("kind, value", REFUSED, ids=[str(t[0]) for t in REFUSED])
def test_types_that_are_refused(kind: Any, value: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([value], kind), "y": [1]}), tmp_path / "f.parquet")
    with pytest.raises(TypeError, match=r"f\.parquet': the column 'x' has the type "):
        pipeline(str(tmp_path / "f.parquet"), "x").build()
    assert ids(pipeline(str(tmp_path / "f.parquet"), "y"), 1) == [1]  # the others are read
    if pa.types.is_struct(kind):
        assert ids(pipeline(str(tmp_path / "f.parquet"), "x.u"), 1) == [1]


def test_dictionaries_in_arrow_files_are_refused(tmp_path: Path) -> None:
    data = pa.table({"x": pa.array(["a", "b", "a"]).dictionary_encode()})
    with pa.ipc.new_stream(tmp_path / "f.arrow", data.schema) as writer:
        writer.write_table(data)
    with pytest.raises(RuntimeError, match=r"f\.arrow': it has columns with dictionaries"):
        pipeline(str(tmp_path / "f.arrow"), "x").build()


@pytest.mark.parametrize(
    "arguments",
    [
        {"compression": "none", "use_dictionary": False},
        {"compression": "snappy"},
        {"compression": "zstd"},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "lz4"},
        {"compression": "brotli"},
        {
            "use_dictionary": False,
            "column_encoding": "DELTA_LENGTH_BYTE_ARRAY",
            "columns": ["text"],
        },
        {"data_page_size": 16, "write_page_index": True},
    ],
    ids=str,
)
def test_encodings(arguments: dict[str, Any], tmp_path: Path) -> None:
    arguments = dict(arguments)
    columns = arguments.pop("columns", ["id", "image.bytes", "text"])
    if "column_encoding" in arguments:
        arguments["column_encoding"] = dict.fromkeys(columns, arguments["column_encoding"])
    write(tmp_path / "x.parquet", [40, 30], **arguments)
    read = pq.read_table(tmp_path / "x.parquet").to_pylist()
    for row, found in zip(
        read, rows_of(pipeline(str(tmp_path / "x.parquet"), columns), 70), strict=True
    ):
        for name, value in zip(columns, found):
            want = row["image"]["bytes"] if name == "image.bytes" else row[name]
            want = want.encode() if isinstance(want, str) else want
            assert (value.tobytes() if isinstance(want, bytes) else int(value)) == want


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    "version, page", [("1.0", 1 << 20), ("1.0", 9000), ("2.0", 1 << 20), ("2.0", 9000)]
)
@pytest.mark.parametrize("nulls", [0.0, 0.3, 0.99])
def test_large_values_that_are_stored_plain(
    nested: bool, version: str, page: int, nulls: float, tmp_path: Path
) -> None:
    """They are not copied: views of the bytes of the file. pyarrow decodes the same."""
    table_module = pytest.importorskip("headrace._tables.table")
    rng = np.random.default_rng(5)
    sizes = [0, 1, 12, 13, *rng.integers(0, 60_000, 40).tolist()]
    values: list[bytes | None] = [rng.bytes(n) if rng.random() >= nulls else None for n in sizes]
    values[-1] = rng.bytes(400_000)
    kind: Any = pa.binary()
    rows: list[Any] = list(values)
    if nested:
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        rows = [
            None if v is None and rng.random() < 0.5 else {"bytes": v, "path": None} for v in values
        ]
    path = tmp_path / "x.parquet"
    with pq.ParquetWriter(
        path,
        pa.schema({"x": kind}),
        compression="none",
        use_dictionary=False,
        data_page_version=version,
        data_page_size=page,
        write_batch_size=1,
    ) as writer:
        for part in (rows[:5], rows[5:]):
            writer.write_table(pa.table({"x": pa.array(part, kind)}))
    with open(path, "rb") as file:
        content = table_module.ParquetFile(file)
    with pa.OSFile(str(path)) as file:
        found = content._views(file, 1, "x.bytes" if nested else "x")
    assert found.to_pylist() == values[5:]
    pipe = pipeline(str(path), "x", batch=len(rows), on_error="skip")
    (data,) = pipe.run()
    assert [np.asarray(d).tobytes() for d in data] == [v for v in values if v is not None]


def test_nulls(tmp_path: Path) -> None:
    """A null is an error of its sample, which on_error can skip."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    (tmp_path / "there.jpg").write_bytes(b"from the path")
    files = [
        {"bytes": b"a", "path": None},
        None,
        {"bytes": None, "path": str(tmp_path / "there.jpg")},
        {"bytes": None, "path": None},
        {"bytes": b"b", "path": "b"},
    ]
    numbers = [1, 2, 3, 4, None]
    lists = [[1], [2], [None], [], None]
    path = str(tmp_path / "nulls.parquet")
    pq.write_table(
        pa.table({"f": pa.array(files, kind), "n": pa.array(numbers), "l": pa.array(lists)}), path
    )

    def good(column: str, **more: Any) -> list[bytes]:
        pipe = pipeline(path, column, batch=5, on_error="skip", **more)
        return [row[0].tobytes() for row in rows_of(pipe, len(pipe.run()[0]))]

    with pytest.raises(
        RuntimeError, match=r"nulls.parquet: row 1 of row group 0.*column 'f': the value is null"
    ):
        pipeline(path, "f", batch=5).run()
    with pytest.raises(RuntimeError, match=r"row 4 .*column 'n': the value is null"):
        pipeline(path, "n", batch=5).run()
    with pytest.raises(RuntimeError, match=r"row 2 .*column 'l': element 0 of the list is null"):
        pipeline(path, "l", batch=5).run()
    assert good("f") == [b"a", b"b"]
    assert good("f", open_paths=True) == [b"a", b"from the path", b"b"]
    assert len(good("n")) == 4 and len(good("l")) == 3


def test_a_path_without_bytes_says_what_to_do(tmp_path: Path) -> None:
    data = pa.array(
        [{"bytes": None, "path": "/etc/hostname"}],
        pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    )
    pq.write_table(pa.table({"f": data}), tmp_path / "x.parquet")
    with pytest.raises(RuntimeError, match="a path and no bytes: open_paths=True"):
        pipeline(str(tmp_path / "x.parquet"), "f", batch=1).run()
    data = pa.array([{"bytes": None, "path": str(tmp_path / "none")}], data.type)
    pq.write_table(pa.table({"f": data}), tmp_path / "x.parquet")
    with pytest.raises(RuntimeError, match="column 'f': the file at its path, '.*none'"):
        pipeline(str(tmp_path / "x.parquet"), "f", batch=1, open_paths=True).run()


def test_columns_that_are_not_there(folder: str) -> None:
    with pytest.raises(
        ValueError, match=r"a\..*no column 'imge' \(columns: id, image, text.*image"
    ):
        pipeline(folder, ["id", "imge"]).build()
    with pytest.raises(ValueError, match="the column 'image'.* has no field 'data'"):
        pipeline(folder, "image.data").build()


def test_files_that_differ(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int32()), "more": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": ["z"], "x": pa.array([2], pa.int32())}), tmp_path / "b.parquet")
    assert ids(pipeline(f"{tmp_path}/*.parquet", "x"), 2) == [1, 2]  # only what is asked for counts
    pq.write_table(pa.table({"x": pa.array([2], pa.int64())}), tmp_path / "c.parquet")
    with pytest.raises(
        TypeError,
        match=r"c\.parquet': the column 'x' has values of the kind int64, but int32 in '.*a\.parquet",
    ):
        pipeline(f"{tmp_path}/*.parquet", "x").build()
    pq.write_table(pa.table({"z": [1]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"c\.parquet': no column 'x'"):
        pipeline(f"{tmp_path}/*.parquet", "x").build()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_files_that_change(suffix: str, tmp_path: Path) -> None:
    """A file that changes or goes after the pipeline was built is an error that names it; never other rows."""
    for change in ("other", "gone", "shorter"):
        path = tmp_path / f"{change}{suffix}"
        write(path, [2] * 30)
        pipe = pipeline(str(path), ["id"], batch=2)
        assert ids(pipe, 2) == [0, 1]
        write(tmp_path / f"new{suffix}", [2] * 30, 100)
        if change == "other":
            os.replace(tmp_path / f"new{suffix}", path)
        elif change == "gone":
            path.unlink()
        else:
            os.truncate(path, 100)
        with pytest.raises(
            RuntimeError,
            match=rf"{change}{suffix}: row \d of row group \d+.*({{}})".format(
                "No such file" if change == "gone" else "has changed since"
            ),
        ):
            for k in range(1, 60):
                found = ids(pipe, 2)
                assert found == [2 * k % 60, 2 * k % 60 + 1]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_damaged_files(suffix: str, tmp_path: Path) -> None:
    """Every cut and many changed bytes give an error or the same rows. Nothing crashes."""
    path = tmp_path / f"x{suffix}"
    write(path, [4, 3], compression="none") if suffix == ".parquet" else write(path, [4, 3])
    good = path.read_bytes()
    broken = tmp_path / f"broken{suffix}"
    for size in range(0, len(good), max(len(good) // 40, 1)):
        broken.write_bytes(good[:size])
        try:
            found = ids(pipeline(str(broken), ["id"], batch=1), 7)
        except (RuntimeError, TypeError, ValueError) as error:
            assert f"broken{suffix}" in str(error)
        else:  # a stream may end between two messages, or without its end
            assert suffix != ".parquet" and found[:4] == [0, 1, 2, 3]
    rng = np.random.default_rng(3)
    for _ in range(60):
        data = bytearray(good)
        at = int(rng.integers(len(data)))
        data[at] ^= 1 << int(rng.integers(8))
        broken.write_bytes(data)
        try:
            rows_of(pipeline(str(broken), ["id", "image", "text"], batch=1), 7)
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            assert f"broken{suffix}" in str(error) or isinstance(error, MemoryError)


def test_other_files(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"not a table")
    with pytest.raises(
        RuntimeError, match=r"x\.parquet': it is neither a Parquet file nor an Arrow file"
    ):
        pipeline(str(tmp_path / "x.parquet"), "x").build()
    with pytest.raises(RuntimeError, match="no file matches '.*none"):
        pipeline(str(tmp_path / "none*.parquet"), "x").build()
    with pytest.raises(RuntimeError, match="missing.parquet"):
        pipeline(str(tmp_path / "missing.parquet"), "x").build()
    with pytest.raises(RuntimeError, match="is a folder"):
        pipeline(str(tmp_path), "x").build()
    write(tmp_path / "empty.parquet", [0])
    with pytest.raises(RuntimeError, match="the files contain no rows"):
        pipeline(str(tmp_path / "empty.parquet"), "id").build()


def test_batches_outlive_the_pipeline(folder: str) -> None:
    pipe = pipeline(folder, ["image"], batch=ROWS)
    (data,) = pipe.run()
    del pipe
    assert [np.asarray(data[i]).tobytes() for i in range(ROWS)] == [image(i) for i in range(ROWS)]


def test_without_pyarrow(folder: str) -> None:
    program = f"""
import sys
sys.modules["pyarrow"] = None
from headrace import Pipeline, fn
pipe = Pipeline(1, 1, None)
with pipe:
    pipe.set_outputs(fn.readers.parquet(paths={folder!r}, columns="id"))
pipe.build()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (
        "readers.parquet needs pyarrow, which is not installed: `pip install headrace[parquet]`"
        in ended.stderr
    )


def test_a_program_may_end_while_groups_are_read(folder: str) -> None:
    program = f"""
from headrace import Pipeline, fn
pipe = Pipeline(2, 2, None)
with pipe:
    pipe.set_outputs(fn.readers.parquet(paths={folder!r}, columns="id", random_shuffle=True))
pipe.run()
print("ran")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S
    )
    assert (ended.stdout, ended.returncode) == ("ran\n", 0), ended.stderr


# ---- remote files ----


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_remote_files(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_curl():
        pytest.skip("libcurl is not installed")
    write(tmp_path / f"x{suffix}", GROUPS)
    data = (tmp_path / f"x{suffix}").read_bytes()
    monkeypatch.setenv("NO_PROXY", "*")
    with Server({f"/a{suffix}": data, f"/b{suffix}": data[:-9]}) as server:
        url = f"{server.url}/a{suffix}"
        assert ids(pipeline(url, "id")) == list(range(ROWS))
        assert sorted(ids(pipeline([url, url], "id", random_shuffle=True), 2 * ROWS)) == sorted(
            2 * list(range(ROWS))
        )
        with pytest.raises((RuntimeError, ValueError), match=rf"b{suffix}"):
            rows_of(pipeline(f"{server.url}/b{suffix}", "id"), ROWS)
        with pytest.raises(RuntimeError, match=r"none\.parquet\?\*\*\*': .*404"):
            pipeline(f"{server.url}/none.parquet?token=secret", "id").build()
    with pytest.raises(ValueError, match="patterns are for local files and hf://"):
        pipeline("s3://bucket/*.parquet", "id").build()


def test_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_curl():
        pytest.skip("libcurl is not installed")
    write(tmp_path / "x.parquet", GROUPS)
    monkeypatch.setitem(s3_server.OBJECTS, "x.parquet", (tmp_path / "x.parquet").read_bytes())
    with s3_server.serve_s3(monkeypatch, tmp_path):
        rows = rows_of(pipeline("s3://bucket/x.parquet", ["id", "image"]), ROWS)
    assert [(int(i), data.tobytes()) for i, data in rows] == [(i, image(i)) for i in range(ROWS)]


def test_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hf:// is huggingface_hub's file system; here it is one of local files."""
    (tmp_path / "datasets").mkdir()
    write(tmp_path / "datasets/b.parquet", GROUPS[3:], sum(GROUPS[:3]))
    write(tmp_path / "datasets/a.parquet", GROUPS[:3])

    class HfFileSystem:
        def glob(self, pattern: str) -> list[str]:
            return [str(p.relative_to(tmp_path)) for p in tmp_path.glob(pattern)]

        def info(self, path: str) -> dict[str, Any]:
            found = tmp_path / path.removeprefix("hf://")
            return {"size": found.stat().st_size, "blob_id": str(found.stat().st_mtime_ns)}

        def open(self, path: str, mode: str) -> Any:
            return open(tmp_path / path.removeprefix("hf://"), mode)

    hub = types.ModuleType("huggingface_hub")
    hub.HfFileSystem = HfFileSystem  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    pipe = pipeline("hf://datasets/*.parquet", "id")
    assert ids(pipe) == list(range(ROWS))
    with pytest.raises(RuntimeError, match="no file matches 'hf://datasets/none"):
        pipeline("hf://datasets/none*", "id").build()
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        RuntimeError, match="need huggingface_hub, which is not installed: `pip install"
    ):
        pipeline("hf://datasets/a.parquet", "id").build()
