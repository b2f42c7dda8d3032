#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU per forwarded packet of weir-engine, of a plain queue loop and of a batched one.

  client ns                 weir ns                          sink ns
  sender -- veth 10.71.1.0/24 -- [queue] consumer -- veth 10.71.2.0/24 -- backends 10.71.2.11..14
                                                              (packets to the virtual address end here)

The consumer is the engine or a loop; rules, routes, marks, traffic and number of flows are the
same. Its CPU time is what the scheduler charged to its threads (user and system); a verdict
re-injects the packet in the context of the consumer, so routing and sending are in it. Packets are
counted where they arrive. Consumers take turns, so that a disturbance hits all of them; medians
are shown. Needs root; everything it makes is removed.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
VIP = "10.71.9.9"
BACKENDS = [f"10.71.2.{n}" for n in (11, 12, 13, 14)]
QUEUE = 8171
MAX_LOST = 0.01
LOWEST_RATE = 20000


def ip(*words, ns=None):
    subprocess.run(["ip", *(["-n", ns] if ns else []), *words], check=True)


def sysctl(ns, key, value):
    subprocess.run(["ip", "netns", "exec", ns, "sysctl", "-qw", f"{key}={value}"], check=True)


class Lab:
    """The three namespaces; removed on exit."""

    def __init__(self):
        tag = f"wbench{os.getpid()}"
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
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        return subprocess.Popen(["ip", "netns", "exec", ns, *pin, *command], text=True, **options)

    def received(self):
        with os.popen(f"ip netns exec {self.sink} cat /sys/class/net/eth0/statistics/rx_packets") as out:
            return int(out.read())

    def queue_is_bound(self):
        with os.popen(f"ip netns exec {self.weir} cat /proc/net/netfilter/nfnetlink_queue") as out:
            return any(line.split()[0] == str(QUEUE) and line.split()[3] == "2" for line in out)


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


def measure(lab, build, command, args, cpus):
    consumer = lab.start(lab.weir, *command, cpu=cpus[1], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while not lab.queue_is_bound():
            if consumer.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} did not bind its queue")
            time.sleep(0.05)

        def send(seconds):
            return lab.start(lab.client, f"{build}/bin/weir_bench_sender", "10.71.1.2", VIP, str(args.flows),
                             str(args.rate), str(seconds), cpu=cpus[0], stdout=subprocess.PIPE)

        send(0.5).communicate()  # flows known, neighbours resolved
        time.sleep(0.2)
        before, got, soft, start = cpu_seconds(consumer.pid), lab.received(), softirq_seconds(), time.monotonic()
        sent = int(send(args.seconds).communicate()[0])
        elapsed = time.monotonic() - start
        time.sleep(0.2)
        after = cpu_seconds(consumer.pid)
        forwarded = lab.received() - got
        return {
            "us_per_packet": (after[0] - before[0]) * 1e6 / forwarded,
            "user_us_per_packet": (after[1] - before[1]) * 1e6 / forwarded,
            "softirq_us_per_packet": (softirq_seconds() - soft) * 1e6 / forwarded,
            "offered_per_second": sent / elapsed,
            "lost": 1 - forwarded / sent,
        }
    finally:
        stop(consumer)


def settle_rate(lab, build, command, args, cpus):
    """Lowers the rate until the slowest consumer keeps up: what it loses it would not pay for."""
    while args.rate > LOWEST_RATE and measure(lab, build, command, args, cpus)["lost"] > MAX_LOST:
        args.rate = int(args.rate * 0.75)
        print(f"the plain loop does not keep up; going on with {args.rate} packets/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build", help="build directory")
    parser.add_argument("--out", help="where to write the results as JSON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of traffic per measurement")
    parser.add_argument("--rate", type=int, default=100000, help="packets per second offered")
    parser.add_argument("--flows", type=int, default=10000)
    args = parser.parse_args()
    cpus = (0, 1) if os.cpu_count() > 1 else (None, None)
    build = os.path.abspath(args.build)

    with Lab() as lab:
        feeder = lab.start(lab.weir, f"{build}/bin/weir_bench_feeder", lab.run_dir, str(QUEUE), VIP, *BACKENDS,
                           stdout=subprocess.PIPE)
        try:
            ready = feeder.stdout.readline().split()
            if ready[:1] != ["ready"]:
                raise SystemExit("the feeder did not start")
            marks = ready[1:]
            consumers = {
                "plain": [f"{build}/bin/weir_bench_plain_loop", str(QUEUE), *marks],
                "batched": [f"{build}/bin/weir_bench_batched_loop", str(QUEUE), *marks],
                "engine": [f"{build}/bin/weir-engine", "--run-dir", lab.run_dir, "--log-level", "warning"],
            }
            settle_rate(lab, build, consumers["plain"], args, cpus)
            runs = {name: [] for name in consumers}
            for number in range(args.rounds):
                for name, command in consumers.items():
                    runs[name].append(measure(lab, build, command, args, cpus))
                    print(f"round {number + 1} {name:8}", end="")
                    print("".join(f"  {key} {value:.3f}" for key, value in runs[name][-1].items()), flush=True)
        finally:
            stop(feeder)

    medians = {name: {key: statistics.median(run[key] for run in list_) for key in list_[0]}
               for name, list_ in runs.items()}
    cost = {name: values["us_per_packet"] for name, values in medians.items()}
    result = {
        "cpu_us_per_packet": {name: round(value, 3) for name, value in cost.items()},
        "engine_over_plain": round(cost["engine"] / cost["plain"], 3),
        "engine_over_batched": round(cost["engine"] / cost["batched"], 3),
        "medians": medians, "runs": runs,
        "rate": args.rate, "flows": args.flows, "rounds": args.rounds, "seconds": args.seconds,
    }
    for name, values in medians.items():
        if values["lost"] > MAX_LOST:
            print(f"{name} lost {values['lost']:.1%} of the packets: its figure does not compare")
    for name, value in cost.items():
        print(f"{name:8} {value:.3f} us of CPU per packet")
    print(f"engine / plain   {result['engine_over_plain']:.3f}")
    print(f"engine / batched {result['engine_over_batched']:.3f}")
    if args.out:
        with open(args.out, "w", encoding="ascii") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
