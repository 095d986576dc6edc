# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Arguments and inputs that make no sense: a result or an error that says what is wrong, never a crash (see fuzz.py)."""

from __future__ import annotations

import pytest

pytest.importorskip("headrace._schema")

import fuzz  # noqa: E402


@pytest.fixture(scope="session")
def wrong(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """Of the operators that are asked for, all in one go over the worker processes."""
    items = [item for item in request.session.items if item.fspath.basename == "test_hostile.py"]
    return fuzz.results([item.callspec.params["name"] for item in items])


@pytest.mark.parametrize("name", fuzz.names())
def test_senseless(name: str, wrong: dict[str, list[str]]) -> None:
    assert not wrong[name], "\n".join(wrong[name][:20])
