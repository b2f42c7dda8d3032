#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU per forwarded packet of weir-engine, of a plain queue loop and of a batched one.

The engine is measured twice: with all flows known, as the loops are compared, and with every packet
a new connection.

  client ns                 weir ns                          sink ns
  sender -- veth 10.71.1.0/24 -- [queue] consumer -- veth 10.71.2.0/24 -- backends 10.71.2.11..14
                                                              (packets to the virtual address end here)

The consumer is the engine or a loop; namespaces, rules, routes, marks, traffic and number of flows
are the same, once for each consumer, so that all of them run all the time and are measured in
turn, in slices of half a second: what disturbs the machine hits neighbours in time alike, and a
round's ratio is that of its own slices. Medians are shown. A consumer's CPU time is what the
scheduler charged to its threads (user and system); a verdict re-injects the packet in the context
of the consumer, so routing and sending are in it. Packets are counted where they arrive. Needs
root; everything it makes is removed.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from ending import remove_all_when_told_to_end  # noqa: E402  (the path must be there first)
from rounds import ratio_quartiles  # noqa: E402  (the path must be there first)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
VIP = "10.71.9.9"
BACKENDS = [f"10.71.2.{n}" for n in (11, 12, 13, 14)]
QUEUE = 8171
ENTRIES = 1 << 20
MAX_LOST = 0.01
LOWEST_RATE = 20000
# From addresses of their own, another network for each slice: there are so many.
NEW_NETWORKS = [f"10.{n}.0.1" for n in range(81, 181)]
NEW_FLOWS = 2 * 50000


def ip(*words, ns=None):
    subprocess.run(["ip", *(["-n", ns] if ns else []), *words], check=True)


def sysctl(ns, key, value):
    subprocess.run(["ip", "netns", "exec", ns, "sysctl", "-qw", f"{key}={value}"], check=True)


class Lab:
    """The three namespaces; removed on exit."""

    def __init__(self, name=""):
        tag = f"wbench{os.getpid()}{name}"
        self.client, self.weir, self.sink = f"{tag}-c", f"{tag}-w", f"{tag}-s"
        self.run_dir = tempfile.mkdtemp(prefix="weir-bench-")

    def __enter__(self):
        for ns in (self.client, self.weir, self.sink):
            ip("netns", "add", ns)
            ip("link", "set", "lo", "up", ns=ns)
        for ns, name, net in ((self.client, "in", 1), (self.sink, "out", 2)):
            ip("link", "add", name, "netns", self.weir, "type", "veth", "peer", "name", "eth0", "netns", ns)
            ip("address", "add", f"10.71.{net}.1/24", "dev", name, ns=self.weir)
            ip("address", "add", f"10.71.{net}.2/24", "dev", "eth0", ns=ns)
            ip("link", "set", name, "up", ns=self.weir)
            ip("link", "set", "eth0", "up", ns=ns)
        for backend in BACKENDS:
            ip("address", "add", f"{backend}/24", "dev", "eth0", ns=self.sink)
        ip("route", "add", "default", "via", "10.71.1.1", ns=self.client)
        sysctl(self.weir, "net.ipv4.ip_forward", 1)
        for key in ("all", "default", "in", "out"):
            sysctl(self.weir, f"net.ipv4.conf.{key}.rp_filter", 0)
        return self

    def __exit__(self, *_):
        for ns in (self.client, self.weir, self.sink):
            subprocess.run(["ip", "netns", "delete", ns], check=False)
        shutil.rmtree(self.run_dir, ignore_errors=True)

    def start(self, ns, *command, cpu=None, **options):
        # With real-time priority other work on the machine hardly disturbs.
        pin = ["chrt", "-f", "20"] + (["taskset", "-c", str(cpu)] if cpu is not None else [])
        return subprocess.Popen(["ip", "netns", "exec", ns, *pin, *command], text=True, **options)

    def received(self):
        with os.popen(f"ip netns exec {self.sink} cat /sys/class/net/eth0/statistics/rx_packets") as out:
            return int(out.read())

    def queue_is_bound(self):
        with os.popen(f"ip netns exec {self.weir} cat /proc/net/netfilter/nfnetlink_queue") as out:
            return any(line.split()[0] == str(QUEUE) and line.split()[3] == "2" for line in out)


def flow_count(flows):
    addresses, _, ports = flows.rpartition("x")
    return int(addresses or 1) * int(ports)


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=10)


