# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For all tests."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

# A shell that starts the tests in the background makes them ignore SIGINT, and children inherit that:
# the tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


os.environ["HEADRACE_SCAN_CACHE"] = ""  # tests leave nothing in the user's cache
os.environ["HEADRACE_INDEX_CACHE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dali", action="store_true", help="run only the tests that compare with DALI, and ask DALI itself"
    )
    parser.addoption(
        "--record", action="store_true", help="--dali, and keep the results of tests/python (twice.py)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dali: compares with DALI, or with its recorded results")
    config.addinivalue_line("markers", "live_dali: needs DALI itself: run with --dali only")
    if config.getoption("--record"):
        config.option.dali = True
    if config.getoption("--dali"):
        os.environ["HEADRACE_TEST_DALI"] = "live"  # for worker processes


def _has(item: pytest.Item, name: str) -> bool:
    """Whether a test has the marker or the fixture `name`."""
    return item.get_closest_marker(name) is not None or name in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --dali, the tests that have to do with DALI; without it, all that do not need DALI itself."""
    live = config.getoption("--dali")
    kept, left = [], []
    for item in items:
        needs = _has(item, "live_dali")
        (kept if (needs or _has(item, "dali") if live else not needs) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
    config.stash[_LEFT] = 0 if live else len(left)


_LEFT = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker process of pytest-xdist tells the process that prints the summary what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = session.config.stash.get(_LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Every worker process collects all tests, so the number is the same in each."""
    node.config.stash[_LEFT] = getattr(node, "workeroutput", {}).get("left", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    left = config.stash.get(_LEFT, 0)
    if left:
        terminalreporter.write_line(
            f"{left} tests ask DALI itself and were left out: `make test-dali` runs them"
        )
