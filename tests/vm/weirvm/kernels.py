# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels to boot, and places to build modules for them.

A kernel directory holds boot/vmlinuz-VERSION, lib/modules/VERSION and `build`, a root file system
with the compiler and the headers that belong to it: modules are built inside of it, because
another suite's headers come with programs of that suite. Versions are whatever Debian's archive has
on the day; `vm.py forget` makes the next run look again.
"""

import glob
import lzma
import os
import shutil

from . import debug_kernel
from .cache import cached, run

SUITES = ("bookworm", "trixie")  # Linux 6.1 and 6.12
# The image is only unpacked: installed it would want an initramfs and a boot loader.
DOWNLOAD = """chroot "$1" sh -ec 'cd /var/cache/apt/archives
image=$(apt-cache depends linux-image-cloud-amd64 | sed -n "s/^ *Depends: \\(linux-image-[^ ]*\\)$/\\1/p")
apt-get download -q $image && mv linux-image-*.deb /image.deb'"""


class Kernel:
    def __init__(self, directory):
        self.directory = directory
        images = glob.glob(f"{directory}/boot/vmlinuz-*")
        if len(images) != 1:
            raise RuntimeError(f"{directory}/boot must hold exactly one vmlinuz-VERSION, found {images}")
        self.image = images[0]
        self.version = os.path.basename(images[0]).removeprefix("vmlinuz-")
        self.modules = f"{directory}/lib/modules/{self.version}"

    def module_files(self, names):
        """Files of these modules and all they need, in the order to load them; built-in ones are left out."""
        needs, by_name, order = {}, {}, []
        with open(f"{self.modules}/modules.dep", encoding="ascii") as dep:
            for line in dep:
                path, _, rest = line.partition(":")
                needs[path] = rest.split()
                by_name[os.path.basename(path).split(".ko")[0].replace("-", "_")] = path
        with open(f"{self.modules}/modules.builtin", encoding="ascii") as file:
            builtin = {os.path.basename(line.strip()).removesuffix(".ko").replace("-", "_") for line in file}

        def add(path):
            for need in needs[path]:
                add(need)
            if path not in order:
                order.append(path)
        for name in names:
            if name in by_name:
                add(by_name[name])
            elif name not in builtin:
                raise RuntimeError(f"kernel {self.version} has no module {name}")
        return [f"{self.modules}/{path}" for path in order]

    def build_module(self, source, headers, flags=()):
        """Builds the out-of-tree module in `source`; returns the compiler's words and the path of its .ko files."""
        place = f"{self.directory}/build/weir"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(source, f"{place}/kmod", ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*"))
        shutil.copytree(headers, f"{place}/include/uapi")
        # One process: the machine has other work, and the module is small.
        words = run("chroot", f"{self.directory}/build", "sh", "-c",
                    f"make -C /lib/modules/{self.version}/build M=/weir/kmod {' '.join(flags)} modules 2>&1")
        return words, glob.glob(f"{place}/kmod/*.ko")


def uncompressed(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return file.read()


def debian(suite):
    if suite not in SUITES:
        raise RuntimeError(f"no suite {suite}; there are {', '.join(SUITES)}")
    packages = "make,sparse,linux-headers-cloud-amd64"

    def make(directory):
        build = f"{directory}/build"
        run("mmdebstrap", "-q", "--variant=apt", f"--include={packages}", "--customize-hook=" + DOWNLOAD, suite, build)
        run("dpkg-deb", "-x", f"{build}/image.deb", directory)
        os.unlink(f"{build}/image.deb")
        if not os.path.exists(f"{directory}/lib"):
            os.symlink("usr/lib", f"{directory}/lib")
        kernel = Kernel(directory)
        # Not by the link beside the modules: it leads to where they are for those inside of `build`.
        if not os.path.isdir(f"{build}/usr/src/linux-headers-{kernel.version}"):
            raise RuntimeError(f"{suite}: image {kernel.version} has no headers of its version beside it")
        run("depmod", "-b", directory, kernel.version)
    return Kernel(cached(f"kernel-{suite}", f"1 {packages} {DOWNLOAD}", make))


def find(name):
    """A suite's name, `debug`, or the directory of a kernel somebody made."""
    if name == "debug":
        return Kernel(debug_kernel.directory())
    return debian(name) if name in SUITES else Kernel(os.path.abspath(name))
