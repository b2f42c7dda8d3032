#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs something in a virtual machine with one of Debian's kernels. README.md beside this has examples.

  vm.py run --root systemd --payload DIR --script X [-- ARGUMENTS]   exit 0 only if X ended with 0
  vm.py images [--kernel K]      makes what a run would make first
  vm.py module [--kernel K] DIR  builds weir.ko for that kernel into DIR
  vm.py forget                   removes the cache: the next run takes the archive's kernels of its day
"""

import argparse
import os
import shutil
import sys

from weirvm import cache, kernels, machine, roots

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def build_module(kernel, directory, flags=()):
    """weir.ko of this tree for a kernel, into `directory`; returns the compiler's words."""
    words, built = kernel.build_module(f"{TREE}/kmod", f"{TREE}/include/uapi", flags)
    os.makedirs(directory, exist_ok=True)
    for path in built:
        shutil.copy(path, directory)
    return words


def run(options):
    outcome = machine.run(
        kernels.find(options.kernel), options.root, options.payload,
        machine.quoted([f"./{options.script}"] + options.arguments), timeout=options.timeout, icount=options.icount,
        cpus=options.cpus, memory=options.memory, output=options.output, packages=options.packages,
        modules=options.modules, kernel_arguments=options.append)
    sys.stdout.write(outcome.console)
    print(f"vm: {'passed' if outcome.passed else 'FAILED: ' + outcome.reason} ({outcome.seconds:.1f} s)")
    return 0 if outcome.passed else 1


def images(options):
    kernel = kernels.find(options.kernel)
    print(kernel.version, roots.disk(kernel, options.packages))
    return 0


def module(options):
    print(build_module(kernels.find(options.kernel), options.directory), end="")
    return 0


def forget(_):
    shutil.rmtree(cache.DIRECTORY, ignore_errors=True)
    return 0


def words(text):
    return [word for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(function):
        sub = commands.add_parser(function.__name__)
        sub.set_defaults(function=function)
        if function is not forget:
            sub.add_argument("--kernel", default="bookworm", help="bookworm, trixie, debug, or a kernel directory")
        return sub
    sub = command(run)
    sub.add_argument("--root", choices=("busybox", "debian", "systemd"), default="debian")
    sub.add_argument("--payload", required=True, help="directory that is copied to /payload")
    sub.add_argument("--script", required=True, help="executable file in it, started there as root")
    sub.add_argument("--timeout", type=int, default=300, help="seconds")
    sub.add_argument("--output", help="directory for what the script leaves in /output")
    sub.add_argument("--packages", type=words, default=[], help="Debian packages the root needs beside the usual ones")
    sub.add_argument("--modules", type=words, default=[], help="the kernel's modules to load (busybox only)")
    sub.add_argument("--icount", action="store_true", help="one processor, a clock that counts instructions")
    sub.add_argument("--cpus", type=int, default=2)
    sub.add_argument("--memory", type=int, default=1024, help="MiB")
    sub.add_argument("--append", default="", help="further words for the kernel's command line")
    sub.add_argument("arguments", nargs="*")
    command(images).add_argument("--packages", type=words, default=[])
    command(module).add_argument("directory")
    command(forget)
    options = parser.parse_args()
    try:
        return options.function(options)
    except RuntimeError as error:
        sys.exit(f"vm: {error}")


if __name__ == "__main__":
    sys.exit(main())