def cpu_seconds(pid):
    """(all, user only): all is exact, the user part is the kernel's estimate in ticks."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        user = int(file.read().rsplit(")", 1)[1].split()[11])
    return total / 1e9, user / os.sysconf("SC_CLK_TCK")


def softirq_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[7]) / os.sysconf("SC_CLK_TCK")


class Consumer:
    """One of those that are compared, in namespaces of its own, with the feeder's rules; ended on exit."""

    def __init__(self, stack, name, program, build, args, cpus):
        self.name, self.build, self.args, self.cpus, self.slices = name, build, args, cpus, 0
        self.lab = stack.enter_context(Lab(name[:1]))
        # Room for all: a full table decides otherwise.
        entries = ENTRIES + (NEW_FLOWS * args.rounds if name == "new" else 0)
        feeder = self.lab.start(self.lab.weir, f"{build}/bin/weir_bench_feeder", self.lab.run_dir, str(QUEUE), str(entries), VIP,
                                *BACKENDS, stdout=subprocess.PIPE)
        stack.callback(stop, feeder)
        ready = feeder.stdout.readline().split()
        if ready[:1] != ["ready"]:
            raise SystemExit("the feeder did not start")
        words = (["--run-dir", self.lab.run_dir, "--log-level", "warning"] if program == "weir-engine" else [str(QUEUE), *ready[1:]])
        self.process = self.lab.start(self.lab.weir, f"{build}/bin/{program}", *words, cpu=cpus[1], stdout=subprocess.DEVNULL)
        stack.callback(stop, self.process)
        deadline = time.monotonic() + 10
        while not self.lab.queue_is_bound():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{program} did not bind its queue")
            time.sleep(0.05)

    def send(self, seconds, source="10.71.1.2", flows=None):
        sender = self.lab.start(self.lab.client, f"{self.build}/bin/weir_bench_sender", source, VIP, flows or self.args.flows,
                                str(self.args.rate), str(seconds), cpu=self.cpus[0], stdout=subprocess.PIPE)
        return int(sender.communicate()[0])

    def warm_up(self):
        """Neighbours resolved, and every flow known unless all shall be new."""
        self.send(0.5 if self.name == "new" else flow_count(self.args.flows) / self.args.rate + 0.5)
        time.sleep(0.2)

    def measure(self):
        lab, pid = self.lab, self.process.pid
        flows = (NEW_NETWORKS[self.slices], f"2x{NEW_FLOWS // 2}") if self.name == "new" else ()
        self.slices += 1
        before, got, soft, start = cpu_seconds(pid), lab.received(), softirq_seconds(), time.monotonic()
        sent = self.send(self.args.seconds, *flows)
        elapsed = time.monotonic() - start
        time.sleep(0.1)
        after = cpu_seconds(pid)
        forwarded = lab.received() - got
        return {
            "us_per_packet": (after[0] - before[0]) * 1e6 / forwarded,
            "user_us_per_packet": (after[1] - before[1]) * 1e6 / forwarded,
            "softirq_us_per_packet": (softirq_seconds() - soft) * 1e6 / forwarded,
            "offered_per_second": sent / elapsed,
            "lost": 1 - forwarded / sent,
        }


def settle_rate(plain, args):
    """Lowers the rate until the slowest consumer keeps up: what it loses it would not pay for."""
    while args.rate > LOWEST_RATE and plain.measure()["lost"] > MAX_LOST:
        args.rate = int(args.rate * 0.75)
        print(f"the plain loop does not keep up; going on with {args.rate} packets/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build", help="build directory")
    parser.add_argument("--out", help="where to write the results as JSON")
    parser.add_argument("--rounds", type=int, default=20, help=f"at most {len(NEW_NETWORKS)}")
    parser.add_argument("--seconds", type=float, default=0.5, help="of traffic in a slice")
    parser.add_argument("--rate", type=int, default=100000, help="packets per second offered")
    parser.add_argument("--flows", default="2x50000", help="source ports, or source addresses x source ports")
    args = parser.parse_args()
    if not 1 <= args.rounds <= len(NEW_NETWORKS):
        parser.error(f"--rounds is a number from 1 to {len(NEW_NETWORKS)}")
    if args.rate * args.seconds > NEW_FLOWS:
        parser.error(f"a slice of more than {NEW_FLOWS} packets has not only new flows")
    remove_all_when_told_to_end()
    cpus = (0, 1) if os.cpu_count() > 1 else (None, None)
    build = os.path.abspath(args.build)

    with contextlib.ExitStack() as stack:
        programs = {"plain": "weir_bench_plain_loop", "batched": "weir_bench_batched_loop", "engine": "weir-engine", "new": "weir-engine"}
        consumers = [Consumer(stack, name, program, build, args, cpus) for name, program in programs.items()]
        for consumer in consumers:
            consumer.warm_up()
        settle_rate(consumers[0], args)
        runs = {name: [] for name in programs}
        for number in range(args.rounds):
            for consumer in consumers if number % 2 == 0 else reversed(consumers):
                runs[consumer.name].append(consumer.measure())
            print(f"round {number + 1:2}  us per packet:", *(f"{name} {list_[-1]['us_per_packet']:.3f}" for name, list_ in runs.items()),
                  flush=True)

    medians = {name: {key: statistics.median(run[key] for run in list_) for key in list_[0]}
               for name, list_ in runs.items()}
    cost = {name: values["us_per_packet"] for name, values in medians.items()}
    costs = {name: [run["us_per_packet"] for run in list_] for name, list_ in runs.items()}
    ratios = {other: [round(value, 3) for value in ratio_quartiles(costs["engine"], costs[other])] for other in ("plain", "batched")}
    result = {
        "cpu_us_per_packet": {name: round(value, 3) for name, value in cost.items()},
        "engine_over_plain": ratios["plain"][1], "engine_over_plain_quartiles": ratios["plain"],
        "engine_over_batched": ratios["batched"][1], "engine_over_batched_quartiles": ratios["batched"],
        # What one core could open, were the engine alone on it.
        "new_connections_per_core_second": round(1e6 / cost["new"]),
        "medians": medians, "runs": runs,
        "rate": args.rate, "flows": args.flows, "rounds": args.rounds, "seconds": args.seconds,
    }
    for name, values in medians.items():
        if values["lost"] > MAX_LOST:
            print(f"{name} lost {values['lost']:.1%} of the packets: its figure does not compare")
    for name, value in cost.items():
        print(f"{name:8} {value:.3f} us of CPU per packet")
    print(f"new connections per second and core {result['new_connections_per_core_second']}")
    for other, (low, middle, high) in ratios.items():
        print(f"engine / {other:8} {middle:.3f}  (quartiles of the rounds {low:.3f} and {high:.3f})")
    if args.out:
        with open(args.out, "w", encoding="ascii") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
