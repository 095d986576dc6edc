# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Text(str):
    """A string of several lines, which the interactive interpreter and notebooks show as they are."""

    def __repr__(self) -> str:
        return str(self)


def call(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def indented(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.splitlines())


def of_graph(numbers: Mapping[Any, int], outputs: Iterable[Any]) -> str:
    """A graph in indented lines: the operators with the numbers of their inputs, and the outputs.

    Args:
        numbers: the calls of operators in the graph, and their numbers.
        outputs: the nodes that the pipeline returns, as far as they are known.
    """
    lines = []
    for made, number in sorted(numbers.items(), key=lambda item: item[1]):
        nodes = [*made.inputs, *made.arg_nodes.values()]
        taken = ", ".join(f"#{numbers[node.source]}" for node in nodes if node.source in numbers)
        place = "" if made.device == "cpu" else f" on {made.device}"
        lines.append(f"#{number} {made.text()}{place}" + (f" of {taken}" if taken else ""))
    if not numbers:
        lines.append("no operators yet")
    returned = [node for node in outputs if getattr(node, "source", None) in numbers]
    if returned:
        lines.append("outputs: " + ", ".join(f"#{numbers[node.source]}" for node in returned))
    return indented("\n".join(lines))
