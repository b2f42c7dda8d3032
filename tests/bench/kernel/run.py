#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a marked packet costs where there are 10 backends and where there are 1,000.

  client ns -- veth 10.71.1.0/24 -- weir ns -- veth 10.72.0.0/16 -- sink ns

Two such rows stand side by side, one with 10 backends and one with 1,000. nf_tables gives packets
the backends' marks in turn, where the engine's verdict would; everything else is as the manager
lays it. One core does all the work of a row (sender, forwarding, receiving), so that the packets
that arrive per second are the cost of a packet. All backends get packets in turn: what 1,000
routes and neighbours cost in caches is in it, not the rules alone. The rows take turns, and the
median of the rounds' ratios counts. Needs root; everything it makes is removed.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
VIP = "10.71.9.9"


def ip(*words, ns=None):
    subprocess.run(["ip", *(["-n", ns] if ns else []), *words], check=True)


def inside(ns, *words, **options):
    return subprocess.run(["ip", "netns", "exec", ns, *words], check=True, text=True, **options)


class Row:
    def __init__(self, build, backends):
        self.build, self.backends = build, backends
        tag = f"wtree{os.getpid()}x{backends}"
        self.client, self.weir, self.sink = f"{tag}-c", f"{tag}-w", f"{tag}-s"
        self.rules = None

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        for ns in (self.client, self.weir, self.sink):
            ip("netns", "add", ns)
            ip("link", "set", "lo", "up", ns=ns)
        for ns, name, own, other in ((self.client, "in", "10.71.1.1/24", "10.71.1.2/24"),
                                     (self.sink, "out", "10.72.0.1/16", "10.72.0.2/16")):
            ip("link", "add", name, "netns", self.weir, "type", "veth", "peer", "name", "eth0", "netns", ns)
            ip("address", "add", own, "dev", name, ns=self.weir)
            ip("address", "add", other, "dev", "eth0", ns=ns)
            ip("link", "set", name, "up", ns=self.weir)
            ip("link", "set", "eth0", "up", ns=ns)
        ip("route", "add", "default", "via", "10.71.1.1", ns=self.client)
        # Answers for all backends; what comes for the virtual address ends here.
        ip("route", "add", "local", "10.72.16.0/20", "dev", "lo", ns=self.sink)
        inside(self.sink, "nft", "-f", "-", input="table ip sink { chain c { type filter hook prerouting priority -500; "
               f"ip daddr {VIP} counter drop; }}; }}")
        for key in ("net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.in.rp_filter=0"):
            inside(self.weir, "sysctl", "-qw", key)
        inside(self.weir, "nft", "-f", "-", input="table ip marks { chain c { type filter hook prerouting priority -440; "
               f"iifname in ip daddr {VIP} meta mark set numgen inc mod {self.backends} offset 1; }}; }}")
        self.rules = subprocess.Popen(["ip", "netns", "exec", self.weir, f"{self.build}/bin/weir_bench_rule_tree",
                                       "10.72.16.1", str(self.backends)], text=True, stdout=subprocess.PIPE)
        self.applied_s, self.compared_s = (float(word) for word in self.rules.stdout.readline().split())
        time.sleep(0.3)

    def __exit__(self, *_):
        if self.rules:
            self.rules.send_signal(signal.SIGTERM)
            self.rules.wait(timeout=20)
        for ns in (self.client, self.weir, self.sink):
            subprocess.run(["ip", "netns", "delete", ns], check=False)

    def arrived(self):
        listing = json.loads(inside(self.sink, "nft", "-j", "list", "table", "ip", "sink", stdout=subprocess.PIPE).stdout)
        return next(e["counter"]["packets"] for item in listing["nftables"] if "rule" in item
                    for e in item["rule"]["expr"] if "counter" in e)

    def packets_per_second(self, seconds, cpu):
        before, start = self.arrived(), time.monotonic()
        inside(self.client, "taskset", "-c", str(cpu), f"{self.build}/bin/weir_bench_sender", "10.71.1.2", VIP, "64",
               "1000000", str(seconds), stdout=subprocess.PIPE)
        return (self.arrived() - before) / (time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--out")
    options = parser.parse_args()
    cpu = max(os.sched_getaffinity(0))
    with Row(options.build, 10) as few, Row(options.build, 1000) as many:
        rates = {few: [], many: []}
        for row in rates:
            row.packets_per_second(0.2, cpu)
        for _ in range(options.rounds):
            for row, seen in rates.items():
                seen.append(row.packets_per_second(options.seconds, cpu))
        ratios = [one / other for one, other in zip(rates[few], rates[many])]
        result = {"packets_per_second": {str(row.backends): round(statistics.median(seen)) for row, seen in rates.items()},
                  "rounds": {str(row.backends): [round(rate) for rate in seen] for row, seen in rates.items()},
                  "cost_1000_over_10": statistics.median(ratios),
                  "apply_1000_s": many.applied_s, "compare_1000_s": many.compared_s}
    print(json.dumps(result, indent=1))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
