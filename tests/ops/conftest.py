# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Fixtures: the engines that are compared."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("harness")

import pool  # noqa: E402
from harness import Engine  # noqa: E402
from recorded import Recorded, Unrecorded, oracle  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def files_go_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Operators that write files write them into a temporary folder."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("written"))
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators that write files (dump_image) write them to the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def dali(pytestconfig: pytest.Config) -> Engine | Recorded:
    """The reference: DALI with --dali, otherwise its recorded results."""
    return oracle(live=pytestconfig.getoption("--dali"))


@pytest.fixture(scope="session")
def live_dali() -> Engine:
    """DALI itself. Tests that use it run only with --dali."""
    return Engine("nvidia.dali")


@pytest.fixture(scope="session")
def headrace() -> Engine:
    """The installed Headrace."""
    return Engine("headrace")


@pytest.fixture(scope="session")
def workers() -> Iterator[pool.Kept]:
    """Processes for jobs, which all tests of this process use in turn."""
    kept = pool.Kept()
    yield kept
    kept.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skips a case that is too new to be recorded; `record.py --check` then fails."""
    try:
        return (yield)
    except Unrecorded as error:
        pytest.skip(str(error))
