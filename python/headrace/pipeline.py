# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline` and `pipeline_def`."""

from __future__ import annotations

import sys
import types as python_types

from headrace._pipeline.config import OperatorConcurrency, StreamPolicy
from headrace._pipeline.factory import do_not_convert, experimental_pipeline_def, pipeline_def
from headrace._pipeline.pipeline import Pipeline
from headrace.data_node import DataNode

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "pipeline_def",
]

Pipeline.__module__ = __name__

__path__: list[str] = []  # so that `import headrace.pipeline.experimental` works

experimental = python_types.ModuleType(f"{__name__}.experimental", "Variants of pipeline_def.")
experimental.pipeline_def = experimental_pipeline_def  # type: ignore[attr-defined]
sys.modules[experimental.__name__] = experimental
