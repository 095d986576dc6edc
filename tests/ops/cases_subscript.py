# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of x[...]: indices and ranges of data nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases_generic import TYPES, Expression, on
from harness import Data, pictures, scalars

ROWS = pictures([(5, 6, 7), (8, 6, 7)], np.int16, "ABC")
WIDE = pictures([(70, 60, 3), (33, 40, 3)], layout="HWC")

SUBSCRIPTS: dict[str, Any] = {
    "0": lambda x: x[0],
    "-1": lambda x: x[-1],
    ":": lambda x: x[:],
    "2:4": lambda x: x[2:4],
    "::-1": lambda x: x[::-1],
    "::2": lambda x: x[::2],
    "5:100": lambda x: x[5:100],
    "100:": lambda x: x[100:],
    "-100:2": lambda x: x[-100:2],
    "2:1": lambda x: x[2:1],
    "10:0:-2": lambda x: x[:, :, 10:0:-2],
    "-1:-3:-1": lambda x: x[:, -1:-3:-1],
    "step max": lambda x: x[:: 2**31 - 1],
    "step min": lambda x: x[:: -(2**31)],
    ":,1": lambda x: x[:, 1],
    "1,1:2": lambda x: x[1, 1:2],
    "1:3,:,2": lambda x: x[1:3, :, 2],
    ":,::2,::-1": lambda x: x[:, ::2, ::-1],
    "0,0,0": lambda x: x[0, 0, 0],
    ":,:,1": lambda x: x[:, :, 1],
    "1:,2:,:": lambda x: x[1:, 2:, :],
}


def subscript_cases() -> list[Expression]:
    cases = []
    for name, subscript in SUBSCRIPTS.items():
        cases.append(Expression(f"x[{name}]", on(subscript), [ROWS]))
        cases.append(Expression(f"x[{name}]", on(subscript), [Data(ROWS.samples)]))
        if "10:0" not in name:
            cases.append(Expression(f"x[{name}]", on(subscript), [WIDE]))
    for dtype in TYPES:
        data = [pictures([(9, 8, 3), (4, 5, 2)], dtype, "HWC")]
        cases.append(Expression("x[1:4,::2]", on(lambda x: x[1:4, ::2]), data))
        cases.append(Expression("x[:,::-1,1]", on(lambda x: x[:, ::-1, 1]), data))
    for dtype in ("uint8", "int32", "int64"):
        index = [ROWS, scalars(1, 3, dtype=dtype)]
        cases.append(Expression("x[node]", on(lambda x, i: x[i]), index))
        cases.append(Expression("x[:,node]", on(lambda x, i: x[:, i]), index))
        cases.append(Expression("x[node:]", on(lambda x, i: x[i:]), index))
        cases.append(Expression("x[:node]", on(lambda x, i: x[:i, 0]), index))
        cases.append(Expression("x[::node]", on(lambda x, i: x[:, ::i]), index))
        cases.append(Expression("x[i:i+2]", on(lambda x, i: x[i : i + 2, :, i]), index))
    back = [ROWS, scalars(-1, -2, dtype=np.int32)]
    cases.append(Expression("x[negative node]", on(lambda x, i: x[i]), back))
    cases.append(Expression("x[::negative node]", on(lambda x, i: x[::i]), back))
    empty = [Data([np.zeros((0, 3), np.float32)])]
    cases.append(Expression("empty[:,0]", on(lambda x: x[:, 0]), empty))
    return cases


ROWS_ERRORS: dict[str, Any] = {
    "8": lambda x: x[8],
    "-9": lambda x: x[-9],
    "::0": lambda x: x[::0],
    "0,0,0,0": lambda x: x[0, 0, 0, 0],
    ":,:,:,:": lambda x: x[:, :, :, :],
    "2**40": lambda x: x[2**40],
}

CASES: list[Any] = subscript_cases()
ERRORS: list[Any] = [
    *[Expression(f"x[{name}]", on(f), [ROWS]) for name, f in ROWS_ERRORS.items()],
    Expression("number[0]", on(lambda x: x[0]), [scalars(1, 2)]),
    Expression("number[:]", on(lambda x: x[:]), [scalars(1, 2)]),
    Expression("empty[0]", on(lambda x: x[0]), [Data([np.zeros((0, 3), np.float32)])]),
    Expression("x[::zero]", on(lambda x, i: x[::i]), [ROWS, scalars(0, 0, dtype=np.int32)]),
    Expression("x[far node]", on(lambda x, i: x[i]), [ROWS, scalars(1, 8, dtype=np.int32)]),
]
