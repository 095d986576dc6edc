# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Shared by several test files: pictures, and Python processes to interrupt or to crash."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import twice
from waiting import HANG_S

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def photos_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEGs in 3 class folders; tests must not change them."""
    from photos import fill

    return fill(tmp_path_factory.mktemp("photos") / "root")


@pytest.fixture(scope="session")
def live_dali() -> ModuleType:
    """DALI itself. Tests that use it run only with --dali."""
    return twice.dali()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--record"):
        twice.save()


def child_command(source: str, *arguments: Any) -> list[str]:
    return [sys.executable, "-W", "ignore", "-c", textwrap.dedent(source), *map(str, arguments)]


def child_environment(**more: str) -> dict[str, str]:
    """The environment of a child process, which can import the package and the helpers of the tests."""
    import headrace

    package = str(Path(headrace.__file__).parents[1])
    paths = [package, str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.Popen[str]]:
    """Starts a Python program in a temporary folder: start(source, *arguments, **environment)."""
    folder = tmp_path_factory.mktemp("children")

    def run(source: str, *arguments: Any, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            child_command(source, *arguments),
            cwd=folder,
            env=child_environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    return run


@pytest.fixture(scope="session")
def child(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Runs a Python program and returns its output. Fails if the program fails or hangs."""

    def run(source: str, *arguments: Any, code: int = 0, **environment: str) -> str:
        process = start(source, *arguments, **environment)
        try:
            output, _ = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"the child hung: {process.communicate()[0][-2000:]}")
        assert process.returncode == code, output[-3000:]
        return output

    return run
