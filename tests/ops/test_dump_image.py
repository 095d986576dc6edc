# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""dump_image: the pictures go through, and lie in files as DALI's do."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from harness import Case, Engine, pictures


@pytest.mark.parametrize("channels", [1, 3])
def test_files(
    channels: int,
    headrace: Engine,
    dali: Engine,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = pictures([(4, 5, channels), (3, 2, channels)])
    case = Case("dump_image", [data], {"suffix": "x", "input_layout": "HWC"})
    written, results = [], []
    for engine in (headrace, dali):
        folder = tmp_path / engine.name
        folder.mkdir()
        monkeypatch.chdir(folder)
        results.append(engine.run(2, case.define))
        written.append({p.name: p.read_text().split() for p in folder.iterdir()})
    assert isinstance(results[0], list) and isinstance(results[1], list)
    for ours, theirs in zip(results[0][0].samples, results[1][0].samples, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert written[0] == written[1]
    assert sorted(written[0]) == ["0-x-0.ppm", "1-x-0.ppm"]
    values = np.array(written[0]["0-x-0.ppm"][4:], int)
    np.testing.assert_array_equal(values, data.samples[0].ravel())
