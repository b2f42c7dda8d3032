# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of static stability share: clients under observation, backends that flap, programs that are killed."""

import json
import os
import random
import signal
import subprocess
import threading
import time

from api import call
from lab import VIP4

REJECT = ("table inet probes { chain in { type filter hook input priority 0; "
          "ip saddr 10.2.0.1 tcp dport 80 reject with tcp reset; ip6 saddr fd02::1 tcp dport 80 reject with tcp reset; }; }")


class SteadyClients:
    """weir_steady_clients on the client; `ports` are those of the held connections with their backends."""

    def __init__(self, lab, held, per_second, requests_per_second=1.0, address=VIP4, port=80, reopen=False):
        self.process = lab.client.start(
            f"{lab.binaries}/weir_steady_clients", address, str(port), str(held), str(per_second), str(requests_per_second),
            *(("reopen",) if reopen else ()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True)
        self.ports = json.loads(self.process.stdout.readline())

    def report(self, timeout=180):
        out, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0
        return json.loads(out)


class Flapping:
    """Takes probes away from backends and gives them back, and drains and undrains, in a thread, so that the set of eligible
    backends changes all the time; two backends of four are never touched at once. Seeded. Who is away is in `away`."""

    def __init__(self, lab, service, seed):
        self.lab, self.service, self.random = lab, service, random.Random(seed)
        self.away, self.changes, self.stopped = set(), 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(self.random.uniform(0.5, 1.5)):
            backend = self.random.choice(self.lab.backends)
            if backend in self.away:
                self.give_back(backend)
            elif len(self.away) < 2:
                self.away.add(backend)
                backend.run("nft", "-f", "-", input=REJECT)
                self.command("drain" if self.random.random() < 0.5 else None, backend)
            self.changes += 1
        for backend in list(self.away):
            self.give_back(backend)

    def give_back(self, backend):
        backend.run("nft", "delete table inet probes")
        self.command("undrain", backend)
        self.away.discard(backend)

    def command(self, what, backend):
        """The manager may be away at this moment; health goes on flapping without it."""
        if what:
            try:
                call(self.lab, "POST", f"/v1/backendServices/{self.service}/{what}", {"endpoint": backend.address4})
            except OSError:
                pass

    def stop(self):
        self.stopped.set()
        self.thread.join()


def kill(lab, names):
    for name in names:
        os.kill(lab.programs[name].pid, signal.SIGKILL)
    for name in names:
        lab.programs[name].wait()


def queue_is_bound(engine, queue="8100"):
    """Whether the engine reads its queue. The kernel's list as the engine's network namespace has it."""
    try:
        with open(f"/proc/{engine.pid}/net/netfilter/nfnetlink_queue", encoding="ascii") as file:
            return any(line.split()[0] == queue and int(line.split()[1]) != 0 for line in file)
    except OSError:
        return False


def wait_for_forwarding(lab, timeout=20):
    """Seconds until the engine reads its queue."""
    begin = time.monotonic()
    while not queue_is_bound(lab.programs["weir-engine"]):
        if lab.programs["weir-engine"].poll() is not None or time.monotonic() > begin + timeout:
            raise AssertionError(f"the engine does not forward again\n{lab.tail()}")
        time.sleep(0.005)
    return time.monotonic() - begin


def would_move(lab, ports, address=VIP4):
    """How many of these connections a choice without the table would send elsewhere now."""
    addresses = {backend.short: backend.address4 for backend in lab.backends}
    moved = 0
    for port, backend in ports:
        chosen = call(lab, "POST", "/v1/explain", {"src": "10.1.0.2", "dst": address, "proto": "TCP", "sport": port,
                                                   "dport": 80, "flags": ["SYN"]})["selection"]["endpoint"]
        assert chosen in addresses.values()
        moved += chosen != addresses[backend]
    return moved
