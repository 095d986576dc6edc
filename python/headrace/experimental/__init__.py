# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What DALI has under `experimental`."""
