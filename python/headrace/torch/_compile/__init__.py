# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms of torchvision as operators: a table of rules by class name, one module per family."""
