#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random events for a while, and a rule for every connection's fate: `make soak`.

Three services over the same backends, each on an address of its own: `keeps` keeps TCP connections of unhealthy backends,
`drops` does not (NEVER_PERSIST), `switches` has a failover group and forgets its entries at a failover. Clients hold
connections over which data flows and open new ones. Meanwhile, at random: backends become unhealthy and healthy, drain and
come back, leave their group and return; a group leaves its service and returns; the configuration is reloaded without a
difference; the engine, the manager or both are killed with SIGKILL and started again within 100 ms.

fates.py then says for each connection which rule explains that it lived or ended. Whatever no rule explains is printed with
what happened around it, and makes the run fail. Seeded: the same seed gives the same events in the same order.
"""

import argparse
import collections
import datetime
import json
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from api import call  # noqa: E402  (the path must be there first)
from fates import SLACK_S, Cause, Connection, History, Sample, observed_causes, with_changes  # noqa: E402
from lab import Lab  # noqa: E402
from resources import endpoints  # noqa: E402
from static_stability import REJECT, SteadyClients, kill, wait_for_forwarding  # noqa: E402

ADDRESSES = {"keeps": "10.9.9.9", "drops": "10.9.9.10", "switches": "10.9.9.11"}
GROUPS = {"left": (1, 2), "right": (3, 4)}
DRAIN_S = 6
CHANGE = re.compile(r"^(\S+)Z weir-manager info: health changed .*\bBACKEND=(\S+) SERVICE=(\S+) .*\bNEW_STATE=(\w+)")
KILLED = (("weir-engine",), ("weir-manager",), ("weir-engine", "weir-manager"))


def configuration(members, detached):
    """`members`: {group: numbers}; `detached`: the right group is out of the service `keeps`."""
    text = """
healthChecks:
  - {name: hc, type: HTTP, checkIntervalSec: 1, timeoutSec: 1, httpHealthCheck: {port: 80}, logConfig: {enable: true}}
networkEndpointGroups:
"""
    for name, numbers in members.items():
        text += f"  - {{name: {name}, zone: zone-a, endpoints: [{endpoints(numbers)}]}}\n"
    text += "backendServices:\n"
    for name, fields in (("keeps", ""),
                         ("drops", "connectionTrackingPolicy: {connectionPersistenceOnUnhealthyBackends: NEVER_PERSIST}, "),
                         ("switches", "failoverPolicy: {disableConnectionDrainOnFailover: true}, ")):
        backends = "{group: left}" + ("" if name == "keeps" and detached else
                                      ", {group: right, failover: true}" if name == "switches" else ", {group: right}")
        text += (f"  - {{name: {name}, loadBalancingScheme: INTERNAL, protocol: TCP, healthChecks: [hc], {fields}"
                 f"connectionDraining: {{drainingTimeoutSec: {DRAIN_S}}}, backends: [{backends}]}}\n")
    text += "forwardingRules:\n"
    for name, address in ADDRESSES.items():
        text += (f"  - {{name: {name}, loadBalancingScheme: INTERNAL, IPAddress: {address}, IPProtocol: TCP, ports: [80], "
                 f"backendService: {name}}}\n")
    return text


class Observer:
    """Asks the manager all the time what it thinks of each service."""

    def __init__(self, lab):
        self.lab, self.stopped = lab, threading.Event()
        self.samples = {service: [] for service in ADDRESSES}
        self.names = {backend.address4: backend.short for backend in lab.backends}
        self.failover = frozenset(f"b{n}" for n in GROUPS["right"])
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(0.1):
            for service in ADDRESSES:
                begin = time.monotonic()
                try:
                    health = call(self.lab, "GET", f"/v1/backendServices/{service}/health")["healthStatus"]
                except OSError:
                    continue
                # TIMEOUT and UNKNOWN are ways of not being healthy.
                states = {self.names[b["endpoint"]]: b["healthState"] if b["healthState"] in ("HEALTHY", "DRAINING") else "UNHEALTHY"
                          for b in health}
                self.samples[service].append(Sample(begin, time.monotonic(), states,
                                                    self.failover if service == "switches" else frozenset()))

    def stop(self):
        self.stopped.set()
        self.thread.join()

    def complete(self, log):
        """With what the manager's log says of the time between two questions."""
        offset = time.time() - time.monotonic()
        changes = {service: [] for service in ADDRESSES}
        for line in log:
            if found := CHANGE.match(line):
                at = datetime.datetime.fromisoformat(found[1]).replace(tzinfo=datetime.timezone.utc).timestamp() - offset
                for service in found[3].split(","):
                    changes[service].append((at, self.names[found[2]], "HEALTHY" if found[4] == "HEALTHY" else "UNHEALTHY"))
        return {service: with_changes(samples, changes[service]) for service, samples in self.samples.items()}


