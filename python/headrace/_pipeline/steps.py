# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What each step of a pipeline makes of some samples, side by side."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from html import escape
from typing import Any

from headrace._base import images
from headrace._base.files import write_whole
from headrace._pipeline import drawing, serialize
from headrace._pipeline.config import integer
from headrace._pipeline.replay import Replay


@dataclass
class Step:
    """An operator, with the batches that it makes."""

    operator: str
    origin: str
    batches: list[Any]


class Steps:
    """The steps of a pipeline. A notebook shows them as a table with a column per sample.

    `samples`: how many are shown; the batches may have more.
    """

    def __init__(
        self, steps: list[Step], samples: int, title: str = "Steps of a pipeline"
    ) -> None:
        self.steps = steps
        self.samples = samples
        self.title = title

    def _repr_html_(self) -> str:
        rows = []
        for step in self.steps:
            for i, batch in enumerate(step.batches):
                output = f" [{i}]" if len(step.batches) > 1 else ""
                where = f"<br><small>{_text(step.origin)}</small>" if step.origin else ""
                few = itertools.islice(batch, self.samples)
                cells = "".join(f"<td>{images.shown(sample)}</td>" for sample in few)
                rows.append(f"<tr><th>{_text(step.operator)}{output}{where}</th>{cells}</tr>")
        names = "".join(f"<td>{name}</td>" for name in self._names())
        style = "text-align:left;border-spacing:8px 2px;overflow-wrap:anywhere"
        head = f"<tr><th></th>{names}</tr>"
        return f'<table class="hr-steps" style="{style}">{head}{"".join(rows)}</table>'

    def _names(self) -> list[str]:
        """The source of each sample, escaped."""
        batches = [batch for step in self.steps for batch in step.batches]
        few = itertools.islice(batches[0], self.samples) if batches else ()
        return [images.label(sample) for sample in few]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table to an HTML file."""
        body = f"<h1>{self.title}</h1>{self._repr_html_()}"
        write_whole(path, page(self.title, body).encode())


def _text(text: str) -> str:
    return escape(text.encode(errors="replace").decode())


def page(title: str, body: str, style: str = "") -> str:
    """A whole HTML file. It may load nothing: its policy allows only what it contains."""
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>body{{font:15px sans-serif;margin:2em}}{style}"
        f"</style></head><body>{body}</body></html>\n"
    )


def copy(pipeline: Any, definition: Any, **arguments: Any) -> Any:
    """Another pipeline with the same graph, which is not built yet.

    Raises:
        RuntimeError: the graph takes data that cannot be taken twice.
    """
    check_copies(definition)
    text = serialize.to_bytes(pipeline._config, definition)
    stored, made = serialize.from_bytes(text)
    twin = _pipeline_class(pipeline)(**{**stored, "enable_checkpointing": False, **arguments})
    twin._take_definition(made)
    return twin


def check_copies(definition: Any) -> None:
    """Raises RuntimeError if the graph takes data that cannot be taken twice."""
    if definition.sources:
        raise RuntimeError("A pipeline with an external source cannot be run a second time.")
    if any(made.function is not None for made in definition.graph.numbers):
        raise RuntimeError("A pipeline with Python functions cannot be run a second time.")


def _pipeline_class(pipeline: Any) -> Any:
    """`Pipeline`, also for an object of a class derived from it, whose arguments are unknown."""
    return next(kind for kind in type(pipeline).__mro__ if "_take_definition" in vars(kind))


def _ancestors(definition: Any) -> list[Any]:
    """The instances that the outputs depend on and that run for every sample, in running order."""
    found: set[Any] = set()
    work = [node.source for node in definition.outputs]
    while work:
        made = work.pop()
        if made not in found:
            found.add(made)
            work += drawing.inputs(made)
    numbers = definition.graph.numbers
    return sorted((made for made in found if made.guard is None), key=lambda made: numbers[made])


def take(pipeline: Any, definition: Any, samples: int, step: int | None = None) -> Steps:
    """Runs a copy of the pipeline for a few samples and keeps what each operator makes.

    `step`: of this batch of its run; None: the first samples.

    Raises:
        RuntimeError: the pipeline cannot be copied, or a sample cannot be processed.
        ValueError: `samples` is below 1.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}.")
    check_copies(definition)
    shown = _ancestors(definition)
    edges = [(definition.graph.numbers[made], i) for made in shown for i in range(made.outputs)]
    if not edges:
        raise RuntimeError("The graph of this pipeline is not known: it was deserialized.")
    if step is None:
        size = min(samples, pipeline.max_batch_size or samples)
        made_batches = _first(pipeline, definition, edges, size)
    else:
        made_batches = _again(pipeline, edges, step)
    size = min(samples, len(made_batches[0]))
    batches = iter(made_batches)
    steps = []
    for made in shown:
        name = "" if made.name.startswith("__") else f" '{made.name}'"
        steps.append(
            Step(made.op + name, made.origin, [next(batches) for _ in range(made.outputs)])
        )
    return Steps(steps, size, "Steps of a pipeline" if step is None else f"Step {step} of a run")


def _first(pipeline: Any, definition: Any, edges: list[Any], size: int) -> list[Any]:
    """The first samples, as a copy of the pipeline makes them."""
    own = None if definition.in_job else size  # a job's follows from its reader
    options = {"batch_size": own, "num_threads": 1, "prefetch_queue_depth": 1}
    twin = copy(pipeline, definition, **options, seed=pipeline.seed)
    twin._definition.graph.core.set_outputs(edges)
    twin._definition.output_count, twin._definition.sink_count = len(edges), 0
    try:
        return [batch.as_cpu() for batch in twin.run()]
    finally:
        twin.close()


def _again(pipeline: Any, edges: list[Any], step: int) -> list[Any]:
    """The samples of a step of the run, made on the CPU."""
    replay = Replay(pipeline, cpu=True, edges=edges)
    try:
        return list(replay.batch(integer("step", step, 0, 2**62)))
    finally:
        replay.close()
