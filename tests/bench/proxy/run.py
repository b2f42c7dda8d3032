#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a connection, a byte and an idle connection cost weir-proxy, haproxy and nginx: `make bench-proxy`.

  client ns                 proxy ns                       server ns
  clients -- veth 10.72.1.0/24 -- weir, haproxy, ... -- veth 10.72.2.0/24 -- one server at four addresses

Every proxy has one thread, on a processor core of its own; clients and server share the other one.
All proxies run all the time and are measured in turn, figure by figure, so that a disturbance hits
neighbours in time alike. Namespaces and programs are made anew several times: how a program's
wake-ups fall into step with those of its peers is settled when it starts, and costs some starts a
quarter more. Medians of all rounds are shown; what is judged is the median of the ratios, each of
two slices of the same round. A proxy's CPU time is what the
scheduler charged to its threads, which includes the kernel's work for the packets that it sends.
The machine's is all time that was not idle, other programs' included. Needs root and two cores;
everything it makes is removed.
"""

import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.dirname(HERE))

from engine.run import cpu_seconds, ip, sysctl  # noqa: E402  (the path must be there first)
from ending import remove_all_when_told_to_end  # noqa: E402  (the path must be there first)
from rounds import ratio_quartiles  # noqa: E402
from proxy.contenders import SERVER_PORT, TCP_PORT, TLS_PORT, contenders  # noqa: E402

ADDRESSES = [f"10.72.8.{n}" for n in range(1, 8)]
SERVERS = [f"10.72.2.{n}" for n in (11, 12, 13, 14)]
# figure, unit, by whom weir's is divided, goal for the ratio (None: shown only)
GOALS = [
    ("short", "cpu s / 10,000 connections", "haproxy", 0.90),
    ("short_client_ends", "cpu s / 10,000 connections", "haproxy", 0.90),
    ("sni", "cpu s / 10,000 connections", "haproxy", 0.92),
    ("bulk", "cpu s / 10 GB", "haproxy", 0.48),
    ("bulk", "cpu s / 10 GB", "haproxy-splice", 1.00),
    ("p50", "us, echo of 64 bytes", "haproxy", None),
    ("p99", "us, echo of 64 bytes", "haproxy", 1.00),
]
IDLE_BYTES_GOAL = 1024
IDLE_CPU_GOAL = 0.002  # of a core


def machine_seconds():
    """CPU time of the whole machine that was not idle."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Lab:
    """The three namespaces and everything that runs in them; removed on exit."""

    def __init__(self, build, cpus):
        tag = f"wproxy{os.getpid()}"
        self.client, self.proxy, self.server = f"{tag}-c", f"{tag}-p", f"{tag}-s"
        self.build, self.cpus = build, cpus
        self.directory = tempfile.mkdtemp(prefix="weir-bench-")
        self.processes = []

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for ns in (self.client, self.proxy, self.server):
            ip("netns", "add", ns)
            ip("link", "set", "lo", "up", ns=ns)
            sysctl(ns, "net.ipv4.ip_local_port_range", "1024 65535")
        for ns, name, net in ((self.client, "in", 1), (self.server, "out", 2)):
            ip("link", "add", name, "netns", self.proxy, "type", "veth", "peer", "name", "eth0", "netns", ns)
            ip("address", "add", f"10.72.{net}.1/24", "dev", name, ns=self.proxy)
            ip("address", "add", f"10.72.{net}.2/24", "dev", "eth0", ns=ns)
            ip("link", "set", name, "up", ns=self.proxy)
            ip("link", "set", "eth0", "up", ns=ns)
        for server in SERVERS:
            ip("address", "add", f"{server}/24", "dev", "eth0", ns=self.server)
        for address in ADDRESSES:
            ip("address", "add", f"{address}/32", "dev", "lo", ns=self.proxy)
        ip("route", "add", "default", "via", "10.72.1.1", ns=self.client)
        self.start(self.server, f"{self.build}/bin/weir_bench_proxy_server", str(SERVER_PORT), cpu=self.cpus[0])

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for ns in (self.client, self.proxy, self.server):
            subprocess.run(["ip", "netns", "delete", ns], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, ns, *command, cpu, **options):
        # Before whatever else the machine does: a build in the background delays nobody then.
        words = ["ip", "netns", "exec", ns, "chrt", "--rr", "1", "taskset", "-c", str(cpu), *command]
        process = subprocess.Popen(words, text=True, **options)
        self.processes.append(process)
        return process

    def traffic(self, contender, port, *words):
        command = [f"{self.build}/bin/weir_bench_proxy_client", contender.address, str(port), *map(str, words)]
        return self.start(self.client, *command, cpu=self.cpus[0], stdout=subprocess.PIPE, stdin=subprocess.PIPE)

    def result(self, process):
        out, _ = process.communicate(timeout=300)
        self.processes.remove(process)
        if process.returncode != 0:
            raise SystemExit("the clients were not served")
        return json.loads(out)

    def start_contender(self, contender):
        if manager := getattr(contender, "manager", None):
            self.start(self.proxy, *manager, cpu=self.cpus[0], stderr=open(f"{contender.directory}/manager.log", "wb"))
        contender.process = self.start(self.proxy, *contender.command, cpu=self.cpus[1],
                                       stderr=open(f"{contender.directory}/log", "wb"))
        deadline = time.monotonic() + 20
        while subprocess.run(["ip", "netns", "exec", self.client, f"{self.build}/bin/weir_bench_proxy_client",
                              contender.address, str(TCP_PORT), "short", "4", "1", "server"], check=False,
                             capture_output=True, timeout=10).returncode != 0:
            if contender.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{contender.name} does not serve")
            time.sleep(0.1)