class Events:
    """What happens, and the causes and outages that follow from it. One at a time, from one thread."""

    def __init__(self, lab, seed):
        self.lab, self.random = lab, random.Random(seed)
        self.begin = time.monotonic()
        self.log, self.causes, self.outages, self.waiters, self.counts = [], [], [], [], collections.Counter()
        self.unanswered = []  # [backend, begin, end] of rejected probes
        self.unhealthy, self.away, self.detached = set(), {}, False  # away: backend -> the causes of its drain

    def tell(self, kind, what):
        self.counts[kind] += 1
        self.log.append((time.monotonic(), f"{kind} {what}"))

    def ask(self, method, path, body=None):
        """Until the manager, which may just have been killed, has done it; (before, after)."""
        deadline = time.monotonic() + 30
        while True:
            begin = time.monotonic()
            try:
                call(self.lab, method, path, body)
                return begin, time.monotonic()
            except (ConnectionError, FileNotFoundError):
                if begin > deadline:
                    raise
                time.sleep(0.05)

    def members(self):
        return {name: tuple(n for n in numbers if self.away.get(f"b{n}", ("",))[0] != "removed") for name, numbers in GROUPS.items()}

    def reload(self):
        self.lab.configure(configuration(self.members(), self.detached))
        return self.ask("POST", "/v1/reload")

    def health(self):
        backend = self.random.choice(self.lab.backends)
        if backend in self.unhealthy:
            backend.run("nft", "delete table inet probes")
            self.unhealthy.remove(backend)
            next(span for span in self.unanswered if span[0] == backend.short and span[2] == float("inf"))[2] = time.monotonic()
            self.tell("recovers", backend.short)
        else:
            backend.run("nft", "-f", "-", input=REJECT)
            self.unhealthy.add(backend)
            self.unanswered.append([backend.short, time.monotonic(), float("inf")])
            self.tell("fails", backend.short)

    def drain_or_remove(self):
        backend = self.random.choice(self.lab.backends)
        name = backend.short
        if name in self.away:
            kind, causes = self.away.pop(name)
            before = time.monotonic()
            if kind == "removed":
                self.reload()
            else:
                for service in ADDRESSES:
                    if not (service == "keeps" and self.detached and name in ("b3", "b4")):
                        self.ask("POST", f"/v1/backendServices/{service}/undrain", {"endpoint": backend.address4})
            for cause in causes:
                cause.until = min(cause.until, before)
                if cause.begin > time.monotonic():  # back before the timeout (P7.5)
                    self.causes.remove(cause)
            self.tell("returns", name)
        elif len(self.away) < 2:
            kind = self.random.choice(("removed", "drained"))
            self.away[name] = (kind, [])
            timeout = DRAIN_S if kind == "removed" else self.random.randint(1, DRAIN_S)
            self.tell(kind, f"{name} for {timeout} s")
            span = self.reload() if kind == "removed" else None
            for service in ADDRESSES:
                if service == "keeps" and self.detached and name in ("b3", "b4"):
                    continue
                begin, end = span or self.ask("POST", f"/v1/backendServices/{service}/drain",
                                              {"endpoint": backend.address4, "timeoutSec": timeout})
                cause = Cause("P7.1", service, frozenset([name]), begin + timeout, end + timeout)
                self.away[name][1].append(cause)
                self.causes.append(cause)

    def group(self):
        # Who drains from a group stays out of this: whose deadline counts would be another question.
        if any(name in self.away for name in ("b3", "b4")):
            return
        self.detached = not self.detached
        self.tell("group right leaves keeps" if self.detached else "group right returns to keeps", "")
        begin, end = self.reload()
        if self.detached:
            self.causes.append(Cause("P7.4", "keeps", frozenset(("b3", "b4")), begin, end))
        else:
            for cause in self.causes:
                if cause.rule == "P7.4":
                    cause.until = min(cause.until, begin)

    def reload_without_difference(self):
        self.tell("reload", "")
        self.reload()

    def kill(self):
        names = self.random.choice(KILLED)
        self.tell("kill", " ".join(names))
        begin = time.monotonic()
        kill(self.lab, names)
        time.sleep(self.random.uniform(0, 0.1))
        for name in names:
            self.lab.program(name)
        wait_for_forwarding(self.lab)
        waiter = threading.Thread(target=self.wait_until_in_step, args=(begin,))
        waiter.start()
        if self.random.random() < 0.7:
            waiter.join()
        self.waiters.append(waiter)

    def wait_until_in_step(self, begin):
        """A manager that is away cannot tell the engine what it decided either."""
        self.lab.until(self.lab.ready, 60, "weir is in step again", self.lab.tail)
        self.outages.append((begin, time.monotonic()))

    def run(self, seconds):
        kinds = ((self.health, 5), (self.drain_or_remove, 4), (self.group, 1), (self.reload_without_difference, 1), (self.kill, 2))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.2, 2.0))
            self.random.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]()
        for waiter in self.waiters:
            waiter.join()


