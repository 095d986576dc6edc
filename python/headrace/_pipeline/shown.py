# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What notebooks show of a pipeline."""

from __future__ import annotations

from typing import Any

from headrace._pipeline import drawing


class Shown:
    """The part of `Pipeline` that shows it."""

    _core: Any
    _complete_graph: Any

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the graph. Once built, fused operators are marked."""
        try:
            definition = self._complete_graph()
        except NotImplementedError:  # no outputs yet
            return None
        return drawing.pipeline_svg(definition, self._core)