def measure(lab, contender, port, *words):
    """CPU seconds of the proxy and of the machine, and what the clients saw."""
    pid = contender.process.pid
    time.sleep(0.1)  # what the one before left for the kernel to do
    machine, own = machine_seconds(), cpu_seconds(pid)[0]
    seen = lab.result(lab.traffic(contender, port, *words))
    return {"cpu": cpu_seconds(pid)[0] - own, "machine": machine_seconds() - machine, **seen}


def measure_idle(lab, contender, count):
    pid = contender.process.pid
    # What it makes once, for its first connections, is not what a connection costs.
    lab.result(lab.traffic(contender, TCP_PORT, "echo", 16, 100))
    before = resident_bytes(pid)
    idle = lab.traffic(contender, TCP_PORT, "idle", count)
    if idle.stdout.readline() != "ready\n":
        raise SystemExit(f"{contender.name}: not all connections came up")
    time.sleep(3)  # weir sets options that only longer connections need when they are a second old
    bytes_each = (resident_bytes(pid) - before) / count
    cpu, start = cpu_seconds(pid)[0], time.monotonic()
    time.sleep(4)
    cores = (cpu_seconds(pid)[0] - cpu) / (time.monotonic() - start)
    idle.stdin.close()
    idle.wait(timeout=20)
    lab.processes.remove(idle)
    time.sleep(0.5)
    return {"bytes": bytes_each, "cores": cores}


