#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a marked packet costs where there are 10 backends and where there are 1,000.

  client ns -- veth 10.71.1.0/24 -- weir ns -- veth 10.72.0.0/16 -- sink ns

Three such rows stand side by side, one with 10 backends and two with 1,000. nf_tables gives packets
the backends' marks in turn, where the engine's verdict would; everything else is as the manager
lays it. One core does all the work of a row (sender, forwarding, receiving): the processor time of
the sender and of that core's ksoftirqd, by the packets that were forwarded meanwhile, is the cost of
a packet, and what other programs take of the core is not in it. All backends get packets in turn:
what 1,000 routes and neighbours cost in caches is in it. In the third row only 10 of the 1,000 get
packets, from all parts of the tree: what it costs more than the first is the rules alone.

All senders run all the time; they are stopped while another one's window lasts. In a round each has
two windows, in the order 1 2 3 3 2 1, so that what drifts cancels out; the median of the rounds' ratios
counts, and its quartiles tell what it is worth. Needs root; everything it makes is removed.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ending import remove_all_when_told_to_end  # noqa: E402  (the path must be there first)
from rounds import ratio_quartiles  # noqa: E402  (the path must be there first)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
VIP = "10.71.9.9"
LEAST_PACKETS = 2000  # of a round, for its cost to mean something


def ip(*words, ns=None):
    subprocess.run(["ip", *(["-n", ns] if ns else []), *words], check=True)


def inside(ns, *words, **options):
    return subprocess.run(["ip", "netns", "exec", ns, *words], check=True, text=True, **options)


class Row:
    def __init__(self, build, backends, used):
        self.build, self.backends, self.used = build, backends, used
        tag = f"wtree{os.getpid()}x{backends}x{used}"
        self.client, self.weir, self.sink = f"{tag}-c", f"{tag}-w", f"{tag}-s"
        self.rules = self.sender = None

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
               f"ip daddr {VIP} drop; }}; }}")
        for key in ("net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.in.rp_filter=0"):
            inside(self.weir, "sysctl", "-qw", key)
        marks = ", ".join(f"{i} : {1 + i * self.backends // self.used}" for i in range(self.used))
        inside(self.weir, "nft", "-f", "-", input="table ip marks { chain c { type filter hook prerouting priority -440; "
               f"iifname in ip daddr {VIP} meta mark set numgen inc mod {self.used} map {{ {marks} }}; }}; }}")
        self.rules = subprocess.Popen(["ip", "netns", "exec", self.weir, f"{self.build}/bin/weir_bench_rule_tree",
                                       "10.72.16.1", str(self.backends)], text=True, stdout=subprocess.PIPE)
        self.applied_s, self.compared_s = (float(word) for word in self.rules.stdout.readline().split())
        time.sleep(0.3)

    def __exit__(self, *_):
        if self.sender:
            self.sender.kill()  # also where it is stopped
            self.sender.wait()
        if self.rules:
            self.rules.send_signal(signal.SIGTERM)
            self.rules.wait(timeout=20)
        for ns in (self.client, self.weir, self.sink):
            subprocess.run(["ip", "netns", "delete", ns], check=False)

    def start_sender(self, seconds, cpu):
        self.sender = subprocess.Popen(
            ["ip", "netns", "exec", self.client, "taskset", "-c", str(cpu), f"{self.build}/bin/weir_bench_sender",
             "10.71.1.2", VIP, "64", "1000000", str(seconds)], stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        self.sender.send_signal(signal.SIGSTOP)

    def forwarded(self):
        # The process that keeps the rules is in the weir namespace.
        with open(f"/proc/{self.rules.pid}/net/dev", encoding="utf-8") as devices:
            line = next(line for line in devices if line.strip().startswith("out:"))
        return int(line.split(":")[1].split()[9])

    def window(self, seconds, softirqs):
        """Packets forwarded and nanoseconds of the processor taken while this row's sender runs."""
        if self.sender.poll() is not None:
            sys.exit(f"the sender of {self.backends} backends has ended: exit {self.sender.returncode}")
        self.sender.send_signal(signal.SIGCONT)
        time.sleep(seconds / 10)
        processes = (self.sender.pid, softirqs)
        packets, spent = self.forwarded(), sum(map(ran, processes))
        time.sleep(seconds)
        packets, spent = self.forwarded() - packets, sum(map(ran, processes)) - spent
        self.sender.send_signal(signal.SIGSTOP)
        return packets, spent


def ran(pid):
    """Nanoseconds that a process has had of the processor."""
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as stat:
        return int(stat.read().split()[0])


def softirq_thread(cpu):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == f"ksoftirqd/{cpu}":
                    return pid
        except OSError:
            continue  # it has ended
    return sys.exit(f"there is no ksoftirqd/{cpu}: the cost of a packet cannot be told")


def measure(rows, rounds, seconds, softirqs):
    """Nanoseconds per packet of each round, for each row."""
    costs = {row: [] for row in rows}
    for _ in range(rounds):
        total = {row: [0, 0] for row in rows}
        for row in rows + rows[::-1]:
            total[row] = [a + b for a, b in zip(total[row], row.window(seconds, softirqs))]
        if all(packets > LEAST_PACKETS for packets, _ in total.values()):
            for row, (packets, spent) in total.items():
                costs[row].append(spent / packets)
    if len(costs[rows[0]]) < rounds / 2:
        sys.exit("the machine is too busy: in most rounds next to nothing was forwarded")
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="of a window; a round has six")
    parser.add_argument("--out")
    options = parser.parse_args()
    remove_all_when_told_to_end()
    cpu = max(os.sched_getaffinity(0))
    with Row(options.build, 10, 10) as few, Row(options.build, 1000, 1000) as many, Row(options.build, 1000, 10) as tree:
        rows = [few, many, tree]
        for row in rows:
            row.start_sender(60 + options.rounds * options.seconds * 20, cpu)
        softirqs = softirq_thread(cpu)
        for row in rows:
            row.window(options.seconds, softirqs)
        costs = measure(rows, options.rounds, options.seconds, softirqs)
        quartiles = {row: [round(quartile, 4) for quartile in ratio_quartiles(costs[row], costs[few])] for row in (many, tree)}
        names = {few: "10", many: "1000", tree: "1000, 10 of them used"}
        result = {"nanoseconds_per_packet": {names[row]: round(statistics.median(seen)) for row, seen in costs.items()},
                  "rounds": {names[row]: [round(cost) for cost in seen] for row, seen in costs.items()},
                  "cost_1000_over_10": quartiles[many][1], "quartiles": quartiles[many],
                  "rules_alone_1000_over_10": quartiles[tree][1], "rules_alone_quartiles": quartiles[tree],
                  "apply_1000_s": many.applied_s, "compare_1000_s": many.compared_s}
    print(json.dumps(result, indent=1))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
