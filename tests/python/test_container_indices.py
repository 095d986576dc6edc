# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The commands that make index files of containers: tfrecord2idx, rec2idx, `headrace index FILE`."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
from headrace import cli, fn  # noqa: E402
from headrace import tfrecord as tf  # noqa: E402
from headrace.cli import rec2idx, tfrecord2idx  # noqa: E402
from tfrecords import example, write  # noqa: E402

MAGIC = struct.pack("<I", 0xCED7230A)


def recordio(*records: list[bytes]) -> bytes:
    """Records of one or more parts each."""
    out = b""
    for parts in records:
        kinds = [0] if len(parts) == 1 else [1, *[2] * (len(parts) - 2), 3]
        for kind, data in zip(kinds, parts, strict=True):
            out += MAGIC + struct.pack("<I", kind << 29 | len(data)) + data + bytes(-len(data) % 4)
    return out


def run(main: Callable[[list[str]], int], *arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_tfrecord2idx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = write(tmp_path, [example({"n": [i] * (i % 7)}) for i in range(40)])
    path, expected = Path(made["path"][0]), Path(made["index_path"][0]).read_text()
    assert run(tfrecord2idx.main, path, tmp_path / "other") == 0
    assert capsys.readouterr().out == f"{tmp_path}/other\n" and (tmp_path / "other").read_text() == expected
    (tmp_path / "0.idx").unlink()
    assert run(tfrecord2idx.main, path) == 0 and (tmp_path / "0.idx").read_text() == expected
    pipe = headrace.Pipeline(40, 1, None)
    with pipe:
        features = {"n": tf.VarLenFeature([], tf.int64, 0)}
        pipe.set_outputs(fn.readers.tfrecord(features=features, **made)["n"])
    assert [np.array(x).tolist() for x in pipe.run()[0]] == [[i] * (i % 7) for i in range(40)]
    data = path.read_bytes()
    for bad in (data[:-1], data + b"\0", b"nothing of this kind"):
        path.write_bytes(bad)
        assert run(tfrecord2idx.main, path) == 1 and "0.tfrecord: " in capsys.readouterr().err
    assert (tmp_path / "0.idx").read_text() == expected


@pytest.mark.live_dali
def test_tfrecord2idx_as_dali(tmp_path: Path, live_dali: ModuleType) -> None:
    script = Path(live_dali.__file__ or "").parents[5] / "bin" / "tfrecord2idx"
    path = write(tmp_path, [example({"n": [i]}) for i in range(20)])["path"][0]
    subprocess.run([sys.executable, script, path, tmp_path / "theirs"], check=True)
    assert run(tfrecord2idx.main, path, tmp_path / "ours") == 0
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()


def test_rec2idx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = struct.pack("<IfQQ", 0, 5.0, 0, 0)
    records = [[header + b"a"], [header + b"bcd", b"", b"efgh"], [header]]
    sizes = [len(recordio(record)) for record in records]
    path = tmp_path / "train.rec"
    path.write_bytes(recordio(*records))
    assert run(rec2idx.main, path) == 0 and capsys.readouterr().out == f"{tmp_path}/train.idx\n"
    assert (tmp_path / "train.idx").read_text() == f"0\t0\n1\t{sizes[0]}\n2\t{sizes[0] + sizes[1]}\n"
    pipe = headrace.Pipeline(3, 1, None)
    with pipe:
        pictures, _ = fn.readers.mxnet(path=str(path), index_path=str(tmp_path / "train.idx"))
        pipe.set_outputs(pictures)
    assert [bytes(np.array(x)) for x in pipe.run()[0]] == [b"a", b"bcd" + MAGIC + MAGIC + b"efgh", b""]
    good = path.read_bytes()
    first = recordio(records[0])
    for bad, message in [
        (b"x" + good, "no RecordIO record begins at offset 0"),
        (first + good[1:], f"no RecordIO record begins at offset {len(first)}"),
        (good[:-4], "was cut off"),
        (first + recordio(records[1])[: sizes[1] - 12], "the last record is incomplete"),
        (recordio(records[1])[32:], "no RecordIO record begins at offset 0"),  # begins inside of a record
    ]:
        path.write_bytes(bad)
        assert run(rec2idx.main, path) == 1
        error = capsys.readouterr().err
        assert "train.rec: " in error and message in error
    assert sorted(x.name for x in tmp_path.iterdir()) == ["train.idx", "train.rec"]
    assert run(rec2idx.main, tmp_path / "none.rec") == 1 and "none.rec" in capsys.readouterr().err


def test_names_of_indices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is never replaced by its index."""
    path = tmp_path / "data.idx"
    path.write_bytes(recordio([bytes(24)]))
    before = path.read_bytes()
    assert run(rec2idx.main, path) == 1 and "give its name, too" in capsys.readouterr().err
    assert run(rec2idx.main, path, path) == 1 and path.read_bytes() == before
    assert run(rec2idx.main, path, tmp_path / "no folder" / "x") == 1


def test_headrace_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kind of a container is told by its bytes."""
    records = tmp_path / "records"
    records.write_bytes(recordio([bytes(24)]))
    examples = Path(write(tmp_path, [example({"n": [1]})])["path"][0])
    archive = tmp_path / "archive"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo("a.txt")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"abc"))
    for path, start in ((records, "0\t0\n"), (examples, "0 "), (archive, "v1.2 1\ntxt 512 3 a.txt")):
        assert run(cli.main, "index", path, tmp_path / "index") == 0
        assert capsys.readouterr().out == f"{tmp_path}/index\n"
        assert (tmp_path / "index").read_text().startswith(start)
    records.write_bytes(b"nothing of this kind")
    assert run(cli.main, "index", records) == 2 and "not a TFRecord file" in capsys.readouterr().err
    assert run(cli.main, "index", tmp_path) == 2 and "give --cache" in capsys.readouterr().err
    assert run(cli.main, "index", tmp_path / "none") == 2
