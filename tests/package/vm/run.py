#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The package's life in a virtual machine (guest.py has the steps).

  run.py --old DIR --new DIR [--kernel K] [--output DIR] [--only life|kills]

--old, --new: directories with weir_*.deb, an earlier build and the tested one.
The new one has weir-dkms_*.deb beside it. The module is built in the guest where the guest's kernel is one of the root
file system's own suite, whose headers it has.
"""

import argparse
import glob
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.abspath(f"{HERE}/../../..")
sys.path.insert(0, f"{TREE}/tests/vm")

from weirvm import kernels, machine, roots  # noqa: E402  (its place is known only now)

PACKAGES = ("kexec-tools", "libc-ares2")
OWN_SUITE = "bookworm"  # of the root file system
TIMEOUT = 2400


def first_configuration():
    """What the README tells to write into conf.d/web.yaml."""
    with open(f"{TREE}/README.md", encoding="utf-8") as file:
        return re.search(r"conf\.d/web\.yaml`:\n\n```yaml\n(.*?)```", file.read(), re.S).group(1)


def package(directory, name):
    found = glob.glob(f"{directory}/{name}_*.deb")
    if len(found) != 1:
        sys.exit(f"{directory} must have one {name}_*.deb, has {len(found)}")
    return found[0]


def payload(directory, kernel, options):
    for name in ("guest.py", "lab_network.py", "hold_connections.py", "proxy.yaml"):
        shutil.copy(f"{HERE}/{name}", directory)
        os.chmod(f"{directory}/{name}", 0o755)
    with open(f"{directory}/readme.yaml", "w", encoding="utf-8") as file:
        file.write(first_configuration())
    for age, names in (("old", ["weir"]), ("new", ["weir", "weir-dkms"])):
        os.mkdir(f"{directory}/{age}")
        for name in names:
            shutil.copy(package(getattr(options, age), name), f"{directory}/{age}")
    shutil.copytree(f"{TREE}/packaging/debian/tests", f"{directory}/autopkgtests")
    # What the guest boots itself into again.
    shutil.copy(kernel.image, f"{directory}/vmlinuz")
    roots.initramfs(f"{directory}/initramfs", kernel, roots.DISK_INIT.replace("INIT", "/sbin/init"), machine.DISK_MODULES)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--kernel", default="bookworm")
    parser.add_argument("--output")
    parser.add_argument("--only", choices=("life", "kills"))
    options = parser.parse_args()
    kernel = kernels.find(options.kernel)
    builds_modules = ("dkms", f"linux-headers-{kernel.version}") if options.kernel == OWN_SUITE else ()
    with tempfile.TemporaryDirectory(prefix="weir-package-") as directory:
        payload(directory, kernel, options)

        def run(command, **more):
            # Emulated timers are late on a busy host, and the kernel would give up on them.
            return machine.run(kernel, "systemd", directory, command, timeout=TIMEOUT, memory=1536,
                               packages=PACKAGES + builds_modules, kernel_arguments="no_timer_check quiet", **more)
        # An emulated machine is slow, by how much depends on what else the host does: promises of time are tried by a
        # clock that counts instructions.
        runs = {"life": lambda: run("./guest.py", output=options.output), "kills": lambda: run("./guest.py kills", icount=True)}
        passed = [told(name, start()) for name, start in runs.items() if options.only in (None, name)]
    return 0 if all(passed) else 1


def told(name, outcome):
    # The guest's own lines, without what the kernel and systemd say.
    said = re.findall(r"\b((?:ok    |FAILED ).*)", outcome.console)
    print("\n".join(said) if outcome.passed else outcome.console)
    print(f"vm: {name}: {'passed' if outcome.passed else 'FAILED: ' + outcome.reason} ({outcome.seconds:.0f} s)", flush=True)
    return outcome.passed


if __name__ == "__main__":
    sys.exit(main())
