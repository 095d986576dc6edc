# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Formats tensors and batches as text: elements, type, layout, shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace._base import types

_MOST_SHAPES = 16  # longer lists of shapes are abbreviated
_EDGE = 2  # how many rows, samples or shapes an abbreviated list has at each end


def format_tensor(tensor: Any, show_data: bool = True) -> str:
    """The text of a tensor: its elements (abbreviated by NumPy), type, layout and shape."""
    lines = [_elements(tensor)] if show_data else []
    lines += [*_facts(tensor), f"shape={tuple(tensor.shape())}"]
    return _body(type(tensor).__name__, lines, "")


def format_batch(batch: Any, show_data: bool = True, indent: str = "") -> str:
    """Formats a batch as text: elements, type, layout and shapes. Long lists are abbreviated."""
    lines = []
    if show_data:
        gap = ", " if batch.ndim() == 0 else "," + "\n" * batch.ndim() + "    "
        elements = sum(math.prod(shape) for shape in batch.shape())
        lines = ["[" + gap.join(sample_texts(batch, elements, _elements)) + "]"]
    shapes = [str(shape) for shape in batch.shape()]
    if len(shapes) > _MOST_SHAPES:
        shapes = [*shapes[:_EDGE], "...", *shapes[-_EDGE:]]
    lines += [*_facts(batch), f"num_samples={len(batch)}", f"shape=[{', '.join(shapes)}]"]
    return _body(type(batch).__name__, lines, indent)


def sample_texts(samples: Any, elements: int, text: Callable[[Any], str]) -> list[str]:
    """The texts of the samples; of the first and the last ones only, if NumPy would abbreviate as many elements."""
    import numpy

    count = len(samples)
    if elements <= numpy.get_printoptions()["threshold"] or count <= 2 * _EDGE + 1:
        return [text(samples[i]) for i in range(count)]
    first = [text(samples[i]) for i in range(_EDGE)]
    return [*first, "...", *[text(samples[i]) for i in range(count - _EDGE, count)]]


def _elements(tensor: Any) -> str:
    import numpy

    tensor = tensor.as_cpu()
    if types.is_enum(tensor._dtype):  # shown as integers
        tensor = tensor._view(int(types.INT32), tuple(tensor.shape()), tensor.layout())
    with numpy.printoptions(edgeitems=_EDGE):
        lines = numpy.array2string(numpy.asarray(tensor)).split("\n")
    return "\n".join([lines[0], *(f"    {line}" if line else "" for line in lines[1:])])


def _facts(obj: Any) -> list[str]:
    lines = [f"dtype={obj.dtype}"]
    if obj.layout():
        lines.append(f'layout="{obj.layout()}"')
    lines.append(f'device="{obj._device_name}"')
    return lines


def _body(name: str, lines: list[str], indent: str) -> str:
    text = f"{name}(\n    " + ",\n    ".join(lines) + ")"
    return "\n".join(
        f"{indent}{line}" if line and i else line for i, line in enumerate(text.split("\n"))
    )
