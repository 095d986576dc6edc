# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators that change shapes and layouts, and of those that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases_generic import TYPES, enum
from harness import Case, Data, pictures

ROWS = pictures([(2, 3, 4), (4, 3, 4)], layout="ABC")
PLAIN = Data(ROWS.samples)
ONES = Data([np.zeros((1, 3, 1, 4), np.uint8), np.ones((1, 2, 1, 4), np.uint8)], "ABCD")


def ints(*values: Any, dtype: Any = np.int32) -> Data:
    """One list of integers a sample."""
    return Data([np.array(v, dtype) for v in values])


def floats(*values: Any, dtype: Any = np.float32) -> Data:
    """One list of floats a sample."""
    return Data([np.array(v, dtype) for v in values])


def view_cases() -> list[Case]:
    reshape: list[dict[str, Any]] = [
        {"shape": [-1, 4]},
        {"shape": -1},
        {"shape": [-2, 4]},
        {"shape": [-1, 4, 3]},
        {"shape": [-1, 12], "layout": "XY"},
        {"rel_shape": [1, -1]},
        {"rel_shape": [0.5, 1, 2]},
        {"rel_shape": [-2, 1]},
        {"rel_shape": [0.3, -1]},
        {"rel_shape": [1, 1, 1, -1]},
        {"layout": "XYZ"},
        {"layout": ""},
        {"src_dims": [1, 0, 2]},
        {"src_dims": [1, 0], "rel_shape": [1, -1]},
        {"src_dims": [0, -1, 1, 2], "layout": "AXBC"},
    ]
    cases = [Case("reshape", [ROWS], args) for args in reshape]
    cases += [
        Case("reshape", [PLAIN], {"shape": ints([6, 4], [12, 4])}),
        Case("reshape", [PLAIN], {"rel_shape": floats([1, -1], [1, -1])}),
        Case("reshape", [PLAIN], {"src_dims": [0, -1, 1, 2]}),
        Case("reshape", [PLAIN], {"src_dims": ints([1, 0, 2], [0, 2, 1]), "rel_shape": [1, 1, -1]}),
        Case("reshape", [PLAIN, ints([6, 4], [12, 4])], {}),
        Case("reshape", [PLAIN, ints([6, -1], [12, -1], dtype=np.int64)], {}),
        Case("reshape", [PLAIN, ints([6, 4], [12, 4])], {"layout": "PQ"}),
        Case("reshape", [Data([np.zeros((1, 1))])], {"shape": []}),
        Case("reshape", [Data([np.zeros((0, 3))])], {"shape": [-1, 3]}),
        Case("reshape", [Data([np.zeros((4, 2))])], {"rel_shape": [0.5, 2]}),
        Case("reshape", [Data([np.zeros((4, 2))])], {"rel_shape": [-1, 0.5]}),
    ]
    reinterpret: list[dict[str, Any]] = [
        {"dtype": "types.INT32"},
        {"dtype": "types.UINT16"},
        {"dtype": "types.BOOL"},
        {"dtype": "types.INT32", "shape": [2, -1]},
        {"dtype": "types.UINT16", "rel_shape": [1, 1, 0.5]},
        {"dtype": "types.INT16", "src_dims": [1, 0, 2]},
        {"rel_shape": [1, -1]},
        {"layout": "QRS"},
    ]
    data = Data([s & 1 for s in ROWS.samples], "ABC")
    cases += [Case("reinterpret", [data], args) for args in reinterpret]
    pairs = ints([1, 2], [3, 4])
    cases += [
        Case("reinterpret", [pairs], {"dtype": "types.UINT8", "layout": "Q"}),
        Case("reinterpret", [pairs], {"dtype": "types.UINT8", "rel_shape": [4]}),
        Case("reinterpret", [ints(1, 2)], {"dtype": "types.FLOAT"}),
        Case("reinterpret", [PLAIN, ints([6, 1], [12, 1])], {"dtype": "types.UINT32"}),
        Case("reinterpret", [PLAIN], {"shape": ints([6, 4], [12, 4])}),
        Case(
            "reinterpret",
            [PLAIN],
            {"src_dims": ints([1, 0], [0, 2]), "rel_shape": floats([1, -1], [1, -1])},
        ),
    ]
    for args in (
        {"axes": [0, 2]},
        {"axes": 0},
        {"axis_names": "AC"},
        {"axes": [-2]},
        {"axes": [4]},
        {"axes": []},
        {"axis_names": ""},
    ):
        cases.append(Case("squeeze", [ONES], args))
    cases.append(Case("squeeze", [Data(ONES.samples)], {"axes": [0]}))
    cases.append(Case("squeeze", [Data([np.zeros((1, 1))], "AB")], {"axes": [0, 1]}))
    cases.append(Case("squeeze", [Data([np.zeros((0, 1))], "AB")], {"axes": [1]}))
    for axes in ([0], [1], [3], [0, 1], [0, 2], [1, 0], [3, 4], [0, 4], [], 0):
        cases.append(Case("expand_dims", [ROWS], {"axes": axes}))
    cases += [
        Case("expand_dims", [ROWS], {"axes": [0], "new_axis_names": "X"}),
        Case("expand_dims", [ROWS], {"axes": [0, 2], "new_axis_names": "XY"}),
        Case("expand_dims", [ROWS], {"axes": [2, 0], "new_axis_names": "XY"}),
        Case("expand_dims", [ROWS], {"axes": [0], "new_axis_names": "A"}),
        Case("expand_dims", [ints(1, 2)], {"axes": [0, 1], "new_axis_names": "XY"}),
        Case("expand_dims", [PLAIN], {"axes": [1]}),
        Case("per_frame", [PLAIN], {}),
        Case("per_frame", [Data(ROWS.samples, "FHW")], {}),
        Case("per_frame", [ROWS], {"replace": True}),
        Case("per_frame", [PLAIN], {"replace": True}),
        Case("per_frame", [ints([1], [2])], {}),
    ]
    video = Data([s.reshape(-1, 2, 3, 2) for s in ROWS.samples], "FHWC")
    for args in ({"element_map": [0, 1, 1]}, {"element_map": [1]}, {"element_map": 1}):
        cases.append(Case("element_extract", [video], args))
    cases.append(Case("element_extract", [PLAIN], {"element_map": [1, 0]}))
    for dtype in TYPES:
        image = pictures([(2, 3, 4), (4, 1, 4)], dtype, "HWC")
        cases.append(Case("reshape", [image], {"shape": [4, -1]}))
        cases.append(Case("expand_dims", [image], {"axes": [1], "new_axis_names": "D"}))
        cases.append(Case("element_extract", [Data(image.samples)], {"element_map": [1, 0]}))
    return cases


