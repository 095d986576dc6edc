# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tests of many cases: one test per operator, which runs all cases of the operator and reports all that fail.

    @grouped.by_operator(CASES)
    def test_something(cases: list[Any]) -> None:
        grouped.run(cases, lambda case: ...)

tests/conftest.py knows the parameter `cases`: `--case TEXT` keeps the cases whose text contains TEXT, and `--sample N`
one of N cases.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from collection import operator_of
from recorded import Unrecorded

DETAILED = 20  # failing cases whose difference is printed; of others, the name
_log = logging.getLogger("cases")


def by_operator(cases: Iterable[Any], most: int = 10**9) -> pytest.MarkDecorator:
    """Gives a test the parameter `cases`: in turn, the cases of each operator, at most about `most` of them."""
    groups: dict[str, list[Any]] = {}
    for case in cases:
        groups.setdefault(operator_of(case), []).append(case)
    some = [listed[:: 1 + len(listed) // most] for listed in groups.values()]
    return pytest.mark.parametrize("cases", some, ids=groups.keys())


def fail(failed: Sequence[tuple[str, str]], count: int) -> None:
    """Fails if there are failed cases, of `count`; lists them all, the first ones with the beginning of what they say."""
    if not failed:
        return
    lines = [f"{len(failed)} of {count} cases:"]
    for number, (case, said) in enumerate(failed):
        lines.append(case)
        if number < DETAILED:
            told = [line.strip()[:300] for line in said.splitlines() if line.strip()]
            lines += [f"    {line}" for line in told[:8]]
    pytest.fail("\n".join(lines), pytrace=False)


def run(cases: Sequence[Any], check: Callable[[Any], None]) -> None:
    """Calls `check` for every case, also after one has failed.

    A case without a recorded result of DALI skips the test, but only after the others have agreed. Before each case, its
    name is logged: `python -u -m pytest -n 0 --log-cli-level info` shows which one ends the process.
    """
    failed: list[tuple[str, str]] = []
    unrecorded: list[str] = []
    for case in cases:
        _log.info("%s", case)
        try:
            check(case)
        except Unrecorded:
            unrecorded.append(str(case))
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            failed.append((str(case), f"{kind}{error}"))
    fail(failed, len(cases))
    if unrecorded:
        raise Unrecorded(
            f"DALI's results of {len(unrecorded)} of {len(cases)} cases are not recorded: run "
            f"tests/ops/record.py: {'; '.join(unrecorded)[:500]}"
        )
