# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""All cases, from every file `cases_<family>.py` in this folder.

A cases file has the lists `CASES` (both engines agree) and `ERRORS` (both refuse), and where needed

* `ELSEWHERE`: operators that no case can describe, each with its test: {"readers.file": "test_readers.py"};
* `OURS`: cases of operators that DALI does not have on the CPU, which only compare runs of Headrace;
* `OUR_ERRORS`: calls of such operators that Headrace refuses, which the test in `ELSEWHERE` checks;
* `SHARED`: "operator(argument)" whose per-sample form is covered by a case of another operator with the same code.
"""

from __future__ import annotations

import importlib
import pathlib
from types import ModuleType
from typing import Any

MODULES: list[ModuleType] = [
    importlib.import_module(path.stem)
    for path in sorted(pathlib.Path(__file__).parent.glob("cases_*.py"))
]
CASES: list[Any] = [case for module in MODULES for case in getattr(module, "CASES", [])]
OURS: list[Any] = [case for module in MODULES for case in getattr(module, "OURS", [])]
ERRORS: list[Any] = [case for module in MODULES for case in getattr(module, "ERRORS", [])]
OUR_ERRORS: list[Any] = [case for module in MODULES for case in getattr(module, "OUR_ERRORS", [])]
ELSEWHERE: dict[str, str] = {
    op: test for module in MODULES for op, test in getattr(module, "ELSEWHERE", {}).items()
}
SHARED: set[str] = {name for module in MODULES for name in getattr(module, "SHARED", ())}


def operator_of(case: Any) -> str:
    """The operator that a case belongs to; "_arithmetic" for expressions."""
    return str(getattr(case, "op", "_arithmetic"))
