# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""torchrun: a checkpoint of two processes goes on with three; together they see each sample once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from waiting import HANG_S

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pytorch" / "elastic_train.py"
SAMPLES = 29


def torchrun(processes: int, folder: Path, state: Path, dump: Path, *more: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), str(EXAMPLE), str(folder)]
    done = subprocess.run(
        [*command, "--checkpoint", str(state), *more],
        env={**os.environ, "DUMP": str(dump), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_become_three(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for i in range(SAMPLES):  # one class per file, so that the label is the number of the sample
        (tmp_path / "set" / f"{i:02}").mkdir(parents=True)
        Image.new("RGB", (40, 40), (i, 0, 0)).save(tmp_path / "set" / f"{i:02}" / "x.png")
    first, rest = tmp_path / "first", tmp_path / "rest"
    state = tmp_path / "state.pt"
    torchrun(2, tmp_path / "set", state, first, "--stop-after", "2")
    text = torchrun(3, tmp_path / "set", state, rest)
    assert f"3 processes, 2 steps, {SAMPLES} samples in all" in text
    numbers = [
        [int(n) for rank in range(count) for n in Path(f"{dump}.{rank}").read_text().split()]
        for dump, count in ((first, 2), (rest, 3))
    ]
    assert len(numbers[0]) == 16 and len(numbers[1]) == 13
    assert sorted(numbers[0] + numbers[1]) == list(range(SAMPLES))
