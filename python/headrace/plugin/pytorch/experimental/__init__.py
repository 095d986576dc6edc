# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What DALI has in `plugin.pytorch.experimental`."""

from headrace.plugin.pytorch.experimental import proxy

__all__ = ["proxy"]
