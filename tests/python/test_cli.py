# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The `headrace` command: what it prints and writes, and one-line errors."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from headrace import cli, cli_bench, cli_doctor
from pictures import CLASSES, make_folders
from PIL import Image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folders(tmp_path_factory.mktemp("data") / "set")


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for args in ([], ["bench"], ["show"], ["index"], ["ops"], ["doctor"], ["demo"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*args, "--help"])
        assert ended.value.code == 0
        assert "usage: headrace" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_ops_list(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert cli.main(["ops"]) == 0
    out = capsys.readouterr().out
    for name in ("readers.file", "decoders.image_random_crop", "resize", "crop_mirror_normalize"):
        assert name in out


def test_ops_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("resize", "fn.resize", "ops.Resize", "Resize"):
        assert cli.main(["ops", name]) == 0
        out = capsys.readouterr().out
        assert "fn.resize" in out and "resize_shorter" in out and "HWC" in out
    assert cli.main(["ops", "resize", "--json"]) == 0
    args = {arg["name"] for arg in json.loads(capsys.readouterr().out)["args"]}
    assert {"size", "interp_type", "antialias"} <= args


def test_ops_old_and_missing_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops", "file_reader", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "readers.file"
    assert cli.main(["ops", "mel_filter_bank"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "not in this version" in err


def test_ops_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops", "resise"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "resize" in err


@pytest.mark.parametrize("command", ["bench", "show", "demo"])
def test_user_mistakes(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    empty = tmp_path / "empty"
    (empty / "class").mkdir(parents=True)
    for path, words in ((tmp_path / "nothing", "no such folder"), (file, "no such folder"),
                        (empty, "no images")):  # fmt: skip
        assert cli.main([command, str(path)]) == 2
        captured = capsys.readouterr()
        assert words in captured.err and captured.err.count("\n") == 1 and not captured.out


def test_bad_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["--threads", "0"], ["--batch-size", "x"], ["--seconds", "-1"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(["bench", str(folder), *args])
        assert ended.value.code == 2
    assert cli.main(["bench", str(folder), "--compare", "spdl"]) == 2
    assert "known are" in capsys.readouterr().err


def test_show(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "sheet.png"
    args = [
        "show",
        str(folder),
        "-o",
        str(sheet),
        "--count",
        "10",
        "--columns",
        "5",
        "--size",
        "48",
    ]
    assert cli.main(args) == 0
    assert "10 samples" in capsys.readouterr().out
    pixels = np.asarray(Image.open(sheet))
    assert pixels.shape[1] == 5 * (48 + 4) + 4 and pixels.shape[2] == 3
    first, second = pixels[4:52, 4:52], pixels[4:52, 56:104]
    assert first.std() > 5 and (first != second).any()


def test_show_cannot_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("/nowhere/sheet.png", "sheet.nothing"):
        assert cli.main(["show", str(folder), "-o", output]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_show_nothing_but_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    assert cli.main(["show", str(tmp_path), "-o", str(tmp_path / "s.png")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "bad.jpg" in err


def test_show_files_without_class_folders(folder: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    assert cli.main(["show", str(folder / CLASSES[0]), "-o", str(sheet), "--count", "3"]) == 0
    assert Image.open(sheet).size[0] > 3 * 160


def test_bench(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["bench", str(folder), "--seconds", "0.2", "--rounds", "2", "--batch-size", "8"]
    assert cli.main([*args, "--threads", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["library"], row["pipeline"]) for row in rows] == [
        ("headrace", "train"),
        ("headrace", "eval"),
    ]
    for row in rows:
        assert row["images"] >= 16 and row["seconds"] >= 0.2 and row["cpu_seconds"] > 0
        assert row["images_per_second"] == pytest.approx(row["images"] / row["seconds"], rel=0.01)
    assert cli.main([*args, "--pipeline", "eval"]) == 0
    assert "headrace" in capsys.readouterr().out


def test_bench_compares(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torchvision")
    args = ["bench", str(folder), "--seconds", "0.3", "--rounds", "1", "--batch-size", "4"]
    assert cli.main([*args, "--threads", "1", "--compare", "torchvision", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [row["library"] for row in rows] == ["headrace", "torchvision"] * 2
    assert all(row["cpu_seconds"] > 0 and row["headrace_cpu_ratio"] > 0 for row in rows)


def test_cpu_time_includes_children() -> None:
    before = cli_bench.cpu_seconds()
    done, tell = os.pipe()
    child = os.fork()
    if child == 0:
        end = os.times().user + 0.2
        while os.times().user < end:
            pass
        os.write(tell, b"x")
        signal.pause()  # stay alive to be counted
    assert os.read(done, 1) == b"x"
    assert cli_bench.cpu_seconds() - before > 0.1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(done)
    os.close(tell)


def test_doctor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--data", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cpu"]["usable_cpus"] == len(os.sched_getaffinity(0))
    assert facts["storage"]["files_read"] == 21 and facts["storage"]["bytes_per_second"] > 0
    assert facts["memory"]["total"] > 0 and facts["build"] and facts["advice"]
    assert cli.main(["doctor"]) == 0
    assert "advice" in capsys.readouterr().out


def test_doctor_advice() -> None:
    facts = {
        "build": {"cpu_level": "base"},
        "cpu": {"cpus": 16, "usable_cpus": 8, "cgroup_cpus": 2.0, "load": 0.1, "governor": None},
        "memory": {"cgroup_limit": 1 << 30, "available": 1 << 34, "huge_pages": "never"},
        "gpus": [],
        "storage": {"file_system": "nfs4", "rotational": None, "files_per_second": 90.0,
                    "mean_file_bytes": 100_000},
    }  # fmt: skip
    advice = " ".join(text for rule in cli_doctor._RULES if (text := rule(facts)))
    for words in (
        "8 of 16 CPUs",
        "num_threads=2",
        "network file system",
        "huge pages",
        "No NVIDIA",
    ):
        assert words in advice


def test_demo(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "demo.png"
    args = ["demo", str(folder), "--epochs", "2", "--batch-size", "8", "-o", str(sheet)]
    assert cli.main(args) == 0
    out = capfd.readouterr().out
    assert "images a second" in out and "where the time went" in out and "Verdict" in out
    assert str(sheet.name) in out.replace("\n", "") and Image.open(sheet).size[0] > 100


def test_demo_goes_on_past_bad_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = make_folders(tmp_path / "set", 4)
    (folder / CLASSES[0] / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    assert cli.main(["demo", str(folder), "-o", str(tmp_path / "d.png"), "--no-progress"]) == 0
    assert "bad" in capfd.readouterr().err
