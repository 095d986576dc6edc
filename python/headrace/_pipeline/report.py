# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline.report`: one HTML file about the speed and the data of a pipeline. It loads nothing."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from headrace import _core
from headrace._base.files import write_whole
from headrace._pipeline import drawing, steps
from headrace._pipeline.report_page import SCRIPT, STYLE

_MOST_EVENTS = 20_000
_MOST_ERRORS = 200


def write(pipeline: Any, path: str | os.PathLike[str], batches: int, samples: int) -> None:
    """Writes the report of a pipeline. A copy of it runs for the timeline and the images.

    Raises:
        ValueError: `batches` or `samples` is below 1.
    """
    if batches < 1:
        raise ValueError(f"batches must be at least 1, got {batches}.")
    pipeline.build()
    definition = pipeline._complete_graph()
    stats, verdict, bad = pipeline.stats(), pipeline.explain(), pipeline.errors()
    try:
        images = steps.take(pipeline, definition, samples)._repr_html_()
    except RuntimeError as error:
        images = _missing(error)
    try:
        with tempfile.TemporaryDirectory() as folder:
            events, run = _run_traced(pipeline, definition, batches, Path(folder) / "trace.json")
    except RuntimeError as error:
        timeline = _missing(error)
    else:
        timeline = _timeline(events)
        if stats["iterations"] < 2:  # this pipeline has not run: the copy has
            stats, verdict, bad = run
    sections = [
        ("verdict", "Verdict", f"<pre>{_text(verdict)}</pre>"),
        ("graph", "Graph", drawing.pipeline_svg(definition, pipeline._core)),
        ("operators", "Time per operator", _operators(stats)),
        ("timeline", "Timeline", timeline),
        ("steps", "Samples after each step", images),
        ("bad", "Bad samples", _errors(bad)),
        ("machine", "Machine", _machine(stats)),
    ]
    body = "".join(
        f'<section id="{i}"><h2>{name}</h2>{text}</section>' for i, name, text in sections
    )
    body = f"<h1>Report of a pipeline</h1>{body}<script>{SCRIPT}</script>"
    write_whole(path, steps.page("Headrace report", body, STYLE).encode())


def _text(text: str) -> str:
    return escape(text.encode(errors="replace").decode())


def _missing(error: RuntimeError) -> str:
    return f"<p>Not available: {_text(str(error))}</p>"


def _run_traced(pipeline: Any, definition: Any, batches: int, file: Path) -> tuple[Any, Any]:
    """The events of a copy of the pipeline in some iterations, and its counters, verdict and errors."""
    twin = steps.copy(pipeline, definition, trace=str(file), seed=pipeline.seed)
    try:
        for _ in range(batches):
            try:
                twin.run()
            except StopIteration:
                twin.reset()
            except RuntimeError:  # a bad sample: it is among the errors
                continue
        found = twin.stats(), twin.explain(), twin.errors()
    finally:
        twin.close()
    return json.loads(file.read_text(errors="replace"))["traceEvents"], found


def _table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _operators(stats: dict[str, Any]) -> str:
    made = sorted(stats["operators"], key=lambda one: -one["seconds"])
    total = sum(one["seconds"] for one in made) or 1.0
    rows = [
        [
            one["node"],
            f"{one['samples']:,}",
            f"{one['seconds']:.3f}",
            f"{one['seconds'] / one['samples'] * 1e6:.1f}" if one["samples"] else "",
            f"{100 * one['seconds'] / total:.1f} %",
        ]
        for one in made
    ]
    heads = ["operator", "samples", "seconds", "µs per sample", "share"]
    note = (
        "<p>The time of the workers. A fused chain is counted at its decoder and at its last operator; "
        "for work on the GPU see the timeline.</p>"
    )
    return _table(heads, rows) + note


def _timeline(events: list[dict[str, Any]]) -> str:
    threads = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    events = [event for event in events if event["ph"] == "X"]
    names: dict[str, int] = {}
    boxes = []
    for event in events[:_MOST_EVENTS]:
        number = names.setdefault(event["name"], len(names))
        args = event["args"]
        place = [event["ts"], event["dur"], args.get("iteration", 0), args.get("sample", 0)]
        boxes.append([event["tid"], number, *place])
    rest = len(events) - len(boxes)
    left = f" The first {len(boxes):,} of {len(events):,} events are shown." if rest else ""
    data = json.dumps({"names": list(names), "threads": threads, "boxes": boxes})
    for char in "<>&":  # so that no name can end the script element
        data = data.replace(char, f"\\u{ord(char):04x}")
    return (
        "<p>One row per worker, and one for the GPU. Turn the wheel to zoom, drag to move, double-click to see all."
        f'{left}</p><canvas id="lanes"></canvas><p id="hint">&nbsp;</p>'
        f'<script type="application/json" id="trace">{data}</script>'
    )


def _errors(bad: list[dict[str, Any]]) -> str:
    if not bad:
        return "<p>None.</p>"
    heads = ["iteration", "index", "source", "operator", "message", "action"]
    rows = [[str(one.get(name, "")) for name in heads] for one in bad[:_MOST_ERRORS]]
    rest = len(bad) - len(rows)
    return _table(heads, rows) + (f"<p>and {rest:,} more</p>" if rest else "")


def _machine(stats: dict[str, Any]) -> str:
    facts = {
        "system": platform.platform(),
        "Python": platform.python_version(),
        "Headrace": _core.version(),
        "workers": stats["threads"],
        **json.loads(_core.doctor_json()),
    }
    rows = [
        [name.replace("_", " "), str(value)]
        for name, value in facts.items()
        if not isinstance(value, (dict, list)) and value != ""
    ]
    return _table(["", ""], rows)
