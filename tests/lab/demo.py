# SPDX-License-Identifier: GPL-2.0-or-later
"""weir at work on real traffic, in a few network namespaces: `make demo`.

One weir node, a client, four backends with nginx and a UDP server, two of them in a failover
group; IPv4 and IPv6. Exits 0 when everything that is shown is as weir promises.
"""

import argparse
import collections
import sys
import time

from lab import VIP4, VIP6, Lab
from resources import web_and_echo

class Demo:
    def __init__(self, lab):
        self.lab, self.results = lab, []
        self.b1, self.b2, self.b3, self.b4 = lab.backends

    def say(self, text):
        print(text, flush=True)

    def check(self, what, good):
        self.results.append((what, good))
        self.say(f"   {'ok  ' if good else 'FAIL'} {what}")

    def shares(self, label, report):
        total = sum(report["shares"].values()) or 1
        parts = ", ".join(f"{name} {count} ({100 * count / total:.0f}%)" for name, count in sorted(report["shares"].items()))
        self.say(f"   {label}: {parts}; failed: {report['failed']}")

    def wait_health(self, backend, health, timeout=15):
        return self.lab.until(lambda: self.lab.health_of("web", backend) == health, timeout,
                              f"{backend.short} is {health}", self.lab.tail)

    def connections(self):
        self.say("\n1. A thousand connections to the virtual address")
        v4 = self.lab.traffic("burst", VIP4, 80, 1000)
        v6 = self.lab.traffic("burst", VIP6, 80, 300)
        udp4, udp6 = (self.lab.traffic("udp", vip, 5353, 100) for vip in (VIP4, VIP6))
        for label, report in (("1,000 TCP connections, IPv4", v4), ("300 TCP connections, IPv6", v6),
                              ("100 UDP exchanges, IPv4", udp4), ("100 UDP exchanges, IPv6", udp6)):
            self.shares(label, report)
        self.check("no connection or exchange failed", not any(r["failed"] for r in (v4, v6, udp4, udp6)))
        self.check("each primary's share of the 1,000 is within 25% of equal",
                   all(375 <= v4["shares"].get(b, 0) <= 625 for b in ("b1", "b2")))
        self.check("backends saw the client's address and were called at the virtual address",
                   v4["clients"] == ["10.1.0.2"] and v4["servers"] == [VIP4]
                   and v6["clients"] == ["fd01::2"] and v6["servers"] == [VIP6])

    def server_stops(self):
        self.say("\n2. A server stops while connections are open and requests keep coming (40 open, 100 new a second)")
        traffic = self.lab.traffic("hold", VIP4, 80, 40, 9, 100, background=True)
        time.sleep(2)
        self.lab.stop(self.lab.servers["b1"])
        stopped = time.monotonic()
        self.wait_health(self.b1, "UNHEALTHY")
        seen = time.monotonic() - stopped
        report = self.lab.report(traffic)
        others = [h for h in report["held"] if h["backend"] == "b2"]
        late = [f for f in report["failures"] if f[0] > 2 + seen + 1.0]
        self.say(f"   b1's server was stopped; weir saw it after {seen:.1f} s (2 failed probes, 1 s apart)")
        self.say(f"   new connections meanwhile: {sum(report['shares'].values())} served, {report['failed']} failed")
        self.check("no new connection failed once it was seen", not late)
        self.check(f"none of the {len(others)} established connections to b2 noticed",
                   bool(others) and not any(h["error"] or h["moved"] for h in others))
        self.lab.serve(self.b1)
        self.wait_health(self.b1, "HEALTHY")

    def drain(self):
        self.say("\n3. A backend is drained: `weirctl drain web 10.2.0.12` (draining timeout of the service: 300 s)")
        traffic = self.lab.traffic("hold", VIP4, 80, 40, 6, 0, background=True)
        time.sleep(2)
        self.lab.weirctl("drain", "web", self.b2.address4)
        new = self.lab.traffic("burst", VIP4, 80, 300)
        report = self.lab.report(traffic)
        on_b2 = [h for h in report["held"] if h["backend"] == "b2"]
        self.shares("300 new connections", new)
        self.check("new connections avoid the draining backend", set(new["shares"]) == {"b1"} and not new["failed"])
        self.check(f"its {len(on_b2)} established connections went on",
                   bool(on_b2) and not any(h["error"] or h["moved"] for h in on_b2))
        self.lab.weirctl("undrain", "web", self.b2.address4)

    def failover(self):
        self.say("\n4. All primaries go down")
        for name in ("b1", "b2"):
            self.lab.stop(self.lab.servers[name])
        for backend in (self.b1, self.b2):
            self.wait_health(backend, "UNHEALTHY")
        report = self.lab.traffic("burst", VIP4, 80, 300)
        self.shares("300 new connections", report)
        self.check("the failover group serves all of them",
                   set(report["shares"]) == {"b3", "b4"} and not report["failed"])
        self.say(self.lab.weirctl("explain", "--src", "10.1.0.2", "--dst", VIP4, "--sport", "40000", "--dport", "80",
                                  "--flags", "SYN", json_output=False).rstrip().replace("\n", "\n   | ").join(("   | ", "")))
        for backend in (self.b1, self.b2):
            self.lab.serve(backend)
            self.wait_health(backend, "HEALTHY")

    def engine_dies(self):
        self.say("\n5. The engine is killed (kill -9) and started again, 40 connections open")
        before = self.lab.kernel_state()
        traffic = self.lab.traffic("hold", VIP4, 80, 40, 6, 0, background=True)
        time.sleep(2)
        self.lab.stop(self.lab.programs["weir-engine"], number=9)
        self.lab.program("weir-engine")
        self.lab.until(self.lab.ready, 10, "the engine is back", self.lab.tail)
        report = self.lab.report(traffic)
        self.check("every open connection went on with the backend it had",
                   not any(h["error"] or h["moved"] for h in report["held"]))
        self.check("rules, routes and nf_tables are as before, nothing doubled", before == self.lab.kernel_state())

    def summary(self):
        self.say("\nSummary")
        tally = collections.Counter(good for _, good in self.results)
        for what, good in self.results:
            if not good:
                self.say(f"   FAIL {what}")
        self.say(f"   {tally[True]} of {len(self.results)} things shown are as promised.")
        return not tally[False]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin", help="where weir-manager, weir-engine and weirctl are")
    parser.add_argument("--keep", action="store_true", help="leave the lab standing at the end")
    options = parser.parse_args()
    with Lab(options.bin) as lab:
        demo = Demo(lab)
        demo.say("A client, a weir node and four backends (b1, b2 primary; b3, b4 failover), each in a network namespace.")
        for backend in lab.backends:
            lab.serve(backend)
            lab.echo(backend)
        clean = lab.kernel_state()
        lab.configure(web_and_echo(service="failoverPolicy: {failoverRatio: 0.0}"))
        lab.start_weir()
        demo.say(lab.weirctl("status", json_output=False).rstrip())
        for step in (demo.connections, demo.server_stops, demo.drain, demo.failover, demo.engine_dies):
            step()
        if options.keep:
            lab.keep = True
            good = demo.summary()
            demo.say(f"""
The lab stays. Look around:
   ip netns exec {lab.weir.name} {lab.binaries}/weirctl --run-dir {lab.run_dir} status
   ip netns exec {lab.weir.name} nft list ruleset
   ip netns exec {lab.client.name} curl http://{VIP4}/
   configuration: {lab.config}, logs: {lab.directory}/*.log
Take it down:
   for n in $(ip netns | grep -o '^{lab.tag}-[a-z0-9]*'); do ip netns pids $n | xargs -r kill; ip netns del $n; done; rm -rf {lab.directory}""")
        else:
            demo.say("\n6. weir is stopped")
            for name in ("weir-engine", "weir-manager"):
                lab.stop(lab.programs[name])
            demo.check("the kernel's rules, routes and tables are byte for byte as before weir", lab.kernel_state() == clean)
            good = demo.summary()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
