# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""dump_image: outputs are the inputs, and the files are those that DALI writes."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from harness import Case, Engine, pictures
from recorded import Recorded


@pytest.mark.parametrize("channels", [1, 3])
def test_files(
    channels: int,
    headrace: Engine,
    dali: Engine | Recorded,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = pictures([(4, 5, channels), (3, 2, channels)])
    case = Case("dump_image", [data], {"suffix": "x", "input_layout": "HWC"})
    written, results = [], []
    for engine in (headrace, dali) if isinstance(dali, Engine) else (headrace,):
        folder = tmp_path / engine.name
        folder.mkdir()
        monkeypatch.chdir(folder)
        results.append(engine.run(2, case.define))
        written.append({p.name: p.read_text().split() for p in folder.iterdir()})
    for result in results:
        assert isinstance(result, list), result
        for ours, given in zip(result[0].samples, data.samples, strict=True):
            np.testing.assert_array_equal(ours, given)
    assert written[0] == written[-1]
    assert sorted(written[0]) == ["0-x-0.ppm", "1-x-0.ppm"]
    values = np.array(written[0]["0-x-0.ppm"][4:], int)
    np.testing.assert_array_equal(values, data.samples[0].ravel())


def test_iterations_in_flight(
    headrace: Engine, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All batches write the same files: each file is written as a whole, and that of the last batch remains."""
    monkeypatch.chdir(tmp_path)
    count, size = 12, (120, 90, 3)
    folder = tmp_path / "input"
    folder.mkdir()
    header = f"P6\n{size[1]} {size[0]}\n255\n".encode()
    for i in range(count):
        # earlier batches have more digits to write
        (folder / f"{i:02}.ppm").write_bytes(header + bytes([240 - 20 * i]) * int(np.prod(size)))

    @headrace.root.pipeline_def(batch_size=1, num_threads=4, device_id=None, prefetch_queue_depth=4)
    def pipeline() -> object:
        files = sorted(str(p) for p in folder.iterdir())
        data, _ = headrace.fn.readers.file(files=files)
        return headrace.fn.dump_image(headrace.fn.decoders.image(data))

    for _ in range(5):
        pipe = pipeline()
        pipe.build()
        for _ in range(count):
            pipe.run()
        del pipe  # waits until all files are written
        values = np.array((tmp_path / "0--0.ppm").read_text().split()[4:], int)
        assert len(values) == np.prod(size)
        assert set(values.tolist()) < {
            20,
            240,
            220,
            200,
        }  # of the last batch or of those prefetched
        assert len(set(values.tolist())) == 1
