# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes through the proxy arrives byte for byte, or the receiver is told of a reset; nothing is ever cut off behind an
orderly end (X1.2, X5.2, X5.3). WEIR_INTEGRITY_BYTES=1000000000 makes the long one as long as that."""

import collections
import json
import os
import sys

import proxy_lab
import pytest
import random_dialogues
from lab import HERE

COUNT, AT_ONCE = 1000, 60
BYTES = int(os.environ.get("WEIR_INTEGRITY_BYTES", 200_000_000))


@pytest.fixture
def play(make_lab):
    """A function that plays dialogues by seed: pairs of records, the client's and the server's."""
    lab = make_lab(backends=1)
    report = f"{lab.directory}/seen"
    proxy_lab.serve(lab.backends[0], "random_dialogues.py", "server", "9000", report)
    proxy_lab.start(lab, proxy_lab.one_backend(service="timeoutSec: 60"))

    def reported():
        with open(report, encoding="utf-8") as file:
            return {seen["seed"]: seen for seen in map(json.loads, file)}

    def make(count, at_once, first_seed, *size):
        words = map(str, (count, at_once, first_seed, *size))
        done = lab.client.run(sys.executable, f"{HERE}/random_dialogues.py", "client", proxy_lab.FRONT4, "80", *words,
                              timeout=300 + 2 * sum(size) / random_dialogues.SLOWEST)
        clients = json.loads(done.stdout)
        # Of a client that reset its connection the server may never have heard.
        lab.until(lambda: all(c["did"] == "reset" or c["seed"] in reported() for c in clients), 70, "the server has seen all", lab.tail)
        return [(client, reported().get(client["seed"])) for client in clients]
    return make


def faults(mine, others):
    """What is wrong with what one side saw of the other."""
    if not mine["same"]:
        yield "other bytes than those that were sent"
    if mine["saw"] == "stuck":
        yield "no end in time"
    if mine["saw"] == "end" and (others["did"] != "end" or mine["got"] != others["sent"]):
        yield "an orderly end, but not all bytes before it"
    if mine["did"] == others["did"] == "end" and mine["saw"] != "end":
        yield "a reset, where both ended orderly"


def test_X5_2_a_thousand_random_dialogues_arrive_whole_or_reset(play):
    pairs = play(COUNT, AT_ONCE, 1)
    found = [(fault, client, server) for client, server in pairs if server
             for mine, others in ((client, server), (server, client)) for fault in faults(mine, others)]
    assert not found, found[:5]
    kinds = collections.Counter((client["did"], server["did"]) for client, server in pairs if server)
    # Nothing would be proven by dialogues that all end the same way.
    assert kinds["end", "end"] > 400 and kinds["end", "reset"] > 50 and kinds["reset", "end"] > 50, kinds
    assert sum(client["saw"] == "reset" for client, _ in pairs) > 50
    assert max(client["got"] for client, _ in pairs) > 1_000_000


def test_X1_2_much_goes_both_ways_at_once_unchanged(play):
    for client, server in play(1, 1, 1_000_000, BYTES):
        assert not [*faults(client, server), *faults(server, client)], (client, server)
        assert client["got"] == server["got"] == BYTES
