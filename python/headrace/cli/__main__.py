# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`python -m headrace.cli` is the `headrace` command."""

import sys

from headrace.cli import main

if __name__ == "__main__":
    sys.exit(main())
