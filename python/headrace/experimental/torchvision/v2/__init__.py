# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The transforms, one module per family, and `functional`."""
