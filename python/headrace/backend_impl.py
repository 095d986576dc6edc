# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Another name of `headrace.backend`, as in DALI."""

import sys

from headrace import backend

sys.modules[__name__] = backend
