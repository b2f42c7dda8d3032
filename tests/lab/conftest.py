# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from lab import Lab  # noqa: E402  (the path must be there first)

BINARIES = os.environ.get("WEIR_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
NUMBERS = itertools.count()


@pytest.fixture
def make_lab():
    """A function that builds labs, each with names of its own; all are gone at the test's end."""
    labs = []

    def make(**kwargs):
        labs.append(Lab(BINARIES, tag=f"weir{os.getpid() % 100000}x{next(NUMBERS)}", **kwargs))
        return labs[-1]
    yield make
    for lab in labs:
        lab.close()
