# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random invalid arguments and inputs, and chains on extreme shapes: a result or an error, never a crash (see fuzz.py)."""

from __future__ import annotations

import pytest

pytest.importorskip("headrace._graph.schema")

import fuzz  # noqa: E402
import fuzz_chains  # noqa: E402
import pool  # noqa: E402


@pytest.mark.parametrize("name", fuzz.names())
def test_nonsense(name: str, workers: pool.Kept) -> None:
    wrong = fuzz.results([name], run=workers.run)[name]
    assert not wrong, "\n".join(wrong[:20])


def test_chains(workers: pool.Kept) -> None:
    """Chains give the same bytes fused and unfused, and their outputs do not share memory (see fuzz_chains.py)."""
    ran, wrong = fuzz_chains.results(run=workers.run)
    assert not wrong, "\n".join(wrong[:20])
    assert ran > fuzz_chains.CHAINS // 4
