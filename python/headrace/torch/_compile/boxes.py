# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms of boxes alone: ClampBoundingBoxes, SanitizeBoundingBoxes, ConvertBoundingBoxFormat."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.torch._compile.companions import Companion, call
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import rule


def changed(state: State, name: str, **arguments: Any) -> None:
    """Calls an operator on the boxes."""

    def of(other: Companion) -> Companion:
        if other.what != "boxes":
            return other
        return dataclasses.replace(other, node=call(name, other.node, **arguments))

    if not state.has("boxes"):
        raise Unsupported("the sample has no boxes")
    state.others = tuple(map(of, state.others))


@rule("ClampBoundingBoxes")
def clamp(transform: Any, state: State) -> None:
    if getattr(transform, "clamping_mode", "auto") is None:
        raise Unsupported("`clamping_mode` is None")
    changed(state, "clamp_boxes")


@rule("SanitizeBoundingBoxes")
def sanitize(transform: Any, state: State) -> None:
    if state.has("mask"):
        raise Unsupported("it removes masks of boxes")
    sizes = {"min_size": float(transform.min_size)}
    sizes["min_area"] = float(getattr(transform, "min_area", 1.0))
    changed(state, "sanitize_boxes", **sizes)


@rule("ConvertBoundingBoxFormat")
def convert(transform: Any, state: State) -> None:
    form = str(getattr(transform.format, "name", transform.format)).upper()
    if form not in ("XYXY", "XYWH", "CXCYWH"):
        raise Unsupported(f"boxes of format {form}")
    state.others = tuple(
        dataclasses.replace(other, format=form) if other.what == "boxes" else other
        for other in state.others
    )
