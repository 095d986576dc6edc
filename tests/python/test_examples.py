# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every Python example runs, and the PyTorch example's shards are disjoint and complete."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import headrace
import pytest
from pictures import CLASSES, make_folders

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folders(tmp_path_factory.mktemp("data") / "set")


def run(*command: str) -> str:
    paths = [str(Path(headrace.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *command], env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted((EXAMPLES / "python").glob("*.py")), ids=lambda p: p.stem)
def test_example(path: Path, folder: Path) -> None:
    out = run(str(path), str(folder))
    expected = {
        "training_pipeline": "(3, 224, 224)",
        "evaluation_pipeline": "21 images",
        "class_api": "label ",
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
    launch = TORCHRUN if processes == 2 else ()
    whole, parts, state = tmp_path / "whole", tmp_path / "parts", tmp_path / "state.pt"
    common = (*launch, TRAIN, str(folder), "--epochs", "2", *SMALL)
    run(*common, "--dump", str(whole))
    run(*common, "--dump", str(parts), "--checkpoint", str(state), "--stop-after", "4")
    assert len(dumped(parts, 1)[0]) < len(dumped(whole, 1)[0])
    run(*common, "--dump", str(parts), "--checkpoint", str(state), "--resume")
    assert dumped(parts, processes) == dumped(whole, processes)


def test_loss_falls(folder: Path) -> None:
    pytest.importorskip("torch")
    out = run(TRAIN, str(folder), "--epochs", "8", *SMALL)
    losses = [float(line.rpartition(" ")[2]) for line in out.splitlines() if "mean loss" in line]
    assert len(losses) == 8 and min(losses[4:]) < losses[0]
