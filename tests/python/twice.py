# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Programs that must give the same with Headrace and with DALI.

DALI's results are in `recorded.json`, by the name of the test. With --dali the programs run with DALI itself, and with
--record the results are written as well.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import headrace
import numpy as np
import pytest

Program = Callable[[ModuleType], Any]
RECORDED = Path(__file__).with_name("recorded.json")
_new: dict[str, Any] = {}
# For tests that state what both engines do: DALI itself is asked with --dali only.
ENGINES = ["headrace", pytest.param("dali", marks=pytest.mark.live_dali)]


def live() -> bool:
    """Whether DALI itself runs the programs."""
    return bool(os.environ.get("HEADRACE_TEST_DALI"))


def dali() -> ModuleType:
    """DALI with its modules."""
    package = importlib.import_module("nvidia.dali")
    for name in ("backend", "data_node", "fn", "math", "ops", "pipeline", "tensors", "types"):
        importlib.import_module(f"nvidia.dali.{name}")
    return package


def normal(value: Any) -> Any:
    """Converts a value to what can be compared between engines; floats are rounded to 5 digits."""
    if isinstance(value, tuple):
        return tuple(normal(item) for item in value)
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    kind = type(value).__name__
    if kind in ("TensorListCPU", "TensorCPU"):
        parts = [np.array(t) for t in value] if kind == "TensorListCPU" else [np.array(value)]
        return (kind, str(value.dtype), value.layout(), [normal(part) for part in parts])
    if isinstance(value, np.ndarray):
        plain = value.astype(np.float64).round(5) if value.dtype.kind == "f" else value
        return (value.dtype.name, value.shape, str(plain.tolist()).replace("-nan", "nan"))
    if isinstance(value, np.generic):
        return normal(np.asarray(value))
    if value is None or kind in ("bool", "int", "float", "str", "bytes"):
        return value
    return str(value)


def quietly(program: Program, package: ModuleType) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempt(functools.partial(program, package))


def attempt(function: Callable[[], Any]) -> Any:
    """The function's result; skips the test if it needs an operator that does not exist."""
    try:
        return normal(function())
    except NotImplementedError as error:
        if "not part of this version" in str(error):
            pytest.skip(str(error))
        raise


@functools.cache
def _recorded() -> dict[str, Any]:
    return json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}


def _plain(value: Any) -> Any:
    """A result as JSON represents it."""
    return json.loads(json.dumps(value, default=repr))


def save() -> None:
    """Writes the results of this run and keeps those of other tests."""
    if not _new:
        return
    results = {**_recorded(), **_new}
    lines = [f"{json.dumps(name)}: {json.dumps(results[name])}" for name in sorted(results)]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def check_same(name: str, program: Program) -> None:
    """Fails unless the program gives the same result with Headrace as the one of DALI recorded under `name`."""
    if live():
        _new[name] = theirs = _plain(quietly(program, dali()))
    elif name in _recorded():
        theirs = _recorded()[name]
    else:
        pytest.skip("DALI's result is not recorded yet: run pytest --record where DALI is installed")
    assert _plain(quietly(program, headrace)) == theirs


def same(program: Program) -> Callable[[], None]:
    """A test: the program gives the same with both engines."""

    @functools.wraps(program)
    def test() -> None:
        check_same(f"{program.__module__}.{program.__name__}", program)

    del test.__wrapped__  # type: ignore[attr-defined] # otherwise pytest looks for its argument
    return pytest.mark.dali(test)


def same_error(error: type[Exception]) -> Callable[[Program], Callable[[], None]]:
    """A test: the program raises exactly this with both engines."""

    def decorate(program: Program) -> Callable[[], None]:
        @functools.wraps(program)
        def test() -> None:
            for package in (headrace, dali()) if live() else (headrace,):
                with pytest.raises(error) as caught:
                    quietly(program, package)
                assert caught.type is error

        del test.__wrapped__  # type: ignore[attr-defined]
        return pytest.mark.dali(test)

    return decorate


def attempts(*functions: Callable[[], Any]) -> list[Any]:
    """The result of each function, or the name of the exception that it raises."""
    results = []
    for function in functions:
        try:
            results.append(attempt(function))
        except Exception as error:
            results.append(type(error).__name__)
    return results


def pipeline(
    package: ModuleType,
    define: Callable[..., Any],
    *data: Any,
    layout: str | None = None,
    **kwargs: Any,
) -> Any:
    """A pipeline whose outputs are `define(package, *nodes)`, with one node per array of `data`.

    Dimension 0 of an array is the batch, the same in every iteration; `layout` is the first array's."""
    arguments = {"batch_size": len(data[0]) if data else 2, "num_threads": 1, "device_id": None}
    pipe = package.Pipeline(**{**arguments, **kwargs})
    with pipe:
        nodes = [
            package.fn.external_source(source=_giving(d), layout=None if i else layout)
            for i, d in enumerate(data)
        ]
        outputs = define(package, *nodes)
        pipe.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    return pipe


def _giving(data: Any) -> Callable[[], Any]:
    return lambda: data


def evaluate(package: ModuleType, define: Callable[..., Any], *data: Any, **kwargs: Any) -> Any:
    """The first batches of `pipeline`."""
    return pipeline(package, define, *data, **kwargs).run()
