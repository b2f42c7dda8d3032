# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a virtual machine: a payload, a command, a verdict.

QEMU ends with 0 after a guest's panic too, and a guest may hang: so the verdict is the line RESULT
on the second serial port and nothing else, and everything happens under a timeout.
"""

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time

from . import roots
from .cache import run as run_command

DISK_MODULES = ["virtio_pci", "virtio_blk", "ext4"]
COMMAND = ".weir-vm-command"
# What a kernel says when something is wrong with it, whatever the script says.
OOPS = re.compile(r"BUG:|KASAN|KCSAN|WARNING: |Oops|Kernel panic|general protection fault|unreferenced object|"
                  r"possible circular locking|possible recursive locking|inconsistent lock state|suspicious RCU|"
                  r"scheduling while atomic|refcount_t:|rcu: INFO: .*stall|blocked for more than|UBSAN")


@dataclasses.dataclass
class Outcome:
    passed: bool
    reason: str     # why not
    console: str    # everything the guest printed
    seconds: float


def run(kernel, root, payload, command, *, timeout=300, icount=False, cpus=2, memory=1024, output=None, packages=(),
        modules=(), kernel_arguments="", oops_allowed=False):
    """Boots `kernel` into `root` ("busybox", "debian", "systemd") and runs the shell command `command` in a copy of
    the directory `payload`. What it leaves in /output comes back into the directory `output` (not with busybox).
    `icount`: one processor, whose clock counts executed instructions, one nanosecond each; the same in every run.
    `packages`: Debian packages that the root must have beside the usual ones. `modules`: of the kernel's, loaded at
    boot (busybox only; elsewhere there is modprobe)."""
    with tempfile.TemporaryDirectory(prefix="weir-vm-") as scratch:
        stage = f"{scratch}/payload"
        shutil.copytree(payload, stage, symlinks=True)
        with open(f"{stage}/{COMMAND}", "w", encoding="utf-8") as out:
            out.write(command + "\n")
        drives, arguments = [], f"console=ttyS0 panic=-1 no_timer_check mitigations=off {kernel_arguments}"
        if root == "busybox":
            roots.initramfs(f"{scratch}/initramfs", kernel, roots.BUSYBOX_INIT, modules, stage)
        else:
            init = {"debian": "/usr/lib/weir-vm/init", "systemd": "/sbin/init"}[root]
            roots.initramfs(f"{scratch}/initramfs", kernel, roots.DISK_INIT.replace("INIT", init), DISK_MODULES)
            run_command("tar", "--owner=0", "--group=0", "-cf", f"{scratch}/payload.tar", "-C", stage, ".")
            with open(f"{scratch}/output.tar", "wb") as out:
                out.truncate(256 << 20)
            drives = [(roots.disk(kernel, packages), "snapshot=on"), (f"{scratch}/payload.tar", "readonly=on"),
                      (f"{scratch}/output.tar", "cache=unsafe")]
            arguments += " systemd.show_status=no root=/dev/vda"
        accelerator = os.environ.get("WEIR_VM_ACCEL") or "tcg,thread=multi"
        words = ["qemu-system-x86_64", "-accel", "tcg" if icount else accelerator, "-cpu", "max", "-smp",
                 "1" if icount else str(cpus), "-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot",
                 "-serial", f"file:{scratch}/console", "-serial", f"file:{scratch}/result",
                 "-kernel", kernel.image, "-initrd", f"{scratch}/initramfs", "-append", arguments]
        if icount:
            words += ["-icount", "shift=0"]
        for path, options in drives:
            words += ["-drive", f"file={path},format=raw,if=virtio,{options}"]
        started, reason = time.monotonic(), ""
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, timeout=timeout, check=True, capture_output=True)
        except subprocess.TimeoutExpired:
            reason = f"no end after {timeout} s"
        except subprocess.CalledProcessError as error:
            reason = f"QEMU: exit {error.returncode}: {error.stderr.decode(errors='replace').strip()}"
        seconds = time.monotonic() - started
        console, results = read(f"{scratch}/console"), read(f"{scratch}/result").split("\n")
        lines = [line.strip() for line in results if line.startswith("RESULT ")]
        if not reason and lines != ["RESULT success 0"]:
            reason = f"the guest's verdict: {lines[-1]}" if lines else "no RESULT line: the guest died before its verdict"
        if not reason and not oops_allowed and (found := OOPS.search(console)):
            reason = f"the kernel complained: {line_of(console, found.start())}"
        if output and drives:
            os.makedirs(output, exist_ok=True)
            try:
                with tarfile.open(f"{scratch}/output.tar") as tar:
                    tar.extractall(output)
            except tarfile.TarError as error:
                reason = reason or f"no output: {error}"
        return Outcome(not reason, reason, console, seconds)


def quoted(words):
    return " ".join(shlex.quote(word) for word in words)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r\n", "\n")
    except FileNotFoundError:
        return ""


def line_of(text, at):
    return text[text.rfind("\n", 0, at) + 1:].split("\n", 1)[0]
