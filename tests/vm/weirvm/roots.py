# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine boots into.

  busybox   an initramfs of a few hundred kilobytes: insmod, mount, a script; 3 s
  debian    a Debian root file system, the script started instead of init; 7 s
  systemd   the same file system with systemd as process 1; the script is a service; 15 s

The root file system is always bookworm's, whatever the kernel, because weir's programs are built
there.
"""

import gzip
import os
import shutil
import subprocess

from .cache import cached, run
from .kernels import uncompressed

PACKAGES = sorted("""
  systemd systemd-sysv dbus udev kmod procps iproute2 iputils-ping nftables ipvsadm nginx-light openssl curl
  python3 python3-pytest python3-scapy python3-h2 python3-grpcio bird2 libmnl0 libnftnl11 libnetfilter-queue1
  libnl-3-200 libnl-route-3-200 libyaml-cpp0.7 libfmt9 libsystemd0 libcurl4 libssl3 libnghttp2-14 util-linux
""".split())
MASKED = """serial-getty@ttyS0 getty@tty1 nginx ipvsadm bird systemd-networkd-wait-online systemd-random-seed
  e2scrub_reap apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
  systemd-tmpfiles-clean.timer""".split()

# Both ways run the payload by this; `$1` is where the answer goes. The last line is all that counts.
RUN_PAYLOAD = """#!/bin/sh
mkdir -p /payload /output
tar -xf /dev/vdb -C /payload || exit 99
cd /payload && exec sh ./.weir-vm-command
"""
SAVE_OUTPUT = """#!/bin/sh
tar -cf /dev/vdc -C /output . 2>/dev/null
sync
echo "RESULT $1 $2" >/dev/ttyS1
"""
PLAIN_INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp; mkdir -p /run/netns
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
hostname weir-vm; ip link set lo up
/usr/lib/weir-vm/run-payload; status=$?
[ $status = 0 ] && word=success || word=exit-code
/usr/lib/weir-vm/save-output $word $status
echo o >/proc/sysrq-trigger; sleep 60
"""
UNIT = """[Unit]
Description=payload of a test
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/usr/lib/weir-vm/run-payload
ExecStopPost=/usr/lib/weir-vm/save-output $SERVICE_RESULT $EXIT_STATUS
StandardOutput=journal+console
StandardError=journal+console
TimeoutStartSec=infinity
[Install]
WantedBy=graphical.target
"""
DISK_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /root
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
for m in $(/bin/busybox cat /modules/order); do /bin/busybox insmod /modules/$m || echo "no module $m"; done
i=0
while ! [ -b /dev/vdb ] && [ $i -lt 100 ]; do /bin/busybox sleep 0.05; i=$((i + 1)); done
if /bin/busybox mount -t ext4 /dev/vda /root; then
  for d in proc sys dev; do /bin/busybox mount --move /$d /root/$d; done
  exec /bin/busybox switch_root /root INIT
fi
/bin/busybox poweroff -f
"""
BUSYBOX_INIT = """#!/bin/busybox sh
export PATH=/bin HOME=/
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
ip link set lo up
for m in $(cat /modules/order); do insmod /modules/$m || echo "no module $m"; done
cd /payload
sh ./.weir-vm-command; status=$?
[ $status = 0 ] && word=success || word=exit-code
echo "RESULT $word $status" >/dev/ttyS1
poweroff -f
"""


def tree(extra=()):
    """The unpacked root file system, with `extra` packages beside the usual ones."""
    packages = sorted(set(PACKAGES) | set(extra))
    recipe = "\n".join(["2", *packages, *MASKED, RUN_PAYLOAD, SAVE_OUTPUT, PLAIN_INIT, UNIT])

    def write(path, text, mode=0o755):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        os.chmod(path, mode)

    def make(directory):
        root = f"{directory}/root"
        run("mmdebstrap", "-q", "--variant=minbase", f"--include={','.join(packages)}", "bookworm", root)
        for name, text in (("run-payload", RUN_PAYLOAD), ("save-output", SAVE_OUTPUT), ("init", PLAIN_INIT)):
            write(f"{root}/usr/lib/weir-vm/{name}", text)
        write(f"{root}/etc/systemd/system/weir-vm.service", UNIT, 0o644)
        os.makedirs(f"{root}/etc/systemd/system/graphical.target.wants", exist_ok=True)
        os.symlink("/etc/systemd/system/weir-vm.service", f"{root}/etc/systemd/system/graphical.target.wants/weir-vm.service")
        for unit in MASKED:
            name = unit if "." in unit else f"{unit}.service"
            write_to = f"{root}/etc/systemd/system/{name}"
            if os.path.lexists(write_to):
                os.unlink(write_to)
            os.symlink("/dev/null", write_to)
        shutil.rmtree(f"{root}/var/lib/apt/lists", ignore_errors=True)
        shutil.rmtree(f"{root}/usr/share/doc", ignore_errors=True)
    name = "root" if not extra else "root-" + "-".join(sorted(extra))[:100]
    return cached(name, recipe, make), recipe, name


def disk(kernel, extra=()):
    """The file system as a disk image, with the kernel's modules."""
    directory, recipe, name = tree(extra)

    def make(fresh):
        image, root = f"{fresh}/root.ext4", f"{directory}/root"
        # The modules are there only while the image is made: other kernels share the tree.
        place = f"{root}/lib/modules"
        shutil.rmtree(place, ignore_errors=True)
        try:
            shutil.copytree(kernel.modules, f"{place}/{kernel.version}", symlinks=True)
            size = int(run("du", "-sm", root).split()[0]) + 300
            run("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", root, image, f"{size}M")
        finally:
            shutil.rmtree(place, ignore_errors=True)
    stamp = str(os.stat(f"{kernel.modules}/modules.dep").st_mtime_ns)
    path = cached(f"{name}-{kernel.version}", f"{recipe}\n{kernel.directory} {stamp}", make)
    return f"{path}/root.ext4"


def initramfs(path, kernel, init, modules, payload=None):
    """Writes an initramfs with busybox, `init` and these modules of the kernel; `payload`: a directory."""
    scratch = f"{path}.d"
    os.makedirs(f"{scratch}/bin")
    os.makedirs(f"{scratch}/modules")
    shutil.copy("/bin/busybox", f"{scratch}/bin/busybox")
    order = []
    for source in kernel.module_files(modules):
        name = os.path.basename(source).removesuffix(".xz")
        order.append(name)
        with open(f"{scratch}/modules/{name}", "wb") as out:
            out.write(uncompressed(source))
    with open(f"{scratch}/modules/order", "w", encoding="ascii") as out:
        out.write("\n".join(order))
    with open(f"{scratch}/init", "w", encoding="ascii") as out:
        out.write(init)
    os.chmod(f"{scratch}/init", 0o755)
    if payload:
        shutil.copytree(payload, f"{scratch}/payload", symlinks=True)
    files = subprocess.check_output(["find", "."], cwd=scratch)
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], input=files, cwd=scratch,
                             stdout=subprocess.PIPE, check=True).stdout
    with open(path, "wb") as out:
        out.write(gzip.compress(archive, 1))
    shutil.rmtree(scratch)
