#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Prints for each operator how far it agrees with live DALI.

    report.py                  all operators
    report.py resize crop      only these
    report.py -v resize        also every case that does not agree, known differences included
    report.py --json out.json  the same as JSON

Columns: written cases that agree; wrong calls that both refuse alike; cases made from the tables (sweep.py) that
agree, known differences, calls that only Headrace accepts; and whether the bytes are the same for any threads, batch
size and CPU level.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import pool
import sweep
from collection import CASES, ELSEWHERE, ERRORS, operator_of
from harness import Engine, check, check_fails
from headrace._graph import schema as _schema
from test_same_bytes import differences


def refusal(function: Any, *args: Any) -> str:
    """The message of a failed check, or an empty text."""
    try:
        function(*args)
    except AssertionError as error:
        return str(error).strip()[:300] or "values"
    return ""


def run_case(number: int) -> str:
    """A job: a written case against DALI."""
    return refusal(check, CASES[number], *sweep.engines())


def run_error(number: int) -> str:
    """A job: a wrong call in both engines."""
    return refusal(check_fails, ERRORS[number], *sweep.engines())


def run_bytes(number: int) -> str:
    """A job: a case in several ways."""
    return "\n".join(said for _, said in differences(Engine("headrace"), [CASES[number]]))


def told(job: str, cases: list[Any], names: set[str]) -> dict[str, list[tuple[str, str]]]:
    """The cases and their messages, by operator."""
    numbers = [i for i, case in enumerate(cases) if operator_of(case) in names]
    out: dict[str, list[tuple[str, str]]] = {}
    for number, answer in pool.run("report:" + job, numbers).items():
        if isinstance(answer, dict):
            answer = f"ended by {answer['ended']} in {answer['stage']}: {answer['words'][-300:]}"
        out.setdefault(operator_of(cases[number]), []).append((str(cases[number]), answer))
    return out


def record(name: str, written: Any, wrong: Any, same: Any, swept: list[sweep.Result]) -> Any:
    """The results of one operator."""
    return {
        "operator": name,
        "cases": [sum(not said for _, said in written), len(written)],
        "errors": [sum(not said for _, said in wrong), len(wrong)],
        "sweep": [sum(not r.failed for r in swept), len(swept)],
        "known": sum(r.excused and not r.agrees for r in swept),
        "wider": sum(r.said.startswith("wider") and not r.excused for r in swept),
        "bytes": [sum(not said for _, said in same), len(same)],
        "elsewhere": ELSEWHERE.get(name, ""),
        "said": [f"{case}: {said}" for case, said in [*written, *wrong, *same] if said]
        + [
            f"{r.case}: {'known: ' * r.excused}{r.said}"
            for r in swept
            if r.said not in ("", sweep.BOTH_REFUSE)
        ],
    }


def line(row: Any) -> str:
    """One row of the table."""

    def part(key: str) -> str:
        good, count = row[key]
        return "-" if not count else str(count) if good == count else f"{good}/{count} !"

    cells = [f"{row['operator']:32}", *(f"{part(k):>14}" for k in ("cases", "errors", "sweep"))]
    cells += [f"{row['known'] or '':>6}", f"{row['wider'] or '':>6}", f"{part('bytes'):>14}"]
    return " ".join([*cells, row["elsewhere"]]).rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("operators", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    listed = {name for name, op in _schema.operators().items() if "hidden" not in op.flags}
    names = set(args.operators) or listed | {operator_of(case) for case in CASES}
    written, wrong = told("run_case", CASES, names), told("run_error", ERRORS, names)
    same = told("run_bytes", CASES, names)
    swept = sweep.results([case for case in sweep.cases() if case.op in names])
    rows = [
        record(name, *(said.get(name, []) for said in (written, wrong, same)),
               [result for result in swept if result.op == name])
        for name in sorted(names)
    ]
    head = [f"{'operator':32}", *(f"{t:>14}" for t in ("cases", "errors", "sweep"))]
    print(" ".join([*head, f"{'known':>6}", f"{'wider':>6}", f"{'same bytes':>14}"]))
    for row in rows:
        print(line(row))
        if args.verbose or "!" in line(row):
            for said in row["said"]:
                if args.verbose or ": known: " not in said and ": wider" not in said:
                    print("    " + said.replace("\n", "\n    "))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return any("!" in line(row) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
