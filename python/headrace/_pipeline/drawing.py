# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The graph of a pipeline as SVG. Colours are devices, and a thick border marks fused operators."""

from __future__ import annotations

import re
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 230, 44, 24, 36
_FILL = {"cpu": "#dbeafe", "mixed": "#fef3c7", "gpu": "#dcfce7"}
_FUSED_NODE = re.compile(r"^ {4,}.* #(\d+)(?: \([^()]*\))?$")


def fused_nodes(description: str) -> set[int]:
    """The numbers of the nodes in fused chains, from the text of `Pipeline.describe`."""
    found: set[int] = set()
    inside = False
    for line in description.splitlines():
        if line.strip() == "fused:":
            inside = True
        elif inside and (match := _FUSED_NODE.match(line)):
            found.add(int(match[1]))
        else:
            inside = False
    return found


def inputs(instance: Any) -> list[Any]:
    nodes = [*instance.inputs, *instance.arg_nodes.values()]
    if instance.guard:
        nodes.append(instance.guard[0])
    return [node.source for node in nodes]


def _rows(numbers: dict[Any, int]) -> list[list[Any]]:
    """The instances by the length of the longest path to them. Inputs precede their users."""
    depth: dict[Any, int] = {}
    for instance in sorted(numbers, key=lambda made: numbers[made]):
        depth[instance] = 1 + max((depth.get(made, -1) for made in inputs(instance)), default=-1)
    rows: list[list[Any]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for instance, row in depth.items():
        rows[row].append(instance)
    return rows


def _clean(text: str) -> str:
    """Text for SVG: escaped, without control characters and lone surrogates, of limited length."""
    text = text if len(text) <= 28 else f"{text[:14]}…{text[-13:]}"
    return escape("".join(c if c.isprintable() else "�" for c in text))


def _box(instance: Any, x: int, y: int, fused: bool) -> str:
    border = ("#b45309", 3) if fused else ("#64748b", 1)
    name = "" if instance.name.startswith("__") else f" '{instance.name}'"
    where = [instance.device, *(["fused"] if fused else []), instance.origin]
    return (
        f'<g class="hr-node"><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="{_FILL.get(instance.device, "#fff")}" stroke="{border[0]}" '
        f'stroke-width="{border[1]}"/>'
        f'<text x="{x + 8}" y="{y + 18}" font-weight="bold">{_clean(instance.op + name)}</text>'
        f'<text x="{x + 8}" y="{y + 35}" font-size="11">'
        f"{_clean(', '.join(filter(None, where)))}</text></g>"
    )


def graph_svg(numbers: dict[Any, int], outputs: set[Any], fused: set[int]) -> str:
    """The graph as an `<svg>` element.

    Args:
        numbers: the instances and the numbers of their nodes.
        outputs: the instances that make outputs of the pipeline.
        fused: numbers of nodes that run together with others.
    """
    rows = _rows(numbers)
    if not rows:
        return "<p>The graph has no operators.</p>"
    place = {
        made: (10 + x * (_WIDTH + _GAP_X), 10 + y * (_HEIGHT + _GAP_Y))
        for y, row in enumerate(rows)
        for x, made in enumerate(row)
    }
    parts = []
    for made, (x, y) in place.items():
        for source in inputs(made):
            x0, y0 = place.get(source, (x, y))
            parts.append(
                f'<line x1="{x0 + _WIDTH // 2}" y1="{y0 + _HEIGHT}" x2="{x + _WIDTH // 2}" '
                f'y2="{y}" stroke="#94a3b8" stroke-width="1.5"/>'
            )
    for made, (x, y) in place.items():
        parts.append(_box(made, x, y, numbers[made] in fused))
        if made in outputs:
            parts.append(
                f'<text x="{x + _WIDTH - 8}" y="{y + _HEIGHT + 14}" text-anchor="end" '
                'font-size="11" fill="#b91c1c">output ↓</text>'
            )
    width = 20 + max(map(len, rows)) * (_WIDTH + _GAP_X)
    height = 30 + len(rows) * (_HEIGHT + _GAP_Y)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" '
        f'style="background:#fff;color:#000">{"".join(parts)}</svg>'
        "<p>Blue: CPU; yellow: mixed; green: GPU. A thick border: fused with its neighbours.</p>"
    )


def pipeline_svg(definition: Any, core: Any) -> str:
    """The graph of a definition. `core` is the engine that runs it, or None."""
    fused = fused_nodes(core.describe()) if core is not None else set()
    return graph_svg(definition.graph.numbers, {node.source for node in definition.outputs}, fused)
