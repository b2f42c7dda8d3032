# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from lab import Lab  # noqa: E402  (the path must be there first)

BINARIES = os.environ.get("WEIR_BIN", os.path.join(os.path.dirname(__file__), "../../build/bin"))
NUMBERS = itertools.count()


def lab_maker():
    """Yields a function that builds labs, each with names of its own; afterwards all are gone."""
    labs = []

    def make(**kwargs):
        labs.append(Lab(BINARIES, tag=f"weir{os.getpid() % 100000}x{next(NUMBERS)}", **kwargs))
        return labs[-1]
    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def make_lab():
    """Labs for one test."""
    yield from lab_maker()


@pytest.fixture(scope="module")
def module_lab():
    """Labs that the tests of a module share."""
    yield from lab_maker()
