# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace index`: all files once, bad ones reported, interrupted and restarted, several at once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

from headrace import Pipeline, cli, fn  # noqa: E402
from photos import encoded  # noqa: E402
from waiting import HANG_S, until  # noqa: E402

COUNT = 30
MAIN = "import sys; from headrace import cli; sys.exit(cli.main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JPEG files at several depths, and one of another format."""
    root = tmp_path_factory.mktemp("data")
    for i in range(COUNT):
        folder = root / ("a/b/c"[: 1 + i % 3 * 2])
        folder.mkdir(parents=True, exist_ok=True)
        suffix = (".jpg", ".JPEG", ".jpe")[i % 3]
        (folder / f"{i}{suffix}").write_bytes(encoded(i, size=(300 + i, 200), quality=95))
    (root / "a" / "other.png").write_bytes(encoded(1, "PNG"))
    return root


def made(text: str) -> int:
    """The last message; the progress bar prints it, too."""
    found = re.findall(r"([\d,]+) indices (?:were )?made", text)
    assert found, text
    return int(found[-1].replace(",", ""))


def test_all_and_once(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = tmp_path / "cache"
    assert cli.main(["index", str(root), "--cache", str(cache), "--threads", "3"]) == 0
    out = capsys.readouterr().out
    assert out == f"{COUNT} files: {COUNT} indices made, 0 files had an index or do not need one, 0 bad files\n"
    size = sum(path.stat().st_size for path in cache.iterdir())
    assert cli.main(["index", str(root), "--cache", str(cache), "--no-progress"]) == 0
    captured = capsys.readouterr()
    assert made(captured.out) == 0 and f"{COUNT} files had an index" in captured.out
    assert captured.err == ""
    assert sum(path.stat().st_size for path in cache.iterdir()) == size
    pipe = Pipeline(batch_size=COUNT, num_threads=2, device_id=None, index_cache=cache)
    with pipe:
        files, _ = fn.readers.file(files=[str(path) for path in root.rglob("*.[jJ]*")])
        pipe.set_outputs(fn.decoders.image_crop(files, crop=(50, 50)))
    pipe.run()
    stats = pipe.stats()
    assert stats["index_misses"] == 0 and stats["index_hits"] >= COUNT


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, cache, listed = tmp_path / "data", tmp_path / "cache", tmp_path / "bad.txt"
    root.mkdir()
    data = encoded(1, size=(300, 200), quality=95)
    (root / "good.jpg").write_bytes(data)
    (root / "junk.jpg").write_bytes(b"junk")
    (root / "cut.jpg").write_bytes(data[:10000])
    args = ["index", str(root), "--cache", str(cache), "--no-progress", "--bad", str(listed)]
    assert cli.main(args) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("3 files: 1 indices made, 0 files")
    assert captured.out.endswith("2 bad files\n")
    for name in ("junk.jpg", "cut.jpg"):
        assert captured.err.count(name) >= 1 and name in listed.read_text()
    (root / "good.jpg").unlink()
    assert cli.main(args) == 0
    assert "2 bad files" in capsys.readouterr().out


@pytest.mark.parametrize("which", ["folder", "none", "cache", "full"])
def test_mistakes(
    which: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    data, cache, word = {
        "folder": (tmp_path / "no", tmp_path / "cache", "no"),
        "none": (tmp_path / "empty", tmp_path / "cache", "no JPEG files"),
        "cache": (root, "/dev/null", "/dev/null"),
        "full": (root, "/proc/self", "could not write"),
    }[which]
    assert cli.main(["index", str(data), "--cache", str(cache), "--no-progress"]) == 2
    output, error = capsys.readouterr()
    assert error.startswith("headrace: ") and word in error and error.count("\n") == 1
    assert ": 0 indices made" in output if which == "full" else not output


def test_ctrl_c_and_again(
    start: Callable[..., subprocess.Popen[str]],
    child: Callable[..., str],
    root: Path,
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    args = ["index", root, "--cache", cache, "--threads", "1"]
    # a child of a shell that ignores SIGINT would also ignore it
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + MAIN
    process = start(program, *args, HEADRACE_STALL="decode:500000")  # 15 seconds for all

    def size() -> int:
        return sum(file.stat().st_size for file in cache.glob("*.000"))

    first_size = until(size, "an index is stored")
    until(lambda: size() > first_size, "another index is stored")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=HANG_S)[0]
    assert process.returncode == 130, output
    first = made(output)
    assert 0 < first < COUNT
    second = made(child(MAIN, *args))
    assert COUNT - first - 3 <= second <= COUNT - first  # some were being indexed


def test_two_at_once(
    start: Callable[..., subprocess.Popen[str]], root: Path, tmp_path: Path
) -> None:
    args = ["index", root, "--cache", tmp_path / "cache", "--no-progress"]
    running: list[Any] = [start(MAIN, *args) for _ in range(2)]
    outputs = [process.communicate(timeout=HANG_S)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    command = [sys.executable, "-c", MAIN, *map(str, args)]
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert made(again.stdout) == 0
