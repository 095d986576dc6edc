# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace pack`: shards that hold what the folders hold, whatever happens on the way."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, cli, fn, types
from waiting import HANG_S

MAIN = "import sys; from headrace import cli; sys.exit(cli.main(sys.argv[1:]))"
NAMES = {
    "ant": ["1.jpg", "2.v2.JPEG", "2_v2.jpeg", "with blank.png", ".hidden.jpg", "notes.txt"],
    "bee hive": [f"{i}.jpg" for i in range(20)],
    "empty": [],
    "wasp": ["1.jpg", "1.png", "ü.jpg"],
}
COUNT = 5 + 20 + 3


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(1)
    for folder, names in NAMES.items():
        (root / folder).mkdir()
        for name in names:
            (root / folder / name).write_bytes(rng.bytes(int(rng.integers(0, 3000))))
    (root / "wasp" / "folder.jpg").mkdir()
    (root / "at the top.jpg").write_bytes(b"no class")
    return root


def pack(root: Path, out: Path, *options: str) -> int:
    return cli.main(["pack", str(root), str(out), "--no-progress", *options])


def samples(reader: Any, count: int) -> list[tuple[bytes, int]]:
    pipe = Pipeline(count, 1, None)
    with pipe:
        pipe.set_outputs(*reader())
    data, labels = pipe.run()
    return [
        (np.asarray(x).tobytes(), int(np.asarray(y)[0])) for x, y in zip(data, labels, strict=True)
    ]


def packed(out: Path, count: int = COUNT, **arguments: Any) -> list[tuple[bytes, int]]:
    paths = sorted(str(path) for path in out.glob("*.tar"))
    kinds = [types.UINT8, types.INT32]
    return samples(
        lambda: fn.readers.webdataset(paths=paths, ext=["jpg;jpeg;png", "i32"], dtypes=kinds, **arguments),
        count,
    )


def listed(root: Path) -> list[tuple[bytes, int]]:
    return samples(lambda: fn.readers.file(file_root=str(root)), COUNT)


def test_holds_what_the_reader_of_files_reads(root: Path, tmp_path: Path) -> None:
    assert pack(root, tmp_path, "--shard-size", "8K") == 0
    shards = sorted(tmp_path.glob("*.tar"))
    assert len(shards) > 3 and max(path.stat().st_size for path in shards) < 50_000
    assert sorted(packed(tmp_path)) == sorted(listed(root)) != listed(root)
    indices = [str(path.with_suffix(".idx")) for path in shards]
    assert packed(tmp_path, index_paths=indices) == packed(tmp_path)
    for path in shards:
        with tarfile.open(path) as tar:
            for member in tar.getmembers():
                if member.name.endswith(".cls"):
                    text = tar.extractfile(member).read()  # type: ignore[union-attr]
                    number = tar.extractfile(member.name[:-3] + "i32").read()  # type: ignore[union-attr]
                    assert int(text) == int.from_bytes(number, "little")


def test_sorted(root: Path, tmp_path: Path) -> None:
    assert pack(root, tmp_path, "--sorted") == 0
    assert packed(tmp_path) == listed(root)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "pack.json",
        "shard-000000.idx",
        "shard-000000.tar",
    ]


def test_the_printed_call_works(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pack(root, tmp_path, "--shard-size", "8K") == 0
    text = capsys.readouterr().out
    assert f"samples written: {COUNT}," in text
    found = samples(lambda: eval(text.splitlines()[-1], {"fn": fn, "types": types}), COUNT)
    assert sorted(found) == sorted(listed(root))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_same_bytes_and_repeated(root: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    assert pack(root, one, "--shard-size", "8K", "--threads", "1") == 0
    assert pack(root, two, "--shard-size", "8K", "--threads", "5") == 0
    whole = contents(one)
    assert contents(two) == whole
    kept = (one / "shard-000000.tar").stat()
    for name in ("shard-000001.tar", "shard-000002.tar", "shard-000002.idx"):
        (one / name).unlink()
    assert pack(root, one, "--shard-size", "8K") == 0
    assert contents(one) == whole
    assert (one / "shard-000000.tar").stat().st_mtime_ns == kept.st_mtime_ns
    assert pack(root, tmp_path / "3", "--shard-size", "8K", "--seed", "4") == 0
    assert contents(tmp_path / "3") != whole


def test_other_files_or_options(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(root, copy)
    assert pack(copy, out, "--shard-size", "8K") == 0
    assert pack(copy, out, "--shard-size", "9K") == 2
    assert "other options" in capsys.readouterr().err
    (copy / "ant" / "1.jpg").write_bytes(b"changed")
    assert pack(copy, out, "--shard-size", "8K") == 2
    (out / "pack.json").write_text("{")
    assert pack(copy, out, "--shard-size", "8K") == 2


def test_files_that_cannot_be_read(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, out = tmp_path / "copy", tmp_path / "out"
    shutil.copytree(root, copy)
    (copy / "ant" / "lost.jpg").symlink_to("nowhere")
    assert pack(copy, out) == 1
    text = capsys.readouterr().out
    assert "ant/lost.jpg: is not a regular file" in text and "unreadable: 1;" in text
    assert sorted(packed(out)) == sorted(listed(root))


def test_damage_on_the_disk(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace._pack import shards as module

    check = module.check

    def damaged(path: str, expected: list[tuple[str, int]]) -> None:
        data = bytearray(Path(path).read_bytes())
        data[600] ^= 1
        Path(path).write_bytes(data)
        check(path, expected)

    monkeypatch.setattr(module, "check", damaged)
    assert pack(root, tmp_path) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["pack.json"]


INTERRUPTED = """
import signal
from headrace._pack import shards
components, done = shards.components, 0

def counts(*arguments):
    global done
    done += 1
    if done == 150:  # within the second shard
        signal.raise_signal(signal.SIGINT)
    return components(*arguments)

shards.components = counts
"""


def test_interrupted(start: Any, child: Any, tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    for i in range(3000):
        folder = root / f"{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.jpg").write_bytes(bytes([i % 256]) * 20_000)
    arguments = ["pack", str(root), str(out), "--shard-size", "2M"]
    process = start(INTERRUPTED + MAIN, *arguments)
    process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert list(out.glob("*.tar")) and not list(out.glob("*.part"))
    child(MAIN, *arguments)
    assert len(packed(out, 3000)) == 3000 and len(list(out.glob("*.tar"))) == 29  # of 104 files each
    assert {label for _, label in packed(out, 3000)} == {0, 1, 2}


@pytest.mark.parametrize("size", ["0", "x", "1T", "-3"])
def test_wrong_sizes(size: str, root: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        pack(root, tmp_path, "--shard-size", size)


def test_nothing_to_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pack(tmp_path, tmp_path / "out") == 2
    assert pack(tmp_path / "nowhere", tmp_path / "out") == 2
    assert "cannot read" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.jpg").write_bytes(b"x")
    assert pack(tmp_path, tmp_path / "file") == 2
    assert "cannot write" in capsys.readouterr().err
