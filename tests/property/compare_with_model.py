#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs random scenarios through `weirctl simulate` and the model of model.py; they must agree in
everything but the hash's choice among the backends allowed.

  compare_with_model.py SIMULATOR... [--scenarios N] [--events N] [--seed N]

SIMULATOR is the command that takes a scenario's file name. A scenario that shows a difference is
kept, and its name printed with the seed that makes it again."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from model import Model
from model_scenarios import Generator

FIELDS = ("service", "forwardingRule", "route", "connection", "rule", "reason")


def differences(scenario, lines):
    """Yields what the model and the simulator see differently."""
    model = Model(scenario)
    remaining = iter(lines)
    for index, event in enumerate(scenario["events"]):
        prediction = model.happen(event)
        if prediction is None:
            continue
        line = next(remaining, {"event": "missing"})
        if line["event"] != index or line.get("action") != prediction.action:
            yield f"event {index}: model {prediction.action}, simulator {line}"
            return
        for name in FIELDS:
            if line.get(name) != prediction.fields.get(name):
                yield f"event {index}: {name} is {prediction.fields.get(name)} in the model, simulator {line}"
                return
        if prediction.action == "forward":
            endpoint = line["endpoint"]
            if prediction.allowed.get(endpoint) != line["group"]:
                yield f"event {index}: allowed are {prediction.allowed}, simulator {line}"
                return
            if not model.picked(prediction, endpoint):
                yield f"event {index}: equal key and set, other backend: {line}"
                return
    if next(remaining, None) is not None:
        yield "the simulator printed too many lines"


def run(simulator, seed, events, directory):
    scenario = Generator(seed).scenario(events)
    path = os.path.join(directory, f"scenario-{seed}.yaml")
    with open(path, "w", encoding="ascii") as file:
        json.dump(scenario, file, indent=1 if seed % 2 else None)
    result = subprocess.run([*simulator, path], capture_output=True, text=True, timeout=300, check=False)
    if result.returncode != 0:
        return 0, [f"{path}: exit status {result.returncode}: {result.stderr.strip()[:600]}"]
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    found = [f"{path}: {difference}" for difference in differences(scenario, lines)]
    if not found:
        os.unlink(path)
    return len(lines), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator", nargs="+")
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--events", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="weir-model-")
    packets, found = 0, []
    with ThreadPoolExecutor(2) as pool:
        seeds = range(options.seed, options.seed + options.scenarios)
        for count, problems in pool.map(lambda s: run(options.simulator, s, options.events, directory), seeds):
            packets += count
            found += problems
    for problem in found[:20]:
        print(problem)
    print(f"{options.scenarios} scenarios, {packets} packets, {len(found)} scenarios differ")
    if not found:
        os.rmdir(directory)
    return 1 if found or packets == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
