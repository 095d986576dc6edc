# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random invalid arguments and inputs, and chains on extreme shapes: a result or an error, never a crash (see fuzz.py)."""

from __future__ import annotations

import pytest

pytest.importorskip("headrace._graph.schema")

import fuzz  # noqa: E402
import fuzz_chains  # noqa: E402


@pytest.fixture(scope="session")
def wrong(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """The failed calls of the selected operators, whose jobs share the worker processes."""
    items = [item for item in request.session.items if item.fspath.basename == "test_hostile.py"]
    return fuzz.results([i.callspec.params["name"] for i in items if hasattr(i, "callspec")])


@pytest.mark.parametrize("name", fuzz.names())
def test_nonsense(name: str, wrong: dict[str, list[str]]) -> None:
    assert not wrong[name], "\n".join(wrong[name][:20])


def test_chains() -> None:
    """Chains give the same bytes fused and unfused, and their outputs do not share memory (see fuzz_chains.py)."""
    ran, wrong = fuzz_chains.results()
    assert not wrong, "\n".join(wrong[:20])
    assert ran > fuzz_chains.CHAINS // 4
