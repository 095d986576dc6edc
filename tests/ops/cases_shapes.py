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
    """One list of integers per sample."""
    return Data([np.array(v, dtype) for v in values])


def floats(*values: Any, dtype: Any = np.float32) -> Data:
    """One list of floats per sample."""
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
        Case("reinterpret", [PLAIN], {"rel_shape": floats([1, -1], [1, -1])}),
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
    for args in ({}, {"dtype": "types.INT32"}, {"dtype": "types.FLOAT"}, {"type": "types.INT32"}):
        cases.append(Case("shapes", [ROWS], args))
    cases.append(Case("shapes", [ints(1, 2)], {}))
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
    Case("shapes", [ROWS], {"dtype": "types.UINT8"}),
]

MORE = Data([np.full((2, 5, 4), 7, np.uint8), np.full((4, 1, 4), 8, np.uint8)], "ABC")
MATRICES = [np.arange(1, 7).reshape(2, 3), np.arange(1, 9).reshape(4, 2)]


def matrices(dtype: Any = np.float32, layout: str = "AB") -> Data:
    return Data([m.astype(dtype) for m in MATRICES], layout)


def transpose_cases() -> list[Case]:
    arguments: list[dict[str, Any]] = [
        {"perm": [1, 0, 2]},
        {},
        {"perm": [2, 0, 1], "output_layout": "XYZ"},
        {"perm": [2, 0, 1], "transpose_layout": False},
        {"transpose_layout": False},
        {"output_layout": "BAC"},
        {"perm": [2, 1, 0], "output_layout": "XYZ", "transpose_layout": False},
    ]
    cases = [Case("transpose", [ROWS], args) for args in arguments]
    for dtype in TYPES:
        for shape, layout, perm in (
            ((33, 47, 3), "HWC", [2, 0, 1]),
            ((3, 33, 47), "CHW", [1, 2, 0]),
            ((65, 70), "HW", [1, 0]),
            ((2, 17, 19, 4), "FHWC", [3, 0, 2, 1]),
            ((5, 1, 20, 3, 9), "ABCDE", [4, 1, 0, 3, 2]),
            ((40, 2, 40), "ABC", [2, 1, 0]),
        ):
            small = tuple(max(1, n // 2) for n in shape)
            data = pictures([shape, small], dtype, layout)
            cases.append(Case("transpose", [data], {"perm": perm}))
    cases += [
        Case("transpose", [PLAIN], {"perm": [2, 0, 1], "output_layout": "QRS"}),
        Case("transpose", [ints([1, 2], [3, 4])], {}),
        Case("transpose", [ints(1, 2)], {}),
        Case("transpose", [Data([np.zeros((0, 3, 4), np.uint8)], "HWC")], {}),
        Case("transpose", [pictures([(6, 5, 4, 3, 2, 3)], layout="ABCDEF")], {}),
    ]
    return cases


def move_cases() -> list[Case]:
    cases = transpose_cases()
    for args in ({"axis": 1}, {"axis": -2}, {"axis_name": "B"}):
        cases.append(Case("cat", [ROWS, MORE], args))
    empty = Data([np.zeros((2, 0, 4), np.uint8), np.zeros((4, 0, 4), np.uint8)])
    cases += [
        Case("cat", [PLAIN, MORE, MORE], {"axis": 1}),
        Case("cat", [ROWS, Data(MORE.samples)], {"axis": 1}),
        Case("cat", [ROWS, Data(MORE.samples, "ABD")], {"axis": 1}),
        Case("cat", [ROWS], {}),
        Case("cat", [ROWS, empty], {"axis": 1}),
        Case("cat", [ints([], []), ints([1], [2])], {}),
        Case("cat", [ints([1], [2])] * 70, {}),
    ]
    for axis in (0, 1, 3, -1):
        cases.append(Case("stack", [ROWS, ROWS], {"axis": axis}))
    cases += [
        Case("stack", [ROWS, ROWS, ROWS], {"axis": 1, "axis_name": "Q"}),
        Case("stack", [ROWS, ROWS], {"axis": 1, "axis_name": "A"}),
        Case("stack", [ints(1, 2), ints(3, 4)], {}),
        Case("stack", [ints(1, 2), ints(3, 4)], {"axis_name": "Q"}),
        Case("stack", [ROWS], {}),
        Case("stack", [PLAIN, ROWS], {}),
    ]
    for dtype in TYPES:
        left, right = pictures([(5, 3), (2, 2)], dtype, ""), pictures([(5, 4), (2, 1)], dtype, "")
        cases.append(Case("cat", [left, right], {"axis": 1}))
        cases.append(Case("stack", [left, left], {"axis": 1}))
    video = Data([s.reshape(-1, 2, 3, 2) for s in ROWS.samples], "FHWC")
    for order in ([1, 0, 1, 1], 0, ints([1], [0, 0])):
        cases.append(Case("sequence_rearrange", [video], {"new_order": order}))
    cases.append(Case("sequence_rearrange", [PLAIN], {"new_order": [1]}))
    for indices in ([1, 0], [1, 1], ints(1, 0), ints(1, 1)):
        cases.append(Case("permute_batch", [ROWS], {"indices": indices}))
    return cases + pad_cases()


def pad_cases() -> list[Case]:
    arguments: list[dict[str, Any]] = [
        {},
        {"axes": [0]},
        {"axes": [1], "align": [4]},
        {"align": [4]},
        {"align": [4, 2]},
        {"align": ints([4, 2], [2, 2])},
        {"shape": [5, 1]},
        {"shape": [5]},
        {"shape": [5, -1]},
        {"shape": [0, 0]},
        {"axes": [1], "shape": [5]},
        {"axes": [1, 0], "shape": [9, 8]},
        {"axis_names": "B"},
        {"axis_names": ""},
        {"axes": [-1]},
        {"axes": []},
        {"axes": ints([0], [1])},
        {"axes": ints([0], [1]), "shape": ints([6], [7])},
        {"shape": ints([5, 5], [4, 2])},
        {"shape": [5, 5], "align": [4]},
        {"fill_value": -1.5},
        {"fill_value": floats(5.5, 6.5)},
    ]
    cases = [Case("pad", [matrices()], args) for args in arguments]
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        for value in (2.7, -3.7, 300.7):
            cases.append(Case("pad", [matrices(dtype, "")], {"fill_value": value}))
    cases += [
        Case("pad", [matrices(np.float16)], {"fill_value": 1.1}),
        Case("pad", [matrices(np.int64)], {"fill_value": 1e10}),
        Case("pad", [matrices(np.bool_)], {"fill_value": 1.0}),
        Case("pad", [pictures([(2, 3, 1), (3, 2, 3)], np.float32)], {"axis_names": "HW"}),
        Case("pad", [pictures([(7, 30, 3), (41, 3, 3)])], {"fill_value": 200.0}),
        Case(
            "pad",
            [Data([np.zeros((0, 2), np.float32), np.ones((1, 3), np.float32)])],
            {"fill_value": 9.0},
        ),
        Case("pad", [Data([np.zeros((0, 2), np.float32)] * 2)], {}),
    ]
    return cases


MOVE_ERRORS = [
    Case("transpose", [ROWS], {"perm": [0, 1]}),
    Case("transpose", [ROWS], {"perm": [0, 0, 1]}),
    Case("transpose", [ROWS], {"perm": [0, 1, 3]}),
    Case("transpose", [ROWS], {"perm": [-1, 0, 1]}),
    Case("transpose", [ROWS], {"output_layout": "XY"}),
    Case("transpose", [ints(1, 2)], {"perm": [0]}),
    Case("cat", [ROWS, MORE], {}),
    Case("cat", [ROWS, MORE], {"axis_name": "B", "axis": 1}),
    Case("cat", [ROWS, MORE], {"axis_name": "Z"}),
    Case("cat", [ROWS, MORE], {"axis_name": "BC"}),
    Case("cat", [ROWS, MORE], {"axis": 3}),
    Case("cat", [ROWS, MORE], {"axis": -4}),
    Case("cat", [ROWS, matrices()], {}),
    Case("cat", [ROWS, ints([1], [2], dtype=np.uint8)], {}),
    Case("cat", [ints(1, 2), ints(3, 4)], {}),
    Case("cat", [PLAIN, PLAIN], {"axis_name": "B"}),
    Case("stack", [ROWS, ROWS], {"axis": 4}),
    Case("stack", [ROWS, ROWS], {"axis": -5}),
    Case("stack", [PLAIN, PLAIN], {"axis_name": "Q"}),
    Case("stack", [ROWS, MORE], {}),
    Case("stack", [ROWS, ROWS], {"axis_name": "QR"}),
    Case("stack", [ints(1, 2), ints(3, 4, dtype=np.uint8)], {}),
    Case("stack", [ints(1, 2), ints(3, 4)], {"axis": 1}),
    Case("sequence_rearrange", [PLAIN], {"new_order": [4]}),
    Case("sequence_rearrange", [PLAIN], {"new_order": [-1]}),
    Case("sequence_rearrange", [PLAIN], {"new_order": []}),
    Case("sequence_rearrange", [PLAIN], {"new_order": ints([], [0])}),
    Case("sequence_rearrange", [ROWS], {"new_order": [0]}),
    Case("sequence_rearrange", [ints([1, 2])], {"new_order": [0]}),
    Case("sequence_rearrange", [PLAIN], {}),
    Case("permute_batch", [ROWS], {"indices": [2, 0]}),
    Case("permute_batch", [ROWS], {"indices": [-1, 0]}),
    Case("permute_batch", [ROWS], {"indices": [1]}),
    Case("permute_batch", [ROWS], {"indices": [1, 0, 1]}),
    Case("permute_batch", [ROWS], {"indices": ints([1, 0], [0, 1])}),
    Case("permute_batch", [ROWS], {}),
    Case("pad", [matrices()], {"align": [4, 2, 2]}),
    Case("pad", [matrices()], {"align": [0]}),
    Case("pad", [matrices()], {"align": [-1]}),
    Case("pad", [matrices()], {"axis_names": "B", "axes": [0]}),
    Case("pad", [matrices()], {"axes": [2]}),
    Case("pad", [matrices()], {"axes": [0, 0]}),
    Case("pad", [matrices()], {"axis_names": "Z"}),
    Case("pad", [matrices()], {"shape": [5, 5, 5]}),
    Case("pad", [ints(1, 2)], {}),
]


def fill_cases() -> list[Case]:
    cases = []
    for op in ("zeros", "ones"):
        for args in (
            {"shape": [2, 3]},
            {},
            {"shape": 3},
            {"shape": []},
            {"shape": [0, 2]},
            {"shape": ints([2], [3])},
            {"shape": [2, 1], "layout": "XY", "dtype": "types.BOOL"},
        ):
            cases.append(Case(op, [], args, size=2))
        for dtype in TYPES:
            cases.append(Case(op, [], {"shape": [70], "dtype": enum(dtype)}, size=1))
            like = pictures([(2, 3, 4), (4, 3, 4)], dtype, "ABC")
            cases.append(Case(op + "_like", [like], {}))
        cases.append(Case(op + "_like", [ROWS], {"dtype": "types.FLOAT"}))
    pairs = floats([1, 2], [3, 4])
    cases += [
        Case("full", [ints(1, 2)], {"shape": [2, 2]}),
        Case("full", [pairs], {"shape": [3, 2]}),
        Case("full", [ints(1, 2)], {"shape": [2, 2], "layout": "AB"}),
        Case("full", [ints(1, 2)], {"shape": ints([2], [3])}),
        Case("full", [ints([[1, 2]], [[3, 4]])], {"shape": [2]}),
        Case("full", [ints([1], [3])], {"shape": [2, 2]}),
        Case("full", [Data([np.ones(2)], "Q")], {"shape": [3, 2]}),
        Case("full", [Data([np.ones(2)])], {"shape": [0, 2]}),
        Case("full", [Data([np.ones((0, 2))])], {"shape": [0, 2]}),
        Case("full", [ints([[1], [2]], [[3], [4]])], {"shape": [3, 2, 5]}),
        Case("full_like", [ROWS, ints(7, 8)], {}),
        Case("full_like", [ROWS, ints([1, 2, 3, 4], [5, 6, 7, 8])], {}),
        Case("full_like", [ROWS, floats(2.5, 300.0)], {}),
        Case("full_like", [ROWS, Data([np.ones(4)] * 2, "Q")], {}),
    ]
    return cases


FILL_ERRORS = [
    Case("ones", [], {"shape": [2, 1], "layout": "XYZ"}),
    Case("zeros", [], {"shape": [-1]}),
    Case("zeros", [], {"shape": [2**31 - 1] * 3}),
    Case("full", [floats([1, 2])], {"shape": [3]}),
    Case("full", [Data([np.ones((0, 2))])], {"shape": [3, 2]}),
    Case("full_like", [ROWS, floats([1, 2], [3, 4])], {}),
]


def table_cases() -> list[Case]:
    cases = []
    keys = {"keys": [1, 3, 0, 65535], "values": [10.5, -2.5, 1e12, 300.25]}
    for dtype in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"):
        top = min(70000, np.iinfo(dtype).max)
        low = max(-1, np.iinfo(dtype).min)
        data = ints([[0, 1, 2], [3, top, low]], [[1, 1, 1]], dtype=dtype)
        cases.append(Case("lookup_table", [data], keys))
        cases.append(Case("lookup_table", [data], {**keys, "dtype": enum(dtype)}))
    data = ints([[0, 1, 2], [3, 70000, 100]])
    for target in ("types.BOOL", "types.FLOAT16", "types.FLOAT64"):
        args = {"keys": [1, 2], "values": [1.0, 0.3], "dtype": target}
        cases.append(Case("lookup_table", [data], args))
    for args in (
        {},
        {"keys": [1, 1], "values": [1.0, 2.0]},
        {"keys": [1], "values": [2.0], "default_value": -1.0},
        {"keys": [1], "values": [2.0], "default_value": 2.5, "dtype": "types.UINT8"},
        {"keys": [1], "values": [9.0], "output_dtype": "types.INT32"},
    ):
        cases.append(Case("lookup_table", [data], args))
    cases.append(Case("lookup_table", [pictures([(5, 7, 3)])], keys))
    inverted = {"keys": list(range(256)), "values": [255.0 - v for v in range(256)]}
    for target in ("types.UINT8", "types.INT16", "types.FLOAT64"):
        cases.append(Case("lookup_table", [pictures([(50, 70, 3)])], {**inverted, "dtype": target}))
    cases.append(Case("lookup_table", [ints(1, 2)], keys))
    return cases + one_hot_cases()


def one_hot_cases() -> list[Case]:
    cases = []
    lists, numbers = ints([0, 2], [1, 1]), ints(0, 1)
    for axis in (0, 1, -1):
        cases.append(Case("one_hot", [lists], {"num_classes": 3, "axis": axis}))
        cases.append(Case("one_hot", [ints([0], [1])], {"num_classes": 2, "axis": axis}))
        cases.append(
            Case("one_hot", [ints([[0, 1], [2, 3]], [[1, 0]])], {"num_classes": 3, "axis": axis})
        )
    named = Data(lists.samples, "A")
    cases += [
        Case("one_hot", [lists], {"num_classes": 3}),
        Case("one_hot", [named], {"num_classes": 2, "axis_name": "Q"}),
        Case("one_hot", [named], {"num_classes": 2, "axis_name": "Q", "axis": 0}),
        Case("one_hot", [named], {"num_classes": 2}),
        Case("one_hot", [numbers], {"num_classes": 2}),
        Case("one_hot", [numbers], {"num_classes": 2, "axis_name": "Q"}),
        Case("one_hot", [numbers], {}),
        Case("one_hot", [numbers], {"num_classes": 2, "axis": 0}),
        Case("one_hot", [ints([0], [1])], {"num_classes": 2}),
        Case("one_hot", [ints([0], [1])], {"num_classes": 2, "axis_name": "Q"}),
        Case("one_hot", [ints([[0]], [[1]])], {"num_classes": 2}),
        Case("one_hot", [ints([[0, 1]], [[1, 0]])], {"num_classes": 2}),
        Case("one_hot", [ints([0], [1, 1])], {"num_classes": 2}),
        Case("one_hot", [ints(5, -1)], {"num_classes": 2}),
        Case("one_hot", [floats(1.7, -0.7)], {"num_classes": 2}),
        Case("one_hot", [floats(np.nan, 1)], {"num_classes": 2}),
        Case("one_hot", [floats(1, 2, dtype=np.float64)], {"num_classes": 2}),
        Case("one_hot", [ints([], [])], {"num_classes": 2}),
    ]
    for dtype in ("uint8", "int8", "uint16", "int32", "int64", "float32", "float64"):
        args = {"num_classes": 2, "on_value": 5.5, "off_value": -2.0, "dtype": enum(dtype)}
        cases.append(Case("one_hot", [numbers], args))
    return cases


TABLE_ERRORS = [
    Case("lookup_table", [ints([1])], {"keys": [-1], "values": [1.0]}),
    Case("lookup_table", [ints([1])], {"keys": [65536], "values": [1.0]}),
    Case("lookup_table", [ints([1])], {"keys": [1, 2], "values": [1.0]}),
    Case("lookup_table", [ints([1])], {"values": [1.0]}),
    Case("lookup_table", [floats([1])], {"keys": [1], "values": [1.0]}),
    Case("lookup_table", [Data([np.array([True])])], {"keys": [1], "values": [1.0]}),
    Case("one_hot", [ints([0, 2])], {"num_classes": 3, "axis": 2}),
    Case("one_hot", [ints([0, 2])], {"num_classes": 3, "axis": -2}),
    Case("one_hot", [ints([0, 2])], {"num_classes": 3, "axis_name": "Q"}),
    Case("one_hot", [ints([0, 2])], {"num_classes": 3, "axis_name": "QR"}),
    Case("one_hot", [ints([0, 2])], {"num_classes": -1}),
    Case("one_hot", [ints(0)], {"num_classes": 2, "axis": 1}),
]

ELSEWHERE = {"batch_permutation": "test_shapes.py"}
# DALI's schema says that these can be per sample, but DALI ignores them: see test_shapes.py.
SHARED = {"squeeze(axes)", "reshape(src_dims)", "reinterpret(src_dims)"}
CASES: list[Any] = [*view_cases(), *fact_cases(), *move_cases(), *fill_cases(), *table_cases()]
ERRORS: list[Any] = [*VIEW_ERRORS, *MOVE_ERRORS, *FILL_ERRORS, *TABLE_ERRORS]
