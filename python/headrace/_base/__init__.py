# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What every other module may use: element types, messages, documentation of operators, names of DALI."""
