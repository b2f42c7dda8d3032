#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel module's tests, in a virtual machine; `make check-vm` calls it.

  build    for the kernel, with sparse and without a warning; and in the kernel's style where its source is there
           (--kernel debug)
  module   tests/vm/guest: hooks, netlink, stress
  lab      weir's programs (--bin) with the module: tests/vm/lab, and the passthrough scenarios of tests/lab
  cost     instructions for each packet, compared with IPVS, weir's queue (--bin) and others

Words after the options choose parts. --cycles, --messages, --flows set how much of it there is; the
defaults take a few minutes.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from vm import TREE, build_module
from weirvm import debug_kernel, kernels, machine

HERE = os.path.dirname(os.path.abspath(__file__))
PYTEST = "-q --tb=short --color=no -rA -p no:cacheprovider -p at_once"
NEEDS_PROGRAMS = "it needs weir's programs: --bin DIRECTORY"


def version():
    with open(f"{TREE}/CMakeLists.txt", encoding="utf-8") as file:
        return re.search(r"project\(weir VERSION ([0-9.]+)", file.read()).group(1)


class Parts:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.kernel = kernels.find(options.kernel)
        self.payload = f"{scratch}/payload"
        os.makedirs(self.payload)

    def build(self):
        words = build_module(self.kernel, self.payload, [f"WEIR_VERSION={version()}", "W=1", "C=2"])
        bad = [line for line in words.splitlines() if "warning" in line.lower() or "error" in line.lower()]
        style = f"{self.kernel.directory}/build/usr/src/{debug_kernel.SOURCE}/scripts/checkpatch.pl"
        if os.path.exists(style):
            files = [*glob.glob(f"{TREE}/kmod/*.[ch]"), f"{TREE}/include/uapi/weir.h"]
            done = subprocess.run(["perl", style, "--no-tree", "--strict", "--terse", "--quiet", "-f", *files],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                bad += (done.stdout + done.stderr).splitlines()
        return "\n".join(bad)

    def guest(self, command, **options):
        if not os.path.exists(f"{self.payload}/weir.ko"):
            build_module(self.kernel, self.payload, [f"WEIR_VERSION={version()}"])
        outcome = machine.run(self.kernel, "debian", self.payload, command, **options)
        sys.stdout.write(outcome.console)
        print(f"vm: {outcome.seconds:.0f} s", flush=True)
        return outcome.reason

    def prepare(self):
        shutil.copytree(f"{HERE}/guest", f"{self.payload}/guest", dirs_exist_ok=True)
        subprocess.run(["gcc", "-O2", "-static", "-Wall", "-o", f"{self.payload}/blast", f"{HERE}/guest/blast.c"], check=True)

    def programs(self):
        os.makedirs(f"{self.payload}/bin", exist_ok=True)
        for name in ("weir-manager", "weir-engine", "weirctl"):
            shutil.copy(f"{self.options.bin}/{name}", f"{self.payload}/bin")

    def cost(self):
        if not self.options.bin:
            return NEEDS_PROGRAMS
        self.prepare()
        self.programs()
        return self.guest("cd guest && PYTHONDONTWRITEBYTECODE=1 python3 cost.py", icount=True, timeout=self.options.timeout,
                          kernel_arguments="quiet loglevel=4")

    def lab(self):
        if not self.options.bin:
            return NEEDS_PROGRAMS
        self.prepare()
        shutil.copytree(f"{TREE}/tests/lab", f"{self.payload}/tests/lab", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(f"{HERE}/lab", f"{self.payload}/lab")
        self.programs()
        wanted = "lab " + " ".join(f"tests/lab/test_{name}.py" for name in ("main_job", "packets", "next_hop"))
        chosen = f" -k {machine.quoted([self.options.tests])}" if self.options.tests else ""
        # The scenarios have times to keep: on the clock that counts instructions it does not matter what the host does beside.
        return self.guest("insmod weir.ko && env WEIR_BIN=/payload/bin WEIR_LAB=/payload/tests/lab PYTHONDONTWRITEBYTECODE=1 "
                          f"PYTHONPATH=/payload/guest python3 -m pytest {PYTEST}{chosen} {wanted}", icount=True,
                          timeout=self.options.timeout, memory=2048, kernel_arguments="quiet loglevel=4")

    def module(self):
        self.prepare()
        settings = {"WEIR_VERSION": version(), "WEIR_CYCLES": self.options.cycles, "WEIR_FUZZ_MESSAGES": self.options.messages,
                    "WEIR_FLOWS": self.options.flows, "PYTHONDONTWRITEBYTECODE": 1}
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        chosen = f" -k {machine.quoted([self.options.tests])}" if self.options.tests else ""
        return self.guest(f"cd guest && env {words} PYTHONPATH=. python3 -m pytest {PYTEST} --durations=8{chosen} .",
                          timeout=self.options.timeout, memory=1536, kernel_arguments="quiet loglevel=4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="bookworm", help="bookworm, trixie, debug, or a kernel directory")
    parser.add_argument("--bin", help="where weir's programs are, for `lab` and `cost`")
    parser.add_argument("--cycles", type=int, default=20, help="of unloading and loading under traffic")
    parser.add_argument("--messages", type=int, default=100000, help="random ones over netlink")
    parser.add_argument("--flows", type=int, default=1000000, help="in the test of memory")
    parser.add_argument("--tests", help="only those that match, as for pytest -k")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for a machine")
    parser.add_argument("parts", nargs="*", help="build, module, lab, cost; all of them when none is named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-check-vm-") as scratch:
        parts = Parts(options, scratch)
        failed = []
        for name in options.parts or ["build", "module", "lab", "cost"]:
            print(f"== {name} ({parts.kernel.version})", flush=True)
            if reason := getattr(parts, name)():
                print(f"FAILED {name}: {reason}")
                failed.append(name)
    print(f"vm: {'FAILED ' + ', '.join(failed) if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
