# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Makes modules of other folders importable: tools of the repository, helpers and cases of the tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("tools/docs", "tools", "tests/ops", "tests/python")]
