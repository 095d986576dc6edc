# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For all tests."""

from __future__ import annotations

import signal

# Whoever runs the tests in the background may have SIGINT ignored, and children would inherit that:
# the tests of Ctrl-C send it to them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
