# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Pipeline` and what it consists of."""
