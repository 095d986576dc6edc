# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tests that are marked `timing` run alone, and once more if they fail (tests/timing.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import HANG_S

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = """
import pytest
from pathlib import Path

def test_plain():
    pass

@pytest.fixture
def fresh():
    return []

@pytest.mark.timing
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_measured(passes, fresh):
    fresh.append(1)
    file = Path(f"runs-{passes}")
    runs = file.read_text() if file.exists() else ""
    file.write_text(runs + "x")
    assert len(fresh) == 1 and len(runs) + 1 >= passes, "too slow"
"""


def run(folder: Path, *arguments: str) -> tuple[str, list[int]]:
    """What pytest prints for SAMPLE, and how often each measured test ran."""
    (folder / "test_sample.py").write_text(SAMPLE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "timing", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    files = [folder / f"runs-{passes}" for passes in (1, 2, 3)]
    return done.stdout, [len(f.read_text()) if f.exists() else 0 for f in files]


def test_a_test_that_fails_is_run_once_more(tmp_path: Path) -> None:
    text, runs = run(tmp_path)
    assert runs == [1, 2, 2]
    assert "1 failed, 3 passed" in text and "FAILED test_sample.py::test_measured[3]" in text
    assert "failed once, passed when run again: test_sample.py::test_measured[2] (Asser" in text
    assert text.count("run again") == 1 and "left out" not in text


def test_nothing_runs_beside_a_test_that_measures(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    text, runs = run(tmp_path, "-p", "xdist.plugin", "-n", "1", "-k", "not 3")
    assert runs == [0, 0, 0] and "1 passed" in text
    assert "2 tests measure times and were left out" in text and "-m timing -n 0" in text
