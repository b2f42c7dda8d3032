#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a million connections cost the running engine: memory, and the time until a successor forwards.

In the namespaces of run.py, once for each family. Memory per flow is the resident memory of the engine with all flows in its
table, less that of an engine whose table has hardly any room, by the number of flows: slots, index, wheels, and whatever else
comes with them. Restart: SIGKILL, start, and the milliseconds until the queue has its reader; the successor has by then mapped
the table, verified every slot and built its index. How many flows it took over is what it says itself.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from run import BACKENDS, QUEUE, ROOT, VIP, Lab, ip, remove_all_when_told_to_end, stop

FEWEST = 1024
FAMILIES = {"ipv4": {"source": "10.80.0.1", "vip": VIP, "backends": BACKENDS},
            "ipv6": {"source": "fd71:80::1", "vip": "fd71:9::9", "backends": [f"fd71:2::{n}" for n in (11, 12, 13, 14)]}}


def add_ipv6(lab):
    for ns, name, net in ((lab.client, "in", 1), (lab.sink, "out", 2)):
        ip("address", "add", f"fd71:{net}::1/64", "dev", name, "nodad", ns=lab.weir)
        ip("address", "add", f"fd71:{net}::2/64", "dev", "eth0", "nodad", ns=ns)
    for backend in FAMILIES["ipv6"]["backends"]:
        ip("address", "add", f"{backend}/64", "dev", "eth0", "nodad", ns=lab.sink)
    ip("-6", "route", "add", "default", "via", "fd71:1::1", ns=lab.client)
    subprocess.run(["ip", "netns", "exec", lab.weir, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"], check=True)


def reads_queue(pid):
    try:
        with open(f"/proc/{pid}/net/netfilter/nfnetlink_queue", encoding="ascii") as file:
            return any(line.split()[:2] == [str(QUEUE), str(pid)] for line in file)
    except OSError:
        return False


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


class Engine:
    """The engine, from its start until its queue has a reader: `ready_ms`."""

    def __init__(self, lab, build):
        self.log_path = f"{lab.run_dir}/engine.log"
        begin = time.monotonic()
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = lab.start(lab.weir, f"{build}/bin/weir-engine", "--run-dir", lab.run_dir, stdout=log, stderr=log)
        while not reads_queue(self.process.pid):
            if self.process.poll() is not None or time.monotonic() > begin + 20:
                raise SystemExit("the engine does not bind its queue")
            time.sleep(0.001)
        self.ready_ms = (time.monotonic() - begin) * 1e3
        # What the start cost the main thread, whatever else the machine had to do meanwhile.
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            self.cpu_ms = int(file.read().split()[0]) / 1e6

    def recovered(self):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with open(self.log_path, encoding="utf-8") as log:
                if found := re.search(r"RECOVERED=(\d+)", log.read()):
                    return int(found[1])
            time.sleep(0.01)
        raise SystemExit("the engine does not say how many entries it took over")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def with_feeder(lab, build, family, entries, work):
    feeder = lab.start(lab.weir, f"{build}/bin/weir_bench_feeder", lab.run_dir, str(QUEUE), str(entries), family["vip"],
                       *family["backends"], stdout=subprocess.PIPE)
    try:
        if feeder.stdout.readline().split()[:1] != ["ready"]:
            raise SystemExit("the feeder did not start")
        return work()
    finally:
        stop(feeder)
        if os.path.exists(f"{lab.run_dir}/engine.table"):
            os.unlink(f"{lab.run_dir}/engine.table")


def measure(lab, build, family, args):
    def without_room():
        engine = Engine(lab, build)
        time.sleep(0.5)
        try:
            return resident_bytes(engine.process.pid)
        finally:
            stop(engine.process)

    def with_all_flows():
        engine, flows = Engine(lab, build), f"{args.flows // 50000}x50000"
        try:
            # Twice: what was lost the first time is there after the second.
            for _ in range(2):
                lab.start(lab.client, f"{build}/bin/weir_bench_sender", family["source"], family["vip"], flows, str(args.rate),
                          str(args.flows / args.rate), stdout=subprocess.DEVNULL).wait()
            time.sleep(0.5)
            resident, restarts, costs = resident_bytes(engine.process.pid), [], []
            for _ in range(args.rounds):
                engine.kill()
                engine = Engine(lab, build)
                restarts.append(engine.ready_ms)
                costs.append(engine.cpu_ms)
            return resident, engine.recovered(), restarts, costs
        finally:
            stop(engine.process)

    bare = with_feeder(lab, build, family, FEWEST, without_room)
    resident, flows, restarts, costs = with_feeder(lab, build, family, args.flows, with_all_flows)
    return {"flows": flows, "bytes_per_flow": round((resident - bare) / flows, 1),
            "restart_ms": {"median": round(statistics.median(restarts), 1), "max": round(max(restarts), 1),
                           "cpu_median": round(statistics.median(costs), 1)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build", help="build directory")
    parser.add_argument("--out", help="where to write the results as JSON")
    parser.add_argument("--rounds", type=int, default=5, help="restarts")
    parser.add_argument("--rate", type=int, default=100000, help="packets per second offered while the table is filled")
    parser.add_argument("--flows", type=int, default=1000000, help="a multiple of 50,000")
    args = parser.parse_args()
    remove_all_when_told_to_end()
    build, result = os.path.abspath(args.build), {}
    with Lab() as lab:
        add_ipv6(lab)
        for name, family in FAMILIES.items():
            result[name] = measure(lab, build, family, args)
            print(f"{name}: {result[name]}", flush=True)
    if args.out:
        with open(args.out, "w", encoding="ascii") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
