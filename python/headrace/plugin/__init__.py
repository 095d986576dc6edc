# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Glue to deep learning frameworks; each module imports its framework when it is imported."""
