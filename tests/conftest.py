# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For all tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import timing

# A shell that starts the tests in the background makes them ignore SIGINT, and children inherit that:
# the tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


os.environ["HEADRACE_SCAN_CACHE"] = ""  # tests leave nothing in the user's cache
os.environ["HEADRACE_INDEX_CACHE"] = ""

ROOT = Path(__file__).resolve().parents[1]
GIVEN = os.environ.get("HEADRACE_TEST_DATA")


@pytest.fixture(scope="session", params=["sample", *(["HEADRACE_TEST_DATA"] if GIVEN else [])])
def photographs(request: pytest.FixtureRequest) -> Path:
    """Class folders of photographs, JPEG files of all kinds: those that tools/make_demo_data.py makes for tests, and in
    addition those of the folder HEADRACE_TEST_DATA, if it is set."""
    if request.param == "HEADRACE_TEST_DATA":
        assert GIVEN and Path(GIVEN).is_dir(), f"HEADRACE_TEST_DATA: {GIVEN} is not a folder"
        return Path(GIVEN)
    folder = ROOT / ".cache" / "test-photographs"
    made = [sys.executable, ROOT / "tools" / "make_demo_data.py", "--tests", folder]
    subprocess.run(made, check=True)
    return folder


@pytest.fixture(scope="session")
def photograph_files(photographs: Path) -> list[Path]:
    """At most 64 of the JPEG files of `photographs`."""
    files = [p for p in photographs.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg")]
    assert files, f"{photographs} has no JPEG files"
    return sorted(files)[:: -(-len(files) // 64)]


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips tests of what only an installed package has: headers, CMake files."""
    import headrace

    if Path(headrace.__file__).is_symlink():
        pytest.skip("the package is the one in the build folder: tools/setup.sh install installs it")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dali", action="store_true", help="run only the tests that compare with DALI, and ask DALI itself"
    )
    parser.addoption(
        "--record", action="store_true", help="--dali, and keep the results of tests/python (twice.py)"
    )
    parser.addoption(
        "--sample", type=int, default=1, metavar="N",
        help="with --dali, only one of N tests or cases that can also use recorded results, the same ones every time",
    )  # fmt: skip
    parser.addoption("--case", metavar="TEXT", help="only the cases whose text contains TEXT (ops/grouped.py)")


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
    live, share, text = (config.getoption(name) for name in ("--dali", "--sample", "--case"))
    kept, left, unchosen, unsampled = [], [], [], 0
    for item in items:
        needs, compares = _has(item, "live_dali"), _has(item, "dali")
        if live != needs and not (live and compares):
            left.append(item)
            continue
        cases = _cases(item)
        chosen = [case for case in cases if not text or case is not item and text in str(case)]
        if live and not needs:
            sampled = [case for case in chosen if zlib.crc32(_name(item, case)) % share == 0]
            unsampled += len(chosen) - len(sampled)
            chosen = sampled
        cases[:] = chosen
        (kept if chosen else unchosen).append(item)
    if left or unchosen:
        config.hook.pytest_deselected(items=left + unchosen)
        items[:] = kept
    config.stash[_LEFT] = [0 if live else len(left), unsampled]


def _cases(item: pytest.Item) -> list[Any]:
    """The cases of a test that runs many (ops/grouped.py), or the test itself; --case and --sample choose from them."""
    return item.callspec.params.get("cases", [item]) if hasattr(item, "callspec") else [item]


def _name(item: pytest.Item, case: Any) -> bytes:
    return (item.nodeid if case is item else f"{item.nodeid} {case}").encode()


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
            f"{unsampled} tests and cases that can use recorded results were left out, because --sample selects one of "
            f"{config.getoption('--sample')}: `make test-dali` runs them"
        )
    if left:
        terminalreporter.write_line(
            f"{left} tests ask DALI itself and were left out: `make test-dali` runs them"
        )
