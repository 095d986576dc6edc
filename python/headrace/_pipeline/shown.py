# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What notebooks show of a pipeline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headrace._pipeline import text

if TYPE_CHECKING:
    from headrace._pipeline.steps import Steps


class Shown:
    """The part of `Pipeline` that shows it."""

    _core: Any
    _complete_graph: Any
    _config: Any
    _graph: Any
    _graph_out: tuple[Any, ...]
    _definition: Any

    def __repr__(self) -> str:
        """The arguments and the graph so far. A graph that `define_graph` makes is there once it is built."""
        try:
            config, definition = self._config, self._definition
        except AttributeError:  # the constructor has failed
            return f"<{type(self).__name__} without arguments>"
        facts = {
            "batch_size": config.max_batch_size,
            "num_threads": config.num_threads,
            "device_id": config.device_id,
        }
        head = text.call(type(self).__name__, facts)
        if definition is None:
            return head + text.of_graph(self._graph.numbers, self._graph_out)
        if definition.outputs:
            return head + text.of_graph(definition.graph.numbers, definition.outputs)
        plan = "deserialized, and not built yet" if self._core is None else self._core.describe()
        return head + text.indented(plan)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the graph. Once built, fused operators are marked."""
        try:
            definition = self._complete_graph()
        except NotImplementedError:  # no outputs yet
            return None
        from headrace._pipeline import drawing  # loads `html`

        return drawing.pipeline_svg(definition, self._core)

    def show(self, samples: int = 4, step: int | None = None) -> Steps:
        """Returns what each operator makes of some samples: a table in a notebook, or `save` it as HTML.

        A copy of the pipeline runs, without fusion, so this one does not advance. Operators in
        branches of conditionals are left out.

        Args:
            samples: how many, at most.
            step: number of the batch of the run that the samples are from (see `batch`), which is
                made on the CPU; None: the first samples.

        Raises:
            ValueError: `samples` is below 1.
            RuntimeError: the pipeline has external sources or Python functions, or a sample cannot
                be processed.
        """
        from headrace._pipeline import steps

        return steps.take(self, self._complete_graph(), samples, step)

    def report(self, path: str | os.PathLike[str], batches: int = 20, samples: int = 4) -> None:
        """Writes an HTML file: verdict, graph, time per operator, timeline, samples, bad files.

        The counters are those of this pipeline if it has run, else of a copy. The timeline and the
        samples are always of a copy; for a pipeline that `show` refuses they are missing.

        Args:
            path: file to write.
            batches: iterations that the copy runs.
            samples: samples to show after each step.

        Raises:
            ValueError: `batches` or `samples` is below 1.
        """
        from headrace._pipeline import report

        report.write(self, path, batches, samples)
