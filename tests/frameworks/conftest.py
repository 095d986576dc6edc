# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files for the tests of several frameworks."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files with the bytes i, 2 i, as many as the SAMPLES of the module; sample i has the label i."""
    root = tmp_path_factory.mktemp("files")
    for i in range(request.module.SAMPLES):
        (root / f"{i:02}").write_bytes(bytes([i, 2 * i]))
    return [str(path) for path in sorted(root.iterdir())]
