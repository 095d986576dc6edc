# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For all tests."""

from __future__ import annotations

import os
import signal
import zlib
from typing import Any

import pytest
import timing

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
    parser.addoption(
        "--sample", type=int, default=1, metavar="N",
        help="with --dali, only one of N tests that can also use recorded results, the same ones every time",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(timing, "timing")
    config.addinivalue_line("markers", "dali: compares with DALI, or with its recorded results")
    config.addinivalue_line("markers", "typing_tools: runs mypy or pyright on Python files only")
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
    live, share = config.getoption("--dali"), config.getoption("--sample")
    kept, left, unsampled = [], [], []
    for item in items:
        needs, compares = _has(item, "live_dali"), _has(item, "dali")
        if live and compares and not needs:
            (unsampled if zlib.crc32(item.nodeid.encode()) % share else kept).append(item)
        else:
            (kept if live == needs else left).append(item)
    if left or unsampled:
        config.hook.pytest_deselected(items=left + unsampled)
        items[:] = kept
    config.stash[_LEFT] = [0 if live else len(left), len(unsampled)]


_LEFT = pytest.StashKey[list[int]]()  # tests that ask DALI itself, and what --sample left out


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker process of pytest-xdist tells the process that prints the summary what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = session.config.stash.get(_LEFT, [0, 0])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Every worker process collects all tests, so the numbers are the same in each."""
    node.config.stash[_LEFT] = getattr(node, "workeroutput", {}).get("left", [0, 0])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    left, unsampled = config.stash.get(_LEFT, [0, 0])
    if unsampled:
        terminalreporter.write_line(
            f"{unsampled} tests that can use recorded results were left out, because --sample selects one of "
            f"{config.getoption('--sample')}: `make test-dali` runs them"
        )
    if left:
        terminalreporter.write_line(
            f"{left} tests ask DALI itself and were left out: `make test-dali` runs them"
        )