def connections(service, report, sockets):
    def elsewhere(backend, port):
        return frozenset(socket.split()[0] for socket in sockets[ADDRESSES[service], str(port)]) - {backend}

    for h in report["held"]:
        yield Connection(service, h["backend"], h["opened"], h["answers"], h["ended"] or time.monotonic(), h["error"], h["moved"], h["port"],
                         elsewhere(h["backend"], h["port"]))
    for port, began, ended, backend, error in report["new"]:
        yield Connection(service, backend, began, [] if error else [ended], ended, error, port=port)


def sockets_of_clients(lab):
    """{(service's address, client's port): [backend and state]}: what the backends' kernels know of connections."""
    known = collections.defaultdict(list)
    for backend in lab.backends:
        for line in backend.run("ss", "-Htan").stdout.splitlines():
            state, _, _, local, peer = line.split()[:5]
            known[local.rpartition(":")[0], peer.rpartition(":")[2]].append(f"{backend.short} {state}")
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin", help="where weir's programs are")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--held", type=int, default=100, help="connections held open at each service")
    parser.add_argument("--new", type=float, default=30, help="new connections a second at each service")
    options = parser.parse_args()
    seconds = min(options.seconds, 3600)
    print(f"seed {options.seed}", flush=True)
    with Lab(options.bin) as lab:
        for backend in lab.backends:
            for address in ADDRESSES.values():
                backend.ip(f"addr replace {address}/32 dev lo")
            lab.serve(backend)
        lab.configure(configuration(GROUPS, False))
        lab.start_weir()
        observer = Observer(lab)
        clients = {service: SteadyClients(lab, options.held, options.new, address=address, reopen=True)
                   for service, address in ADDRESSES.items()}
        events = Events(lab, options.seed)
        try:
            events.run(seconds)
            time.sleep(2 * SLACK_S)
            reports = {service: client.report() for service, client in clients.items()}
            sockets = sockets_of_clients(lab)
            with open(f"{lab.directory}/weir-manager.log", encoding="utf-8") as log:
                known = observer.complete(log)
        except BaseException:
            print(lab.tail(), file=sys.stderr)
            raise
        finally:
            observer.stop()

    causes = list(events.causes)
    for service, samples in known.items():
        causes += observed_causes(service, samples, never_persists=service == "drops", forgets_on_failover=service == "switches",
                                  unanswered=events.unanswered)
    history = History(known, causes, events.outages)
    fates, wrong = collections.Counter(), []
    for service, report in reports.items():
        for connection in connections(service, report, sockets):
            fate, why = history.fate(connection)
            if fate == "wrong":
                wrong.append((connection, why))
            else:
                fates[f"{service}: {fate} by {why}"] += 1
    for connection, why in wrong[:10]:
        last = (connection.answers or [connection.opened])[-1]
        print(f"\n{connection.service} {connection.backend} from port {connection.port}, opened {connection.opened - events.begin:.2f}, first "
              f"answer {(connection.answers or [float('nan')])[0] - events.begin:.2f}, last answer {last - events.begin:.2f}, ended "
              f"{connection.ended - events.begin:.2f}: {why}; sockets now: "
              f"{sockets[ADDRESSES[connection.service], str(connection.port)]}")
        for when, what in events.log:
            if min(connection.opened, last - 10) - 10 < when < min(last + 10, connection.ended + 2):
                print(f"  {when - events.begin:8.2f} {what}")
        for sample in history.around(connection.service, last - 1, min(last + 5, connection.ended)):
            print(f"  {sample.begin - events.begin:8.2f} {sample.states}")
    print(json.dumps({"seed": options.seed, "seconds": seconds, "events": events.counts, "fates": dict(sorted(fates.items())),
                      "unexplained": len(wrong)}, indent=1))
    # A run in which nothing happened proves nothing.
    return 1 if wrong or not events.counts["kill"] or not fates else 0


if __name__ == "__main__":
    sys.exit(main())
