# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that looks for mistakes: Debian 12's source, little more in it than the module's tests need,
and with KASAN (memory used after it is freed, or past its end), lockdep and RCU checks (locks in an
order that can end in a deadlock), kmemleak and UBSAN. `vm.py images --kernel debug` makes it; it
takes ten minutes of two processors.
"""

import os
import re
import shutil

from .cache import cached, run

SOURCE = "linux-source-6.1"
PACKAGES = f"make,gcc,libc6-dev,bc,bison,flex,libelf-dev,xz-utils,cpio,kmod,sparse,perl,python3-minimal,{SOURCE}"
LOCAL_VERSION = "-weir-debug"

# On top of allnoconfig. What boots and what the tests use:
NEEDED = """
  64BIT SMP PRINTK BUG MODULES MODULE_UNLOAD MULTIUSER BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT
  TTY UNIX98_PTYS SERIAL_8250 SERIAL_8250_CONSOLE DEVTMPFS PROC_FS PROC_SYSCTL SYSFS SHMEM TMPFS
  PCI ACPI MAGIC_SYSRQ BLOCK BLK_DEV VIRTIO_MENU VIRTIO_PCI VIRTIO_BLK EXT4_FS
  FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO ADVISE_SYSCALLS MEMBARRIER FILE_LOCKING INOTIFY_USER
  POSIX_TIMERS SYSVIPC HIGH_RES_TIMERS NO_HZ_IDLE RANDOM_TRUST_CPU CGROUPS
  NAMESPACES UTS_NS IPC_NS USER_NS PID_NS NET_NS
  NET UNIX PACKET INET IPV6 IP_ADVANCED_ROUTER IP_MULTIPLE_TABLES IPV6_MULTIPLE_TABLES NET_IPIP XFRM_USER
  NETDEVICES NET_CORE VETH DUMMY BRIDGE BRIDGE_NETFILTER NETFILTER NETFILTER_ADVANCED NF_CONNTRACK NF_TABLES NF_TABLES_INET
  NFT_CT NFT_QUEUE NETFILTER_NETLINK_QUEUE
""".split()
# What looks for mistakes:
CHECKS = """
  DEBUG_KERNEL DEBUG_FS KALLSYMS STACKTRACE SLUB_DEBUG KASAN KASAN_GENERIC KASAN_INLINE
  PROVE_LOCKING PROVE_RCU DEBUG_ATOMIC_SLEEP DEBUG_LIST DEBUG_KMEMLEAK
  DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_RCU_HEAD DEBUG_OBJECTS_WORK DEBUG_OBJECTS_TIMERS
  UBSAN UBSAN_BOUNDS UBSAN_SHIFT
""".split()
NOT_WANTED = ["DEBUG_KMEMLEAK_AUTO_SCAN", "KASAN_OUTLINE"]
VALUES = {"LOCALVERSION": f'"{LOCAL_VERSION}"', "NR_CPUS": "4", "MAGIC_SYSRQ_DEFAULT_ENABLE": "0x1",
          "DEBUG_KMEMLEAK_MEM_POOL_SIZE": "40000"}

# Both run inside of the root file system that has the compiler.
CONFIGURE = f"""set -e
cd /usr/src
tar -xf {SOURCE}.tar.xz
rm -f *.tar.xz
cd {SOURCE}
KCONFIG_ALLCONFIG=/fragment make allnoconfig >/log 2>&1
"""
BUILD = f"""set -e
cd /usr/src/{SOURCE}
make -j$(nproc) bzImage modules >>/log 2>&1
make -s kernelrelease >/release
"""


def fragment():
    return "".join([f"CONFIG_{name}=y\n" for name in NEEDED + CHECKS] + [f"# CONFIG_{name} is not set\n" for name in NOT_WANTED] +
                   [f"CONFIG_{name}={value}\n" for name, value in VALUES.items()])


def step(build, script):
    try:
        run("chroot", build, "sh", "-c", script)
    except RuntimeError as error:
        with open(f"{build}/log", encoding="utf-8", errors="replace") as log:
            raise RuntimeError(f"{error}\n{log.read()[-4000:]}") from error


def make(directory):
    """Fills a kernel directory (kernels.py says what is in one)."""
    build = f"{directory}/build"
    source = f"{build}/usr/src/{SOURCE}"
    run("mmdebstrap", "-q", "--variant=apt", f"--include={PACKAGES}", "bookworm", build)
    with open(f"{build}/fragment", "w", encoding="ascii") as out:
        out.write(fragment())
    step(build, CONFIGURE)
    with open(f"{source}/.config", encoding="ascii") as file:
        chosen = set(re.findall(r"^CONFIG_(\w+)=y$", file.read(), re.M))
    if missing := sorted(set(NEEDED + CHECKS) - chosen):
        raise RuntimeError(f"{SOURCE} does not configure {', '.join(missing)}: what they depend on has changed")
    step(build, BUILD)
    with open(f"{build}/release", encoding="ascii") as file:
        version = file.read().strip()
    modules = f"{directory}/lib/modules/{version}"
    os.makedirs(f"{directory}/boot")
    os.makedirs(modules)
    shutil.copy(f"{source}/arch/x86/boot/bzImage", f"{directory}/boot/vmlinuz-{version}")
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(f"{source}/{name}", modules)
    run("depmod", "-b", directory, version)
    os.makedirs(f"{build}/lib/modules/{version}", exist_ok=True)
    os.symlink(f"/usr/src/{SOURCE}", f"{build}/lib/modules/{version}/build")


def directory():
    return cached("kernel-debug", f"1 {PACKAGES} {fragment()} {CONFIGURE} {BUILD}", make)
