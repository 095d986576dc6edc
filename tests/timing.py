# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The marker `timing`, for tests with an upper bound on the wall or CPU time of something. They run
only where no other test runs beside them, and once more if they fail, because the machine may have
had other work."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.runner import runtestprotocol

_LEFT = pytest.StashKey[int]()  # how many were left out
_AGAIN = pytest.StashKey[list[str]]()  # those that passed only when run again, and why


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "timing: has an upper bound on a time; left out where tests run in parallel"
    )
    config.stash[_LEFT], config.stash[_AGAIN] = 0, []


@pytest.hookimpl(trylast=True)  # counts only tests that other options selected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):  # not a worker process of pytest-xdist
        return
    left = [item for item in items if item.get_closest_marker("timing")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("timing")]
    config.stash[_LEFT] = len(left)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not item.get_closest_marker("timing"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = next((report for report in reports if report.failed), None)
    if failed:
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            crash = getattr(failed.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash else failed.when
            item.config.stash[_AGAIN].append(f"{item.nodeid} ({why})")
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["timing"] = session.config.stash[_LEFT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Every worker process collects all tests, so the number is the same in each."""
    node.config.stash[_LEFT] = getattr(node, "workeroutput", {}).get("timing", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for test in config.stash[_AGAIN]:
        terminalreporter.write_line(f"failed once, passed when run again: {test}")
    if config.stash[_LEFT]:
        terminalreporter.write_line(
            f"{config.stash[_LEFT]} tests measure times and were left out, because tests run in "
            "parallel: `pytest tests -m timing -n 0` runs them"
        )
