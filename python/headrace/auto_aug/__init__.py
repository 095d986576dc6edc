# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Automatic augmentation: AutoAugment, RandAugment and TrivialAugment, built from operators.

A pipeline that uses them has `enable_conditionals=True`.
"""
