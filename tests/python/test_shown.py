# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What pipelines print of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn, pipeline_def  # noqa: E402
from headrace.types import FLOAT  # noqa: E402


def lines(pipe: Pipeline) -> list[str]:
    """The text, with this file's name for the places of calls."""
    return re.sub(r"\(\S*test_shown.py:\d+\)", "(HERE)", repr(pipe)).splitlines()


def test_a_pipeline_prints_its_graph() -> None:
    head = "Pipeline(batch_size=2, num_threads=1, device_id=None)"
    with Pipeline(2, 1, None) as pipe:
        assert lines(pipe) == [head, "  no operators yet"]
        x = fn.random.uniform(range=[0, 1], shape=[2], name="draw")
        assert lines(pipe) == [head, "  #0 random.uniform 'draw' (HERE)"]
        y = fn.cast(x, dtype=FLOAT)
        z = fn.normalize(y, mean=x)
        pipe.set_outputs(z, y)
    graph = [
        head,
        "  #0 random.uniform 'draw' (HERE)",
        "  #1 cast (HERE) of #0",
        "  #2 normalize (HERE) of #1, #0",
        "  outputs: #2, #1",
    ]
    assert lines(pipe) == graph
    text = str(pipe)
    pipe.build()
    assert lines(pipe) == graph and str(pipe) == text == repr(pipe)
    again = Pipeline.deserialize(pipe.serialize())
    again.build()
    assert lines(again)[0] == head and "  outputs: #2, #1" in lines(again)


def test_printing_defines_nothing() -> None:
    calls = []

    class Own(Pipeline):
        def define_graph(self) -> object:
            calls.append(1)
            return fn.random.uniform(range=[0, 1])

    own = Own(2, 1, None)
    assert lines(own) == ["Own(batch_size=2, num_threads=1, device_id=None)", "  no operators yet"]
    assert calls == []
    own.build()
    assert lines(own)[1:] == ["  #0 random.uniform (HERE)", "  outputs: #0"]

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def made() -> object:
        return fn.random.uniform(range=[0, 1])

    assert lines(made())[1:] == ["  #0 random.uniform (HERE)", "  outputs: #0"]


def test_no_secrets(tmp_path: Path) -> None:
    with Pipeline(2, 1, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=["http://u:S3CRET@host/x?sig=S3CRET"])[0])
    assert "S3CRET" not in repr(pipe) and "readers.file" in repr(pipe)


def test_explain_is_a_table() -> None:
    """One row per operator, with columns that are aligned; the interpreter shows it as it is."""
    with Pipeline(2, 1, None) as pipe:
        x = fn.random.uniform(range=[0, 1], shape=[2])
        pipe.set_outputs(fn.cast(x, dtype=FLOAT, name="a_long_name" * 4))
    for _ in range(5):
        pipe.run()
    text = pipe.explain()
    assert repr(text) == text and isinstance(text, str)
    start = text.splitlines().index("") + 1
    header, *rows = text.splitlines()[start:]
    assert re.split(r"  +", header) == ["operator", "us per sample", "% of the workers' time"]
    assert len(rows) == 2 and {len(row) for row in rows} == {len(header)}
    stats = pipe.stats()["operators"]
    for row, operator in zip(rows, stats, strict=True):
        name, cost, share = re.split(r"  +", row)
        assert name == operator["node"] and float(cost) >= 0 and 0 <= float(share) <= 100
