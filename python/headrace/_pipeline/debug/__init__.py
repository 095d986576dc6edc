# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode: a graph whose operators run where they are called."""
