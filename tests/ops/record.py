#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs all cases with DALI and stores the results in `recorded/` (see recorded.py).

record.py                 cases that are not recorded yet
record.py resize crop     all cases of these operators
record.py --all           all cases
record.py --check         fail if a case is not recorded, or a recorded case no longer exists
"""

from __future__ import annotations

import argparse
import base64
import functools
import sys
from typing import Any

import pool
import recorded
import sweep
from collection import CASES, ERRORS
from harness import Engine, Failure, agree
from test_chains import CHAINS


@functools.cache
def cases() -> list[Any]:
    """All cases, in an order that is the same in every process."""
    return [*CASES, *ERRORS, *CHAINS, *sweep.cases()]


@functools.cache
def engines() -> tuple[Engine, Engine]:
    return Engine("headrace"), Engine("nvidia.dali")


def enough(case: Any, theirs: Any) -> int:
    """Number of bytes to keep per sample: more where a percentage or mean of so few elements would mislead."""
    ours = engines()[0].result(case)
    if isinstance(ours, Failure) or isinstance(theirs, Failure):
        return recorded.KEPT
    try:
        agree(ours, theirs, case.compare)
    except AssertionError:
        return recorded.KEPT  # the results differ, and so will the kept parts
    for kept in (recorded.KEPT, recorded.KEPT * 8):
        try:
            agree(ours, [recorded.picked(output, kept) for output in theirs], case.compare)
            return kept
        except AssertionError:
            continue
    return 1 << 30


def run(number: int) -> Any:
    """A job: DALI's result of a case, packed by `recorded.pack`."""
    case = cases()[number]
    pool.stage("nvidia.dali")
    theirs = engines()[1].result(case)
    pool.stage("headrace")
    entry, content = recorded.pack(theirs, enough(case, theirs))
    return [recorded.key(case), entry, base64.b64encode(content).decode()]


def by_file() -> dict[str, dict[str, int]]:
    """Name of a file -> key -> number of the case."""
    out: dict[str, dict[str, int]] = {}
    for number, case in enumerate(cases()):
        out.setdefault(recorded.file_of(case), {}).setdefault(recorded.key(case), number)
    return out


def refresh(name: str, wanted: dict[str, int], anew: bool) -> None:
    """Makes a file contain DALI's results for `wanted` and nothing else."""
    index, blob = ({}, b"") if anew else recorded.load(name)
    kept: dict[str, Any] = {}
    for key in wanted.keys() & index.keys():
        at, entry = index[key]
        kept[key] = (entry, blob[at : at + recorded.length(entry)])
    missing = [number for key, number in wanted.items() if key not in kept]
    for number, answer in pool.run("record:run", missing).items():
        key = recorded.key(cases()[number])
        if isinstance(answer, dict):  # it crashed DALI
            kept[key] = (recorded.ENDED, b"")
        else:
            assert answer[0] == key, "processes list the cases in different orders"
            kept[key] = (answer[1], base64.b64decode(answer[2]))
    if missing or index.keys() != kept.keys():
        print(f"{name}: {len(kept)} cases, {len(missing)} of them new")
        recorded.save(name, kept)


def check(files: dict[str, dict[str, int]]) -> int:
    """Checks that the files have all cases and no others; the exit status."""
    wrong = 0
    there = {path.stem for path in recorded.FOLDER.glob("*.xz")}
    for name in sorted(there | files.keys()):
        index, _ = recorded.load(name)
        wanted = files.get(name, {})
        missing, old = wanted.keys() - index.keys(), index.keys() - wanted.keys()
        wrong += len(missing) + len(old)
        for key in sorted(missing)[:5]:
            print(f"{name}: not recorded: {str(cases()[wanted[key]])[:200]}")
        if missing or old:
            print(f"{name}: {len(missing)} cases are not recorded, {len(old)} no longer exist")
    if wrong:
        print("run tests/ops/record.py where DALI is installed")
    return wrong != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = by_file()
    if args.check:
        return check(files)
    for name in sorted(args.operators or files):
        refresh(name, files[name], args.all or bool(args.operators))
    if not args.operators:
        for path in recorded.FOLDER.glob("*.xz"):
            if path.stem not in files:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
