# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Sources in Python: what they are, how they are fed, and the processes of ``external_source(parallel=True)``."""
