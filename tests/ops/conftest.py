# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The two engines that are compared, and where real pictures lie."""

from __future__ import annotations

import os
import pathlib

import pytest

pytest.register_assert_rewrite("harness")

from harness import Engine  # noqa: E402


@pytest.fixture(autouse=True)
def own_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators that write files (dump_image) write them to the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def dali() -> Engine:
    """Live DALI, the oracle; without it the comparison is skipped."""
    pytest.importorskip("nvidia.dali")
    return Engine("nvidia.dali")


@pytest.fixture(scope="session")
def headrace() -> Engine:
    """Headrace as installed."""
    pytest.importorskip("headrace")
    return Engine("headrace")


@pytest.fixture(scope="session")
def photographs() -> list[pathlib.Path]:
    """A few real JPEG files, from HEADRACE_TEST_DATA or ../shared/data/imagenet-250."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = os.environ.get("HEADRACE_TEST_DATA", root / "../shared/data/imagenet-250")
    files = sorted(pathlib.Path(folder).rglob("*.JPEG"))[::10][:25]
    if not files:
        pytest.skip("no photographs: set HEADRACE_TEST_DATA to a folder of class folders")
    return files
