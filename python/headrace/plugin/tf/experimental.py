# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Datasets with inputs."""

from headrace.plugin.tf._dataset import DALIDatasetWithInputs
from headrace.plugin.tf._runner import Input

__all__ = ["DALIDatasetWithInputs", "Input"]
