# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The cases that are made from the operators' tables, against DALI (see sweep.py)."""

from __future__ import annotations

import collections

import pytest

import grouped
import pool
import sweep

# With --dali: some calls never end in DALI, until the limit of a job.
pytestmark = [pytest.mark.dali, pytest.mark.timeout(900)]

COUNTS = collections.Counter(case.op for case in sweep.cases())


@grouped.by_operator(sweep.cases())
def test_sweep(cases: list[sweep.Swept], workers: pool.Kept) -> None:
    results = sweep.results(cases, workers.run)
    if not results:
        pytest.skip("DALI's results are not recorded: run tests/ops/record.py")
    grouped.fail([(r.case, r.said) for r in results if r.failed], len(results))
    if len(cases) == COUNTS[cases[0].op]:  # not only some of them, with --case or --sample
        assert any(r.agrees for r in results), "in no case do both engines give the same values"
