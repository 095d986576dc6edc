# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Graphs of operators: their schemas, calls that add nodes, and constants."""

from __future__ import annotations

from headrace._graph.calls import call, split_arguments, transfer
from headrace._graph.constants import constant
from headrace._graph.graph import (
    MERGE,
    Graph,
    Instance,
    check_device,
    choose_device,
    current,
    current_graph,
    current_pipeline,
    in_debug_mode,
    pop_pipeline,
    push_pipeline,
)

__all__ = [
    "MERGE",
    "Graph",
    "Instance",
    "call",
    "check_device",
    "choose_device",
    "constant",
    "current",
    "current_graph",
    "current_pipeline",
    "in_debug_mode",
    "pop_pipeline",
    "push_pipeline",
    "split_arguments",
    "transfer",
]
