# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of multi_paste."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, vectors

SAME = pictures([(31, 43, 3), (31, 43, 3), (31, 43, 3)])
OTHER = pictures([(31, 43, 3), (31, 43, 3), (31, 43, 3)], seed=5)
SIZES = pictures([(31, 43, 3), (20, 25, 3), (40, 18, 3)], seed=7)
# In DALI, sequences of more than one frame fail.
FRAMES = pictures([(1, 21, 33, 3), (1, 21, 33, 3)], layout="FHWC")


def ints(*values: list[int]) -> Data:
    return vectors(*values, dtype=np.int32)


def table(dtype: type, *values: list[list[float]]) -> Data:
    """Two numbers for each region, per sample."""
    return Data([np.array(v, dtype).reshape(-1, 2) for v in values])


def cases() -> list[Case]:
    op = "multi_paste"
    ids = {"in_ids": ints([0, 1], [2], [1, 0, 2])}
    some = {
        "out_anchors": table(np.int32, [[0, 0], [10, 12]], [[3, 4]], [[1, 1], [20, 2], [0, 30]]),
        "shapes": table(np.int32, [[7, 9], [12, 20]], [[10, 10]], [[9, 9], [11, 5], [31, 13]]),
    }
    anchors = {"in_anchors": table(np.int32, [[2, 3], [5, 1]], [[7, 8]], [[0, 0], [6, 9], [0, 4]])}
    relative = {
        "out_anchors_rel": table(np.float32, [[0, 0], [0.3, 0.25]], [[0.5, 0.5]], [[0, 0.1], [0.2, 0], [0.55, 0.5]]),
        "shapes_rel": table(np.float32, [[0.3, 0.5], [0.4, 0.7]], [[0.5, 0.5]], [[0.1, 0.33], [0.8, 0.2], [0.4, 0.5]]),
        "in_anchors_rel": table(np.float32, [[0.1, 0.5], [0, 0.2]], [[0.5, 0.5]], [[0.9, 0], [0.2, 0.77], [0, 0]]),
    }
    out = [
        Case(op, [SAME], {**ids}),
        Case(op, [SAME], {**ids, **some}),
        Case(op, [SAME], {**ids, **some, **anchors}),
        Case(op, [SAME], {**ids, **relative}),
        Case(op, [SAME], {**ids, **relative, "output_size": (62, 90)}),
        Case(op, [SAME], {**ids, **some, "output_size": ints([40, 50], [41, 60], [39, 70])}),
        Case(op, [SIZES], {"in_ids": ints([0, 1], [2], [1, 1, 2]), "output_size": (60, 70)}),
        Case(op, [SAME, OTHER], {}),
        Case(op, [SAME, OTHER], {"out_anchors": table(np.int32, *[[[0, 0], [9, 8]]] * 3), "output_size": (50, 60)}),
        Case(op, [SAME, SIZES], {"output_size": (50, 60)}),
        Case(op, [FRAMES], {"output_size": (30, 40)}),
    ]
    for dtype in ("uint8", "int16", "int32", "float32"):
        data = pictures([(31, 43, 3)] * 3, dtype)
        for output in ("UINT8", "INT16", "INT32", "FLOAT"):
            out.append(Case(op, [data], {**ids, **some, "dtype": "types." + output}))
    return out


CASES = cases()
ERRORS = [
    Case("multi_paste", inputs, args)
    for inputs, args in (
        ([SAME], {"in_ids": ints([0, 3], [1], [2])}),
        ([SAME], {"in_ids": ints([0, -1], [1], [2])}),
        ([SAME, OTHER], {"in_ids": ints([0, 1], [1], [2])}),
        ([SIZES], {"in_ids": ints([0], [1], [2])}),
        ([SAME], {"in_ids": ints([0], [1], [2]), "out_anchors": table(np.int32, *[[[5, 5]]] * 3)}),
        ([SAME], {"in_ids": ints([0], [1], [2]), "in_anchors": table(np.int32, *[[[-1, 5]]] * 3)}),
        ([SAME], {"in_ids": ints([0], [1], [2]), "shapes_rel": table(np.float32, *[[[1.5, 0.5]]] * 3)}),
        ([SAME], {"in_ids": ints([0], [1], [2]), "shapes": table(np.int32, *[[[9, 9], [3, 3]]] * 3)}),
        ([pictures([(9, 8, 3)] * 3, "int8")], {"in_ids": ints([0], [1], [2])}),
        ([SAME], {"in_ids": ints([0], [1], [2]), "dtype": "types.INT8"}),
        ([pictures([(3, 9, 8)] * 3, layout="CHW")], {"in_ids": ints([0], [1], [2])}),
    )
]
DIFFERENT = {
    r"^multi_paste: (in_anchors|out_anchors|shapes)(_rel)?=": "constants can be lists; in DALI, they are single numbers, which never fit",
}  # fmt: skip
