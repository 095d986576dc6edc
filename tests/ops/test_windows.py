# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""dilate, erode and median_blur against NumPy on the windows themselves, and against OpenCV where it has the same."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import grouped
from cases_windows import OURS, REFUSED
from harness import Case, Data, Engine, Failure, exact, pictures

PADDING = {"replicate": "edge", "reflect": "symmetric", "reflect_101": "reflect", "wrap": "wrap"}
CHOICES = {"experimental.dilate": np.max, "experimental.erode": np.min, "experimental.median_blur": np.median}


def pair(value: Any, sample: int, frame: int) -> list[int]:
    """An argument for one frame, as two numbers."""
    if isinstance(value, Data):
        value = value.samples[sample]
        value = value[frame] if np.ndim(value) == 2 else value
    return [int(v) for v in np.broadcast_to(value, 2)]


def chosen(plane: np.ndarray, case: Case, sample: int, frame: int) -> np.ndarray:
    """The result for one channel, from all its windows."""
    (h, w), args = plane.shape, case.args
    border = args.get("border_mode", "constant").lower()
    if case.op == "experimental.median_blur":
        width, height = pair(args.get("window_size", 3), sample, frame)
        left, up, border = width // 2, height // 2, "replicate"
    else:
        sizes = [3 if v == -1 else v for v in pair(args.get("mask_size", 3), sample, frame)]
        anchors = pair(args.get("anchor", -1), sample, frame)
        times = args.get("iterations", 1)
        left, up = (times * (s // 2 if a == -1 else a) for a, s in zip(anchors, sizes, strict=True))
        width, height = (times * (s - 1) + 1 for s in sizes)
    right, down = width - 1 - left, height - 1 - up
    if case.op != "experimental.median_blur":  # what is further away has been seen
        left, right = (min(v, 2 * w) for v in (left, right))
        up, down = (min(v, 2 * h) for v in (up, down))
    reach = ((up, down), (left, right))
    if border == "constant":
        lowest = case.op == "experimental.dilate"
        kind = plane.dtype.kind
        ends = (-np.inf, np.inf) if kind == "f" else (np.iinfo(plane.dtype).min, np.iinfo(plane.dtype).max)
        padded = np.pad(plane, reach, constant_values=ends[0 if lowest else 1])
    else:
        padded = np.pad(plane, reach, PADDING[border])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (up + down + 1, left + right + 1))
    return CHOICES[case.op](windows, axis=(2, 3)).astype(plane.dtype)


def expected(data: Data, case: Case, sample: int) -> np.ndarray:
    """The result for a sample, plane by plane."""
    picture, layout = data.samples[sample], data.layout
    axes = [layout.index(letter) for letter in "FC" if letter in layout]
    planes = np.moveaxis(picture, axes, range(len(axes)))
    out = np.empty_like(planes)
    for at in np.ndindex(planes.shape[:-2]):
        out[at] = chosen(planes[at], case, sample, at[0] if "F" in layout else 0)
    return np.moveaxis(out, range(len(axes)), axes)


@grouped.by_operator(OURS)
def test_windows(cases: list[Case], headrace: Engine) -> None:
    grouped.run(cases, lambda case: check(case, headrace))


def check(case: Case, headrace: Engine) -> None:
    """Compares a result with NumPy's."""
    result = headrace.result(case)
    assert not isinstance(result, Failure), result
    assert result[0].layout == case.inputs[0].layout
    for i, ours in enumerate(result[0].samples):
        exact(ours, expected(case.inputs[0], case, i))


@pytest.mark.parametrize("op", ["dilate", "erode"])
@pytest.mark.parametrize("size", [(3, 3), (4, 7), (1, 2)])
def test_morphology_of_opencv(op: str, size: tuple[int, int], headrace: Engine) -> None:
    data = pictures([(37, 41, 3), (50, 20, 3)])
    for border, flag in (("constant", cv2.BORDER_CONSTANT), ("reflect_101", cv2.BORDER_REFLECT_101)):
        anchor, window = (0, size[1] - 1), np.ones(size[::-1], np.uint8)
        args = {"mask_size": list(size), "anchor": list(anchor), "iterations": 2, "border_mode": border}
        result = headrace.result(Case("experimental." + op, [data], args))
        for ours, picture in zip(result[0].samples, data.samples, strict=True):
            exact(ours, getattr(cv2, op)(picture, window, anchor=anchor, iterations=2, borderType=flag))


@pytest.mark.parametrize("size", [3, 5, 9, 21])
def test_median_of_opencv(size: int, headrace: Engine) -> None:
    data = pictures([(37, 41, 3), (50, 20, 3)])
    result = headrace.result(Case("experimental.median_blur", [data], {"window_size": size}))
    for ours, picture in zip(result[0].samples, data.samples, strict=True):
        exact(ours, cv2.medianBlur(picture, size))


@pytest.mark.parametrize(("case", "text"), REFUSED, ids=str)
def test_refused(case: Case, text: str, headrace: Engine) -> None:
    result = headrace.result(case)
    assert isinstance(result, Failure)
    assert text in result.message


def test_types(headrace: Engine) -> None:
    result = headrace.result(Case("experimental.dilate", [pictures([(5, 6, 3)], "float64")], {}))
    assert isinstance(result, Failure)
    assert "the input is FLOAT64; it must be UINT8, UINT16, INT32 or FLOAT" in result.message
