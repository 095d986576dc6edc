# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines that the user names on the command line: `module:function` or `file.py:function`."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import runpy
import sys
from collections.abc import Iterator
from typing import Any

from headrace._base import messages
from headrace.cli._common import UserError
from headrace.pipeline import Pipeline


def is_target(text: str) -> bool:
    """Whether the text names a pipeline and not a folder."""
    module, colon, name = text.rpartition(":")
    return bool(colon and module) and name.isidentifier() and not os.path.isdir(text)


def load(target: str, batch_size: int, threads: int, seed: int) -> Any:
    """The pipeline that `target` names. A function gets those of the arguments that it takes.

    Raises:
        UserError: the module, file or function does not exist, or it gives no pipeline.
    """
    if not is_target(target):
        raise UserError(f"{target!r} is not of the form module:function or file.py:function")
    module, _, name = target.rpartition(":")
    names = _names(module)
    if name not in names:
        raise UserError(f"{module} has no {name!r}.{messages.suggestion(name, list(names))}")
    found = names[name]
    if callable(found) and not isinstance(found, Pipeline):
        found = found(**_arguments(found, batch_size, threads, seed))
    if not isinstance(found, Pipeline):
        raise UserError(f"{target} is not a pipeline but a {type(found).__name__}")
    return found


def _names(module: str) -> dict[str, Any]:
    if module.endswith(".py"):
        if not os.path.isfile(module):
            raise UserError(f"no such file: {module}")
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
        return runpy.run_path(module)
    sys.path.insert(0, os.getcwd())
    try:
        return vars(importlib.import_module(module))
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, and one that it imports does not
        raise UserError(f"no module named {error.name!r}") from None


def _arguments(function: Any, batch_size: int, threads: int, seed: int) -> dict[str, Any]:
    """The arguments for a function: those that it declares, or that `pipeline_def` did not get."""
    given = {"batch_size": batch_size, "num_threads": threads, "seed": seed}
    if getattr(function, "_is_pipeline_def", False):
        fixed = getattr(function, "_pipeline_kwargs", None) or {}
        return {name: value for name, value in given.items() if name not in fixed}
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in parameters}


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Reports errors of pipelines and files in one line."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        raise UserError(str(error).splitlines()[0]) from None
