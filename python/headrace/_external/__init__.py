# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Processes that run the callbacks of ``external_source(parallel=True)``."""
