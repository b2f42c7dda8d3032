# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespaces in the guest, with the module in the middle.

   client 10.1.0.2 fd01::2 --- weir --- b1 10.2.1.2 fd02:1::2
                                   \\--- b2 10.2.2.2 fd02:2::2

The virtual address stands on nobody's interface: backends only count what arrives. In place of the
queue and the engine a rule sets the mark of a backend, as a verdict would, and counts the packets
that come to it.
"""

import contextlib
import ctypes
import itertools
import os
import re
import socket
import subprocess
import time

VIP4, VIP6 = "10.9.9.9", "fd09::9"
MASK = 0xFFFF0000
MARKS = {1: 0x10000, 2: 0x20000}
NUMBERS = itertools.count()

# Processes take their time in an emulated machine, `ip netns exec` most of all. So what tests do
# over and over is done in this process.
HOME = os.open("/proc/self/ns/net", os.O_RDONLY)
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
NFT = ctypes.CDLL("libnftables.so.1")
NFT.nft_ctx_new.restype = ctypes.c_void_p
NFT.nft_ctx_get_output_buffer.restype = NFT.nft_ctx_get_error_buffer.restype = ctypes.c_char_p


def enter(descriptor):
    if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(name):
    """Sockets that are made inside belong to the namespace."""
    descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        enter(descriptor)
        yield
    finally:
        enter(HOME)
        os.close(descriptor)


def nft(name, text):
    """What the program nft would print for these commands in a namespace."""
    with inside(name):
        context = ctypes.c_void_p(NFT.nft_ctx_new(0))
    try:
        NFT.nft_ctx_buffer_output(context)
        NFT.nft_ctx_buffer_error(context)
        if NFT.nft_run_cmd_from_buffer(context, text.encode()) != 0:
            raise RuntimeError(f"{text}: {NFT.nft_ctx_get_error_buffer(context).decode()}")
        return NFT.nft_ctx_get_output_buffer(context).decode()
    finally:
        NFT.nft_ctx_free(context)  # its socket would keep the namespace


def counted(name):
    """Packets by the names of the namespace's counters."""
    return {counter: int(packets) for counter, packets in
            re.findall(r"counter (\w+) \{\s+packets (\d+)", nft(name, "list counters"))}


def sh(text, check=True):
    done = subprocess.run(text, shell=True, text=True, capture_output=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{text}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


class Network:
    def __init__(self):
        number = next(NUMBERS)
        self.client, self.weir, self.b1, self.b2 = (f"{name}{number}" for name in ("client", "weir", "b1-", "b2-"))
        self.names = [self.client, self.weir, self.b1, self.b2]
        for name in self.names:
            sh(f"ip netns add {name}; ip -n {name} link set lo up; "
               f"ip netns exec {name} sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0")
        self.link(self.client, "up0", "10.1.0.2/24", "fd01::2/64", "client0", "10.1.0.1/24", "fd01::1/64")
        sh(f"ip -n {self.client} route add default via 10.1.0.1; ip -n {self.client} -6 route add default via fd01::1")
        for i, name in ((1, self.b1), (2, self.b2)):
            self.link(name, "eth0", f"10.2.{i}.2/24", f"fd02:{i}::2/64", f"b{i}", f"10.2.{i}.1/24", f"fd02:{i}::1/64")
            sh(f"ip -n {name} route add default via 10.2.{i}.1; ip -n {name} -6 route add default via fd02:{i}::1")
            for family, via in (("-4", f"10.2.{i}.2"), ("-6", f"fd02:{i}::2")):
                sh(f"ip -n {self.weir} {family} rule add fwmark {MARKS[i]:#x}/{MASK:#x} lookup {100 + i}; "
                   f"ip -n {self.weir} {family} route add default via {via} dev b{i} table {100 + i}")
        self.exec(self.weir, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
                  "net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.client0.rp_filter=0")
        for name in (self.b1, self.b2):  # counted, and never answered
            nft(name, f"""table inet count {{
              counter in4 {{ }}
              counter in6 {{ }}
              chain pre {{ type filter hook prerouting priority -500; policy accept;
                ip daddr {VIP4} counter name in4 drop
                ip6 daddr {VIP6} counter name in6 drop; }}; }}""")
        # What hosts say of their groups comes when it likes, and the module would count it as unusual.
        nft(self.weir, """table inet quiet {
          chain pre { type filter hook prerouting priority -500; policy accept; icmpv6 type mld2-listener-report drop; }; }""")
        # Neighbours are known before the first packet that counts.
        self.exec(self.client, "ping -c1 -W10 10.1.0.1")
        for i in (1, 2):
            for address in (f"10.2.{i}.2", f"fd02:{i}::2"):
                self.exec(self.weir, f"ping -c1 -W10 {address}")
        self.to_weir = bytes.fromhex(self.mac().replace(":", ""))
        self.mark(1)

    def link(self, name, interface, address4, address6, peer, peer4, peer6):
        sh(f"ip -n {self.weir} link add {peer} type veth peer name {interface} netns {name}")
        for where, what, four, six in ((self.weir, peer, peer4, peer6), (name, interface, address4, address6)):
            sh(f"ip -n {where} addr add {four} dev {what}; ip -n {where} addr add {six} dev {what} nodad; "
               f"ip -n {where} link set {what} up; ip netns exec {where} ethtool -K {what} gro off 2>/dev/null; true")

    def mark(self, backend):
        """From now on the place of the queue chooses this backend; None: it drops."""
        chosen = f"notrack meta mark set {MARKS[backend]:#x}" if backend else "drop"
        nft(self.weir, f"""
          table inet weir {{ }}
          delete table inet weir
          table inet weir {{
            counter queued {{ }}
            counter forwarded {{ }}
            chain forward {{ type filter hook forward priority 0; policy accept;
              meta mark & {MASK:#x} != 0 counter name forwarded; }}
            chain pre {{ type filter hook prerouting priority -450; policy accept;
              meta mark & {MASK:#x} != 0 accept
              icmpv6 type 133-137 accept
              ip daddr {VIP4} counter name queued {chosen}
              ip6 daddr {VIP6} counter name queued {chosen}; }}; }}""")

    def exec(self, name, text, check=True):
        return sh(f"ip netns exec {name} {text}", check)

    def seen(self):
        """Packets for the virtual addresses so far: that came to the queue, to b1 and to b2."""
        b1, b2 = counted(self.b1), counted(self.b2)
        return counted(self.weir)["queued"], b1["in4"] + b1["in6"], b2["in4"] + b2["in6"]

    def mac(self):
        """Of the interface that packets from the client come in by."""
        return self.exec(self.weir, "cat /sys/class/net/client0/address").strip()

    def send(self, packets):
        """IP packets from the client, byte for byte; all have gone through when it returns."""
        with inside(self.client):
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with sender:
            sender.bind(("up0", 0))
            header = self.to_weir + sender.getsockname()[4]
            for packet in map(bytes, packets):
                sender.send(header + (b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet)
        last, quiet = None, 0
        while quiet < 2:
            now = self.seen()
            quiet = quiet + 1 if now == last else 0
            last = now
            time.sleep(0.05)

    def delete(self):
        for name in self.names:
            sh(f"ip netns del {name}", check=False)
