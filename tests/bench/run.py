#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What weir promises in figures, measured on this machine: `make bench`.

Runs the Google Benchmark programs and, as root, the engine beside two other queue loops, the engine
with a million connections, and the routing rules of 1,000 backends beside those of 10; prints
one table of goals and writes all results to bench.json in the build directory. Exits 1 when a goal
that does not depend on the machine (ratios, shares, moved keys) is missed; nanoseconds are printed
beside their goals but judged by people, since they say as much about the machine.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# benchmark name, counter (None: time in ns), divisor, goal, unit, judged
GOALS = [
    ("buildMaglev/backends:1000/weights:0", None, 1e6, 3.0, "ms", False),
    ("removeOneBackend/backends:1000/iterations:1000", "load_max_by_mean", 1, 1.01, "", True),
    ("removeOneBackend/backends:100/iterations:1000", "load_max_by_mean", 1, 1.002, "", True),
    ("removeOneBackend/backends:10/iterations:1000", "moved_percent_mean", 1, 0.3, "%", True),
    ("removeOneBackend/backends:100/iterations:1000", "moved_percent_mean", 1, 0.7, "%", True),
    ("removeOneBackend/backends:1000/iterations:1000", "moved_percent_mean", 1, 0.7, "%", True),
    ("known/1", "per_packet", 1e-9, 60, "ns", False),
    ("known/65536", "per_packet", 1e-9, 150, "ns", False),
    ("known/1048576", "per_packet", 1e-9, 300, "ns", False),
    ("fresh", "per_packet", 1e-9, 300, "ns", False),
]
# key in the engine's results, goal
ENGINE_RATIOS = [("engine_over_plain", 0.72), ("engine_over_batched", 1.05)]
BYTES_PER_FLOW_GOALS = {"ipv4": 64, "ipv6": 96}
RESTART_GOAL_MS = 300
RULE_TREE_RATIO_GOAL = 1.15


def google_benchmark(build, name, minimum_s, only):
    out = f"{build}/{name}.json"
    subprocess.run([f"{build}/bin/{name}", f"--benchmark_min_time={minimum_s}", f"--benchmark_filter={only}",
                    f"--benchmark_out={out}", "--benchmark_out_format=json"], check=True)
    with open(out, encoding="utf-8") as file:
        return json.load(file)["benchmarks"]


def nanoseconds(row, time):
    return row[time] * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]


def judge(what, value, goal, unit, judged=True):
    """Prints a line of the table; [what] when a goal that counts is missed."""
    verdict = "" if value <= goal else " MISSED" if judged else " over"
    print(f"{what:58} {value:>12.4g} {goal:>8} {unit}{verdict}")
    return [what] if judged and value > goal else []


def table(rows):
    by_name = {row["name"]: row for row in rows}
    missed = []
    print(f"\n{'what':58} {'measured':>12} {'goal':>10}")
    for name, counter, divisor, goal, unit, judged in GOALS:
        row = by_name[name]
        value = (row[counter] if counter else nanoseconds(row, "cpu_time")) / divisor
        missed += judge(name + (" " + counter if counter else ""), value, goal, unit, judged)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true", help="shorter and noisier")
    options = parser.parse_args()
    minimum_s = 0.1 if options.quick else 0.5
    results = {"benchmarks": []}
    # The programs measure more than has a goal; run them by hand for the rest.
    for program, only in (("weir_bench_tables", "buildMaglev|removeOneBackend"), ("weir_bench_decision", ".")):
        results["benchmarks"] += google_benchmark(options.build, program, minimum_s, only)
    missed = table(results["benchmarks"])
    if os.geteuid() == 0:
        out = f"{options.build}/bench-engine.json"
        subprocess.run([sys.executable, f"{HERE}/engine/run.py", "--build", options.build, "--out", out,
                        "--rounds", "3" if options.quick else "7"], check=True)
        with open(out, encoding="utf-8") as file:
            results["engine"] = json.load(file)
        for key, goal in ENGINE_RATIOS:
            missed += judge(f"{key.replace('_', ' ')}, CPU per packet", results["engine"][key], goal, "")
        print(f"{'new connections per second and core':58} {results['engine']['new_connections_per_core_second']:>12}")
        out = f"{options.build}/bench-large-table.json"
        subprocess.run([sys.executable, f"{HERE}/engine/large_table.py", "--build", options.build, "--out", out,
                        "--rounds", "3" if options.quick else "7"], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            results["large_table"] = json.load(file)
        for family, found in results["large_table"].items():
            what = f"{found['flows']} {family} flows"
            missed += judge(f"{what}, memory of each", found["bytes_per_flow"], BYTES_PER_FLOW_GOALS[family], "B")
            # As much the machine's as the engine's: told, not judged.
            judge(f"{what}, restart", found["restart_ms"]["median"], RESTART_GOAL_MS, "ms", judged=False)
        out = f"{options.build}/bench-kernel.json"
        subprocess.run([sys.executable, f"{HERE}/kernel/run.py", "--build", options.build, "--out", out,
                        "--rounds", "5" if options.quick else "15"], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            results["kernel"] = json.load(file)
        missed += judge("forwarded packet, rules of 1,000 backends / of 10", results["kernel"]["rules_alone_1000_over_10"],
                        RULE_TREE_RATIO_GOAL, "")
        # With what 1,000 routes and neighbours take of the caches, which others on the machine share: told, not judged.
        judge("forwarded packet, 1,000 backends in use / 10", results["kernel"]["cost_1000_over_10"],
              RULE_TREE_RATIO_GOAL, "", judged=False)
    else:
        print("the engine beside other queue loops, and the tree of routing rules: need root, not measured")
    with open(f"{options.build}/bench.json", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
