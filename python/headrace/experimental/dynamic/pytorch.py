# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The module of this name in DALI; it has no public names."""
