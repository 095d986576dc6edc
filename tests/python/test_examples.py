# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every Python example runs; examples for PyTorch train, and their shards are disjoint and complete."""

from __future__ import annotations

import colorsys
import importlib
import math
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import headrace
import numpy as np
import pytest
import warm
from PIL import Image
from pictures import CLASSES, make_folders
from waiting import HANG_S

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# On a loaded machine, a process of PyTorch's gloo back end sometimes ends this way after its last line.
ABORT_OF_TORCH = "terminate called without an active exception"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folders(tmp_path_factory.mktemp("data") / "set")


def run(*command: str, ranks: int = 1) -> str:
    """Runs a script, or a module if the command begins with -m."""
    if command[0] != "-m":
        with tempfile.TemporaryDirectory() as folder:
            return warm.run(list(command), Path(folder) / "output", ranks)
    paths = [str(Path(headrace.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "OMP_NUM_THREADS": "1",
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, *command], env=env, capture_output=True, text=True, timeout=HANG_S
        )
        if ABORT_OF_TORCH not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted((EXAMPLES / "python").glob("*.py")), ids=lambda p: p.stem)
def test_example(path: Path, folder: Path) -> None:
    out = run(str(path), str(folder))
    expected = {
        "training_pipeline": "(3, 224, 224)",
        "evaluation_pipeline": "21 images",
        "class_api": "label ",
        "volumes": "(16, 32, 32): 300 inside, -201 outside",
        "external_source": "16 thumbnails in 1 batches",
    }
    assert expected[path.stem] in out


TRAIN = str(EXAMPLES / "pytorch" / "train_cpu.py")
SMALL = ("--batch-size", "4", "--size", "32")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")


def dumped(stem: Path, ranks: int) -> list[list[tuple[int, int, int]]]:
    """(epoch, number, class) of every sample: one list per rank."""
    result = []
    for rank in range(ranks):
        lines = Path(f"{stem}.rank{rank}").read_text().splitlines()
        result.append([tuple(map(int, line.split())) for line in lines])
    return result


