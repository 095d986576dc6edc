# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The photographs that benchmarks use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
HELP = "class folders of images (default: HEADRACE_TEST_DATA, or the demo's photographs)"


def folder() -> str:
    """The folder HEADRACE_TEST_DATA, or that of the demo's photographs, which are made if they are missing."""
    given = os.environ.get("HEADRACE_TEST_DATA")
    if given:
        return given
    made = REPOSITORY / ".cache" / "demo-data"
    command = [sys.executable, str(REPOSITORY / "tools" / "make_demo_data.py"), str(made)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return str(made)
