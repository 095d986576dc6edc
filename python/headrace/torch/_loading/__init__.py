# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""How `DataLoader` makes batches: one module per part."""
