# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""External sources: their callbacks, how nodes are fed, and the worker processes of parallel sources."""
