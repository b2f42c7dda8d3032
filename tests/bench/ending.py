# SPDX-License-Identifier: GPL-2.0-or-later
"""How a measurement ends that is told to."""

import signal
import sys


def remove_all_when_told_to_end():
    """SIGTERM and SIGHUP become an exception, so that namespaces and programs go with whoever made them."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
