# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For tests of readers whose files have many records: orders of reading, and the system calls of an epoch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import headrace
import pytest

ORDERS: list[dict[str, Any]] = [
    {},
    {"num_shards": 3, "shard_id": 1},
    {"num_shards": 5, "shard_id": 2, "pad_last_batch": True},
    {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "dont_use_mmap": True},
]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def system_calls(outputs: str, log: Path) -> list[str]:
    """The calls of a process that runs 20 batches of 50 samples, a line each. `outputs` is a tuple of nodes as text."""
    source = f"""
from headrace import Pipeline, fn, tfrecord as tf
pipe = Pipeline(50, 2, None)
with pipe:
    pipe.set_outputs(*{outputs})
for _ in range(20):
    pipe.run()
"""
    names = "trace=openat,read,pread64,preadv2"
    command = ["strace", "-f", "-o", str(log), "-e", names, sys.executable, "-c", source]
    environment = {**os.environ, "PYTHONPATH": str(Path(headrace.__file__).parents[1])}
    subprocess.run(command, check=True, env=environment)
    return log.read_text().splitlines()
