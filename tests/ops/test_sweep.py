# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The cases that are made from the operators' tables, against DALI (see sweep.py)."""

from __future__ import annotations

import pytest

import sweep

# The first test computes the results for all operators.
pytestmark = [pytest.mark.dali, pytest.mark.timeout(900)]

NAMES = sorted({case.op for case in sweep.cases()})


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> dict[str, list[sweep.Result]]:
    """The results for the selected operators, computed together by the worker processes."""
    items = [item for item in request.session.items if item.fspath.basename == "test_sweep.py"]
    return sweep.results(
        [item.callspec.params["name"] for item in items if hasattr(item, "callspec")]
    )


@pytest.mark.parametrize("name", NAMES)
def test_sweep(name: str, results: dict[str, list[sweep.Result]]) -> None:
    if name not in results:
        pytest.skip("DALI's results are not recorded: run tests/ops/record.py")
    failed = [f"{r.case}\n    {r.said}" for r in results[name] if r.failed]
    assert not failed, f"{len(failed)} of {len(results[name])} cases:\n" + "\n".join(failed[:20])
    assert any(r.agrees for r in results[name]), "in no case do both engines give the same values"
