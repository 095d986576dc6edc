# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The `headrace` command: its output and files, and one-line errors."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from headrace import cli, fn, ops
from headrace._base import docs as _docs
from headrace._graph import schema as _schema
from headrace.cli import bench, demo, doctor
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


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["bnech"], "unknown command 'bnech'. Did you mean \"bench\"?"),
        (["zzz"], "unknown command 'zzz'. Choose from bench, show"),
        (["doctor", "--dta", "x"], 'unknown argument --dta. Did you mean "--data"?'),
        (["doctor", "x"], "unknown argument x. See --help."),
    ],
)
def test_nearest_names(args: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(args)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(r"headrace \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "command, missing",
    [
        ("bench .", "rich"),
        ("show .", "pillow"),
        ("index . --cache .", "rich"),
        ("pack . out", "rich"),
    ]
    + [("ops", "rich"), ("doctor", "rich"), ("demo .", "rich")],
)
def test_without_the_extra(
    command: str, missing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert cli.main(command.split()) == 2
    assert capsys.readouterr().err == (
        f"headrace: this command needs {missing}, which is not installed: pip install headrace[cli]\n"
    )


def test_json_without_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    for command in (["ops", "--json"], ["ops", "resize", "--json"], ["doctor", "--json"]):
        assert cli.main(command) == 0
        assert json.loads(capsys.readouterr().out)


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


def test_ops_devices(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name, devices in (
        ("resize", "cpu, gpu"),  # an image program
        ("reductions.sum", "cpu, gpu"),  # an operator of the CUDA module
        ("decoders.image", "cpu, mixed"),
        ("random.choice", "cpu"),
    ):
        assert cli.main(["ops", name]) == 0
        assert f"fn.{name}  ({devices})\n" in capsys.readouterr().out


def test_one_text_in_all_places(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """help(), stubs, the list and docs/operators.md: sentences are not cut at `0 .. n`."""
    monkeypatch.setenv("COLUMNS", "300")
    op = _schema.operators()["random.choice"]
    first = _docs.first_sentence(op.doc)
    assert first.endswith(".") and "n - 1" in first
    assert cli.main(["ops"]) == 0
    assert first in capsys.readouterr().out
    stub = Path(_docs.__file__).parents[1] / "fn" / "random.pyi"
    for text in (fn.random.choice.__doc__, ops.random.Choice.__doc__, stub.read_text()):
        assert first in " ".join((text or "").split())
    table = (Path(__file__).resolve().parents[2] / "docs" / "operators.md").read_text()
    assert first.rstrip(".") in table


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One. Two.", "One."),
        ("Gives 0 .. n - 1. Then `x`.", "Gives 0 .. n - 1."),
        ("Layouts, e.g. HWC, stay. `x` goes.", "Layouts, e.g. HWC, stay."),
        ("A line\nbreak! Next", "A line break!"),
        ("No end", "No end"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, first: str) -> None:
    assert _docs.first_sentence(text) == first


def test_ops_old_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops", "file_reader", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "readers.file"


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


@pytest.mark.parametrize(
    "suffix", ["jpg", "JPEG", "png", "bmp", "tif", "tiff", "ppm", "jp2", "webp"]
)
def test_formats(suffix: str, tmp_path: Path) -> None:
    """A folder of pictures of any one format is a data set."""
    (tmp_path / "set" / "class").mkdir(parents=True)
    Image.linear_gradient("L").convert("RGB").save(tmp_path / "set" / "class" / f"one.{suffix}")
    sheet = tmp_path / "sheet.png"
    assert cli.main(["show", str(tmp_path / "set"), "-o", str(sheet)]) == 0
    assert Image.open(sheet).convert("L").getextrema()[1] > 200


def test_bad_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["--threads", "0"], ["--batch-size", "x"], ["--seconds", "-1"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(["bench", str(folder), *args])
        assert ended.value.code == 2
    assert cli.main(["bench", str(folder), "--compare", "spdl"]) == 2
    assert "choose from" in capsys.readouterr().err


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
    out = capsys.readouterr().out
    assert "headrace" in out and "(rounds)" in out and "…" not in out and "speed-up" not in out
    assert bench._spread([90.0, 100.0, 110.0]) == "± 10 %"


def test_bench_names_bad_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = make_folders(tmp_path / "set", 4)
    (folder / CLASSES[0] / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    args = ["bench", str(folder), "--seconds", "0.1", "--rounds", "1", "--batch-size", "8"]
    assert cli.main([*args, "--threads", "1", "--no-progress"]) == 0
    found = capfd.readouterr()
    lines = found.err.splitlines()
    assert "train" in found.out and "eval" in found.out
    assert lines[0] == "1 file could not be decoded and was replaced:"
    assert "bad.jpg" in lines[1] and len(lines) == 2


def test_bench_names_the_library_that_failed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> bench.Contender:
        raise FileNotFoundError("found no file\nin these classes")

    monkeypatch.setitem(bench.CONTENDERS, "torchvision", fails)
    monkeypatch.setattr(bench, "_installed", lambda library: True)
    assert cli.main(["bench", str(folder), "--seconds", "0.1", "--compare", "torchvision"]) == 2
    text = "train pipeline of torchvision: found no file in these classes\n"
    assert capsys.readouterr().err.endswith(text)


@pytest.mark.live_dali  # which is installed together with torchvision
def test_bench_compares(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["bench", str(folder), "--seconds", "0.3", "--rounds", "1", "--batch-size", "4"]
    assert cli.main([*args, "--threads", "1", "--compare", "torchvision", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [row["library"] for row in rows] == ["headrace", "torchvision"] * 2
    assert all(row["cpu_seconds"] > 0 and row["headrace_cpu_ratio"] > 0 for row in rows)


def test_cpu_time_includes_children() -> None:
    before = bench.cpu_seconds()
    done, tell = os.pipe()
    child = os.fork()
    if child == 0:
        end = os.times().user + 0.2
        while os.times().user < end:
            pass
        os.write(tell, b"x")
        signal.pause()  # no luck: it stays alive to be counted until it is killed
    assert os.read(done, 1) == b"x"
    assert bench.cpu_seconds() - before > 0.1
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
    out = capsys.readouterr().out
    assert out.startswith("advice\n  * ") and "( " not in out


def test_doctor_advice() -> None:
    facts = {
        "build": {
            "cpu_level": "base",
            "codecs": [{"name": "video", "version": "is not installed"}],
        },
        "cpu": {"cpus": 16, "usable_cpus": 8, "cgroup_cpus": 2.0, "load": 0.1, "governor": None},
        "memory": {"cgroup_limit": 1 << 30, "available": 1 << 34, "huge_pages": "never"},
        "gpus": [],
        "storage": {"file_system": "nfs4", "disk": None, "files_per_second": 90.0,
                    "mean_file_bytes": 100_000},
    }  # fmt: skip
    advice = " ".join(text for rule in doctor._RULES if (text := rule(facts)))
    for words in (
        "8 of 16 CPUs",
        "num_threads=2",
        "network file system",
        "huge pages",
        "No NVIDIA",
        "pip install headrace-video",
    ):
        assert words in advice


def test_demo(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "demo.png"
    args = ["demo", str(folder), "--epochs", "2", "--batch-size", "8", "-o", str(sheet)]
    assert cli.main(args) == 0
    out = capfd.readouterr().out
    assert "images per second" in out and "where the time went" in out and "Verdict" in out
    assert str(sheet.name) in out.replace("\n", "") and Image.open(sheet).size[0] > 100


def test_demo_checks_its_output_first(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sheet that cannot be written is reported before the pipeline runs."""
    assert cli.main(["demo", str(folder), "-o", str(tmp_path / "nowhere" / "d.png")]) == 2
    captured = capsys.readouterr()
    assert "no such folder" in captured.err and "nowhere" in captured.err and not captured.out


def block_device(folder: Path, rotational: str, vendor: str = "", model: str = "") -> Path:
    """The description in /sys of a disk with a partition; returns the partition's folder."""
    (folder / "queue").mkdir(parents=True)
    (folder / "queue" / "rotational").write_text(rotational + "\n")
    (folder / "device").mkdir()
    (folder / "device" / "vendor").write_text(vendor + "\n")
    (folder / "device" / "model").write_text(model + "\n")
    (folder / "part1").mkdir()
    return folder / "part1"


def test_doctor_kinds_of_disks(tmp_path: Path) -> None:
    kind = doctor.disk_kind
    real = block_device(tmp_path / "pci" / "sda", "1", "ATA", "ST8000")
    assert kind(str(real)) == kind(str(real.parent)) == "rotating"
    assert kind(str(block_device(tmp_path / "pci" / "nvme0n1", "0"))) == "solid state"
    for name, vendor, model in (
        ("virtio1/block/vda", "0x1af4", ""),
        ("vbd-768/block/xvda", "", ""),
        ("pci/sdb", "QEMU", "QEMU HARDDISK"),
        ("pci/nvme1n1", "", "Amazon Elastic Block Store"),
    ):
        disk = block_device(tmp_path / name, "1", vendor, model)
        (tmp_path / "link").symlink_to(disk)
        assert kind(str(tmp_path / "link")) == "virtual", name
        (tmp_path / "link").unlink()
    assert kind(str(tmp_path / "nothing" / "here")) is None
    storage = {"file_system": "ext4", "disk": "virtual", "files_per_second": 900.0,
               "mean_file_bytes": 100_000}  # fmt: skip
    assert doctor._advise_storage({"storage": storage}) is None
    assert "rotating" in str(doctor._advise_storage({"storage": {**storage, "disk": "rotating"}}))


def test_demo_names_replaced_files_and_warnings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = make_folders(tmp_path / "set", 4)
    (folder / CLASSES[0] / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    whole = next((folder / CLASSES[1]).glob("*.jpg"))
    (folder / CLASSES[1] / "cut.jpg").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    args = ["demo", str(folder), "--epochs", "3", "-o", str(tmp_path / "d.png"), "--no-progress"]
    assert cli.main(args) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if line.strip()]
    assert lines[0] == "1 file could not be decoded and was replaced:"
    assert lines[1].startswith("  ") and "bad.jpg" in lines[1]
    assert lines[2] == "1 file is damaged and was decoded with a warning:"
    assert "cut.jpg" in lines[3] and len(lines) == 4


def test_demo_report() -> None:
    def entry(i: int, action: str) -> dict[str, str]:
        return {"source": f"{i}.jpg", "message": f"{i}.jpg: broken\nmore", "action": action}

    assert demo.report([]) == []
    many = [entry(i % 12, "replaced") for i in range(40)] + [entry(20, "warning")] * 3
    lines = demo.report([*many, entry(0, "warning")])
    assert lines[0].startswith("12 files could not") and lines[1] == "  0.jpg: broken"
    assert lines[11] == "  ... and 2 more" and lines[12].startswith("1 file is damaged")
    assert lines[13:] == ["  20.jpg: broken"]


def test_demo_goes_on_past_bad_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = make_folders(tmp_path / "set", 4)
    (folder / CLASSES[0] / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    assert cli.main(["demo", str(folder), "-o", str(tmp_path / "d.png"), "--no-progress"]) == 0
    assert "bad" in capfd.readouterr().err