def one_round(lab, wanted, args):
    """The figures of each contender; all of them are measured for one before the next begins."""
    figures = {contender.name: {} for contender in wanted}
    for name, port, who in (("short", TCP_PORT, "server"), ("short_client_ends", TCP_PORT, "client"),
                            ("sni", TLS_PORT, "two.bench.example")):
        for contender in wanted:
            if port == TLS_PORT and getattr(contender, "no_names", False):
                figures[contender.name] |= {name: math.nan, f"{name}_machine": math.nan}
                continue
            got, per = measure(lab, contender, port, "short", args.connections, 64, who), 10_000 / args.connections
            figures[contender.name] |= {name: got["cpu"] * per, f"{name}_machine": got["machine"] * per}
    for contender in wanted:
        got, per = measure(lab, contender, TCP_PORT, "bulk", 4, args.bytes // 4), 10e9 / args.bytes
        figures[contender.name] |= {"bulk": got["cpu"] * per, "bulk_machine": got["machine"] * per,
                                    "bulk_gbit": args.bytes * 8e-9 / got["seconds"]}
    for contender in wanted:
        got = measure(lab, contender, TCP_PORT, "echo", 8, args.echoes)
        figures[contender.name] |= {"p50": got["p50"], "p99": got["p99"]}
    return figures


def start(lab, args):
    wanted = contenders(f"{args.build}/bin", lab.directory, SERVERS, ADDRESSES)
    if args.only:
        wanted = [c for c in wanted if c.name in ("weir", "haproxy", *args.only.split(","))]
    for contender in wanted:
        lab.start_contender(contender)
    return wanted


def rounds_after_a_start(args, cpus):
    with Lab(args.build, cpus) as lab:
        wanted = start(lab, args)
        for number in range(args.rounds + 1):  # the first warms up and is not counted
            # Forwards and backwards in turn: what drifts hits none more than the other.
            figures = one_round(lab, wanted if number % 2 else wanted[::-1], args)
            if number:
                print(", ".join(f"{contender.name} {figures[contender.name]['short']:.2f} {figures[contender.name]['sni']:.2f} "
                                f"{figures[contender.name]['bulk']:.2f}" for contender in wanted), flush=True)
                yield {contender.name: figures[contender.name] for contender in wanted}


def idle_after_a_start(args, cpus):
    with Lab(args.build, cpus) as lab:
        return {contender.name: measure_idle(lab, contender, args.idle) for contender in start(lab, args)}


def print_table(names, rounds, medians, idle):
    """The names of the goals that were missed."""
    missed = []
    print(f"\n{'':34}" + "".join(f"{name:>16}" for name in names) + f"{'ratio':>9} {'goal':>6}")

    def row(what, values, form, divided_by="", goal=None, figure=None):
        low = ratio = high = None
        if divided_by:
            low, ratio, high = ratio_quartiles(*([figures[name][figure] for figures in rounds] for name in ("weir", divided_by)))
        over = goal is not None and ratio > goal
        print(f"{what:34}" + "".join(f"{format(value, form):>16}" for value in values) +
              (f"{ratio:>9.3f}" if ratio is not None else f"{'':9}") + (f" {goal:>6}" if goal is not None else f"{'':7}") +
              (f" of {divided_by} ({low:.3f} to {high:.3f})" if divided_by else "") + (" MISSED" if over else ""))
        if over:
            missed.append(what)
    for figure, unit, by, goal in GOALS:
        row(f"{figure} ({unit})"[:34], [medians[name][figure] for name in names], ".3f" if "cpu" in unit else ".0f", by, goal, figure)
    for figure in ("short", "short_client_ends", "sni", "bulk"):
        key = f"{figure}_machine"
        row(f"{figure}, whole machine", [medians[name][key] for name in names], ".3f", "haproxy", figure=key)
    row("bulk, Gbit/s", [medians[name]["bulk_gbit"] for name in names], ".1f")
    for key, what, goal, form in (("bytes", "memory of an idle connection, B", IDLE_BYTES_GOAL, ".0f"),
                                  ("cores", "cores while all are idle", IDLE_CPU_GOAL, ".5f")):
        row(what, [idle[name][key] for name in names], form)
        if idle["weir"][key] > goal:
            missed.append(f"{what}: {idle['weir'][key]:.5g}, goal {goal}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build", help="build directory")
    parser.add_argument("--out", help="where to write the results as JSON")
    parser.add_argument("--rounds", type=int, default=3, help="after each start")
    parser.add_argument("--starts", type=int, default=4, help="of all programs")
    parser.add_argument("--connections", type=int, default=5_000, help="short connections of a slice")
    parser.add_argument("--bytes", type=int, default=2_000_000_000, help="of a slice")
    parser.add_argument("--echoes", type=int, default=4_000, help="of each of 8 connections in a slice")
    parser.add_argument("--idle", type=int, default=9_000, help="idle connections")
    parser.add_argument("--only", help="contenders to measure, separated by commas; weir and haproxy always are")
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if os.geteuid() != 0 or len(cpus) < 2:
        raise SystemExit("bench-proxy needs root and two processor cores")
    args.build = os.path.abspath(args.build)
    load = os.getloadavg()[0]
    if load > 1:
        print(f"the machine is busy (load {load:.1f}): believe ratios, not seconds", flush=True)
    remove_all_when_told_to_end()
    idle = idle_after_a_start(args, cpus) if args.idle else {}
    rounds = [figures for _ in range(args.starts) for figures in rounds_after_a_start(args, cpus)]
    names = list(rounds[0])
    medians = {name: {key: statistics.median(figures[name][key] for figures in rounds) for key in rounds[0][name]}
               for name in names}
    for name in names:
        idle.setdefault(name, {"bytes": 0, "cores": 0})
    if args.only:
        GOALS[:] = [goal for goal in GOALS if goal[2] in names]
    missed = print_table(names, rounds, medians, idle)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump({"medians": medians, "idle": idle, "load": [load, os.getloadavg()[0]], "missed": missed, "rounds": rounds},
                      file, indent=1)
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
