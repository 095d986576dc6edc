# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Headrace: data loading and preprocessing for deep learning, a replacement for NVIDIA DALI.

    from headrace import pipeline_def, fn, types

Modules are imported on first use. Only the plug-in for a framework imports that framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headrace import _tables, types
from headrace._base import missing
from headrace._core import version as _version
from headrace.data_node import newaxis
from headrace.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def

if TYPE_CHECKING:
    from headrace import backend, data_node, external_source, fn, math, ops, pipeline, tensors
    from headrace._pack import pack
    from headrace._storage import storage_options

__version__ = _version()

__all__ = [
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "backend",
    "data_node",
    "external_source",
    "fn",
    "math",
    "newaxis",
    "ops",
    "pack",
    "pipeline",
    "pipeline_def",
    "storage_options",
    "tensors",
    "types",
]

_LAZY = frozenset(
    "backend backend_impl data_node external_source fn math ops pickling pipeline plugin "
    "plugin_manager sysconfig tensors tfrecord".split()
)
missing.register()
_tables.register()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"headrace.{name}")
    if name == "pack":
        return importlib.import_module("headrace._pack").pack
    if name == "storage_options":
        return importlib.import_module("headrace._storage").storage_options
    raise AttributeError(f"module 'headrace' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})
