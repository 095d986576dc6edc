# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Prints a digest of the results of every case, or of some: two machines print the same lines. All NaNs count as equal:
the sign of one that arises in a calculation is the CPU's.

python tests/ops/digests.py [SHARE]   SHARE: one of so many cases of each operator, and at least one (1: all)
"""

from __future__ import annotations

import collections
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["HEADRACE_SCAN_CACHE"] = os.environ["HEADRACE_INDEX_CACHE"] = ""
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np  # noqa: E402

from collection import CASES, OURS, operator_of  # noqa: E402
from harness import Engine, Failure  # noqa: E402


def some(share: int) -> list[Any]:
    """Every `share`-th case of each operator."""
    by_operator: dict[str, list[Any]] = collections.defaultdict(list)
    for case in [*CASES, *OURS]:
        by_operator[operator_of(case)].append(case)
    return [case for cases in by_operator.values() for case in cases[::share]]


def digest(engine: Engine, case: Any) -> str:
    """Types, shapes and bytes of a case's results, or the kind of its failure."""
    result = engine.result(case)
    if isinstance(result, Failure):
        return f"refused: {result.kind}"
    what = hashlib.sha256()
    for output in result:
        what.update(f"{output.dtype} {output.layout} {[s.shape for s in output.samples]}".encode())
        for sample in output.samples:
            if sample.dtype.kind == "f":
                sample = np.where(np.isnan(sample), sample.dtype.type(np.nan), sample)
            what.update(sample.tobytes())
    return what.hexdigest()[:16]


def main() -> None:
    """Prints one line per case."""
    cases = some(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    engine = Engine("headrace")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # operators that write files write them here
        for case in cases:
            print(f"{digest(engine, case)} {case}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