def test_two_processes(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    stem = tmp_path / "dump"
    out = run(*TORCHRUN, TRAIN, str(folder), "--epochs", "3", "--dump", str(stem), *SMALL)
    assert "epoch 3" in out and "img/s in 2 processes" in out and "waiting for data" in out
    ranks = dumped(stem, 2)
    for epoch in range(3):
        parts = [{n for e, n, _ in samples if e == epoch} for samples in ranks]
        both = Counter(n for samples in ranks for e, n, _ in samples if e == epoch)
        assert parts[0].isdisjoint(parts[1])
        assert sorted(both) == list(range(21)) and set(both.values()) == {1}
    for _, number, label in ranks[0] + ranks[1]:
        assert label == number // 7 and label < len(CLASSES)
    orders = [[n for e, n, _ in ranks[0] if e == epoch] for epoch in (0, 2)]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("processes", [1, 2])
def test_resume_continues_exactly(folder: Path, tmp_path: Path, processes: int) -> None:
    pytest.importorskip("torch")
    whole, parts, state = tmp_path / "whole", tmp_path / "parts", tmp_path / "state.pt"
    common = (TRAIN, str(folder), "--epochs", "2", *SMALL)

    def train(*more: str) -> None:
        run(*common, *more, ranks=processes)

    train("--dump", str(whole))
    train("--dump", str(parts), "--checkpoint", str(state), "--stop-after", "4")
    assert len(dumped(parts, 1)[0]) < len(dumped(whole, 1)[0])
    train("--dump", str(parts), "--checkpoint", str(state), "--resume")
    assert dumped(parts, processes) == dumped(whole, processes)


def test_loss_falls(folder: Path) -> None:
    pytest.importorskip("torch")
    out = run(TRAIN, str(folder), "--epochs", "8", *SMALL)
    losses = [float(line.rpartition(" ")[2]) for line in out.splitlines() if "mean loss" in line]
    assert len(losses) == 8 and min(losses[4:]) < losses[0]


def script(name: str) -> str:
    return str(EXAMPLES / "pytorch" / f"{name}.py")


@pytest.fixture
def ssd(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The SSD example, as a module."""
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(EXAMPLES / "pytorch"))
    return importlib.import_module("ssd_train")


def test_speech_trains() -> None:
    pytest.importorskip("torch")
    out = run(script("speech_train"), *"--draw 22 --epochs 4 --threads 1".split())
    losses = [float(x) for x in re.findall(r"22 sounds, mean loss ([\d.]+)", out)]
    assert len(losses) == 4 and losses[3] < 0.5 * losses[0]


def test_ssd_trains(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    small = "--draw 24 --batch-size 4 --width 8 --epochs 3 --print-every 6 --threads 1"
    weights = tmp_path / "weights.pt"
    out = run(script("ssd_train"), *small.split(), "--save", str(weights))
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", out)]
    assert len(losses) == 3 and losses[2] < losses[0] and weights.stat().st_size > 10000


def test_ssd_boxes_stay_on_their_objects(ssd: Any, tmp_path: Path) -> None:
    """After cropping, resizing and mirroring, a matched anchor's box shows the colour of its class."""
    source = ssd.Coco(tmp_path, ssd.draw_pictures(tmp_path, 64))
    anchors = ssd.make_anchors()
    assert anchors.shape == (8732, 4)
    flat = ssd.corners(anchors).flatten().tolist()
    pipe = ssd.training_pipeline(
        source, flat, False, batch_size=64, num_threads=2, device_id=None, seed=5
    )
    images, offsets, labels = (np.asarray(batch.as_tensor()) for batch in pipe.run())
    assert images.shape == (64, 3, 300, 300) and offsets.shape == (64, 8732, 4)
    agree = []
    for image, offset, label in zip(images, offsets, labels, strict=True):
        boxes = ssd.decode(ssd.torch.from_numpy(offset.copy()), anchors).numpy()
        for box, number in {tuple(b.round(3)): n for b, n in zip(boxes, label) if n > 0}.items():
            x0, y0, x1, y1 = (np.clip(box, 0, 1) * 299).astype(int)
            red, _, blue = image[:, (y0 + y1) // 2, (x0 + x1) // 2]
            agree.append((red > blue) == (number == 1))
    assert len(agree) > 64 and np.mean(agree) > 0.9


def test_simclr_finds_the_other_view(tmp_path: Path) -> None:
    """Pictures of one colour each: even a few steps find most other views, and the loss falls."""
    pytest.importorskip("torch")
    (tmp_path / "all").mkdir()
    for i in range(16):
        colour = np.array(colorsys.hsv_to_rgb(i / 16, 0.9, 0.4 + 0.5 * (i % 2))) * 255
        noise = np.random.default_rng(i).normal(0, 10, (64, 64, 3))
        picture = np.clip(colour + noise, 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(tmp_path / "all" / f"{i:02}.jpg")
    small = "--batch-size 16 --size 32 --width 8 --epochs 12 --threads 1 --strength 0.1 --lr 0.003"
    out = run(script("simclr_train"), str(tmp_path), *small.split())
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", out)]
    found = [float(x) for x in re.findall(r"for ([\d.]+)%", out)]
    assert len(losses) == 12 and min(losses[6:]) < losses[0] < math.log(31)
    assert np.mean(found) > 25  # by chance: 3


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("parts")
    make_folders(root / "train")
    make_folders(root / "val", 3)
    return root


AUGMENTATIONS = ("disabled", "autoaugment", "trivialaugment", "randaugment")


@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
def test_efficientnet_trains(parts: Path, tmp_path: Path, augmentation: str) -> None:
    pytest.importorskip("torch")
    small = "--batch-size 7 --size 48 --width 0.25 --depth 0.3 --epochs 2 --threads 1"
    weights = tmp_path / "weights.pt"
    out = run(
        script("efficientnet_train"), str(parts), *small.split(), "--save", str(weights),
        "--automatic-augmentation", augmentation,
    )  # fmt: skip
    assert len(re.findall(r"epoch \d: loss [01]\.\d+, [\d.]+% correct", out)) == 2
    assert weights.stat().st_size > 100000


def test_efficientnet_in_two_processes(parts: Path) -> None:
    pytest.importorskip("torch")
    small = "--batch-size 4 --size 32 --width 0.25 --depth 0.3 --epochs 1 --threads 1"
    out = run(*TORCHRUN, script("efficientnet_train"), str(parts), *small.split())
    assert len(re.findall(r"epoch 0: loss [01]\.\d+", out)) == 1


def test_efficientnet_augments(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pictures and crops under every scheme; each scheme changes most of them, in its own way."""
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(EXAMPLES / "pytorch"))
    module = importlib.import_module("efficientnet_train")
    batches = []
    for name in AUGMENTATIONS:
        pipe = module.image_pipeline(
            str(parts / "train"), 48, name, True, 0, 1, False,
            batch_size=21, num_threads=1, device_id=None, seed=3,
        )  # fmt: skip
        images, labels = (np.asarray(batch.as_tensor()) for batch in pipe.run())
        batches.append(images)
        assert images.shape == (21, 3, 48, 48) and sorted(set(labels.flatten())) == [0, 1, 2]
    for i, a in enumerate(batches):
        for b in batches[:i]:
            assert np.mean([not np.array_equal(x, y) for x, y in zip(a, b)]) > 0.5


def test_lightning_resumes_exactly(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Stopped in the middle of an epoch and continued, training ends with the same numbers."""
    pytest.importorskip("lightning")
    small = ("--epochs", "2", "--batch-size", "4", "--size", "32", "--threads", "1")

    def trained(name: str, *more: str) -> str:
        arguments = [str(folder), *small, "--logs", str(tmp_path / name), *more]
        monkeypatch.setattr(sys, "argv", ["lightning_train.py", *arguments])
        runpy.run_path(script("lightning_train"), run_name="__main__")
        return capsys.readouterr().out.splitlines()[-1]

    whole = trained("whole")
    assert whole.startswith("step 12: {'loss': ")
    assert trained("part", "--steps", "4").startswith("step 4: ")
    (state,) = (tmp_path / "part").rglob("last.ckpt")
    assert trained("rest", "--resume", str(state)) == whole


@pytest.mark.parametrize("loader", ["headrace", "torchvision"])
def test_from_torchvision(folder: Path, loader: str) -> None:
    pytest.importorskip("torchvision")
    small = "--batch-size 5 --size 32 --epochs 2 --threads 1".split()
    out = run(script("from_torchvision"), str(folder), *small, "--loader", loader)
    assert len(re.findall(r"epoch \d: mean loss \d\.\d+, 21 images", out)) == 2
    assert ("compiled  RandomResizedCrop" in out) == (loader == "headrace")
