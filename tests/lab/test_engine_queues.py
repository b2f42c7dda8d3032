# SPDX-License-Identifier: GPL-2.0-or-later
"""Several queues, one pinned thread each, one table."""

import os
import signal
import sys

from api import call
from lab import VIP4
from queue_counters import settled_kernel_counters, told_counters
from resources import web_and_echo

QUEUES = 4
# Enough that packets to them come on several queues, whatever the kernel's hash.
ADDRESSES = [f"10.9.8.{n}" for n in range(1, 17)]

SEND = """
import socket, sys
count, port, addresses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", port))
s.settimeout(5)
for address in addresses:
    names = set()
    for _ in range(count):
        s.sendto(b"x", (address, 5353))
        names.add(s.recv(100).split()[0].decode())
    print(" ".join(sorted(names)))
"""


def who_answers(lab, count, port):
    """The backends that answer at each of the addresses."""
    out = lab.client.run(sys.executable, "-c", SEND, str(count), str(port), *ADDRESSES, timeout=60).stdout
    return [set(line.split()) for line in out.splitlines()]


def queues_lab(make_lab, affinity):
    """A UDP service on sixteen addresses, whose packets come on all queues."""
    lab = make_lab(backends=4)
    for backend in lab.backends:
        lab.serve(backend)
        for address in ADDRESSES:
            backend.ip(f"addr add {address}/32 dev lo")
        lab.echo(backend)
    resources, rules = web_and_echo(primary=(1, 2, 3, 4), standby=()).split("forwardingRules:\n")
    before, echo = resources.split("  - name: echo\n")
    session = f"    sessionAffinity: {affinity}\n    connectionTrackingPolicy: {{trackingMode: PER_SESSION}}\n"
    for number, address in enumerate(ADDRESSES):
        rules += (f"  - {{name: echo-{number}, loadBalancingScheme: INTERNAL, IPAddress: {address}, IPProtocol: UDP, "
                  f"ports: [5353], backendService: echo}}\n")
    lab.configure(f"{before}  - name: echo\n{session}{echo}forwardingRules:\n{rules}", f"queues: {QUEUES}\n")
    lab.start_weir()
    return lab


def packets_by_queue(lab):
    return {q["queue"]: q["packets"] for q in call(lab, "GET", "/v1/status")["engine"]["threads"]}


def test_each_queue_has_a_thread_on_a_processor_of_its_own(make_lab):
    lab = queues_lab(make_lab, "CLIENT_IP_NO_DESTINATION")
    allowed = sorted(os.sched_getaffinity(0))
    pid = lab.programs["weir-engine"].pid
    places = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as comm:
            name = comm.read().strip()
        if name.startswith("queue-"):
            places[int(name.removeprefix("queue-"))] = os.sched_getaffinity(int(task))
    assert places == {8100 + i: {allowed[i % len(allowed)]} for i in range(QUEUES)}


def test_P5_1_tuple_affinity_finds_one_entry_from_every_queue(make_lab):
    lab = queues_lab(make_lab, "CLIENT_IP_NO_DESTINATION")
    before = packets_by_queue(lab)
    names = set().union(*who_answers(lab, 20, 4000))
    after = packets_by_queue(lab)
    used = [queue for queue in after if after[queue] > before.get(queue, 0)]
    assert len(used) >= 2, after
    assert sum(after.values()) - sum(before.values()) == 20 * len(ADDRESSES)
    assert len(names) == 1, names
    assert lab.weirctl("connections", "count", "--service", "echo")["count"] == 1


def test_P5_2_tuple_affinity_finds_one_entry_for_each_destination(make_lab):
    lab = queues_lab(make_lab, "CLIENT_IP")
    by_port = [who_answers(lab, 5, port) for port in (4000, 4001, 4002)]
    assert all(len(names) == 1 for names in by_port[0]), by_port
    assert by_port[1] == by_port[0] == by_port[2]
    assert lab.weirctl("connections", "count", "--service", "echo")["count"] == len(ADDRESSES)


def test_overflow_is_counted_for_each_queue_from_both_kernel_counters(make_lab):
    lab = queues_lab(make_lab, "CLIENT_IP_NO_DESTINATION")
    engine, each = lab.programs["weir-engine"], 8000
    engine.send_signal(signal.SIGSTOP)
    try:
        lab.client.run(sys.executable, "-c", "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                       f"[s.sendto(b'x', (address, 5353)) for address in sys.argv[1:] for _ in range({each})]", *ADDRESSES)
        kernel = settled_kernel_counters(lab)
    finally:
        engine.send_signal(signal.SIGCONT)
    assert sum(sum(counters) for counters in kernel.values()) > 0
    told = told_counters(lab)
    assert all(now >= then for queue, old in kernel.items() for now, then in zip(told[queue], old))
    assert lab.traffic("burst", VIP4, 80, 20)["failed"] == 0
