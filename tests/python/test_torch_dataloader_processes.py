# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` in two processes: plain, and below Lightning, Accelerate and Trainer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from waiting import HANG_S

pytest.importorskip("torch")
pytest.importorskip("torchvision")

SCRIPT = Path(__file__).parent / "loader_processes.py"
SAMPLES, BATCHES, SAVED = 24, 6, 4  # batches of each process in two epochs; before the state

# Whether random transforms continue, too. They do where the state of the loader is kept.
FRAMEWORKS = {"torchrun": True, "lightning": True, "accelerate": False, "trainer": False}
NEEDS = {"lightning": "lightning", "accelerate": "accelerate", "trainer": "transformers"}


def run(framework: str, images: Path, output: Path, *more: str) -> list[list[list[str]]]:
    """Per process and batch: the sum of the pixels, and the labels."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", str(SCRIPT), framework, str(images), str(output)]
    done = subprocess.run(
        [*command, *more],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr
    files = [Path(f"{output}.{rank}") for rank in range(2)]
    return [[line.split() for line in file.read_text().splitlines()] for file in files]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_process_reads_its_part_and_continues(framework: str, tmp_path: Path) -> None:
    if framework in NEEDS:
        pytest.importorskip(NEEDS[framework])
    for i in range(SAMPLES):  # a class per file, so that the label is the number of the sample
        folder = tmp_path / "set" / f"{i:02}"
        folder.mkdir(parents=True)
        noise = np.random.default_rng(i).integers(0, 256, (40, 40, 3), np.uint8)
        Image.fromarray(noise).save(folder / "x.png")
    whole = run(framework, tmp_path / "set", tmp_path / "whole", "--save", str(SAVED))
    assert [len(batches) for batches in whole] == [BATCHES] * 2
    half = BATCHES // 2
    epochs = [[b[1:] for batches in whole for b in batches[i : i + half]] for i in (0, half)]
    for epoch in epochs:  # together they read each sample once
        assert sorted(int(n) for batch in epoch for n in batch) == list(range(SAMPLES))
    assert epochs[0] != epochs[1]
    state = tmp_path / "whole.state"
    if framework == "trainer":
        state /= f"checkpoint-{SAVED}"
    rest = run(framework, tmp_path / "set", tmp_path / "rest", "--resume", str(state))
    begin = 0 if FRAMEWORKS[framework] else 1
    assert [[b[begin:] for b in batches] for batches in rest] == [
        [b[begin:] for b in batches[SAVED:]] for batches in whole
    ]
