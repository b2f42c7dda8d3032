# SPDX-License-Identifier: GPL-2.0-or-later
import os
import subprocess
import time

import pytest
from network import MARKS, MASK, VIP4, VIP6, Network, inside, sh
from weir_genl import Weir

FIVE_SYN = 1  # WEIR_SERVICE_SYN_IS_NEW
DIRECT = 2


def weir_in(name):
    """The family's client in a network namespace."""
    with inside(name):
        return Weir()


@pytest.fixture(scope="session", autouse=True)
def module():
    subprocess.run(["insmod", "/payload/weir.ko"], check=True)
    yield
    sh("rmmod weir")
    assert leaks() == ""


def leaks():
    """What kmemleak has found; nothing, too, where the kernel has none (check.py --kernel debug has it)."""
    sh("mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug", check=False)
    found = "/sys/kernel/debug/kmemleak"
    if not os.path.exists(found):
        return ""
    # It believes only what is still nowhere referred to at a second look, some seconds later.
    for _ in range(2):
        time.sleep(6)
        sh(f"echo scan > {found}")
    with open(found, encoding="ascii", errors="replace") as file:
        return file.read()


@pytest.fixture(scope="session")
def shared_network():
    network = Network()
    yield network
    network.delete()


@pytest.fixture
def network(shared_network):
    """With the rules as at the beginning, and without a node."""
    shared_network.mark(1)
    yield shared_network
    weir_in(shared_network.weir)("node_del")


@pytest.fixture
def weir(network):
    """A node with service 1: both addresses, 5-tuple keys, SYN is new, backends 1 and 2."""
    client = weir_in(network.weir)
    client("node_set", mark_mask=MASK, max_flows=1000)
    make_service(client)
    return client


def make_service(client, number=1, key=0, flags=FIVE_SYN, rules=({"address": VIP4}, {"address": VIP6}), idle_timeout=600):
    client("service_set", service=number, key=key, flags=flags, idle_timeout=idle_timeout, epoch=10, rules=list(rules))
    client("backend_set", service=number, backends=[{"slot": slot, "mark": mark} for slot, mark in MARKS.items()])
