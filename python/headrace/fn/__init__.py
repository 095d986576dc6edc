# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators as functions. Calling one while a pipeline is being defined adds a node to its graph.

Each function is created from its operator's schema on first access. `dir(headrace.fn)` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import _graph
from headrace._base import docs, messages
from headrace._graph import modules, schema

_FUNCTIONS = frozenset({"python_function", "dl_tensor_python_function"})


def _make(name: str) -> Callable[..., Any] | None:
    if name == "external_source":
        from headrace.external_source import external_source

        external_source._schema_name = "ExternalSource"  # type: ignore[attr-defined]
        return external_source
    if name == "experimental.inputs.video":
        return _video()
    if name in ("_conditional.split", "_conditional.merge"):
        from headrace._conditionals import split

        return getattr(split, name.rpartition(".")[2])
    if name in _FUNCTIONS:
        return _calling(name)
    found = schema.find_function(name)
    if found is None:
        return None
    return _function(name, *found)


def _video() -> Callable[..., Any]:
    """The source of the sequences of a video."""
    from headrace._external import video

    op = schema.operators()[video.NAME]

    def function(**kwargs: Any) -> Any:
        return video.video(**kwargs)

    _describe(function, video.NAME)
    function.__doc__ = docs.docstring(op.raw)
    function.__signature__ = modules.signature(op, with_inputs=False)  # type: ignore[attr-defined]
    function._schema_name = schema.schema_name(video.NAME)  # type: ignore[attr-defined]
    return function


def _calling(name: str) -> Callable[..., Any]:
    """An operator that calls a Python function."""
    from headrace._graph import functions

    function = functions.OPERATORS[name][0]
    _describe(function, name)
    op = schema.operators()[name]
    function.__doc__ = docs.docstring(op.raw)
    function.__signature__ = modules.signature(op)  # type: ignore[attr-defined]
    function._schema_name = schema.schema_name(name)  # type: ignore[attr-defined]
    return function


def _function(name: str, op: schema.Operator, renamed: bool) -> Callable[..., Any]:
    if renamed:

        def function(*inputs: Any, **kwargs: Any) -> Any:
            messages.warn_renamed(f"fn.{name}", f"fn.{op.name}")
            return _graph.call(op, op.class_name, inputs, kwargs)

    else:

        def function(*inputs: Any, **kwargs: Any) -> Any:
            return _graph.call(op, op.class_name, inputs, kwargs)

    _describe(function, name)
    function.__doc__ = docs.docstring(op.raw)
    function.__signature__ = modules.signature(op)  # type: ignore[attr-defined]
    function._schema_name = schema.schema_name(op.name)  # type: ignore[attr-defined]
    return function


def _describe(function: Callable[..., Any], name: str) -> None:
    module, _, leaf = name.rpartition(".")
    function.__name__ = leaf
    function.__qualname__ = leaf
    function.__module__ = f"{__name__}.{module}" if module else __name__


def __getattr__(name: str) -> Any:
    return modules.attribute(__name__, "", name, _make, globals(), schema.function_names)


def __dir__() -> list[str]:
    return modules.listing("", schema.function_names)


modules.register(__name__, _make, schema.function_names)
