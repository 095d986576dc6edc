# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs at the start of child processes of `headrace.as_dali`, whose PYTHONPATH names this folder.

Sets `nvidia.dali` up, then lets the `sitecustomize` run that would have run without this one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _install() -> None:
    path = os.path.join(os.path.dirname(_HERE), "as_dali.py")
    spec = importlib.util.spec_from_file_location("_headrace_as_dali", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.install()


def _chain() -> None:
    rest = [path for path in sys.path if os.path.abspath(path) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_install()
_chain()
