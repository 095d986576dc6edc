# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures how long training waits for its loader, and what it would reach without waiting."""

from headrace.plugin.pytorch.loader_evaluator.loader import LoaderEvaluator

__all__ = ["LoaderEvaluator"]