def fact_cases() -> list[Case]:
    cases = [
        Case("get_property", [ROWS], {"key": "layout"}),
        Case("get_property", [PLAIN], {"key": "layout"}),
        Case("get_property", [ROWS], {"key": "source_info"}),
    ]
    for source in TYPES:
        target = pictures([(3,), (2,)], TYPES[(TYPES.index(source) + 5) % 12], "")
        cases.append(Case("cast_like", [pictures([(2, 3), (1, 4)], source, "AB"), target], {}))
    return cases


VIEW_ERRORS = [
    Case("reshape", [ROWS], {"shape": [-1, -1]}),
    Case("reshape", [ROWS], {"shape": [3, 3]}),
    Case("reshape", [ROWS], {"rel_shape": [1, 1, 1, 1]}),
    Case("reshape", [ROWS], {"rel_shape": [1]}),
    Case("reshape", [ROWS], {"layout": "XY"}),
    Case("reshape", [ROWS], {}),
    Case("reshape", [ROWS], {"src_dims": [0, 1]}),
    Case("reshape", [ROWS], {"src_dims": [1, 1]}),
    Case("reshape", [ROWS], {"src_dims": [0, 5]}),
    Case("reshape", [ROWS], {"src_dims": [1, 0, 2], "rel_shape": [1, 1]}),
    Case("reshape", [ROWS], {"shape": [24], "rel_shape": [1]}),
    Case("reshape", [PLAIN, ints([6, 4], [12, 4])], {"shape": [1]}),
    Case("reshape", [PLAIN, floats([6, 4], [12, 4])], {}),
    Case("reshape", [PLAIN, ints(24, 48)], {}),
    Case("reshape", [PLAIN], {"shape": [0, 4]}),
    Case("reshape", [Data([np.zeros((0, 3))])], {"shape": [-1, 0]}),
    Case("reshape", [PLAIN], {"shape": [2**31 - 1] * 3}),
    Case("reshape", [PLAIN], {"shape": ints([6, 4], [48])}),
    Case("reinterpret", [ROWS], {"dtype": "types.INT64"}),
    Case("reinterpret", [ROWS], {}),
    Case("reinterpret", [ROWS], {"dtype": "types.INT32", "shape": [24]}),
    Case("reinterpret", [ROWS], {"dtype": "types.INT32", "src_dims": [0, 1]}),
    Case("reinterpret", [ROWS], {"dtype": "types.INT16", "src_dims": [2, 0, 1]}),
    Case("squeeze", [ONES], {"axes": [1]}),
    Case("squeeze", [ONES], {}),
    Case("squeeze", [ONES], {"axes": [0, 0]}),
    Case("squeeze", [ONES], {"axes": [0], "axis_names": "A"}),
    Case("squeeze", [ONES], {"axis_names": "Z"}),
    Case("squeeze", [Data(ONES.samples)], {"axis_names": "A"}),
    Case("squeeze", [Data([np.zeros((0, 1))], "AB")], {"axes": [0]}),
    Case("expand_dims", [ROWS], {"axes": [4]}),
    Case("expand_dims", [ROWS], {"axes": [-1]}),
    Case("expand_dims", [ROWS], {"axes": [0, 0]}),
    Case("expand_dims", [ROWS], {"axes": [0, 5]}),
    Case("expand_dims", [ROWS], {"axes": [0, 1], "new_axis_names": "X"}),
    Case("expand_dims", [PLAIN], {"axes": [0], "new_axis_names": "X"}),
    Case("expand_dims", [ROWS], {}),
    Case("per_frame", [ROWS], {}),
    Case("per_frame", [ints(1, 2)], {}),
    Case("element_extract", [PLAIN], {"element_map": [4]}),
    Case("element_extract", [PLAIN], {"element_map": [-1]}),
    Case("element_extract", [PLAIN], {"element_map": []}),
    Case("element_extract", [ROWS], {"element_map": [1]}),
    Case("element_extract", [ints([1, 2])], {"element_map": [1]}),
    Case("element_extract", [ints(1)], {"element_map": [0]}),
    Case("get_property", [ROWS], {"key": "foo"}),
    Case("get_property", [ROWS], {}),
]

# DALI's schema says that the axes of `squeeze` may come a sample; DALI then misses them.
SHARED = {"squeeze(axes)"}
CASES: list[Any] = [*view_cases(), *fact_cases()]
ERRORS: list[Any] = [*VIEW_ERRORS]
